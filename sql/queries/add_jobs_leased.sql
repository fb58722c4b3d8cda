-- Adds ordinary jobs that differ only in ids and bodies, as delivered to waiting clients, or as jobs ahead.
-- As add_jobs_alike.
-- params: $1 id, $2 body (arrays); $3 queue_id, $4 retry, $5 rank, $6 replicate, $7 ready_at, $8 expires_at of
--         a job with id 0, $9 owner
-- returns: id, place (ctid)
-- single: add_job_leased
-- index: job_pkey
insert into pgdisque.job (id, ready_at, expires_at, queue_id, retry, deliveries, rank, replicate, owner, body)
select
    a.id, $7::timestamptz, $8::timestamptz + (a.id >> 22) * interval '1 millisecond', $3::integer, $4::integer,
    1, $5::smallint, $6::smallint, $9::smallint, a.body
from unnest($1::bigint[], $2::bytea[]) as a (id, body)
returning id, ctid as place
