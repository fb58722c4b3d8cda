-- Which text of api/ was run last, in this schema: one that was restored from a dump may lack roles and rights.
-- returns: digest, or no row
select a.digest
from pgdisque.api as a
where a.schema = pg_catalog.to_regnamespace('pgdisque');
