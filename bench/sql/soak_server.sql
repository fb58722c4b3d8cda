-- returns: position in the WAL, whether the snapshot is held, on what vacuum is busy, pids of the server's sessions
select
    pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0'),
    (select count(*) from pg_stat_activity as a where a.backend_xmin is not null and a.state = 'idle in transaction'),
    coalesce((select string_agg(v.relid::regclass::text, ' ') from pg_stat_progress_vacuum as v), '-'),
    (
        select string_agg(a.pid::text, ' ')
        from pg_stat_activity as a
        where a.application_name like 'pgdisque %'
    );
