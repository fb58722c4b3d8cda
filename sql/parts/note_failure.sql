-- note_failure(gone, outcome, error): as note_outcome, with the error that PREDECESSORS replies, or null
--
-- The row exists. The delete may have waited for the session that inserted it, so an update would not see it.
insert into pgdisque.flow_job as f (id, queue_id, rank, expires_at, retry, outcome, result)
select n.id, n.queue_id, n.rank, n.expires_at, n.retry, :outcome, :error
from :gone as n
where n.in_flow
on conflict (id) do update
set outcome = coalesce(f.outcome, excluded.outcome), result = excluded.result
