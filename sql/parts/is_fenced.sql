-- is_fenced(b): the row of bucket is fenced against older servers, see fence_tokens()
:b.settled_at > '3000-01-01'
