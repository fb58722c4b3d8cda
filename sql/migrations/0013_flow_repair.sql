-- Workflows that can be repaired, the jobs of batches, success jobs, and batches that stay open.

set local search_path = pg_catalog, pg_temp;

-- ON FAIL hold: a predecessor that is a dead letter has not ended for the successor. The successors of a job are
-- counted in pages, in the order of the index.
alter table pgdisque.dependency add column holds boolean not null default false;
drop index pgdisque.dependency_of_predecessor;
create index dependency_of_predecessor on pgdisque.dependency (predecessor_id, is_counted, holds, successor_id);

-- The search for predecessors whose dead letters were deleted.
create index dependency_held on pgdisque.dependency (predecessor_id)
where holds and not is_counted;

-- The job was cancelled because a predecessor has failed, so it becomes a dead letter.
alter table pgdisque.flow_job add column after_failure boolean not null default false;
alter table pgdisque.waiting_job add column after_failure boolean not null default false;
-- A predecessor holds it.
alter table pgdisque.waiting_job add column holds boolean not null default false;

-- The columns are expressions, so that Postgres does not use the index for statements that name ids.
create index flow_job_batch on pgdisque.flow_job ((batch_id + 0), (id + 0))
where batch_id is not null;

-- The job that is added when all jobs of the batch are done, and its number.
alter table pgdisque.batch add column success_id bigint;
alter table pgdisque.batch add column success_body bytea;
alter table pgdisque.batch add column succeeded_at timestamptz;
-- An open batch is closed then. Null: never.
alter table pgdisque.batch add column closes_at timestamptz;
-- It was closed so, or by BATCH CANCEL.
alter table pgdisque.batch add column is_expired boolean not null default false;
alter table pgdisque.batch add column is_cancelled boolean not null default false;

create index batch_success on pgdisque.batch (success_id)
where success_id is not null;
create index batch_open on pgdisque.batch (closes_at)
where closed_at is null;
-- Complete batches with and without failed jobs are kept for different times.
drop index pgdisque.batch_completed;
create index batch_completed on pgdisque.batch ((failed + cancelled > 0), completed_at)
where completed_at is not null;
