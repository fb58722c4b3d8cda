-- No queue is paused any more: with flush_all.
-- locks: the rows that change
update pgdisque.queue as q
set pause = 0
where q.pause <> 0
