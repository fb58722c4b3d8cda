-- Counts the members of a sorted set of a client library: ZCARD, EXISTS, TYPE.
-- params: $1 sorted_set, $2 now
-- returns: members
-- index: job_in_set, dead_in_set
select
    (
        select count(*)
        from pgdisque.job as j
        where j.sorted_set = $1::text
          and {{in_set(j, $2::timestamptz)}}
    ) + (
        select count(*)
        from pgdisque.dead_job as d
        where d.sorted_set = $1::text
    ) as members
