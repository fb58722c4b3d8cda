-- is_fenced(b): is the row of bucket fenced against older servers? See fence_tokens()
:b.settled_at > '3000-01-01'
