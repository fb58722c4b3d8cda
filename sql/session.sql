-- Settings of every connection of ours. One plan per statement, by the keys, whatever the statistics say.
-- returns: one row that nobody reads
select
    set_config('search_path', 'pg_catalog, pg_temp', false),
    set_config('default_transaction_isolation', 'read committed', false),
    set_config('client_min_messages', 'warning', false),
    set_config('plan_cache_mode', 'force_generic_plan', false),
    set_config('enable_seqscan', 'off', false),
    set_config('enable_bitmapscan', 'off', false),
    set_config('enable_hashjoin', 'off', false),
    set_config('enable_mergejoin', 'off', false),
    set_config('enable_material', 'off', false),
    set_config('enable_memoize', 'off', false),
    set_config('jit', 'off', false),
    set_config('bytea_output', 'hex', false),
    set_config('timezone', 'UTC', false),
    set_config('idle_in_transaction_session_timeout', '60s', false),
    set_config('statement_timeout', '0', false),
    set_config('lock_timeout', '0', false)
