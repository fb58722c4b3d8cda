-- note_outcome(gone, outcome): records how the deleted jobs of a workflow or batch have ended
--
-- For deletes of rows that the same statement has locked before, by their places. Such a delete finds no row that is
-- newer than its snapshot, so the statement sees the flow rows of all deleted jobs. Other deletes need note_failure.
-- A running job that CANCEL has marked has its outcome already, which stays.
update pgdisque.flow_job as f
set outcome = coalesce(f.outcome, :outcome)
from :gone as n
where n.in_flow
  and f.id = any (array[n.id])
