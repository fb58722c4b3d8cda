-- group_limits(queue_id): the limits of each group of a queue, in one row
--
-- most is at least 1. rate is in jobs per second, and null or 0 if there is none. burst is the most tokens.
-- group-max-active and group-rate hold beside the limits of the queue. With per-group, max-active and rate of the queue
-- are limits of its groups.
select w.most, w.rate, coalesce(w.burst, greatest(1, w.rate / 10)) as burst
from (
    select
        greatest(1, coalesce(nullif(v.group_most, 0), case when v.is_per_group then v.most end)) as most,
        coalesce(nullif(v.group_rate, 0), case when v.is_per_group then v.rate end) as rate,
        nullif(case
            when v.group_rate > 0 then v.group_burst
            when v.is_per_group then v.burst
        end, 0) as burst
    from (
        select
            coalesce(bool_or(s.name = 'per-group' and s.value = '1'), false) as is_per_group,
            max(case when s.name = 'max-active' then convert_from(s.value, 'UTF8') end)::integer as most,
            {{rate('rate', 'rate-period')}} as rate,
            max(case when s.name = 'rate-burst' then convert_from(s.value, 'UTF8') end)::integer as burst,
            max(case when s.name = 'group-max-active' then convert_from(s.value, 'UTF8') end)::integer as group_most,
            {{rate('group-rate', 'group-rate-period')}} as group_rate,
            max(case when s.name = 'group-rate-burst' then convert_from(s.value, 'UTF8') end)::integer as group_burst
        from pgdisque.queue_setting as s
        where s.queue_id = any (array[:queue_id])
          and s.name in ('group-max-active', 'group-rate', 'group-rate-burst', 'group-rate-period', 'max-active',
              'per-group', 'rate', 'rate-burst', 'rate-period')
    ) as v
) as w
