-- Reads which text of api/ was run last in this schema. A schema that was restored from a dump may lack roles
-- and rights.
-- returns: digest, version; or no row
select a.digest, a.version
from pgdisque.api as a
where a.schema = to_regnamespace('pgdisque');
