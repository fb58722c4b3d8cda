-- note_failure(gone, outcome, error): as note_outcome, with the error that PREDECESSORS replies
update pgdisque.flow_job as f
set outcome = coalesce(f.outcome, :outcome), result = :error
from :gone as n
where n.in_flow
  and f.id = any (array[n.id])
