-- Replication slots without a reader keep the write-ahead log. Slots with an old xmin also hold back vacuum.
-- params: $1 patience (seconds)
select
    'warning' as severity,
    case
        when s.active then format('vacuum is held back by the replication slot "%s": a query behind it is %s '
                                  'transactions old', s.slot_name, age(s.xmin))
        else format('no client reads the replication slot "%s": it keeps %s of write-ahead log%s%s', s.slot_name,
                    coalesce(pg_size_pretty(pg_wal_lsn_diff(pg_current_wal_lsn(), s.restart_lsn)), 'none'),
                    case l.megabytes when -1 then ', without a limit' else '' end,
                    case
                        when s.xmin is not null then format(', and holds back vacuum by %s transactions', age(s.xmin))
                        else ''
                    end)
    end as finding,
    case
        when s.active then 'end the long query on the standby, or switch hot_standby_feedback off there'
        else format('bring its reader back, or: select pg_drop_replication_slot(%L)%s', s.slot_name,
                    case l.megabytes when -1 then '; limit what slots keep with max_slot_wal_keep_size' else '' end)
    end as advice
from pg_replication_slots as s,
    (select r.setting::integer from pg_settings as r where r.name = 'max_slot_wal_keep_size') as l (megabytes)
where not s.active and (s.restart_lsn is not null or s.xmin is not null)
   or s.active and age(s.xmin) > $1::double precision * 1000
order by s.restart_lsn
limit 10
