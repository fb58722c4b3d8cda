-- Reads for how many standbys a commit waits, how many synchronous standbys are connected, and the setting
-- fsync. Without membership in pg_read_all_stats the state of standbys is hidden: connected is null then.
-- returns: required, connected, fsync
select
    case
        when current_setting('max_wal_senders')::integer = 0 or trim(n.names) = '' then 0
        else coalesce(substring(n.names from '(?i)^\s*(?:(?:first|any)\s+)?(\d+)\s*[(]')::integer, 1)
    end as required,
    case when s.hidden = 0 then s.synchronous end as connected,
    current_setting('fsync')::boolean as fsync
from (select current_setting('synchronous_standby_names')) as n (names),
    (select
         count(*) filter (where r.state is null)::integer,
         count(*) filter (where r.state = 'streaming' and r.sync_state in ('sync', 'quorum'))::integer
     from pg_stat_replication as r) as s (hidden, synchronous)
