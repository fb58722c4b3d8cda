-- Missing synchronous standbys for which commits wait. If this role may not see which standbys are synchronous,
-- all connected standbys count.
with configured as (
    select
        trim(n.names) as names,
        case
            when current_setting('max_wal_senders')::integer = 0 or trim(n.names) = '' then 0
            else coalesce(substring(n.names from '(?i)^\s*(?:(?:first|any)\s+)?(\d+)\s*[(]')::integer, 1)
        end as required
    from (select current_setting('synchronous_standby_names')) as n (names)
),
connected as (
    select
        count(*) filter (
            where r.state is null or r.state = 'streaming' and r.sync_state in ('sync', 'quorum')
        ) as count
    from pg_stat_replication as r
),
named as (
    select trim(both ' "' from m.name) as name
    from configured as c,
        unnest(string_to_array(
            regexp_replace(c.names, '^\s*(?:(?:first|any)\s+)?(?:\d+\s*)?[(]?|[)]\s*$', '', 'gi'), ',')) as m (name)
    where c.required > 0
)
select
    'error' as severity,
    format('commits wait for %s synchronous standbys, and %s are connected: every change stands still',
        c.required, s.count)
        as finding,
    'bring the standby back, or take it out of synchronous_standby_names (and reload), which gives up what it is for'
        as advice
from configured as c,
    connected as s
where s.count < c.required
union all
select
    'warning',
    format('the standby "%s" of synchronous_standby_names is not connected', m.name),
    'bring it back: when as many others fail as are still there, commits stand still'
from named as m,
    configured as c,
    connected as s
where s.count >= c.required
  and m.name <> '*'
  and not exists (select from pg_stat_replication as r where lower(r.application_name) = lower(m.name))
