-- Settings of every connection. They make one plan per statement, by the keys, independent of statistics.
-- returns: one row, which is not read
select
    pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', false),
    pg_catalog.set_config('default_transaction_isolation', 'read committed', false),
    pg_catalog.set_config('client_min_messages', 'warning', false),
    pg_catalog.set_config('plan_cache_mode', 'force_generic_plan', false),
    pg_catalog.set_config('enable_seqscan', 'off', false),
    pg_catalog.set_config('enable_bitmapscan', 'off', false),
    pg_catalog.set_config('enable_hashjoin', 'off', false),
    pg_catalog.set_config('enable_mergejoin', 'off', false),
    pg_catalog.set_config('enable_material', 'off', false),
    pg_catalog.set_config('enable_memoize', 'off', false),
    pg_catalog.set_config('jit', 'off', false),
    pg_catalog.set_config('bytea_output', 'hex', false),
    pg_catalog.set_config('timezone', 'UTC', false),
    pg_catalog.set_config('idle_in_transaction_session_timeout', '60s', false),
    pg_catalog.set_config('statement_timeout', '0', false),
    -- A statement that waits longer than this for a lock is sent again, apart from the other statements.
    pg_catalog.set_config('lock_timeout', '25ms', false)
