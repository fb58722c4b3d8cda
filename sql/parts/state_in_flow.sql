-- state_in_flow(job): the state of a job of a workflow or batch, as PREDECESSORS replies it
case
    when :job.ended_at is null then 'pending'
    else (array['done', 'dead', 'cancelled', 'expired'])[coalesce(:job.outcome, 1)]
end
