-- Prepared transactions hold back vacuum and keep their locks until they are ended, even over a restart.
-- params: $1 patience (seconds)
select
    'warning' as severity,
    format('vacuum is held back by the prepared transaction %L of %s, which is %s old', p.gid, p.owner,
           date_trunc('second', clock_timestamp() - p.prepared)) as finding,
    format('rollback prepared %L, or commit prepared, in database %I', p.gid, p.database) as advice
from pg_prepared_xacts as p
where p.database = current_database()
  and clock_timestamp() - p.prepared >= $1::double precision * interval '1 second'
order by p.prepared
limit 5
