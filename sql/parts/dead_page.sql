-- dead_page(): page, the dead jobs that the statement looks at; found, those that the filters match; looked, the last
-- job of both
--
-- is_changed: another session has changed the job since the statement began.
page as materialized (
    select d.ctid as place, d.rank, d.id
    from pgdisque.dead_job as d
    where d.queue_id = $1::integer
      and (d.rank, d.id) > ($2::smallint, $3::bigint)
    order by d.rank, d.id
    limit $4::integer
),
found as materialized (
    select d.*, d.ctid <> all (array(select p.place from page as p)) as is_changed
    from pgdisque.dead_job as d
    where d.ctid = any (array(select p.place from page as p))
      and ($8::integer is null or d.died_at <= $5::timestamptz - $8::integer * interval '1 second')
      and ($9::integer is null or d.died_at >= $5::timestamptz - $9::integer * interval '1 second')
      and {{matches(d, $10, $7)}}
    order by d.rank, d.id
    limit $6::bigint
    for update skip locked
),
-- If the limit ended the search, the next page begins after the last job found.
looked as (
    select l.rank, l.id
    from (
        select f.rank, f.id
        from found as f
        union all
        select p.rank, p.id
        from page as p
        where (select count(*) from found) is distinct from $6::bigint
    ) as l
    order by l.rank desc, l.id desc
    limit 1
)
