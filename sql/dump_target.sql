-- Reasons against a restore into this database.
-- returns: reason, whether --replace permits it
select 'the database is a standby; name the primary', false
where pg_is_in_recovery()
union all
select format('%s sessions of a server use this database; stop the servers first', count(*)), false
from pg_stat_activity as a
where a.datname = current_database()
  and a.application_name ~ '^pgdisque [0-9a-f]{8} '
having count(*) > 0
union all
select 'the schema pgdisque_replaced of an earlier restore exists; check it and drop it', false
where to_regnamespace('pgdisque_replaced') is not null
union all
select 'the database has queues already; --replace deletes them', true
where to_regclass('pgdisque.queue') is not null
  and (xpath(
      '/row/n/text()', query_to_xml('select count(*) as n from pgdisque.queue', false, true, '')))[1]::text <> '0'
