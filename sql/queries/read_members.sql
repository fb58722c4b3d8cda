-- Reads members of a sorted set of a client library: ZRANGE, ZREVRANGE, ZRANGEBYSCORE, ZSCAN. A set has delayed jobs or
-- dead jobs, so one half finds nothing.
-- params: $1 sorted_set, $2 from, $3 to (times, included), $4 offset, $5 limit, $6 members to leave off at the end
--         (more than 0: in place of the limit), $7 backwards, $8 now, $9 bytes (the first member beyond has no body,
--         and is the last one)
-- returns: at, body; in the order of the set
-- index: job_in_set, dead_in_set
select s.at, case when s.size <= $9::bigint then s.body end as body
from (
    select p.*, sum(256 + octet_length(p.body)) over (rows unbounded preceding) as size
    from (
        (
            select m.wake_at as at, m.body
            {{member_range(not $7::boolean, asc)}}
        )
        union all
        (
            select m.wake_at, m.body
            {{member_range($7::boolean, desc)}}
        )
        union all
        (
            select m.died_at, m.body
            {{dead_range(not $7::boolean, asc)}}
        )
        union all
        (
            select m.died_at, m.body
            {{dead_range($7::boolean, desc)}}
        )
    ) as p
) as s
where s.size - 256 - octet_length(s.body) < $9::bigint
