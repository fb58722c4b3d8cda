-- note_outcome(gone, outcome): records how the deleted jobs of a workflow or batch have ended
--
-- A running job that CANCEL has marked has its outcome already, which stays.
update pgdisque.flow_job as f
set outcome = coalesce(f.outcome, :outcome)
from :gone as n
where n.in_flow
  and f.id = any (array[n.id])
