-- The costs of the server's statements since the last reset. Their first line tells them apart.
-- returns: first line, calls, rows, blocks touched, milliseconds, the slowest's milliseconds, bytes of WAL
select
    split_part(s.query, E'\n', 1), sum(s.calls), sum(s.rows), sum(s.shared_blks_hit + s.shared_blks_read),
    sum(s.total_exec_time), max(s.max_exec_time), sum(s.wal_bytes)
from pg_stat_statements as s
where s.query like '-- %'
group by 1;

select
from pg_stat_statements_reset();
