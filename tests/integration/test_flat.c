/* Statements that must stay fast while an old transaction keeps all dead rows in the tables. */
#include "fixture.h"

#define JOBS 1000
#define SCHEDULES 50
#define DEAD 5000
#define GROUPED 100
#define LIMITED 100
#define COUNTER_WRITES 1000

static PGconn *holder;

static int hold(void **state) {
    (void)state;
    holder = postgres_connect(server.database);
    PQclear(PQexec(holder, "begin isolation level repeatable read"));
    PQclear(PQexec(holder, "select count(*) from pgdisque.job"));
    return 0;
}

static int let_go(void **state) {
    (void)state;
    PQfinish(holder);
    return 0;
}

static long long inserted(void) {
    return postgres_number(server.database,
                           "select n_tup_ins from pg_stat_user_tables where relname = 'job'");
}

/* The number of index entries that scans have read so far. A session reports its figures about once a second. The next
 * insert into the outbox makes it report. */
static long long entries_read(redisContext *c, const char *index) {
    long long before = inserted();

    EVENTUALLY((add_job(c, "news", "x", "TTL 600"), inserted() > before));
    return postgres_number(
        server.database,
        text_of("select idx_tup_read from pg_stat_user_indexes where indexrelname = '%s'", index));
}

/* Many searches for due jobs. Each of them could read all jobs that were due in the last seconds. */
static void test_delays(void **state) {
    redisContext *c = client_open();
    long long before = entries_read(c, "job_wake"), read;

    (void)state;
    for (int i = 0; i < JOBS; i++)
        add_job(c, "delays", "x", "DELAY 1");
    EVENTUALLY(number(c, "QLEN delays") == JOBS);
    read = entries_read(c, "job_wake") - before;
    /* A job has an index entry for its delay and another for its end. Each search also looks for the next row. A search
     * in the past is rare. */
    if (read > 12 * JOBS)
        fail_msg("%lld index entries for %d jobs", read, JOBS);
    redisFree(c);
}

static void dead_letter(redisContext *c, const char *queue, int count) {
    for (int i = 0; i < count; i++)
        later(c, "ADDJOB %s x 0", queue);
    for (int i = 0; i < count; i++)
        later(c, "ACKJOB %s", next_reply(c) + 1);
    for (int i = 0; i < count; i++)
        expect_next(c, ":1");
}

/* While consumers wait, the server hands jobs over and runs no claim. Then a job comes without a waiting consumer. */
static void test_handoffs(void **state) {
    redisContext *c = client_open(), *consumer = client_open();
    long long before, read;

    (void)state;
    for (int i = 0; i < JOBS; i++) {
        later(consumer, "GETJOB FROM handed");
        later(consumer, "PING");
    }
    for (int i = 0; i < JOBS; i++) {
        const char *id = add_job(c, "handed", "x", "");

        expect_next(consumer, text_of("[[\"handed\" \"%s\" \"x\"]]", id));
        expect_next(consumer, "+PONG");
        expect(c, ":1", "ACKJOB %s", id);
    }
    before = entries_read(c, "job_pkey");
    add_job(c, "handed", "last", "");
    get_job(c, "handed", "last");
    read = entries_read(c, "job_pkey") - before;
    if (read > JOBS / 2)
        fail_msg("%lld index entries read for one job", read);
    redisFree(consumer);
    redisFree(c);
}

/* A list that LTRIM keeps short, without consumers. The removed elements lie before the remaining ones. */
static void test_kept_short(void **state) {
    redisContext *c = client_open();
    long long before = entries_read(c, "job_pkey"), read;

    (void)state;
    for (int i = 0; i < JOBS; i++) {
        later(c, "LPUSH short %d", i);
        later(c, "LTRIM short 0 9");
        later(c, "LINDEX short -1");
    }
    for (int i = 0; i < JOBS; i++) {
        expect_next(c, text_of(":%d", i < 10 ? i + 1 : 11));
        expect_next(c, "+OK");
        expect_next(c, text_of("\"%d\"", i < 10 ? 0 : i - 9));
    }
    read = entries_read(c, "job_pkey") - before;
    if (read > 40 * JOBS)
        fail_msg("%lld index entries read for %d elements", read, JOBS);
    redisFree(c);
}

/* As if DEAD jobs of the group had been done an hour ago. */
static void leave_dead_jobs(const char *queue, const char *group) {
    postgres_query(
        server.database,
        text_of("insert into pgdisque.job (queue_id, id, ready_at, expires_at, retry, body, group_key) "
                "select q.id, i, now(), now() + interval '1 day', 60, 'x', '%s' "
                "from pgdisque.queue as q, generate_series(1, %d) as i where q.name = '%s'",
                group, DEAD, queue));
    postgres_query(server.database, text_of("delete from pgdisque.job where group_key = '%s'", group));
}

/* A job of a group is queued a moment after its addition. */
static const char *get_released(redisContext *c, const char *queue, const char *body) {
    EVENTUALLY(number(c, text_of("QLEN %s", queue)) == 1);
    return get_job(c, queue, body);
}

/* The first search of the server in the group is whole. The next ones begin at the job before. */
static void test_groups(void **state) {
    redisContext *c = client_open();
    long long before, read;

    (void)state;
    add_job(c, "grouped", "x", "GROUP other");
    leave_dead_jobs("grouped", "g");
    get_released(c, "grouped", "x");
    add_job(c, "grouped", "first", "GROUP g");
    expect(c, ":1", "ACKJOB %s", get_released(c, "grouped", "first"));
    before = entries_read(c, "job_in_group");
    for (int i = 0; i < GROUPED; i++) {
        add_job(c, "grouped", "x", "GROUP g");
        expect(c, ":1", "ACKJOB %s", get_released(c, "grouped", "x"));
    }
    read = entries_read(c, "job_in_group") - before;
    /* The search for stuck groups reads all entries, about once a second. */
    if (read > GROUPED * DEAD / 4)
        fail_msg("%lld index entries read for %d jobs", read, GROUPED);
    redisFree(c);
}

/* Versions of the rows of a table, as far as sessions have reported them. */
static long long versions_of(const char *table) {
    return postgres_number(server.database,
                           text_of("select n_tup_upd from pg_stat_user_tables where relname = '%s'", table));
}

/* A check that releases no job does not write the row of the group. The search for stuck groups may have written it
 * once. */
static void expect_few_versions(redisContext *c) {
    long long before, written;

    entries_read(c, "job_in_group");
    before = versions_of("job_group");
    for (int i = 0; i < GROUPED; i++)
        add_job(c, "busy", "x", "GROUP b");
    entries_read(c, "job_in_group");
    written = versions_of("job_group") - before;
    if (written > GROUPED / 10)
        fail_msg("%lld versions of groups for %d jobs", written, GROUPED);
}

static void test_versions_of_groups(void **state) {
    redisContext *c = client_open();

    (void)state;
    add_job(c, "busy", "first", "GROUP b");
    get_released(c, "busy", "first");
    expect_few_versions(c);
    /* As if a late job had joined the group. */
    postgres_query(server.database,
                   "update pgdisque.job_group set ranks = '{0}', ids = '{0}' where key = 'b'");
    expect_few_versions(c);
    redisFree(c);
}

/* Makes DEAD versions of the rows of a queue, as many deliveries do. */
static void wear_out(const char *table, const char *queue) {
    postgres_query(
        server.database,
        text_of("do $$ declare q integer := (select id from pgdisque.queue where name = '%s'); begin "
                "for i in 1..%d loop update pgdisque.%s set queue_id = queue_id where queue_id = q; "
                "end loop; end $$",
                queue, DEAD, table));
}

/* Claims find the row of the queue without its former versions. */
static void expect_few_entries(const char *setting, const char *value, const char *table) {
    redisContext *c = client_open();
    const char *index = forever(text_of("%s_pkey", table));
    long long before, read;

    expect(c, "+OK", "QCONFIG %s SET %s %s", table, setting, value);
    for (int i = 0; i < 2; i++) {
        add_job(c, table, "x", "");
        expect(c, ":1", "ACKJOB %s", get_job(c, table, "x"));
    }
    wear_out(table, table);
    before = entries_read(c, index);
    for (int i = 0; i < LIMITED; i++) {
        add_job(c, table, "x", "");
        expect(c, ":1", "ACKJOB %s", get_job(c, table, "x"));
    }
    read = entries_read(c, index) - before;
    if (read > 10 * LIMITED)
        fail_msg("%lld index entries read for %d jobs", read, LIMITED);
    redisFree(c);
}

static void test_rate(void **state) {
    (void)state;
    expect_few_entries("rate", "100000", "bucket");
}

static void test_max_active(void **state) {
    (void)state;
    expect_few_entries("max-active", "2", "slot");
}

static long long blocks_of(const char *table) {
    return postgres_number(server.database,
                           text_of("select heap_blks_read + heap_blks_hit + idx_blks_read + idx_blks_hit "
                                   "from pg_statio_user_tables where relname = '%s'",
                                   table));
}

/* As if the schedule had fired for an hour and more. */
static void wear_out_schedule(void) {
    long long before = versions_of("schedule");

    postgres_query(server.database,
                   text_of("do $$ declare due timestamptz := date_trunc('second', clock_timestamp()); begin "
                           "for i in 1..%d loop update pgdisque.schedule set has_tick = true, "
                           "next_at = due + (i - %d) * interval '1 second'; end loop; end $$",
                           DEAD, DEAD));
    EVENTUALLY(versions_of("schedule") >= before + DEAD);
}

/* A tick of a schedule of seconds reads few of its former versions: their search times differ. Now and then a version goes
 * to another page. Its index entries are then compared with those of the other pages. */
static void test_schedule(void **state) {
    redisContext *c = client_open();
    long long before, ticks, read;

    (void)state;
    expect(c, "+OK", "SCHEDULE often %s ticks x", "@every 1s");
    EVENTUALLY(number(c, "QLEN ticks") > 0);
    wear_out_schedule();
    entries_read(c, "job_pkey");
    before = blocks_of("schedule");
    ticks = number(c, "QLEN ticks");
    EVENTUALLY(number(c, "QLEN ticks") >= ticks + 4);
    entries_read(c, "job_pkey");
    read = blocks_of("schedule") - before;
    ticks = number(c, "QLEN ticks") - ticks;
    if (read > DEAD / 5 * ticks)
        fail_msg("%lld blocks read for %lld ticks", read, ticks);
    expect(c, ":1", "UNSCHEDULE often");
    redisFree(c);
}

static long long changes_of_schedules(const char *kind) {
    return postgres_number(server.database,
                           text_of("select pg_stat_get_tuples_%s('pgdisque.schedule'::regclass)", kind));
}

/* Schedules with ticks at the same time share pages. Most of their versions find room in their page all the same. */
static void test_schedules_at_once(void **state) {
    redisContext *c = client_open();
    long long all = changes_of_schedules("updated"), in_page = changes_of_schedules("hot_updated");

    (void)state;
    for (int i = 0; i < SCHEDULES; i++)
        expect(c, "+OK", "SCHEDULE often%d %s ticks x", i, "@every 1s");
    postgres_query(server.database,
                   text_of("do $$ begin for i in 1..%d loop update pgdisque.schedule set has_tick = true; "
                           "end loop; end $$",
                           DEAD / SCHEDULES));
    EVENTUALLY(changes_of_schedules("updated") >= all + DEAD);
    all = changes_of_schedules("updated") - all;
    in_page = changes_of_schedules("hot_updated") - in_page;
    if (in_page < all * 8 / 10)
        fail_msg("%lld of %lld versions are in the page of the version before", in_page, all);
    for (int i = 0; i < SCHEDULES; i++)
        expect(c, ":1", "UNSCHEDULE often%d", i);
    redisFree(c);
}

static redisContext *restart(redisContext *c) {
    redisFree(c);
    assert_int_equal(server_stop(&server), 0);
    server_resume(&server);
    return client_open();
}

/* The scan positions of a new server come with the count of the jobs. */
static void test_restart(void **state) {
    redisContext *c = client_open();
    long long before, read;

    (void)state;
    add_job(c, "drained", "x", "");
    dead_letter(c, "drained", DEAD);
    dead_letter(c, "left", DEAD);
    add_job(c, "left", "a", "");
    expect(c, ":1", "ACKJOB %s", get_job(c, "drained", "x"));
    c = restart(c);
    before = entries_read(c, "job_pkey");
    get_job(c, "left", "a");
    add_job(c, "drained", "b", "");
    get_job(c, "drained", "b");
    read = entries_read(c, "job_pkey") - before;
    if (read > DEAD / 10)
        fail_msg("%lld index entries read for two jobs", read);
    redisFree(c);
}

static long long dead_rows_of(const char *table) {
    return postgres_number(server.database,
                           text_of("select pg_stat_get_dead_tuples('pgdisque.%s'::regclass)", table));
}

/* Writes the counters so often as if hours had passed, and waits until the server knows. The session reports its dead
 * rows when it ends, which the test does not see. */
static void wear_out_counters(redisContext *c) {
    postgres_query(server.database, text_of("do $$ begin for i in 1..%d loop "
                                            "update pgdisque.queue_counter set jobs_out = jobs_out; "
                                            "end loop; end $$",
                                            COUNTER_WRITES));
    EVENTUALLY(dead_rows_of("queue_counter") >= COUNTER_WRITES);
    EVENTUALLY(info_number(c, "database_dead_rows") == dead_rows_of("job") + dead_rows_of("queue_counter"));
}

static long long saved_jobs_in(const char *queue) {
    return postgres_number(server.database,
                           text_of("select coalesce(sum(c.jobs_in), 0) from pgdisque.queue_counter as c "
                                   "join pgdisque.queue as q on q.id = c.queue_id where q.name = '%s'",
                                   queue));
}

/* Each save of the counters leaves a dead row. The server therefore saves less often, but saves the last values. */
static void test_counters(void **state) {
    redisContext *c = client_open();
    long long saved;

    (void)state;
    add_job(c, "counted", "x", "");
    EVENTUALLY(saved_jobs_in("counted") == 1);
    wear_out_counters(c);
    saved = saved_jobs_in("counted");
    add_job(c, "counted", "x", "");
    HOLDS_FOR(2500, saved_jobs_in("counted") == saved);
    c = restart(c);
    assert_int_equal(saved_jobs_in("counted"), saved + 1);
    redisFree(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_delays, hold, let_go),
        cmocka_unit_test_setup_teardown(test_handoffs, hold, let_go),
        cmocka_unit_test_setup_teardown(test_kept_short, hold, let_go),
        cmocka_unit_test_setup_teardown(test_groups, hold, let_go),
        cmocka_unit_test_setup_teardown(test_versions_of_groups, hold, let_go),
        cmocka_unit_test_setup_teardown(test_rate, hold, let_go),
        cmocka_unit_test_setup_teardown(test_max_active, hold, let_go),
        cmocka_unit_test_setup_teardown(test_schedule, hold, let_go),
        cmocka_unit_test_setup_teardown(test_schedules_at_once, hold, let_go),
        cmocka_unit_test_setup_teardown(test_restart, hold, let_go),
        cmocka_unit_test_setup_teardown(test_counters, hold, let_go),
    };

    return RUN_SUITE("flat", tests);
}
