-- Finds due schedules by a time that changes less often than their ticks.

set local search_path = pg_catalog, pg_temp;

-- While an old snapshot keeps the versions of a row, a version needs no index entries if its indexed columns are those
-- of the version before, in the same page. Postgres compares each new entry with all entries of the key. So a schedule
-- of seconds is found by the minute of its next tick, and the others by the tick itself.
alter table pgdisque.schedule
    add column search_at timestamptz not null generated always as (
        case
            when cron like '%@every _s' or cron like '%@every __s'
                then date_bin(interval '1 minute', next_at, timestamptz '2000-01-01 00:00+00')
            else next_at
        end
    ) stored;
drop index pgdisque.schedule_next;
create index schedule_next on pgdisque.schedule (search_at, id);
