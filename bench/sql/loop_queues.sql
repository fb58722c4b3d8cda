-- Makes the queues of bench/loop, each with a copy of the first job.
begin;
insert into pgdisque.queue (name) select convert_to('queue' || n, 'UTF8') from generate_series(0, :count - 1) as n;
insert into pgdisque.job (id, ready_at, expires_at, queue_id, retry, body)
select j.id + q.id, j.ready_at, j.expires_at, q.id, j.retry, j.body
from pgdisque.queue as q, (select * from pgdisque.job limit 1) as j
where q.id <> j.queue_id;
commit;
analyze pgdisque.job, pgdisque.queue;
