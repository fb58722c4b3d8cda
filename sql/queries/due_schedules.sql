-- Reads a page of the due schedules, and the time of the next search.
-- params: $1 search_at, $2 now, $3 limit, $4 id (the page begins after $1 and $4; avoids passing over dead rows)
-- returns: next_search (from this time on another schedule may be due; null: there is none, or the limit is reached),
--          id (null: none is due), revision, next_at, search_at, cron, queue, missed, retry, ttl, delay, maxlen,
--          priority, has_tick, group_key, overlap (null: none); one row at least, in no order
-- index: schedule_next
with due as materialized (
    select
        s.id, s.revision, s.next_at, s.search_at, s.cron, s.queue, s.missed, s.retry, s.ttl, s.delay, s.maxlen,
        s.priority, s.has_tick, s.group_key, s.overlap
    from pgdisque.schedule as s
    where (s.search_at, s.id) > ($1::timestamptz, $4::bigint)
      and s.search_at <= $2::timestamptz
      and s.next_at <= $2::timestamptz
    order by s.search_at, s.id
    limit $3::integer
),
-- A schedule of seconds has its tick within a minute of search_at.
next as (
    select least(
        (
            select min(s.next_at)
            from pgdisque.schedule as s
            where s.search_at > $2::timestamptz - interval '1 minute'
              and s.search_at <= $2::timestamptz
              and s.next_at > $2::timestamptz
        ),
        (
            select s.search_at
            from pgdisque.schedule as s
            where s.search_at > $2::timestamptz
            order by s.search_at
            limit 1
        )
    ) as search_at
    where (select count(*) from due as d) < $3::integer
)
select
    (select n.search_at from next as n) as next_search, d.id, d.revision, d.next_at, d.search_at, d.cron, d.queue,
    d.missed, d.retry, d.ttl, d.delay, d.maxlen, d.priority, d.has_tick, d.group_key, d.overlap
from (values (1)) as o (n)
left join due as d on true
