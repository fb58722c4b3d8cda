-- Tells if a session has ever changed jobs by the functions of api/. Each change takes a number for its message.
-- returns: were_made
select pg_sequence_last_value('pgdisque.sql_message'::regclass) is not null as were_made
