-- Harmful settings, as a session without settings of its own gets them.
-- params: $3 synchronous_commit (as the option durability requires it)
with now_set as (
    select
        max(s.reset_val) filter (where s.name = 'fsync') as fsync,
        max(s.reset_val) filter (where s.name = 'full_page_writes') as full_page_writes,
        max(s.reset_val) filter (where s.name = 'autovacuum') as autovacuum,
        max(s.reset_val) filter (where s.name = 'track_counts') as track_counts,
        max(s.reset_val) filter (where s.name = 'synchronous_commit') as synchronous_commit,
        max(s.reset_val) filter (where s.name = 'synchronous_standby_names') as standbys,
        max(s.setting) filter (where s.name = 'server_version_num')::integer / 10000 as major
    from pg_settings as s
    where s.name in ('fsync', 'full_page_writes', 'autovacuum', 'track_counts', 'synchronous_commit',
                     'synchronous_standby_names', 'server_version_num')
)
select f.severity, f.finding, f.advice
from now_set as s,
    lateral (
        values
            (s.fsync = 'off', 'error', 'fsync is off: a crash of the machine loses jobs that were answered, '
                'or all of them',
             'fsync = on, and a reload'),
            (s.full_page_writes = 'off', 'error', 'full_page_writes is off: a crash of the machine can tear pages',
             'full_page_writes = on, and a reload'),
            (s.autovacuum = 'off', 'error', 'autovacuum is off: dead rows stay, and tables grow without an end',
             'autovacuum = on, and a reload'),
            (s.track_counts = 'off', 'error', 'track_counts is off: autovacuum does not know where it is needed',
             'track_counts = on, and a reload'),
            (s.synchronous_commit = 'off' and $3 <> 'off', 'warning',
             'synchronous_commit is off for this role: the server sets it to ' || $3 || ' for itself, but what '
             'applications do through SQL may be lost in a crash',
             'set synchronous_commit = on for the role, the database, or all'),
            (trim(s.standbys) <> '' and $3 in ('local', 'off'), 'note',
             'synchronous standbys are configured, but the option durability does not wait for them',
             'durability remote-flush, if jobs are to survive the loss of the primary'),
            (make_date(2012 + s.major, 11, 15) < current_date, 'note',
             format('PostgreSQL %s gets no corrections any more', s.major), 'upgrade to a newer major version')
    ) as f (applies, severity, finding, advice)
where f.applies
union all
select
    'error',
    format('autovacuum is off for %I.%I', n.nspname, c.relname),
    format(
        'alter table pgdisque.%I reset (autovacuum_enabled, toast.autovacuum_enabled)',
        coalesce(o.relname, c.relname)
    )
from pg_class as c
join pg_namespace as n on n.oid = c.relnamespace
left join pg_class as o on o.reltoastrelid = c.oid and c.relkind = 't'
where (n.nspname = 'pgdisque' or o.relnamespace = to_regnamespace('pgdisque'))
  and c.relkind in ('r', 't')
  and exists (
      select
      from pg_options_to_table(c.reloptions) as r
      where r.option_name = 'autovacuum_enabled' and r.option_value::boolean = false
  )
  -- The tables of retained jobs are emptied as a whole, so vacuum has nothing to do there.
  and not exists (
      select
      from pg_inherits as i
      where i.inhrelid = coalesce(o.oid, c.oid) and i.inhparent = to_regclass('pgdisque.retained')
  )
