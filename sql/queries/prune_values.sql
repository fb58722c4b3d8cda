-- Deletes expired fields of the keys of client libraries, and measures their table.
-- params: $1 now, $2 limit
-- returns: bytes (of the table)
-- locks: the rows; skips locked rows
-- index: library_value_expires, then by ctid
with gone as (
    delete from pgdisque.library_value as v
    where v.ctid = any (array(
        select o.ctid
        from pgdisque.library_value as o
        where o.expires_at <= $1::timestamptz
          and o.expires_at < 'infinity'
        limit $2::integer
        for update skip locked
    ))
)
select pg_table_size('pgdisque.library_value') as bytes
