-- Compares the version of the schema with that of this program.
-- params: $4 version (of this program's schema)
select
    case when v.version < $4::integer then 'warning' else 'note' end as severity,
    format('the schema in the database has version %s, that of this program is %s', v.version, $4) as finding,
    case
        when v.version < $4::integer then 'start a server of this version: it brings the schema up to date'
        else 'use the doctor of the newer version: this one does not know all that is there'
    end as advice
from (select max(m.version) from pgdisque.migration as m) as v (version)
where v.version <> $4::integer
