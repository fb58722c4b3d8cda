-- The settings of a tool that makes or restores backups. The text of a row must be the same on all databases.
select pg_catalog.set_config(name, value, false)
from (values
    ('search_path', 'pg_catalog, pg_temp'),
    ('timezone', 'UTC'),
    ('datestyle', 'ISO, YMD'),
    ('intervalstyle', 'postgres'),
    ('bytea_output', 'hex'),
    ('extra_float_digits', '1'),
    ('statement_timeout', '0'),
    ('lock_timeout', '60000'),
    ('client_min_messages', 'warning')
) as setting (name, value)
