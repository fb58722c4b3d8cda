-- Adds jobs whose first try may have been committed before the connection was lost. Existing jobs are left
-- unchanged. If a session has ever changed jobs by the functions of api/, it may have taken and acknowledged a job
-- since. Then nothing is added.
-- params: as add_rare
-- returns: id, is_unsure; the added jobs, in the order of the parameters; or one row with is_unsure
-- index: job_pkey
with added as (
    {{insert_rare()}}
    where pg_sequence_last_value('pgdisque.sql_message'::regclass) is null
    on conflict (queue_id, rank, id) do nothing
    returning id
)
select a.id, false as is_unsure
from added as a
union all
select null, true
where pg_sequence_last_value('pgdisque.sql_message'::regclass) is not null
