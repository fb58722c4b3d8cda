-- Writes fields of the keys of client libraries: HSET, HSETNX, HINCRBY, SADD, SET, MSET, INCRBY, BITFIELD. A new field
-- expires with its key. Nothing is written if new fields would give a key more than $8 fields. An integer is not added
-- to a value that is none, or if the sum has more than 64 bits.
-- params: $1 key, $2 field, $3 value, $4 mode (0: replace the value; 1: write only an absent field; 2: add integers),
--         $5 expires_at (null: that of the field or the key), $6 now, $7 the largest sum, $8 fields of a key
-- returns: field, value, existed (null: the integer was not added to this value); the written fields, in no order
-- locks: the rows, in the order of their keys; waits
-- index: library_value_pkey
with named as materialized (
    select w.key, w.field, w.value, f.is_present is null as is_new
    from unnest($1::bytea[], $2::bytea[], $3::bytea[]) as w (key, field, value)
    left join lateral (
        select true as is_present
        from pgdisque.library_value as o
        where o.key = w.key
          and o.field = w.field
          and o.expires_at > $6::timestamptz
        limit 1
    ) as f on true
),
numbered as materialized (
    select n.*, row_number() over (partition by n.key, n.is_new) as number
    from named as n
),
-- The present fields of a key are read once, and only for new fields.
wanted as materialized (
    select
        n.key, n.field, n.value,
        count(*) filter (where n.is_new) over of_key as new_fields,
        max(case
            when n.is_new and n.number = 1
                then (
                    select count(*)
                    from (
                        select 1
                        from pgdisque.library_value as o
                        where o.key = n.key
                        limit $8::integer
                    ) as c
                )
        end) over of_key as fields,
        max(case
            when n.is_new and n.number = 1 and $5::timestamptz is null
                then (
                    select max(o.expires_at)
                    from pgdisque.library_value as o
                    where o.key = n.key
                      and o.expires_at > $6::timestamptz
                )
        end) over of_key as expires_at
    from numbered as n
    window of_key as (partition by n.key)
),
written as (
    insert into pgdisque.library_value as v (key, field, value, expires_at)
    select w.key, w.field, w.value, coalesce($5::timestamptz, w.expires_at, 'infinity')
    from wanted as w
    where w.new_fields = 0
       or w.new_fields + w.fields <= $8::integer
    -- The order prevents deadlocks of servers that write the same fields.
    order by w.key, w.field
    on conflict (key, field) do update
    set value = case
            when $4::smallint = 2 and v.expires_at > $6::timestamptz
                then convert_to(least(
                    encode(v.value, 'escape')::numeric + encode(excluded.value, 'escape')::numeric, $7::bigint
                )::text, 'UTF8')
            else excluded.value
        end,
        expires_at = case
            when $5::timestamptz is null and v.expires_at > $6::timestamptz then v.expires_at
            else excluded.expires_at
        end
    where v.expires_at <= $6::timestamptz
       or case $4::smallint when 1 then false when 2 then {{adds_up(v.value, excluded.value)}} else true end
    returning
        v.field, v.value,
        exists (
            select 1
            from pgdisque.library_value as o
            where o.key = v.key
              and o.field = v.field
              and o.expires_at > $6::timestamptz
        ) as existed
)
select w.field, w.value, w.existed
from written as w
union all
select o.field, o.value, null
from unnest($1::bytea[], $2::bytea[], $3::bytea[]) as k (key, field, value)
-- The limit lets the planner only search the index, one field at a time.
cross join lateral (
    select v.field, v.value, v.expires_at
    from pgdisque.library_value as v
    where v.key = k.key and v.field = k.field
    limit 1
) as o
where $4::smallint = 2
  and o.expires_at > $6::timestamptz
  and not {{adds_up(o.value, k.value)}}
