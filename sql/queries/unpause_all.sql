-- Ends the pauses of all queues, and resets the consume ends of all lists: with flush_all.
-- locks: the rows that change
update pgdisque.queue as q
set pause = 0,
    consume_end = null
where q.pause <> 0 or q.consume_end is not null
