-- Empties the tables that expired_retained has found. A table that a session reads is left for another time: the
-- lock waits for at most ten milliseconds, so other sessions wait no longer either. Jobs that end now go to
-- other tables. The statement checks again under the lock whether the table's time is over, because no job can
-- enter then.
-- locks: these tables, exclusively; waits for ten milliseconds
do $$
declare
    width integer;
    slot integer;
begin
    perform set_config('lock_timeout', '10ms', true);
    for class in 0..6 loop
        width := 5 << 3 * class;
        slot := (floor(extract(epoch from clock_timestamp()))::bigint / width + 3) % 4;
        begin
            if pg_relation_size(to_regclass('pgdisque.retained_' || class * 4 + slot)) > 0 then
                execute format('lock table pgdisque.retained_%s in access exclusive mode', class * 4 + slot);
                if slot = (floor(extract(epoch from clock_timestamp()))::bigint / width + 3) % 4 then
                    execute format('truncate pgdisque.retained_%s', class * 4 + slot);
                end if;
            end if;
        exception
            when lock_not_available then null;
        end;
    end loop;
end
$$
