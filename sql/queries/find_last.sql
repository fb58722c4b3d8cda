-- Where among the queued jobs of one queue, counted from the last one, those are that equal a text: LPOS.
-- params: $1 queue_id, $2 rank, $3 id (nothing ready lies at or before),
--         $4 how many are looked at (null: all), $5 now, $6 body (an array of one), $7 how many of those found are
--         passed over, $8 how many are wanted (null: all), $9 whether the total is wanted
-- returns: place (from 0 on), total (how many jobs are queued, or null); in the order in which they were found
-- index: job_pkey, backwards
select
    p.place - 1 as place,
    case when $9::boolean then (
        select count(*)
        from pgdisque.job as r
        where r.queue_id = $1::integer
          and (r.rank, r.id) > ($2::smallint, $3::bigint)
          and r.ready_at <= $5::timestamptz
          and r.expires_at > $5::timestamptz
          and r.wake_at is distinct from r.ready_at
          and (r.deliveries < r.attempts) is not false
    ) end as total
from (
    select
        r.rank, r.id, r.body = any ($6::bytea[]) as is_found,
        row_number() over (order by r.rank desc, r.id desc) as place
    from pgdisque.job as r
    where r.queue_id = $1::integer
      and (r.rank, r.id) > ($2::smallint, $3::bigint)
      and r.ready_at <= $5::timestamptz
      and r.expires_at > $5::timestamptz
      and r.wake_at is distinct from r.ready_at
      and (r.deliveries < r.attempts) is not false
    order by r.rank desc, r.id desc
    limit $4::bigint
) as p
where p.is_found
order by p.rank desc, p.id desc
limit $8::bigint
offset $7::bigint
