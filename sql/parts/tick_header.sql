-- tick_header(headers, tick): the headers of a schedule, and the time of a tick
coalesce(:headers, '{}') || jsonb_build_object('tick', to_char(:tick at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'))
