-- Checkpoints that start because the log is full. Each makes Postgres write whole pages again. Checkpoints at a
-- shutdown or by an operator are counted too, but have little log. For version 17 and later.
select
    'warning' as severity,
    format('of %s checkpoints %s were asked for, most of them because max_wal_size (%s) was full: %s an hour since the '
           'figures were reset', c.requested + c.timed, c.requested, current_setting('max_wal_size'),
           round((c.requested / c.hours)::numeric, 1)) as finding,
    'raise max_wal_size until checkpoint_timeout comes first' as advice
from (
    select
        b.num_requested as requested,
        b.num_timed as timed,
        greatest(
            extract(epoch from clock_timestamp() - coalesce(b.stats_reset, pg_postmaster_start_time())), 3600
        ) / 3600
            as hours
    from pg_stat_checkpointer as b
) as c
cross join pg_stat_wal as w
where c.requested >= 12
  and c.requested > c.timed
  and c.requested / c.hours >= 12
  and w.wal_bytes >= c.requested * pg_size_bytes(current_setting('max_wal_size')) / 4
