-- make_buckets(rates): inserts the buckets of the queues of rates (queue_id, is_fenced), and sets their fences
--
-- A new bucket has no tokens, or all if it is fenced. See fence_tokens(). A locked bucket keeps its fence until the
-- next job takes a token.
made_buckets as (
    insert into pgdisque.bucket as b (queue_id, settled_at)
    select r.queue_id, clock_timestamp() + case when r.is_fenced then {{fence_time()}} else interval '0' end
    from :rates as r
    on conflict (queue_id) do nothing
),
fenced_buckets as (
    update pgdisque.bucket as b
    set tokens = b.tokens + case when r.is_fenced then -{{fence_tokens()}} else {{fence_tokens()}} end,
        settled_at = b.settled_at + case when r.is_fenced then {{fence_time()}} else -{{fence_time()}} end
    from (
        select f.queue_id, n.is_fenced
        from :rates as n
        join pgdisque.bucket as f on f.queue_id = any (array[n.queue_id])
        where ({{is_fenced(f)}}) <> n.is_fenced
        for update of f skip locked
    ) as r
    where b.queue_id = any (array[r.queue_id])
)
