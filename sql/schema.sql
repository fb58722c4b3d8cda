-- The schema that the migrations make. Written by `make schema`.

CREATE SCHEMA pgdisque;

CREATE TYPE pgdisque.changed_job AS (
	queue_id integer,
	rank smallint,
	id bigint,
	ready_at timestamp with time zone,
	wake_at timestamp with time zone,
	owner smallint,
	retry integer,
	last boolean,
	next_at timestamp with time zone
);

CREATE FUNCTION pgdisque.lease_ended(errors jsonb, ended_at timestamp with time zone, attempt integer) RETURNS jsonb
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    return case when jsonb_array_length(errors) >= 20 then errors - 0 else coalesce(errors, '[]') end
        || jsonb_build_object(
            'at', floor(1000 * extract(epoch from ended_at))::bigint, 'attempt', attempt,
            'error', 'the lease ended');
end
$$;

CREATE TABLE pgdisque.api (
    digest text NOT NULL,
    schema oid NOT NULL,
    only_row boolean DEFAULT true NOT NULL,
    version integer DEFAULT 0 NOT NULL,
    CONSTRAINT api_only_row_check CHECK (only_row)
);

CREATE TABLE pgdisque.batch (
    id bigint NOT NULL,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    closed_at timestamp with time zone,
    completed_at timestamp with time zone,
    failed_at timestamp with time zone,
    failure_id bigint NOT NULL,
    total bigint DEFAULT 0 NOT NULL,
    done bigint DEFAULT 0 NOT NULL,
    failed bigint DEFAULT 0 NOT NULL,
    cancelled bigint DEFAULT 0 NOT NULL,
    queue_id integer NOT NULL,
    retry integer NOT NULL,
    rank smallint DEFAULT 0 NOT NULL,
    failure_body bytea,
    success_id bigint,
    success_body bytea,
    succeeded_at timestamp with time zone,
    closes_at timestamp with time zone,
    is_expired boolean DEFAULT false NOT NULL,
    is_cancelled boolean DEFAULT false NOT NULL
)
WITH (fillfactor='50', autovacuum_vacuum_threshold='1000', autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_cost_delay='2', autovacuum_vacuum_cost_limit='500');

CREATE TABLE pgdisque.bucket (
    tokens double precision DEFAULT 0 NOT NULL,
    settled_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    queue_id integer NOT NULL
)
WITH (autovacuum_vacuum_threshold='1000', autovacuum_vacuum_scale_factor='0', fillfactor='20', autovacuum_vacuum_cost_delay='2', autovacuum_vacuum_cost_limit='500');

CREATE TABLE pgdisque.commit_marker (
    node smallint NOT NULL,
    transaction bigint NOT NULL
)
WITH (autovacuum_vacuum_scale_factor='0.02', autovacuum_vacuum_threshold='5000', autovacuum_vacuum_cost_delay='2', autovacuum_vacuum_cost_limit='500');

CREATE TABLE pgdisque.dead_job (
    id bigint NOT NULL,
    died_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    queue_id integer NOT NULL,
    retry integer NOT NULL,
    delay integer NOT NULL,
    deliveries integer NOT NULL,
    nacks integer NOT NULL,
    additional_deliveries integer NOT NULL,
    attempts integer,
    backoff integer,
    rank smallint NOT NULL,
    replicate smallint NOT NULL,
    error bytea,
    unique_key bytea,
    body bytea NOT NULL,
    headers jsonb,
    progress jsonb,
    errors jsonb,
    sorted_set text
)
WITH (vacuum_truncate=off, autovacuum_vacuum_scale_factor='0.1', toast.vacuum_truncate=off);
ALTER TABLE ONLY pgdisque.dead_job ALTER COLUMN body SET COMPRESSION lz4;

CREATE TABLE pgdisque.deadqueue_graph (
    version bigint DEFAULT 0 NOT NULL,
    only_row boolean DEFAULT true NOT NULL,
    CONSTRAINT deadqueue_graph_only_row_check CHECK (only_row)
)
WITH (fillfactor='50', autovacuum_vacuum_threshold='1000');

CREATE TABLE pgdisque.dependency (
    predecessor_id bigint NOT NULL,
    successor_id bigint NOT NULL,
    is_counted boolean DEFAULT false NOT NULL,
    holds boolean DEFAULT false NOT NULL
)
WITH (fillfactor='70', autovacuum_vacuum_threshold='5000', autovacuum_vacuum_scale_factor='0.05', autovacuum_vacuum_cost_delay='2', autovacuum_vacuum_cost_limit='500');

CREATE TABLE pgdisque.flow_job (
    id bigint NOT NULL,
    batch_id bigint,
    ended_at timestamp with time zone,
    expires_at timestamp with time zone NOT NULL,
    retry integer NOT NULL,
    queue_id integer NOT NULL,
    turn integer DEFAULT 0 NOT NULL,
    rank smallint NOT NULL,
    outcome smallint,
    is_settled boolean DEFAULT false NOT NULL,
    result bytea,
    after_failure boolean DEFAULT false NOT NULL
)
WITH (fillfactor='70', autovacuum_vacuum_threshold='5000', autovacuum_vacuum_scale_factor='0.05', autovacuum_vacuum_cost_delay='2', autovacuum_vacuum_cost_limit='500');

CREATE TABLE pgdisque.job (
    id bigint NOT NULL,
    ready_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    wake_at timestamp with time zone,
    leased_at timestamp with time zone,
    unique_until timestamp with time zone,
    own_expires_at timestamp with time zone,
    queue_id integer NOT NULL,
    retry integer NOT NULL,
    delay integer DEFAULT 0 NOT NULL,
    deliveries integer DEFAULT 0 NOT NULL,
    nacks integer DEFAULT 0 NOT NULL,
    additional_deliveries integer DEFAULT 0 NOT NULL,
    attempts integer,
    backoff integer,
    slot integer,
    rank smallint DEFAULT 0 NOT NULL,
    replicate smallint DEFAULT 1 NOT NULL,
    owner smallint,
    body bytea NOT NULL,
    unique_key bytea,
    group_key bytea,
    deadqueue bytea,
    error bytea,
    worker text,
    headers jsonb,
    progress jsonb,
    errors jsonb,
    sorted_set text,
    in_flow boolean,
    unique_start boolean
)
WITH (fillfactor='50', vacuum_truncate=off, autovacuum_vacuum_scale_factor='0.02', autovacuum_vacuum_threshold='5000', autovacuum_vacuum_insert_scale_factor='0.2', autovacuum_vacuum_cost_delay='2', autovacuum_vacuum_cost_limit='500', toast.vacuum_truncate=off);
ALTER TABLE ONLY pgdisque.job ALTER COLUMN body SET COMPRESSION lz4;

CREATE TABLE pgdisque.job_group (
    id bigint,
    turn bigint DEFAULT 0 NOT NULL,
    used_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    tokens double precision,
    settled_at timestamp with time zone,
    next_at timestamp with time zone,
    queue_id integer NOT NULL,
    rank smallint,
    key bytea NOT NULL,
    ranks smallint[],
    ids bigint[]
)
WITH (fillfactor='50', autovacuum_vacuum_threshold='1000', autovacuum_vacuum_scale_factor='0.1', autovacuum_vacuum_cost_delay='2', autovacuum_vacuum_cost_limit='500');

CREATE TABLE pgdisque.library_value (
    expires_at timestamp with time zone DEFAULT 'infinity'::timestamp with time zone NOT NULL,
    key bytea NOT NULL,
    field bytea NOT NULL,
    value bytea NOT NULL
)
WITH (fillfactor='50', autovacuum_vacuum_threshold='1000', autovacuum_vacuum_scale_factor='0.1', autovacuum_vacuum_cost_delay='2', autovacuum_vacuum_cost_limit='500');

CREATE TABLE pgdisque.migration (
    version integer NOT NULL,
    name text NOT NULL,
    breaking boolean NOT NULL,
    applied_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE pgdisque.node (
    number smallint NOT NULL,
    id text NOT NULL,
    addr text DEFAULT ''::text NOT NULL,
    port integer DEFAULT 0 NOT NULL,
    started_at timestamp with time zone DEFAULT now() NOT NULL,
    seen_at timestamp with time zone DEFAULT now() NOT NULL,
    left_at timestamp with time zone,
    leaving boolean DEFAULT false NOT NULL,
    CONSTRAINT node_id_check CHECK ((id ~ '^[0-9a-f]{40}$'::text)),
    CONSTRAINT node_number_check CHECK (((number >= 1) AND (number <= 1023)))
)
WITH (fillfactor='50');

CREATE SEQUENCE pgdisque.node_run
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

CREATE TABLE pgdisque.queue (
    id integer NOT NULL,
    name bytea NOT NULL,
    pause smallint DEFAULT 0 NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    consume_end smallint,
    CONSTRAINT queue_consume_end_check CHECK ((consume_end = ANY (ARRAY[1, 2]))),
    CONSTRAINT queue_pause_check CHECK (((pause >= 0) AND (pause <= 3)))
);

CREATE TABLE pgdisque.queue_counter (
    queue_id integer NOT NULL,
    jobs_in bigint DEFAULT 0 NOT NULL,
    jobs_out bigint DEFAULT 0 NOT NULL
)
WITH (fillfactor='50');

CREATE TABLE pgdisque.queue_grant (
    role text NOT NULL,
    pattern text NOT NULL,
    name_like bytea NOT NULL,
    can_read boolean NOT NULL,
    can_write boolean NOT NULL,
    CONSTRAINT queue_grant_check CHECK ((can_read OR can_write))
);

ALTER TABLE pgdisque.queue ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME pgdisque.queue_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE pgdisque.queue_setting (
    queue_id integer NOT NULL,
    name text NOT NULL,
    value bytea NOT NULL
);

CREATE TABLE pgdisque.retained (
    id bigint NOT NULL,
    finished_at timestamp with time zone NOT NULL,
    keep_until timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    queue_id integer NOT NULL,
    retry integer NOT NULL,
    delay integer NOT NULL,
    deliveries integer NOT NULL,
    nacks integer NOT NULL,
    additional_deliveries integer NOT NULL,
    rank smallint NOT NULL,
    replicate smallint NOT NULL,
    bucket smallint NOT NULL,
    node smallint NOT NULL,
    worker text NOT NULL,
    error bytea,
    result bytea,
    body bytea NOT NULL,
    headers jsonb,
    progress jsonb,
    errors jsonb
)
PARTITION BY LIST (bucket);
ALTER TABLE ONLY pgdisque.retained ALTER COLUMN result SET COMPRESSION lz4;
ALTER TABLE ONLY pgdisque.retained ALTER COLUMN body SET COMPRESSION lz4;

CREATE TABLE pgdisque.retained_0 (
    id bigint NOT NULL,
    finished_at timestamp with time zone NOT NULL,
    keep_until timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    queue_id integer NOT NULL,
    retry integer NOT NULL,
    delay integer NOT NULL,
    deliveries integer NOT NULL,
    nacks integer NOT NULL,
    additional_deliveries integer NOT NULL,
    rank smallint NOT NULL,
    replicate smallint NOT NULL,
    bucket smallint NOT NULL,
    node smallint NOT NULL,
    worker text NOT NULL,
    error bytea,
    result bytea,
    body bytea NOT NULL,
    headers jsonb,
    progress jsonb,
    errors jsonb
)
WITH (autovacuum_enabled=off, toast.autovacuum_enabled=off);
ALTER TABLE ONLY pgdisque.retained_0 ALTER COLUMN result SET COMPRESSION lz4;
ALTER TABLE ONLY pgdisque.retained_0 ALTER COLUMN body SET COMPRESSION lz4;

CREATE TABLE pgdisque.retained_1 (
    id bigint NOT NULL,
    finished_at timestamp with time zone NOT NULL,
    keep_until timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    queue_id integer NOT NULL,
    retry integer NOT NULL,
    delay integer NOT NULL,
    deliveries integer NOT NULL,
    nacks integer NOT NULL,
    additional_deliveries integer NOT NULL,
    rank smallint NOT NULL,
    replicate smallint NOT NULL,
    bucket smallint NOT NULL,
    node smallint NOT NULL,
    worker text NOT NULL,
    error bytea,
    result bytea,
    body bytea NOT NULL,
    headers jsonb,
    progress jsonb,
    errors jsonb
)
WITH (autovacuum_enabled=off, toast.autovacuum_enabled=off);
ALTER TABLE ONLY pgdisque.retained_1 ALTER COLUMN result SET COMPRESSION lz4;
ALTER TABLE ONLY pgdisque.retained_1 ALTER COLUMN body SET COMPRESSION lz4;

CREATE TABLE pgdisque.retained_10 (
    id bigint NOT NULL,
    finished_at timestamp with time zone NOT NULL,
    keep_until timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    queue_id integer NOT NULL,
    retry integer NOT NULL,
    delay integer NOT NULL,
    deliveries integer NOT NULL,
    nacks integer NOT NULL,
    additional_deliveries integer NOT NULL,
    rank smallint NOT NULL,
    replicate smallint NOT NULL,
    bucket smallint NOT NULL,
    node smallint NOT NULL,
    worker text NOT NULL,
    error bytea,
    result bytea,
    body bytea NOT NULL,
    headers jsonb,
    progress jsonb,
    errors jsonb
)
WITH (autovacuum_enabled=off, toast.autovacuum_enabled=off);
ALTER TABLE ONLY pgdisque.retained_10 ALTER COLUMN result SET COMPRESSION lz4;
ALTER TABLE ONLY pgdisque.retained_10 ALTER COLUMN body SET COMPRESSION lz4;

CREATE TABLE pgdisque.retained_11 (
    id bigint NOT NULL,
    finished_at timestamp with time zone NOT NULL,
    keep_until timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    queue_id integer NOT NULL,
    retry integer NOT NULL,
    delay integer NOT NULL,
    deliveries integer NOT NULL,
    nacks integer NOT NULL,
    additional_deliveries integer NOT NULL,
    rank smallint NOT NULL,
    replicate smallint NOT NULL,
    bucket smallint NOT NULL,
    node smallint NOT NULL,
    worker text NOT NULL,
    error bytea,
    result bytea,
    body bytea NOT NULL,
    headers jsonb,
    progress jsonb,
    errors jsonb
)
WITH (autovacuum_enabled=off, toast.autovacuum_enabled=off);
ALTER TABLE ONLY pgdisque.retained_11 ALTER COLUMN result SET COMPRESSION lz4;
ALTER TABLE ONLY pgdisque.retained_11 ALTER COLUMN body SET COMPRESSION lz4;

CREATE TABLE pgdisque.retained_12 (
    id bigint NOT NULL,
    finished_at timestamp with time zone NOT NULL,
    keep_until timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    queue_id integer NOT NULL,
    retry integer NOT NULL,
    delay integer NOT NULL,
    deliveries integer NOT NULL,
    nacks integer NOT NULL,
    additional_deliveries integer NOT NULL,
    rank smallint NOT NULL,
    replicate smallint NOT NULL,
    bucket smallint NOT NULL,
    node smallint NOT NULL,
    worker text NOT NULL,
    error bytea,
    result bytea,
    body bytea NOT NULL,
    headers jsonb,
    progress jsonb,
    errors jsonb
)
WITH (autovacuum_enabled=off, toast.autovacuum_enabled=off);
ALTER TABLE ONLY pgdisque.retained_12 ALTER COLUMN result SET COMPRESSION lz4;
ALTER TABLE ONLY pgdisque.retained_12 ALTER COLUMN body SET COMPRESSION lz4;

CREATE TABLE pgdisque.retained_13 (
    id bigint NOT NULL,
    finished_at timestamp with time zone NOT NULL,
    keep_until timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    queue_id integer NOT NULL,
    retry integer NOT NULL,
    delay integer NOT NULL,
    deliveries integer NOT NULL,
    nacks integer NOT NULL,
    additional_deliveries integer NOT NULL,
    rank smallint NOT NULL,
    replicate smallint NOT NULL,
    bucket smallint NOT NULL,
    node smallint NOT NULL,
    worker text NOT NULL,
    error bytea,
    result bytea,
    body bytea NOT NULL,
    headers jsonb,
    progress jsonb,
    errors jsonb
)
WITH (autovacuum_enabled=off, toast.autovacuum_enabled=off);
ALTER TABLE ONLY pgdisque.retained_13 ALTER COLUMN result SET COMPRESSION lz4;
ALTER TABLE ONLY pgdisque.retained_13 ALTER COLUMN body SET COMPRESSION lz4;

CREATE TABLE pgdisque.retained_14 (
    id bigint NOT NULL,
    finished_at timestamp with time zone NOT NULL,
    keep_until timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    queue_id integer NOT NULL,
    retry integer NOT NULL,
    delay integer NOT NULL,
    deliveries integer NOT NULL,
    nacks integer NOT NULL,
    additional_deliveries integer NOT NULL,
    rank smallint NOT NULL,
    replicate smallint NOT NULL,
    bucket smallint NOT NULL,
    node smallint NOT NULL,
    worker text NOT NULL,
    error bytea,
    result bytea,
    body bytea NOT NULL,
    headers jsonb,
    progress jsonb,
    errors jsonb
)
WITH (autovacuum_enabled=off, toast.autovacuum_enabled=off);
ALTER TABLE ONLY pgdisque.retained_14 ALTER COLUMN result SET COMPRESSION lz4;
ALTER TABLE ONLY pgdisque.retained_14 ALTER COLUMN body SET COMPRESSION lz4;

CREATE TABLE pgdisque.retained_15 (
    id bigint NOT NULL,
    finished_at timestamp with time zone NOT NULL,
    keep_until timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    queue_id integer NOT NULL,
    retry integer NOT NULL,
    delay integer NOT NULL,
    deliveries integer NOT NULL,
    nacks integer NOT NULL,
    additional_deliveries integer NOT NULL,
    rank smallint NOT NULL,
    replicate smallint NOT NULL,
    bucket smallint NOT NULL,
    node smallint NOT NULL,
    worker text NOT NULL,
    error bytea,
    result bytea,
    body bytea NOT NULL,
    headers jsonb,
    progress jsonb,
    errors jsonb
)
WITH (autovacuum_enabled=off, toast.autovacuum_enabled=off);
ALTER TABLE ONLY pgdisque.retained_15 ALTER COLUMN result SET COMPRESSION lz4;
ALTER TABLE ONLY pgdisque.retained_15 ALTER COLUMN body SET COMPRESSION lz4;

CREATE TABLE pgdisque.retained_16 (
    id bigint NOT NULL,
    finished_at timestamp with time zone NOT NULL,
    keep_until timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    queue_id integer NOT NULL,
    retry integer NOT NULL,
    delay integer NOT NULL,
    deliveries integer NOT NULL,
    nacks integer NOT NULL,
    additional_deliveries integer NOT NULL,
    rank smallint NOT NULL,
    replicate smallint NOT NULL,
    bucket smallint NOT NULL,
    node smallint NOT NULL,
    worker text NOT NULL,
    error bytea,
    result bytea,
    body bytea NOT NULL,
    headers jsonb,
    progress jsonb,
    errors jsonb
)
WITH (autovacuum_enabled=off, toast.autovacuum_enabled=off);
ALTER TABLE ONLY pgdisque.retained_16 ALTER COLUMN result SET COMPRESSION lz4;
ALTER TABLE ONLY pgdisque.retained_16 ALTER COLUMN body SET COMPRESSION lz4;

CREATE TABLE pgdisque.retained_17 (
    id bigint NOT NULL,
    finished_at timestamp with time zone NOT NULL,
    keep_until timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    queue_id integer NOT NULL,
    retry integer NOT NULL,
    delay integer NOT NULL,
    deliveries integer NOT NULL,
    nacks integer NOT NULL,
    additional_deliveries integer NOT NULL,
    rank smallint NOT NULL,
    replicate smallint NOT NULL,
    bucket smallint NOT NULL,
    node smallint NOT NULL,
    worker text NOT NULL,
    error bytea,
    result bytea,
    body bytea NOT NULL,
    headers jsonb,
    progress jsonb,
    errors jsonb
)
WITH (autovacuum_enabled=off, toast.autovacuum_enabled=off);
ALTER TABLE ONLY pgdisque.retained_17 ALTER COLUMN result SET COMPRESSION lz4;
ALTER TABLE ONLY pgdisque.retained_17 ALTER COLUMN body SET COMPRESSION lz4;

CREATE TABLE pgdisque.retained_18 (
    id bigint NOT NULL,
    finished_at timestamp with time zone NOT NULL,
    keep_until timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    queue_id integer NOT NULL,
    retry integer NOT NULL,
    delay integer NOT NULL,
    deliveries integer NOT NULL,
    nacks integer NOT NULL,
    additional_deliveries integer NOT NULL,
    rank smallint NOT NULL,
    replicate smallint NOT NULL,
    bucket smallint NOT NULL,
    node smallint NOT NULL,
    worker text NOT NULL,
    error bytea,
    result bytea,
    body bytea NOT NULL,
    headers jsonb,
    progress jsonb,
    errors jsonb
)
WITH (autovacuum_enabled=off, toast.autovacuum_enabled=off);
ALTER TABLE ONLY pgdisque.retained_18 ALTER COLUMN result SET COMPRESSION lz4;
ALTER TABLE ONLY pgdisque.retained_18 ALTER COLUMN body SET COMPRESSION lz4;

CREATE TABLE pgdisque.retained_19 (
    id bigint NOT NULL,
    finished_at timestamp with time zone NOT NULL,
    keep_until timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    queue_id integer NOT NULL,
    retry integer NOT NULL,
    delay integer NOT NULL,
    deliveries integer NOT NULL,
    nacks integer NOT NULL,
    additional_deliveries integer NOT NULL,
    rank smallint NOT NULL,
    replicate smallint NOT NULL,
    bucket smallint NOT NULL,
    node smallint NOT NULL,
    worker text NOT NULL,
    error bytea,
    result bytea,
    body bytea NOT NULL,
    headers jsonb,
    progress jsonb,
    errors jsonb
)
WITH (autovacuum_enabled=off, toast.autovacuum_enabled=off);
ALTER TABLE ONLY pgdisque.retained_19 ALTER COLUMN result SET COMPRESSION lz4;
ALTER TABLE ONLY pgdisque.retained_19 ALTER COLUMN body SET COMPRESSION lz4;

CREATE TABLE pgdisque.retained_2 (
    id bigint NOT NULL,
    finished_at timestamp with time zone NOT NULL,
    keep_until timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    queue_id integer NOT NULL,
    retry integer NOT NULL,
    delay integer NOT NULL,
    deliveries integer NOT NULL,
    nacks integer NOT NULL,
    additional_deliveries integer NOT NULL,
    rank smallint NOT NULL,
    replicate smallint NOT NULL,
    bucket smallint NOT NULL,
    node smallint NOT NULL,
    worker text NOT NULL,
    error bytea,
    result bytea,
    body bytea NOT NULL,
    headers jsonb,
    progress jsonb,
    errors jsonb
)
WITH (autovacuum_enabled=off, toast.autovacuum_enabled=off);
ALTER TABLE ONLY pgdisque.retained_2 ALTER COLUMN result SET COMPRESSION lz4;
ALTER TABLE ONLY pgdisque.retained_2 ALTER COLUMN body SET COMPRESSION lz4;

CREATE TABLE pgdisque.retained_20 (
    id bigint NOT NULL,
    finished_at timestamp with time zone NOT NULL,
    keep_until timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    queue_id integer NOT NULL,
    retry integer NOT NULL,
    delay integer NOT NULL,
    deliveries integer NOT NULL,
    nacks integer NOT NULL,
    additional_deliveries integer NOT NULL,
    rank smallint NOT NULL,
    replicate smallint NOT NULL,
    bucket smallint NOT NULL,
    node smallint NOT NULL,
    worker text NOT NULL,
    error bytea,
    result bytea,
    body bytea NOT NULL,
    headers jsonb,
    progress jsonb,
    errors jsonb
)
WITH (autovacuum_enabled=off, toast.autovacuum_enabled=off);
ALTER TABLE ONLY pgdisque.retained_20 ALTER COLUMN result SET COMPRESSION lz4;
ALTER TABLE ONLY pgdisque.retained_20 ALTER COLUMN body SET COMPRESSION lz4;

CREATE TABLE pgdisque.retained_21 (
    id bigint NOT NULL,
    finished_at timestamp with time zone NOT NULL,
    keep_until timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    queue_id integer NOT NULL,
    retry integer NOT NULL,
    delay integer NOT NULL,
    deliveries integer NOT NULL,
    nacks integer NOT NULL,
    additional_deliveries integer NOT NULL,
    rank smallint NOT NULL,
    replicate smallint NOT NULL,
    bucket smallint NOT NULL,
    node smallint NOT NULL,
    worker text NOT NULL,
    error bytea,
    result bytea,
    body bytea NOT NULL,
    headers jsonb,
    progress jsonb,
    errors jsonb
)
WITH (autovacuum_enabled=off, toast.autovacuum_enabled=off);
ALTER TABLE ONLY pgdisque.retained_21 ALTER COLUMN result SET COMPRESSION lz4;
ALTER TABLE ONLY pgdisque.retained_21 ALTER COLUMN body SET COMPRESSION lz4;

CREATE TABLE pgdisque.retained_22 (
    id bigint NOT NULL,
    finished_at timestamp with time zone NOT NULL,
    keep_until timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    queue_id integer NOT NULL,
    retry integer NOT NULL,
    delay integer NOT NULL,
    deliveries integer NOT NULL,
    nacks integer NOT NULL,
    additional_deliveries integer NOT NULL,
    rank smallint NOT NULL,
    replicate smallint NOT NULL,
    bucket smallint NOT NULL,
    node smallint NOT NULL,
    worker text NOT NULL,
    error bytea,
    result bytea,
    body bytea NOT NULL,
    headers jsonb,
    progress jsonb,
    errors jsonb
)
WITH (autovacuum_enabled=off, toast.autovacuum_enabled=off);
ALTER TABLE ONLY pgdisque.retained_22 ALTER COLUMN result SET COMPRESSION lz4;
ALTER TABLE ONLY pgdisque.retained_22 ALTER COLUMN body SET COMPRESSION lz4;

CREATE TABLE pgdisque.retained_23 (
    id bigint NOT NULL,
    finished_at timestamp with time zone NOT NULL,
    keep_until timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    queue_id integer NOT NULL,
    retry integer NOT NULL,
    delay integer NOT NULL,
    deliveries integer NOT NULL,
    nacks integer NOT NULL,
    additional_deliveries integer NOT NULL,
    rank smallint NOT NULL,
    replicate smallint NOT NULL,
    bucket smallint NOT NULL,
    node smallint NOT NULL,
    worker text NOT NULL,
    error bytea,
    result bytea,
    body bytea NOT NULL,
    headers jsonb,
    progress jsonb,
    errors jsonb
)
WITH (autovacuum_enabled=off, toast.autovacuum_enabled=off);
ALTER TABLE ONLY pgdisque.retained_23 ALTER COLUMN result SET COMPRESSION lz4;
ALTER TABLE ONLY pgdisque.retained_23 ALTER COLUMN body SET COMPRESSION lz4;

CREATE TABLE pgdisque.retained_24 (
    id bigint NOT NULL,
    finished_at timestamp with time zone NOT NULL,
    keep_until timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    queue_id integer NOT NULL,
    retry integer NOT NULL,
    delay integer NOT NULL,
    deliveries integer NOT NULL,
    nacks integer NOT NULL,
    additional_deliveries integer NOT NULL,
    rank smallint NOT NULL,
    replicate smallint NOT NULL,
    bucket smallint NOT NULL,
    node smallint NOT NULL,
    worker text NOT NULL,
    error bytea,
    result bytea,
    body bytea NOT NULL,
    headers jsonb,
    progress jsonb,
    errors jsonb
)
WITH (autovacuum_enabled=off, toast.autovacuum_enabled=off);
ALTER TABLE ONLY pgdisque.retained_24 ALTER COLUMN result SET COMPRESSION lz4;
ALTER TABLE ONLY pgdisque.retained_24 ALTER COLUMN body SET COMPRESSION lz4;

CREATE TABLE pgdisque.retained_25 (
    id bigint NOT NULL,
    finished_at timestamp with time zone NOT NULL,
    keep_until timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    queue_id integer NOT NULL,
    retry integer NOT NULL,
    delay integer NOT NULL,
    deliveries integer NOT NULL,
    nacks integer NOT NULL,
    additional_deliveries integer NOT NULL,
    rank smallint NOT NULL,
    replicate smallint NOT NULL,
    bucket smallint NOT NULL,
    node smallint NOT NULL,
    worker text NOT NULL,
    error bytea,
    result bytea,
    body bytea NOT NULL,
    headers jsonb,
    progress jsonb,
    errors jsonb
)
WITH (autovacuum_enabled=off, toast.autovacuum_enabled=off);
ALTER TABLE ONLY pgdisque.retained_25 ALTER COLUMN result SET COMPRESSION lz4;
ALTER TABLE ONLY pgdisque.retained_25 ALTER COLUMN body SET COMPRESSION lz4;

CREATE TABLE pgdisque.retained_26 (
    id bigint NOT NULL,
    finished_at timestamp with time zone NOT NULL,
    keep_until timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    queue_id integer NOT NULL,
    retry integer NOT NULL,
    delay integer NOT NULL,
    deliveries integer NOT NULL,
    nacks integer NOT NULL,
    additional_deliveries integer NOT NULL,
    rank smallint NOT NULL,
    replicate smallint NOT NULL,
    bucket smallint NOT NULL,
    node smallint NOT NULL,
    worker text NOT NULL,
    error bytea,
    result bytea,
    body bytea NOT NULL,
    headers jsonb,
    progress jsonb,
    errors jsonb
)
WITH (autovacuum_enabled=off, toast.autovacuum_enabled=off);
ALTER TABLE ONLY pgdisque.retained_26 ALTER COLUMN result SET COMPRESSION lz4;
ALTER TABLE ONLY pgdisque.retained_26 ALTER COLUMN body SET COMPRESSION lz4;

CREATE TABLE pgdisque.retained_27 (
    id bigint NOT NULL,
    finished_at timestamp with time zone NOT NULL,
    keep_until timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    queue_id integer NOT NULL,
    retry integer NOT NULL,
    delay integer NOT NULL,
    deliveries integer NOT NULL,
    nacks integer NOT NULL,
    additional_deliveries integer NOT NULL,
    rank smallint NOT NULL,
    replicate smallint NOT NULL,
    bucket smallint NOT NULL,
    node smallint NOT NULL,
    worker text NOT NULL,
    error bytea,
    result bytea,
    body bytea NOT NULL,
    headers jsonb,
    progress jsonb,
    errors jsonb
)
WITH (autovacuum_enabled=off, toast.autovacuum_enabled=off);
ALTER TABLE ONLY pgdisque.retained_27 ALTER COLUMN result SET COMPRESSION lz4;
ALTER TABLE ONLY pgdisque.retained_27 ALTER COLUMN body SET COMPRESSION lz4;

CREATE TABLE pgdisque.retained_3 (
    id bigint NOT NULL,
    finished_at timestamp with time zone NOT NULL,
    keep_until timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    queue_id integer NOT NULL,
    retry integer NOT NULL,
    delay integer NOT NULL,
    deliveries integer NOT NULL,
    nacks integer NOT NULL,
    additional_deliveries integer NOT NULL,
    rank smallint NOT NULL,
    replicate smallint NOT NULL,
    bucket smallint NOT NULL,
    node smallint NOT NULL,
    worker text NOT NULL,
    error bytea,
    result bytea,
    body bytea NOT NULL,
    headers jsonb,
    progress jsonb,
    errors jsonb
)
WITH (autovacuum_enabled=off, toast.autovacuum_enabled=off);
ALTER TABLE ONLY pgdisque.retained_3 ALTER COLUMN result SET COMPRESSION lz4;
ALTER TABLE ONLY pgdisque.retained_3 ALTER COLUMN body SET COMPRESSION lz4;

CREATE TABLE pgdisque.retained_4 (
    id bigint NOT NULL,
    finished_at timestamp with time zone NOT NULL,
    keep_until timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    queue_id integer NOT NULL,
    retry integer NOT NULL,
    delay integer NOT NULL,
    deliveries integer NOT NULL,
    nacks integer NOT NULL,
    additional_deliveries integer NOT NULL,
    rank smallint NOT NULL,
    replicate smallint NOT NULL,
    bucket smallint NOT NULL,
    node smallint NOT NULL,
    worker text NOT NULL,
    error bytea,
    result bytea,
    body bytea NOT NULL,
    headers jsonb,
    progress jsonb,
    errors jsonb
)
WITH (autovacuum_enabled=off, toast.autovacuum_enabled=off);
ALTER TABLE ONLY pgdisque.retained_4 ALTER COLUMN result SET COMPRESSION lz4;
ALTER TABLE ONLY pgdisque.retained_4 ALTER COLUMN body SET COMPRESSION lz4;

CREATE TABLE pgdisque.retained_5 (
    id bigint NOT NULL,
    finished_at timestamp with time zone NOT NULL,
    keep_until timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    queue_id integer NOT NULL,
    retry integer NOT NULL,
    delay integer NOT NULL,
    deliveries integer NOT NULL,
    nacks integer NOT NULL,
    additional_deliveries integer NOT NULL,
    rank smallint NOT NULL,
    replicate smallint NOT NULL,
    bucket smallint NOT NULL,
    node smallint NOT NULL,
    worker text NOT NULL,
    error bytea,
    result bytea,
    body bytea NOT NULL,
    headers jsonb,
    progress jsonb,
    errors jsonb
)
WITH (autovacuum_enabled=off, toast.autovacuum_enabled=off);
ALTER TABLE ONLY pgdisque.retained_5 ALTER COLUMN result SET COMPRESSION lz4;
ALTER TABLE ONLY pgdisque.retained_5 ALTER COLUMN body SET COMPRESSION lz4;

CREATE TABLE pgdisque.retained_6 (
    id bigint NOT NULL,
    finished_at timestamp with time zone NOT NULL,
    keep_until timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    queue_id integer NOT NULL,
    retry integer NOT NULL,
    delay integer NOT NULL,
    deliveries integer NOT NULL,
    nacks integer NOT NULL,
    additional_deliveries integer NOT NULL,
    rank smallint NOT NULL,
    replicate smallint NOT NULL,
    bucket smallint NOT NULL,
    node smallint NOT NULL,
    worker text NOT NULL,
    error bytea,
    result bytea,
    body bytea NOT NULL,
    headers jsonb,
    progress jsonb,
    errors jsonb
)
WITH (autovacuum_enabled=off, toast.autovacuum_enabled=off);
ALTER TABLE ONLY pgdisque.retained_6 ALTER COLUMN result SET COMPRESSION lz4;
ALTER TABLE ONLY pgdisque.retained_6 ALTER COLUMN body SET COMPRESSION lz4;

CREATE TABLE pgdisque.retained_7 (
    id bigint NOT NULL,
    finished_at timestamp with time zone NOT NULL,
    keep_until timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    queue_id integer NOT NULL,
    retry integer NOT NULL,
    delay integer NOT NULL,
    deliveries integer NOT NULL,
    nacks integer NOT NULL,
    additional_deliveries integer NOT NULL,
    rank smallint NOT NULL,
    replicate smallint NOT NULL,
    bucket smallint NOT NULL,
    node smallint NOT NULL,
    worker text NOT NULL,
    error bytea,
    result bytea,
    body bytea NOT NULL,
    headers jsonb,
    progress jsonb,
    errors jsonb
)
WITH (autovacuum_enabled=off, toast.autovacuum_enabled=off);
ALTER TABLE ONLY pgdisque.retained_7 ALTER COLUMN result SET COMPRESSION lz4;
ALTER TABLE ONLY pgdisque.retained_7 ALTER COLUMN body SET COMPRESSION lz4;

CREATE TABLE pgdisque.retained_8 (
    id bigint NOT NULL,
    finished_at timestamp with time zone NOT NULL,
    keep_until timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    queue_id integer NOT NULL,
    retry integer NOT NULL,
    delay integer NOT NULL,
    deliveries integer NOT NULL,
    nacks integer NOT NULL,
    additional_deliveries integer NOT NULL,
    rank smallint NOT NULL,
    replicate smallint NOT NULL,
    bucket smallint NOT NULL,
    node smallint NOT NULL,
    worker text NOT NULL,
    error bytea,
    result bytea,
    body bytea NOT NULL,
    headers jsonb,
    progress jsonb,
    errors jsonb
)
WITH (autovacuum_enabled=off, toast.autovacuum_enabled=off);
ALTER TABLE ONLY pgdisque.retained_8 ALTER COLUMN result SET COMPRESSION lz4;
ALTER TABLE ONLY pgdisque.retained_8 ALTER COLUMN body SET COMPRESSION lz4;

CREATE TABLE pgdisque.retained_9 (
    id bigint NOT NULL,
    finished_at timestamp with time zone NOT NULL,
    keep_until timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    queue_id integer NOT NULL,
    retry integer NOT NULL,
    delay integer NOT NULL,
    deliveries integer NOT NULL,
    nacks integer NOT NULL,
    additional_deliveries integer NOT NULL,
    rank smallint NOT NULL,
    replicate smallint NOT NULL,
    bucket smallint NOT NULL,
    node smallint NOT NULL,
    worker text NOT NULL,
    error bytea,
    result bytea,
    body bytea NOT NULL,
    headers jsonb,
    progress jsonb,
    errors jsonb
)
WITH (autovacuum_enabled=off, toast.autovacuum_enabled=off);
ALTER TABLE ONLY pgdisque.retained_9 ALTER COLUMN result SET COMPRESSION lz4;
ALTER TABLE ONLY pgdisque.retained_9 ALTER COLUMN body SET COMPRESSION lz4;

CREATE TABLE pgdisque.schedule (
    id bigint NOT NULL,
    revision bigint DEFAULT 1 NOT NULL,
    next_at timestamp with time zone NOT NULL,
    last_at timestamp with time zone,
    maxlen bigint,
    retry integer NOT NULL,
    ttl integer NOT NULL,
    delay integer NOT NULL,
    attempts integer,
    backoff integer,
    priority smallint NOT NULL,
    missed smallint NOT NULL,
    has_tick boolean DEFAULT true NOT NULL,
    cron text NOT NULL,
    name bytea NOT NULL,
    queue bytea NOT NULL,
    body bytea NOT NULL,
    deadqueue bytea,
    headers jsonb,
    unique_key bytea,
    group_key bytea,
    overlap smallint,
    last_queue_id integer,
    last_id bigint,
    unique_start boolean,
    search_at timestamp with time zone GENERATED ALWAYS AS (
CASE
    WHEN ((cron ~~ '%@every _s'::text) OR (cron ~~ '%@every __s'::text)) THEN date_bin('00:01:00'::interval, next_at, '2000-01-01 00:00:00+00'::timestamp with time zone)
    ELSE next_at
END) STORED NOT NULL
)
WITH (autovacuum_vacuum_threshold='200', fillfactor='10');

ALTER TABLE pgdisque.schedule ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME pgdisque.schedule_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE pgdisque.secret (
    key bytea NOT NULL,
    only_row boolean DEFAULT true NOT NULL,
    CONSTRAINT secret_key_check CHECK ((length(key) = 16)),
    CONSTRAINT secret_only_row_check CHECK (only_row)
);

CREATE TABLE pgdisque.slot (
    id bigint,
    turn bigint DEFAULT 0 NOT NULL,
    queue_id integer NOT NULL,
    n integer NOT NULL,
    rank smallint
)
WITH (autovacuum_vacuum_threshold='1000', autovacuum_vacuum_scale_factor='0', fillfactor='20', autovacuum_vacuum_cost_delay='2', autovacuum_vacuum_cost_limit='500');

CREATE SEQUENCE pgdisque.sql_job
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

CREATE SEQUENCE pgdisque.sql_message
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

CREATE TABLE pgdisque.unique_key (
    id bigint NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    until timestamp with time zone NOT NULL,
    queue_id integer NOT NULL,
    retry integer NOT NULL,
    rank smallint NOT NULL,
    key bytea NOT NULL
);

CREATE TABLE pgdisque.waiting_job (
    id bigint NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    queue_id integer NOT NULL,
    retry integer NOT NULL,
    delay integer NOT NULL,
    pending integer NOT NULL,
    failed integer DEFAULT 0 NOT NULL,
    attempts integer,
    backoff integer,
    rank smallint NOT NULL,
    replicate smallint NOT NULL,
    outcome smallint,
    continues boolean DEFAULT false NOT NULL,
    is_batch boolean DEFAULT false NOT NULL,
    has_body boolean DEFAULT true NOT NULL,
    body bytea NOT NULL,
    group_key bytea,
    deadqueue bytea,
    headers jsonb,
    after_failure boolean DEFAULT false NOT NULL,
    holds boolean DEFAULT false NOT NULL
);

ALTER TABLE ONLY pgdisque.retained ATTACH PARTITION pgdisque.retained_0 FOR VALUES IN ('0');

ALTER TABLE ONLY pgdisque.retained ATTACH PARTITION pgdisque.retained_1 FOR VALUES IN ('1');

ALTER TABLE ONLY pgdisque.retained ATTACH PARTITION pgdisque.retained_10 FOR VALUES IN ('10');

ALTER TABLE ONLY pgdisque.retained ATTACH PARTITION pgdisque.retained_11 FOR VALUES IN ('11');

ALTER TABLE ONLY pgdisque.retained ATTACH PARTITION pgdisque.retained_12 FOR VALUES IN ('12');

ALTER TABLE ONLY pgdisque.retained ATTACH PARTITION pgdisque.retained_13 FOR VALUES IN ('13');

ALTER TABLE ONLY pgdisque.retained ATTACH PARTITION pgdisque.retained_14 FOR VALUES IN ('14');

ALTER TABLE ONLY pgdisque.retained ATTACH PARTITION pgdisque.retained_15 FOR VALUES IN ('15');

ALTER TABLE ONLY pgdisque.retained ATTACH PARTITION pgdisque.retained_16 FOR VALUES IN ('16');

ALTER TABLE ONLY pgdisque.retained ATTACH PARTITION pgdisque.retained_17 FOR VALUES IN ('17');

ALTER TABLE ONLY pgdisque.retained ATTACH PARTITION pgdisque.retained_18 FOR VALUES IN ('18');

ALTER TABLE ONLY pgdisque.retained ATTACH PARTITION pgdisque.retained_19 FOR VALUES IN ('19');

ALTER TABLE ONLY pgdisque.retained ATTACH PARTITION pgdisque.retained_2 FOR VALUES IN ('2');

ALTER TABLE ONLY pgdisque.retained ATTACH PARTITION pgdisque.retained_20 FOR VALUES IN ('20');

ALTER TABLE ONLY pgdisque.retained ATTACH PARTITION pgdisque.retained_21 FOR VALUES IN ('21');

ALTER TABLE ONLY pgdisque.retained ATTACH PARTITION pgdisque.retained_22 FOR VALUES IN ('22');

ALTER TABLE ONLY pgdisque.retained ATTACH PARTITION pgdisque.retained_23 FOR VALUES IN ('23');

ALTER TABLE ONLY pgdisque.retained ATTACH PARTITION pgdisque.retained_24 FOR VALUES IN ('24');

ALTER TABLE ONLY pgdisque.retained ATTACH PARTITION pgdisque.retained_25 FOR VALUES IN ('25');

ALTER TABLE ONLY pgdisque.retained ATTACH PARTITION pgdisque.retained_26 FOR VALUES IN ('26');

ALTER TABLE ONLY pgdisque.retained ATTACH PARTITION pgdisque.retained_27 FOR VALUES IN ('27');

ALTER TABLE ONLY pgdisque.retained ATTACH PARTITION pgdisque.retained_3 FOR VALUES IN ('3');

ALTER TABLE ONLY pgdisque.retained ATTACH PARTITION pgdisque.retained_4 FOR VALUES IN ('4');

ALTER TABLE ONLY pgdisque.retained ATTACH PARTITION pgdisque.retained_5 FOR VALUES IN ('5');

ALTER TABLE ONLY pgdisque.retained ATTACH PARTITION pgdisque.retained_6 FOR VALUES IN ('6');

ALTER TABLE ONLY pgdisque.retained ATTACH PARTITION pgdisque.retained_7 FOR VALUES IN ('7');

ALTER TABLE ONLY pgdisque.retained ATTACH PARTITION pgdisque.retained_8 FOR VALUES IN ('8');

ALTER TABLE ONLY pgdisque.retained ATTACH PARTITION pgdisque.retained_9 FOR VALUES IN ('9');

ALTER TABLE ONLY pgdisque.api
    ADD CONSTRAINT api_pkey PRIMARY KEY (only_row);

ALTER TABLE ONLY pgdisque.batch
    ADD CONSTRAINT batch_pkey PRIMARY KEY (id);

ALTER TABLE ONLY pgdisque.bucket
    ADD CONSTRAINT bucket_pkey PRIMARY KEY (queue_id);

ALTER TABLE ONLY pgdisque.commit_marker
    ADD CONSTRAINT commit_marker_pkey PRIMARY KEY (node, transaction);

ALTER TABLE ONLY pgdisque.dead_job
    ADD CONSTRAINT dead_pkey PRIMARY KEY (queue_id, rank, id);

ALTER TABLE ONLY pgdisque.deadqueue_graph
    ADD CONSTRAINT deadqueue_graph_pkey PRIMARY KEY (only_row);

ALTER TABLE ONLY pgdisque.dependency
    ADD CONSTRAINT dependency_pkey PRIMARY KEY (successor_id, predecessor_id);

ALTER TABLE ONLY pgdisque.flow_job
    ADD CONSTRAINT flow_job_pkey PRIMARY KEY (id);

ALTER TABLE ONLY pgdisque.job_group
    ADD CONSTRAINT job_group_pkey PRIMARY KEY (queue_id, key);

ALTER TABLE ONLY pgdisque.job
    ADD CONSTRAINT job_pkey PRIMARY KEY (queue_id, rank, id);

ALTER TABLE ONLY pgdisque.library_value
    ADD CONSTRAINT library_value_pkey PRIMARY KEY (key, field);

ALTER TABLE ONLY pgdisque.migration
    ADD CONSTRAINT migration_pkey PRIMARY KEY (version);

ALTER TABLE ONLY pgdisque.node
    ADD CONSTRAINT node_id_key UNIQUE (id);

ALTER TABLE ONLY pgdisque.node
    ADD CONSTRAINT node_pkey PRIMARY KEY (number);

ALTER TABLE ONLY pgdisque.queue_counter
    ADD CONSTRAINT queue_counter_pkey PRIMARY KEY (queue_id);

ALTER TABLE ONLY pgdisque.queue_grant
    ADD CONSTRAINT queue_grant_pkey PRIMARY KEY (role, pattern);

ALTER TABLE ONLY pgdisque.queue
    ADD CONSTRAINT queue_pkey PRIMARY KEY (id);

ALTER TABLE ONLY pgdisque.queue_setting
    ADD CONSTRAINT queue_setting_pkey PRIMARY KEY (queue_id, name);

ALTER TABLE ONLY pgdisque.retained
    ADD CONSTRAINT retained_pkey PRIMARY KEY (queue_id, rank, id, bucket);

ALTER TABLE ONLY pgdisque.retained_0
    ADD CONSTRAINT retained_0_pkey PRIMARY KEY (queue_id, rank, id, bucket);

ALTER TABLE ONLY pgdisque.retained_10
    ADD CONSTRAINT retained_10_pkey PRIMARY KEY (queue_id, rank, id, bucket);

ALTER TABLE ONLY pgdisque.retained_11
    ADD CONSTRAINT retained_11_pkey PRIMARY KEY (queue_id, rank, id, bucket);

ALTER TABLE ONLY pgdisque.retained_12
    ADD CONSTRAINT retained_12_pkey PRIMARY KEY (queue_id, rank, id, bucket);

ALTER TABLE ONLY pgdisque.retained_13
    ADD CONSTRAINT retained_13_pkey PRIMARY KEY (queue_id, rank, id, bucket);

ALTER TABLE ONLY pgdisque.retained_14
    ADD CONSTRAINT retained_14_pkey PRIMARY KEY (queue_id, rank, id, bucket);

ALTER TABLE ONLY pgdisque.retained_15
    ADD CONSTRAINT retained_15_pkey PRIMARY KEY (queue_id, rank, id, bucket);

ALTER TABLE ONLY pgdisque.retained_16
    ADD CONSTRAINT retained_16_pkey PRIMARY KEY (queue_id, rank, id, bucket);

ALTER TABLE ONLY pgdisque.retained_17
    ADD CONSTRAINT retained_17_pkey PRIMARY KEY (queue_id, rank, id, bucket);

ALTER TABLE ONLY pgdisque.retained_18
    ADD CONSTRAINT retained_18_pkey PRIMARY KEY (queue_id, rank, id, bucket);

ALTER TABLE ONLY pgdisque.retained_19
    ADD CONSTRAINT retained_19_pkey PRIMARY KEY (queue_id, rank, id, bucket);

ALTER TABLE ONLY pgdisque.retained_1
    ADD CONSTRAINT retained_1_pkey PRIMARY KEY (queue_id, rank, id, bucket);

ALTER TABLE ONLY pgdisque.retained_20
    ADD CONSTRAINT retained_20_pkey PRIMARY KEY (queue_id, rank, id, bucket);

ALTER TABLE ONLY pgdisque.retained_21
    ADD CONSTRAINT retained_21_pkey PRIMARY KEY (queue_id, rank, id, bucket);

ALTER TABLE ONLY pgdisque.retained_22
    ADD CONSTRAINT retained_22_pkey PRIMARY KEY (queue_id, rank, id, bucket);

ALTER TABLE ONLY pgdisque.retained_23
    ADD CONSTRAINT retained_23_pkey PRIMARY KEY (queue_id, rank, id, bucket);

ALTER TABLE ONLY pgdisque.retained_24
    ADD CONSTRAINT retained_24_pkey PRIMARY KEY (queue_id, rank, id, bucket);

ALTER TABLE ONLY pgdisque.retained_25
    ADD CONSTRAINT retained_25_pkey PRIMARY KEY (queue_id, rank, id, bucket);

ALTER TABLE ONLY pgdisque.retained_26
    ADD CONSTRAINT retained_26_pkey PRIMARY KEY (queue_id, rank, id, bucket);

ALTER TABLE ONLY pgdisque.retained_27
    ADD CONSTRAINT retained_27_pkey PRIMARY KEY (queue_id, rank, id, bucket);

ALTER TABLE ONLY pgdisque.retained_2
    ADD CONSTRAINT retained_2_pkey PRIMARY KEY (queue_id, rank, id, bucket);

ALTER TABLE ONLY pgdisque.retained_3
    ADD CONSTRAINT retained_3_pkey PRIMARY KEY (queue_id, rank, id, bucket);

ALTER TABLE ONLY pgdisque.retained_4
    ADD CONSTRAINT retained_4_pkey PRIMARY KEY (queue_id, rank, id, bucket);

ALTER TABLE ONLY pgdisque.retained_5
    ADD CONSTRAINT retained_5_pkey PRIMARY KEY (queue_id, rank, id, bucket);

ALTER TABLE ONLY pgdisque.retained_6
    ADD CONSTRAINT retained_6_pkey PRIMARY KEY (queue_id, rank, id, bucket);

ALTER TABLE ONLY pgdisque.retained_7
    ADD CONSTRAINT retained_7_pkey PRIMARY KEY (queue_id, rank, id, bucket);

ALTER TABLE ONLY pgdisque.retained_8
    ADD CONSTRAINT retained_8_pkey PRIMARY KEY (queue_id, rank, id, bucket);

ALTER TABLE ONLY pgdisque.retained_9
    ADD CONSTRAINT retained_9_pkey PRIMARY KEY (queue_id, rank, id, bucket);

ALTER TABLE ONLY pgdisque.schedule
    ADD CONSTRAINT schedule_pkey PRIMARY KEY (id);

ALTER TABLE ONLY pgdisque.secret
    ADD CONSTRAINT secret_pkey PRIMARY KEY (only_row);

ALTER TABLE ONLY pgdisque.slot
    ADD CONSTRAINT slot_pkey PRIMARY KEY (queue_id, n);

ALTER TABLE ONLY pgdisque.unique_key
    ADD CONSTRAINT unique_key_pkey PRIMARY KEY (queue_id, key);

ALTER TABLE ONLY pgdisque.waiting_job
    ADD CONSTRAINT waiting_job_pkey PRIMARY KEY (queue_id, rank, id);

CREATE INDEX batch_closed ON pgdisque.batch USING btree (id) WHERE ((completed_at IS NULL) AND (closed_at IS NOT NULL));

CREATE INDEX batch_completed ON pgdisque.batch USING btree ((((failed + cancelled) > 0)), completed_at) WHERE (completed_at IS NOT NULL);

CREATE INDEX batch_failure ON pgdisque.batch USING btree (failure_id);

CREATE INDEX batch_open ON pgdisque.batch USING btree (closes_at) WHERE (closed_at IS NULL);

CREATE INDEX batch_queue ON pgdisque.batch USING btree (queue_id) WHERE (((success_body IS NOT NULL) AND (succeeded_at IS NULL) AND (NOT is_expired)) OR ((failure_body IS NOT NULL) AND (failed_at IS NULL) AND (completed_at IS NULL)));

CREATE INDEX batch_success ON pgdisque.batch USING btree (success_id) WHERE (success_id IS NOT NULL);

CREATE INDEX dead_died ON pgdisque.dead_job USING btree (((queue_id)::bigint), died_at, ((id + 0)));

CREATE INDEX dead_in_set ON pgdisque.dead_job USING btree (sorted_set, died_at, id) WHERE (sorted_set IS NOT NULL);

CREATE INDEX dead_member ON pgdisque.dead_job USING btree (sha256(body)) WHERE (COALESCE(sorted_set, ''::text) > ''::text);

CREATE INDEX dead_newest ON pgdisque.dead_job USING btree ((died_at AT TIME ZONE 'UTC'::text), ((id + 0)));

CREATE INDEX dependency_held ON pgdisque.dependency USING btree (predecessor_id) WHERE (holds AND (NOT is_counted));

CREATE INDEX dependency_of_predecessor ON pgdisque.dependency USING btree (predecessor_id, is_counted, holds, successor_id);

CREATE INDEX flow_job_batch ON pgdisque.flow_job USING btree (((batch_id + 0)), ((id + 0))) WHERE (batch_id IS NOT NULL);

CREATE INDEX flow_job_state ON pgdisque.flow_job USING btree (is_settled, id);

CREATE INDEX job_in_group ON pgdisque.job USING btree (queue_id, group_key, rank, id) WHERE (group_key IS NOT NULL);

CREATE INDEX job_in_set ON pgdisque.job USING btree (sorted_set, wake_at, id) WHERE (sorted_set IS NOT NULL);

CREATE INDEX job_member ON pgdisque.job USING btree (sha256(body)) WHERE (COALESCE(sorted_set, ''::text) > ''::text);

CREATE UNIQUE INDEX job_unique ON pgdisque.job USING btree (queue_id, unique_key) WHERE (unique_key IS NOT NULL);

CREATE INDEX job_wake ON pgdisque.job USING btree (wake_at) WHERE (wake_at IS NOT NULL);

CREATE INDEX library_value_expires ON pgdisque.library_value USING btree (expires_at) WHERE (expires_at < 'infinity'::timestamp with time zone);

CREATE UNIQUE INDEX queue_name ON pgdisque.queue USING btree (sha256(name));

CREATE UNIQUE INDEX schedule_name ON pgdisque.schedule USING btree (sha256(name));

CREATE INDEX schedule_next ON pgdisque.schedule USING btree (search_at, id);

CREATE INDEX unique_key_until ON pgdisque.unique_key USING btree (until);

CREATE INDEX waiting_job_expiry ON pgdisque.waiting_job USING btree (expires_at);

CREATE UNIQUE INDEX waiting_job_id ON pgdisque.waiting_job USING btree (id);

ALTER INDEX pgdisque.retained_pkey ATTACH PARTITION pgdisque.retained_0_pkey;

ALTER INDEX pgdisque.retained_pkey ATTACH PARTITION pgdisque.retained_10_pkey;

ALTER INDEX pgdisque.retained_pkey ATTACH PARTITION pgdisque.retained_11_pkey;

ALTER INDEX pgdisque.retained_pkey ATTACH PARTITION pgdisque.retained_12_pkey;

ALTER INDEX pgdisque.retained_pkey ATTACH PARTITION pgdisque.retained_13_pkey;

ALTER INDEX pgdisque.retained_pkey ATTACH PARTITION pgdisque.retained_14_pkey;

ALTER INDEX pgdisque.retained_pkey ATTACH PARTITION pgdisque.retained_15_pkey;

ALTER INDEX pgdisque.retained_pkey ATTACH PARTITION pgdisque.retained_16_pkey;

ALTER INDEX pgdisque.retained_pkey ATTACH PARTITION pgdisque.retained_17_pkey;

ALTER INDEX pgdisque.retained_pkey ATTACH PARTITION pgdisque.retained_18_pkey;

ALTER INDEX pgdisque.retained_pkey ATTACH PARTITION pgdisque.retained_19_pkey;

ALTER INDEX pgdisque.retained_pkey ATTACH PARTITION pgdisque.retained_1_pkey;

ALTER INDEX pgdisque.retained_pkey ATTACH PARTITION pgdisque.retained_20_pkey;

ALTER INDEX pgdisque.retained_pkey ATTACH PARTITION pgdisque.retained_21_pkey;

ALTER INDEX pgdisque.retained_pkey ATTACH PARTITION pgdisque.retained_22_pkey;

ALTER INDEX pgdisque.retained_pkey ATTACH PARTITION pgdisque.retained_23_pkey;

ALTER INDEX pgdisque.retained_pkey ATTACH PARTITION pgdisque.retained_24_pkey;

ALTER INDEX pgdisque.retained_pkey ATTACH PARTITION pgdisque.retained_25_pkey;

ALTER INDEX pgdisque.retained_pkey ATTACH PARTITION pgdisque.retained_26_pkey;

ALTER INDEX pgdisque.retained_pkey ATTACH PARTITION pgdisque.retained_27_pkey;

ALTER INDEX pgdisque.retained_pkey ATTACH PARTITION pgdisque.retained_2_pkey;

ALTER INDEX pgdisque.retained_pkey ATTACH PARTITION pgdisque.retained_3_pkey;

ALTER INDEX pgdisque.retained_pkey ATTACH PARTITION pgdisque.retained_4_pkey;

ALTER INDEX pgdisque.retained_pkey ATTACH PARTITION pgdisque.retained_5_pkey;

ALTER INDEX pgdisque.retained_pkey ATTACH PARTITION pgdisque.retained_6_pkey;

ALTER INDEX pgdisque.retained_pkey ATTACH PARTITION pgdisque.retained_7_pkey;

ALTER INDEX pgdisque.retained_pkey ATTACH PARTITION pgdisque.retained_8_pkey;

ALTER INDEX pgdisque.retained_pkey ATTACH PARTITION pgdisque.retained_9_pkey;

