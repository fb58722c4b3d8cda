-- After a restore, before a server starts on it: holds back queued jobs with RETRY 0, and delayed jobs whose
-- time has come. Each of them may have been delivered after the restored moment, which the database does not
-- show. Held jobs are not delivered by themselves. ENQUEUE queues a job, DELJOB removes it, and SHOW describes
-- it.
-- returns: the held jobs: their queue, when they were made, how their bodies begin
--
--   psql "<database>" -f sql/by-hand/hold_at_most_once.sql
set search_path = pg_catalog, pg_temp;

update pgdisque.job as j
set ready_at = 'infinity',
    wake_at = case when j.wake_at is null then null else j.expires_at end
from pgdisque.queue as q
where q.id = j.queue_id
  and j.retry = 0
  and j.ready_at <= now()
returning
    encode(q.name, 'escape') as queue,
    timestamptz '2020-01-01 00:00:00+00' + (abs(j.id) >> 22) * interval '1 millisecond' as made_at,
    encode(substr(j.body, 1, 60), 'escape') as body;
