-- Checks whether connections run out. Each server needs four, and up to four more.
select
    'warning' as severity,
    format('%s of %s connections are in use', c.used, c.most) as finding,
    'raise max_connections, or find who holds them: select usename, application_name, count(*) from pg_stat_activity '
    'group by 1, 2' as advice
from (
    select
        (select count(*) from pg_stat_activity as a where a.datid is not null) as used,
        current_setting('max_connections')::integer
            - current_setting('superuser_reserved_connections')::integer as most
) as c
where c.used >= c.most * 0.9
   or c.most - c.used < 4
