-- After a restore, before a server starts on it: holds back the jobs with RETRY 0 that are queued, or whose delay
-- is over. Each may have been delivered after the moment that was restored, and nobody can know. Held jobs are
-- never delivered by themselves; ENQUEUE queues one, DELJOB removes one, and SHOW describes it.
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
