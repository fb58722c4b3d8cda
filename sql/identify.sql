-- Identifies the cluster, and whether it is a standby. The timeline grows with each promotion.
-- returns: system, standby, timeline, started (microseconds since 1970); one row; timeline is null on a standby
select
    (select c.system_identifier from pg_catalog.pg_control_system() as c) as system,
    pg_catalog.pg_is_in_recovery() as standby,
    case
        when not pg_catalog.pg_is_in_recovery() then
            pg_catalog.concat(
                'x', pg_catalog.substr(pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_lsn()), 1, 8)
            )::bit(32)::bigint
    end as timeline,
    (extract(epoch from pg_catalog.pg_postmaster_start_time()) * 1000000)::bigint as started
