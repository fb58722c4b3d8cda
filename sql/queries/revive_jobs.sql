-- Queues dead jobs again, with all their attempts: ENQUEUE. If the time to live is over, it begins again. A job
-- whose unique key has been taken since then stays dead.
-- params: $1 queue_id, $2 rank, $3 id, $4 now
-- returns: ordinal, expires_at; the revived jobs, in no order
-- locks: the rows, in the order of the parameters; a deadlock is repeated by the server
-- index: dead_pkey, flow_job_pkey
with wanted as materialized (
    select k.ordinal, d.queue_id, d.rank, d.id, d.ctid as place
    from unnest($1::integer[], $2::smallint[], $3::bigint[]) with ordinality as k (queue_id, rank, id, ordinal)
    join pgdisque.dead_job as d on d.queue_id = any (array[k.queue_id]) and d.rank = k.rank and d.id = k.id
),
found as materialized (
    select
        w.ordinal, d.*, {{revived_until(d, $4::timestamptz)}} as next_expires_at,
        d.ctid <> w.place as is_changed
    from wanted as w
    join pgdisque.dead_job as d on d.queue_id = any (array[w.queue_id]) and d.rank = w.rank and d.id = w.id
    for update of d
),
revived as (
    insert into pgdisque.job
        (id, ready_at, expires_at, wake_at, queue_id, retry, delay, nacks, additional_deliveries, rank,
         replicate, attempts, backoff, error, unique_key, body, in_flow, {{metadata_columns()}})
    select
        f.id, $4::timestamptz, f.next_expires_at, f.next_expires_at, f.queue_id, f.retry, f.delay, f.nacks,
        f.additional_deliveries + 1, f.rank, f.replicate, f.attempts, f.backoff, f.error, f.unique_key, f.body,
        {{goes_on_in_flow(f)}}, {{metadata(f)}}
    from found as f
    on conflict do nothing
    returning queue_id, rank, id, expires_at, retry, in_flow
),
gone as (
    delete from pgdisque.dead_job as d
    using revived as r
    where d.queue_id = any (array[r.queue_id])
      and d.rank = r.rank
      and d.id = r.id
),
{{resume(revived)}}
-- Groups instead of a join, which would compare each row with each.
select max(x.ordinal)::integer as ordinal, max(x.expires_at) as expires_at
from (
    select f.queue_id, f.rank, f.id, f.ordinal, null::timestamptz as expires_at
    from found as f
    union all
    select r.queue_id, r.rank, r.id, null, r.expires_at
    from revived as r
) as x
group by x.queue_id, x.rank, x.id
having count(x.expires_at) > 0
