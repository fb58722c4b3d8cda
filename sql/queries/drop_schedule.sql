-- Deletes schedules: UNSCHEDULE.
-- params: $1 name
-- returns: id; the deleted schedules
-- locks: the rows
-- index: schedule_name
delete from pgdisque.schedule as s
using unnest($1::bytea[]) as d (name)
where sha256(s.name) = sha256(d.name)
returning s.id
