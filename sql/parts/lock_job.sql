-- lock_job(place): locks the job at that place; not true if another session has locked it, or has changed it
(
    select k.ctid
    from pgdisque.job as k
    where k.ctid = :place
    for update skip locked
) = :place
