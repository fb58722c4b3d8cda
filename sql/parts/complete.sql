-- complete(batch, now): completes the selected batches, whose rows are locked
--
-- batch has the columns id and is_clean (all its jobs are done). finished is the completion jobs; they leave
-- pgdisque.waiting_job. A batch without a completion job only gets its outcome: bare.
room as materialized (
    select w.id
    from pgdisque.waiting_job as w
    where w.id = any (array(select c.id from :batch as c))
    for update skip locked
),
ready as materialized (
    select c.id, c.is_clean
    from :batch as c
    left join room as r on r.id = c.id
    where r.id is not null
       or not exists (select from pgdisque.waiting_job as w where w.id = any (array[c.id]))
),
finished as (
    delete from pgdisque.waiting_job as w
    using ready as c
    where w.id = any (array[c.id])
      and w.outcome is null
      and w.has_body
    returning w.*
),
bare as (
    update pgdisque.waiting_job as w
    set outcome = case when c.is_clean then 1 else 2 end
    from ready as c
    where w.id = any (array[c.id])
      and w.outcome is null
      and not w.has_body
    returning w.id
)
