-- For figures of each statement.
create extension pg_stat_statements;
