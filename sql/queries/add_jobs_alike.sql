-- Adds ordinary jobs that differ only in ids and bodies: add_jobs at two thirds of its cost. They have no delay
-- and the default time to live: they expire a fixed time after their creation, which is in the id.
-- params: $1 id, $2 body (arrays); $3 queue_id, $4 retry, $5 rank, $6 replicate, $7 ready_at, $8 expires_at of
--         a job with id 0
-- single: add_job_alike
-- index: job_pkey
insert into pgdisque.job (id, ready_at, expires_at, queue_id, retry, rank, replicate, body)
select
    a.id, $7::timestamptz, $8::timestamptz + (a.id >> 22) * interval '1 millisecond', $3::integer, $4::integer,
    $5::smallint, $6::smallint, a.body
from unnest($1::bigint[], $2::bytea[]) as a (id, body)
