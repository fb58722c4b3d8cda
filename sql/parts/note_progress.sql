-- note_progress(): the progress of jobs without a lease, of the statements working_jobs and working_limited
noted as (
    update pgdisque.job as j
    set progress = old.progress
    from old
    where j.queue_id = any (array[old.queue_id])
      and j.rank = old.rank
      and j.id = old.id
      and not old.is_stale
      and not old.too_late
      and old.retry = 0
      and old.progress is not null
)
