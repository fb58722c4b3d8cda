-- Puts back jobs that list commands took for clients that have gone. The statement fails if another job has the
-- unique key of a job now. The server then repeats it without the key.
--
-- If the end of a job was counted already, its successors may run and its batch may be complete. Such a job leaves its
-- workflow and its batch.
-- params: $1 id, $2 ready_at, $3 expires_at, $4 wake_at, $5 queue_id, $6 retry, $7 body, $8 rank,
--         $9 deliveries, $10 nacks, $11 additional_deliveries, $12 attempts, $13 backoff, $14 deadqueue, $15 error,
--         $16 unique_key, $17 unique_until, $18 group_key (not null: the job waits for its release, because another
--         job of the group may run), $19 headers, $20 progress, $21 errors, $22 delay, $23 replicate,
--         $24 own_expires_at, $25 until_start (1: the key is free after the first delivery), $26 was_in_flow (1 or 0)
-- returns: queue_id, rank, id, group_key; the inserted jobs
-- locks: the rows in flow_job, in no order; a deadlock is repeated by the server
-- index: job_pkey, flow_job_pkey
with given as materialized (
    select a.*
    from unnest(
        $1::bigint[], $2::timestamptz[], $3::timestamptz[], $4::timestamptz[], $5::integer[], $6::integer[],
        $7::bytea[], $8::smallint[], $9::integer[], $10::integer[], $11::integer[], $12::integer[], $13::integer[],
        $14::bytea[], $15::bytea[], $16::bytea[], $17::timestamptz[], $18::bytea[], $19::jsonb[], $20::jsonb[],
        $21::jsonb[], $22::integer[], $23::smallint[], $24::timestamptz[], $25::smallint[], $26::smallint[]
    ) as a (
        id, ready_at, expires_at, wake_at, queue_id, retry, body, rank, deliveries, nacks, additional_deliveries,
        attempts, backoff, deadqueue, error, unique_key, unique_until, group_key,
        {{metadata_columns()}}, delay, replicate, own_expires_at, until_start, was_in_flow
    )
),
-- The turn reveals the return to a statement that is about to count the end (end_in_flows).
followed as (
    update pgdisque.flow_job as f
    set turn = f.turn + 1
    from given as g
    where g.was_in_flow = 1
      and f.id = any (array[g.id])
      and f.queue_id = g.queue_id
      and f.rank = g.rank
      and f.ended_at is null
    returning f.id
)
insert into pgdisque.job
    (id, ready_at, expires_at, wake_at, queue_id, retry, body, rank, deliveries, nacks,
     additional_deliveries, attempts, backoff, deadqueue, error, unique_key, unique_until, group_key,
     delay, replicate, own_expires_at, unique_start, in_flow, {{metadata_columns()}})
select
    g.id, case when g.group_key is null then g.ready_at else 'infinity' end, g.expires_at, g.wake_at,
    g.queue_id, g.retry, g.body, g.rank, g.deliveries, g.nacks, g.additional_deliveries, g.attempts,
    g.backoff, g.deadqueue, g.error, g.unique_key, g.unique_until, g.group_key, g.delay, g.replicate,
    g.own_expires_at, case when g.until_start = 1 then true end,
    case when g.was_in_flow = 1 and g.id = any (array(select f.id from followed as f)) then true end,
    {{metadata(g)}}
from given as g
on conflict (queue_id, rank, id) do nothing
returning queue_id, rank, id, group_key
