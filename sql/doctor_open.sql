-- Begins the doctor's session, after session.sql. Sets short timeouts, and reads the facts that the checks
-- depend on.
-- returns: pid, clock (microseconds since 1970), standby, tables (of schema pgdisque, between commas), sees_all, role
select
    pg_backend_pid() as pid,
    (extract(epoch from clock_timestamp()) * 1000000)::bigint as clock,
    pg_is_in_recovery() as standby,
    ',' || coalesce((
        select string_agg(c.relname, ',')
        from pg_class as c
        where c.relnamespace = to_regnamespace('pgdisque')
          and c.relkind in ('r', 'p')
    ), '') || ',' as tables,
    pg_has_role('pg_read_all_stats', 'usage') as sees_all,
    current_user as role,
    set_config('statement_timeout', '2s', false),
    set_config('lock_timeout', '500ms', false)
