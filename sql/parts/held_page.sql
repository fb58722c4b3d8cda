-- held_page(now): a page of jobs in key order after the key $1, $2, $3, up to the queue $4, at most $5 of them
page as materialized (
    select
        j.queue_id, j.rank, j.id, j.owner, j.worker, j.ready_at, j.retry,
        {{is_leased(j, :now)}} and j.expires_at > :now as is_held
    from pgdisque.job as j
    where (j.queue_id, j.rank, j.id) > ($1::integer, $2::smallint, $3::bigint)
      and j.queue_id <= $4::integer
    order by j.queue_id, j.rank, j.id
    limit $5::integer
),
-- The last job of a full page.
page_end as (
    select p.queue_id, p.rank, p.id
    from page as p
    where (select count(*) from page) = $5::integer
    order by p.queue_id desc, p.rank desc, p.id desc
    limit 1
)
