-- Frees unique keys, also those that stay taken for a time: UNLOCK. The jobs stay.
-- params: $1 queue_id, $2 key, $3 now
-- returns: ordinal, was_taken
-- locks: the jobs and their rows in unique_key, in the order of the parameters; a deadlock is repeated by the server
-- index: job_unique, unique_key_pkey
with wanted as materialized (
    select w.queue_id, w.key, w.ordinal
    from unnest($1::integer[], $2::bytea[]) with ordinality as w (queue_id, key, ordinal)
),
freed as (
    update pgdisque.job as j
    set unique_key = null
    from wanted as w
    where j.queue_id = any (array[w.queue_id])
      and j.unique_key = w.key
      and j.unique_key is not null
    returning
        w.ordinal,
        {{key_is_free(j, $3::timestamptz)}} as was_free
),
gone as (
    delete from pgdisque.unique_key as k
    using wanted as w
    where k.queue_id = any (array[w.queue_id])
      and k.key = w.key
    returning w.ordinal, k.until <= $3::timestamptz as was_free
)
select
    w.ordinal::integer,
    exists (select from freed as f where f.ordinal = w.ordinal and not f.was_free)
        or exists (select from gone as g where g.ordinal = w.ordinal and not g.was_free) as was_taken
from wanted as w
