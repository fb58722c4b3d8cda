-- working_seconds(job, seconds, token, now): the length of the lease that WORKING gives; seconds null: the retry time
--
-- With its token a worker keeps its job, and no lease is longer than the life of the job.
case
    when coalesce(:token, 0) = 0 then coalesce(:seconds, :job.retry)
    else least(coalesce(:seconds, :job.retry), ceil(extract(epoch from :job.expires_at - :now)))::integer
end
