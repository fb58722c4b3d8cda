-- Workflows and batches: jobs that wait for other jobs, and jobs that are counted together.

set local search_path = pg_catalog, pg_temp;

-- True: pgdisque.flow_job has a row of the job. Null: it has none.
alter table pgdisque.job add column in_flow boolean;

-- Jobs that wait for jobs, that jobs wait for, or that belong to a batch.
create table pgdisque.flow_job (
    -- The number of the job, as in its key.
    id         bigint primary key,
    -- The batch of the job.
    batch_id   bigint,
    -- The time at which a server counted the end of the job.
    ended_at   timestamptz,
    -- As in the job, because the ID contains them.
    expires_at timestamptz not null,
    retry      integer not null,
    queue_id   integer not null,
    -- Grows with each change. A statement that read another value has an old view.
    turn       integer not null default 0,
    rank       smallint not null,
    -- How the job has ended: 1 done, 2 dead, 3 cancelled, 4 expired. A job that has gone without an outcome is done.
    outcome    smallint,
    -- The end of the job was counted for its batch and for all jobs that wait for it.
    is_settled boolean not null default false,
    -- ACKJOB RESULT.
    result     bytea
) with (
    fillfactor = 70,
    autovacuum_vacuum_threshold = 5000,
    autovacuum_vacuum_scale_factor = 0.05,
    autovacuum_vacuum_cost_delay = 0
);

-- Jobs whose end was not counted yet, for the search after a crash, and settled jobs, to delete them.
create index flow_job_state on pgdisque.flow_job (is_settled, id);

-- ADDJOB AFTER: the successor waits for the predecessor.
create table pgdisque.dependency (
    predecessor_id bigint not null,
    successor_id   bigint not null,
    -- The end of the predecessor was counted in the waiting job.
    is_counted     boolean not null default false,
    primary key (successor_id, predecessor_id)
) with (
    fillfactor = 70,
    autovacuum_vacuum_threshold = 5000,
    autovacuum_vacuum_scale_factor = 0.05,
    autovacuum_vacuum_cost_delay = 0
);

create index dependency_of_predecessor on pgdisque.dependency (predecessor_id, is_counted);

-- Jobs that wait for other jobs, and the completion jobs of batches. They are no rows of pgdisque.job, so statements
-- about the jobs of queues neither see nor pass them.
create table pgdisque.waiting_job (
    id         bigint not null,
    expires_at timestamptz not null,
    queue_id   integer not null,
    retry      integer not null,
    delay      integer not null,
    -- Jobs that it waits for, and those of them that have ended without success.
    pending    integer not null,
    failed     integer not null default 0,
    attempts   integer,
    backoff    integer,
    rank       smallint not null,
    replicate  smallint not null,
    -- As in pgdisque.flow_job. Not null: the job will not run, and a server removes it.
    outcome    smallint,
    -- It runs even if a predecessor has failed.
    continues  boolean not null default false,
    -- It stands for a batch. A batch without a completion job has none to run.
    is_batch   boolean not null default false,
    has_body   boolean not null default true,
    body       bytea not null,
    group_key  bytea,
    deadqueue  bytea,
    headers    jsonb,
    primary key (queue_id, rank, id)
);

create unique index waiting_job_id on pgdisque.waiting_job (id);
create index waiting_job_expiry on pgdisque.waiting_job (expires_at);

-- BATCH. The ID of a batch is that of its completion job.
create table pgdisque.batch (
    id           bigint primary key,
    created_at   timestamptz not null default clock_timestamp(),
    closed_at    timestamptz,
    completed_at timestamptz,
    -- The end of the first job without success.
    failed_at    timestamptz,
    -- The number of the failure job.
    failure_id   bigint not null,
    total        bigint not null default 0,
    done         bigint not null default 0,
    failed       bigint not null default 0,
    cancelled    bigint not null default 0,
    queue_id     integer not null,
    retry        integer not null,
    rank         smallint not null default 0,
    -- The job that is added when the first job of the batch has ended without success.
    failure_body bytea
) with (
    fillfactor = 50,
    autovacuum_vacuum_threshold = 1000,
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_cost_delay = 0
);

create index batch_closed on pgdisque.batch (id)
where completed_at is null and closed_at is not null;

create index batch_failure on pgdisque.batch (failure_id);
create index batch_completed on pgdisque.batch (completed_at)
where completed_at is not null;
