-- is_after(time, now): time > now, in a form that no index can answer. The statement finds its rows by another index,
-- and Postgres must not read all rows that end after now.
(:time > :now::timestamptz) is true
