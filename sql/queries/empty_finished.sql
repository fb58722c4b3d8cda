-- Empties the tables that over_finished has found. One that somebody reads has to wait for another time, and nobody
-- who comes behind us waits for longer than that: jobs that are finished now go to other tables in any case. Whether
-- its time is over is looked at under the lock, when nothing more can enter it.
-- locks: these tables, exclusively, waiting for ten milliseconds
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
            if pg_relation_size(to_regclass('pgdisque.finished_' || class * 4 + slot)) > 0 then
                execute format('lock table pgdisque.finished_%s in access exclusive mode', class * 4 + slot);
                if slot = (floor(extract(epoch from clock_timestamp()))::bigint / width + 3) % 4 then
                    execute format('truncate pgdisque.finished_%s', class * 4 + slot);
                end if;
            end if;
        exception
            when lock_not_available then null;
        end;
    end loop;
end
$$
