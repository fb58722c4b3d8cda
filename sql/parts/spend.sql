-- spend(u, jobs): the new values of a row of bucket, after so many jobs took tokens of u, a row of limits()
tokens = :u.tokens - :jobs - case when :u.is_fenced then {{fence_tokens()}} else 0 end,
settled_at = clock_timestamp() + case when :u.is_fenced then {{fence_time()}} else interval '0' end
