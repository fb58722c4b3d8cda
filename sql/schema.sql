-- What the migrations make. Written by `make schema`.

CREATE SCHEMA pgdisque;

CREATE TABLE pgdisque.job (
    id bigint NOT NULL,
    ready_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    wake_at timestamp with time zone,
    queue_id integer NOT NULL,
    retry integer NOT NULL,
    delay integer DEFAULT 0 NOT NULL,
    deliveries integer DEFAULT 0 NOT NULL,
    nacks integer DEFAULT 0 NOT NULL,
    extras integer DEFAULT 0 NOT NULL,
    rank smallint DEFAULT 0 NOT NULL,
    replicate smallint DEFAULT 1 NOT NULL,
    owner smallint,
    body bytea NOT NULL,
    CONSTRAINT job_delay_check CHECK ((delay >= 0)),
    CONSTRAINT job_retry_check CHECK ((retry >= 0))
)
WITH (fillfactor='50', vacuum_truncate=off, autovacuum_vacuum_scale_factor='0.02', autovacuum_vacuum_threshold='5000', autovacuum_vacuum_cost_delay='0', autovacuum_vacuum_insert_scale_factor='0.2', toast.vacuum_truncate=off);
ALTER TABLE ONLY pgdisque.job ALTER COLUMN body SET COMPRESSION lz4;

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
    CONSTRAINT node_id_check CHECK ((id ~ '^[0-9a-f]{40}$'::text)),
    CONSTRAINT node_number_check CHECK (((number >= 1) AND (number <= 1023)))
);

CREATE TABLE pgdisque.queue (
    id integer NOT NULL,
    name bytea NOT NULL,
    pause smallint DEFAULT 0 NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT queue_pause_check CHECK (((pause >= 0) AND (pause <= 3)))
);

CREATE TABLE pgdisque.queue_counter (
    queue_id integer NOT NULL,
    jobs_in bigint DEFAULT 0 NOT NULL,
    jobs_out bigint DEFAULT 0 NOT NULL
)
WITH (fillfactor='50');

ALTER TABLE pgdisque.queue ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME pgdisque.queue_id_seq
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

ALTER TABLE ONLY pgdisque.job
    ADD CONSTRAINT job_pkey PRIMARY KEY (queue_id, rank, id);

ALTER TABLE ONLY pgdisque.migration
    ADD CONSTRAINT migration_pkey PRIMARY KEY (version);

ALTER TABLE ONLY pgdisque.node
    ADD CONSTRAINT node_id_key UNIQUE (id);

ALTER TABLE ONLY pgdisque.node
    ADD CONSTRAINT node_pkey PRIMARY KEY (number);

ALTER TABLE ONLY pgdisque.queue_counter
    ADD CONSTRAINT queue_counter_pkey PRIMARY KEY (queue_id);

ALTER TABLE ONLY pgdisque.queue
    ADD CONSTRAINT queue_pkey PRIMARY KEY (id);

ALTER TABLE ONLY pgdisque.secret
    ADD CONSTRAINT secret_pkey PRIMARY KEY (only_row);

CREATE INDEX job_wake ON pgdisque.job USING btree (wake_at) WHERE (wake_at IS NOT NULL);

CREATE UNIQUE INDEX queue_name ON pgdisque.queue USING btree (sha256(name));

