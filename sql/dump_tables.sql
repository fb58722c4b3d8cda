-- Lists the tables of the schema.
-- returns: name, statement; the statement returns the number of rows, and a checksum that does not depend on the
-- order of the rows
select
    c.relname,
    format(
        'select count(*), coalesce(sum((''x'' || substr(md5(t::text), 1, 16))::bit(64)::bigint::numeric), 0) '
        'from pgdisque.%I as t',
        c.relname)
from pg_class as c
where c.relnamespace = to_regnamespace('pgdisque')
  and c.relkind = 'r'
order by c.relname
