-- Deletes or retains jobs as retain_jobs does, if each of them is there and no token is stale: ACKJOB REQUIRED.
-- Else the statement fails with SQLSTATE 22012 (division by zero), and its transaction is rolled back.
-- params: as retain_jobs
-- returns: as retain_jobs
-- locks: the rows, in the order of the parameters; a deadlock is repeated by the server
-- index: job_pkey, queue_setting_pkey
{{retain()}}
union all
select 0, null, false, null, null
where 1 / (case when (select count(*) from timed) = (select count(*) from k) then 1 else 0 end) = 0
