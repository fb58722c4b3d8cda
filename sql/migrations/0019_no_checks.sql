-- Postgres parses the text of each CHECK anew in every statement that writes: six of them took 10 us of
-- each insert and of each claim. What they said is looked at before: by the server's commands and by the functions
-- for applications, which alone may write here.

set local search_path = pg_catalog, pg_temp;

alter table pgdisque.job
    drop constraint job_attempts_check,
    drop constraint job_backoff_check,
    drop constraint job_delay_check,
    drop constraint job_group_key_check,
    drop constraint job_retry_check,
    drop constraint job_unique_key_check;
