-- Changes a dead job: EDITDEAD. The job keeps its ID.
-- params: $1 queue_id, $2 rank, $3 id, $4 body, $5 retry, $6 attempts, $7 backoff (each null: unchanged; attempts and
--         backoff 0: none)
-- returns: id
-- locks: the row
-- index: dead_pkey
update pgdisque.dead_job as d
set body = coalesce($4::bytea, d.body),
    retry = coalesce($5::integer, d.retry),
    attempts = nullif(coalesce($6::integer, d.attempts), 0),
    backoff = nullif(coalesce($7::integer, d.backoff), 0)
where d.queue_id = $1::integer
  and d.rank = $2::smallint
  and d.id = $3::bigint
returning d.id
