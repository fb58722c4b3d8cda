-- Opens a batch: BATCH NEW. Its waiting job is the completion job, and keeps the place of the batch in its parent.
-- params: $1 id, $2 expires_at, $3 queue_id, $4 retry, $5 body (null: no completion job), $6 failure_id,
--         $7 failure_body (null: none), $8 parent (0: none; also the id of a job of the parent), $9 success_id,
--         $10 success_body (null: none), $11 closes_at, $12 must (is_open false is a failure of the statement:
--         SQLSTATE 2201F, square root of a negative number, or 2201G, no buckets, if the parent is too deep)
-- returns: is_open (false: the parent is unknown, cancelled, complete or too deep), is_too_deep
-- locks: the parent
-- index: batch_pkey, flow_job_pkey
with parent as materialized (
    select b.id
    from pgdisque.batch as b
    where b.id = {{named_batch($8::bigint)}}
      and b.completed_at is null
      and not b.is_cancelled
    for no key update of b
),
room as materialized (
    select p.id, {{may_nest(p.id)}} as may_nest
    from parent as p
),
opened as (
    insert into pgdisque.batch
        (id, failure_id, queue_id, retry, failure_body, success_id, success_body, closes_at)
    select
        $1::bigint, $6::bigint, $3::integer, $4::integer, $7::bytea,
        case when $10::bytea is not null then $9::bigint end, $10::bytea, $11::timestamptz
    where $8::bigint = 0
       or exists (select from room as r where r.may_nest)
    on conflict (id) do nothing
    returning id
),
counted as (
    update pgdisque.batch as b
    set total = b.total + 1
    from parent as p, opened as o
    where b.id = any (array[p.id])
),
entered as (
    insert into pgdisque.flow_job (id, batch_id, queue_id, rank, expires_at, retry)
    select o.id, (select p.id from parent as p), $3::integer, 0, $2::timestamptz, $4::integer
    from opened as o
),
put_aside as (
    insert into pgdisque.waiting_job
        (id, expires_at, queue_id, retry, delay, pending, rank, replicate, is_batch, has_body, body)
    select
        o.id, $2::timestamptz, $3::integer, $4::integer, 0, 0, 0, 1, true, $5::bytea is not null,
        coalesce($5::bytea, '')
    from opened as o
),
result as materialized (
    select
        exists (select from opened)
        or exists (select from pgdisque.batch as b where b.id = $1::bigint) as is_open,
        exists (select from room as r where not r.may_nest) as is_too_deep
)
select
    case
        when r.is_open or not $12::boolean then r.is_open
        when r.is_too_deep then width_bucket(1, 0, 2, r.is_open::integer) = 0
        else sqrt(r.is_open::integer - 1) = 0
    end as is_open,
    r.is_too_deep
from result as r
