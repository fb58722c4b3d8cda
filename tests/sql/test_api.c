/* The functions and views for applications that share the database: sql/api/. */
#include "api.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- IDs ---- */

/* The server's and SQL's are the same, of any job. */
static void ids_are_those_of_the_server(void **state) {
    static const char node[] = "dcb833cf00000000000000000000000000000000";
    unsigned char secret[JOBID_SECRET_LEN];

    (void)state;
    for (int i = 0; i < JOBID_SECRET_LEN; i++)
        secret[i] = (unsigned char)(17 * i);
    done(a, "update pgdisque.secret set key = '\\x00112233445566778899aabbccddeeff'");
    done(a, text_of("insert into pgdisque.node (number, id) values (9, '%s')", node));
    jobid_set_secret(secret);
    for (int i = 0; i < 500; i++) {
        struct job_key key = { 1 << (i % 31), (int16_t) - (i % 256),
                               INT64_C(910000000000000000) + i * INT64_C(77777777777777) };
        bool known = i % 2 == 0;
        char want[JOBID_LEN + 1] = "";

        key.id = (key.id & ~(INT64_C(1023) << 12)) | (known ? INT64_C(9) << 12 : 0);
        jobid_format(want, key, known ? node : "00000000", i * 60, i % 3 > 0);
        assert_string_equal(sql(a,
                                "select pgdisque.api_id(pgdisque.api_secret(), %s, %d, %d::smallint, %lld, "
                                "pgdisque.api_created_at(%lld) + interval '%d s', %d)",
                                known ? text_of("'%s'", node) : "null", key.queue_id, key.rank,
                                (long long)key.id, (long long)key.id, i * 60, i % 3),
                            want);
        assert_string_equal(
            sql(a, "select ordinal, queue_id, rank, id from pgdisque.api_keys(array['%s'])", want),
            text_of("1 %d %d %lld", key.queue_id, key.rank, (long long)key.id));
    }
}

static void invalid_ids_are_refused(void **state) {
    (void)state;
    done(a, "select pgdisque.add_job('q', 'x')");
    does(a, "error 22023", "select pgdisque.ack_jobs(array['x'])");
    does(a, "error 22023", "select pgdisque.nack_jobs(" IDS("true") " || 'D-1'::text)");
    does(a, "error 22023", "select pgdisque.working(array[null])");
    does(a, "0", "select pgdisque.ack_jobs(array['D-00000000-DKdeRa/AAAIAAAABAGn+Vy0N-05a1'])");
    does(a, "0", "select pgdisque.ack_jobs('{}')");
    does(a, "0", "select pgdisque.ack_jobs(null)");
    does(a, "1", "select count(*) from pgdisque.jobs");
}

/* Two sessions add more jobs than a millisecond has numbers. The numbers are unique and in order. */
static void numbers_are_given_once(void **state) {
    static const char add[] = "select count(*) from pgdisque.add_jobs('%s', "
                              "array(select n::text from generate_series(1, 20000) as n))";

    (void)state;
    assert_int_equal(PQsendQuery(b, text_of(add, "p")), 1);
    assert_string_equal(sql(a, add, "q"), "20000");
    assert_string_equal(call_result(b), "20000");
    does(a, "40000 0",
         "select count(distinct id), count(*) filter (where id >> 12 & 1023 <> 0) from pgdisque.job");
    does(a, "0",
         "select count(*) from (select convert_from(body, 'UTF8')::integer as n, "
         "row_number() over (partition by queue_id order by id) as place from pgdisque.job) as j where n <> "
         "place");
}

/* ---- adding ---- */

static void jobs_are_as_the_server_makes_them(void **state) {
    (void)state;
    done(a, "select pgdisque.add_job('q', 'plain'), pgdisque.add_job('q', '\\x00ff'::bytea, delay => 100, "
            "retry => 7), "
            "pgdisque.add_job('q', 'ttl', ttl => 50), pgdisque.add_job('q', 'urgent', priority => 9, retry "
            "=> 0)");
    does(a,
         "plain 300 0 0 f f 86400 -; \\000\\377 7 100 0 t f 86400 -; ttl 5 0 0 f t 50 -; urgent 0 0 -9 f t "
         "86400 -",
         "select encode(body, 'escape'), retry, delay, rank, wake_at is not distinct from ready_at, "
         "wake_at is not distinct from expires_at, "
         "extract(epoch from expires_at - pgdisque.api_created_at(id))::integer, owner "
         "from pgdisque.job order by id");
    does(a, "queued 0; delayed 0; queued 0; queued 9",
         "select state, priority from pgdisque.jobs order by number");
    does(a, "t t",
         "select bool_and(ready_at < clock_timestamp()) filter (where delay = 0), "
         "bool_and(ready_at > clock_timestamp() + interval '90 s') filter (where delay > 0) from "
         "pgdisque.job");
}

/* A job without options gets those of its queue. */
static void defaults_are_the_queues(void **state) {
    (void)state;
    done(a, "insert into pgdisque.queue (name) values ('q')");
    done(a, "insert into pgdisque.queue_setting values (1, 'ttl', '50'), (1, 'retry', '7')");
    done(a, "select pgdisque.add_job('q', 'x'), pgdisque.add_job('q', 'x', retry => 3, ttl => 99)");
    does(a, "7 50; 3 99",
         "select retry, extract(epoch from expires_at - pgdisque.api_created_at(id))::integer "
         "from pgdisque.job order by id");
    does(a, "error 22023", "select pgdisque.add_job('q', 'x', delay => 60)");
    does(a, "2", "select count(*) from pgdisque.job");
    done(a, "insert into pgdisque.queue_setting values (1, 'attempts', '5'), (1, 'backoff', '6'), "
            "(1, 'deadqueue', 'd')");
    done(a, "delete from pgdisque.job");
    done(a, "select pgdisque.add_job('q', 'x'), pgdisque.add_job('q', 'x', retry => 0), "
            "pgdisque.add_job('q', 'x', attempts => 1, backoff => 2, deadqueue => 'e')");
    does(a, "5 6 \"d\"; - - -; 1 2 \"e\"",
         "select attempts, backoff, deadqueue from pgdisque.job order by id");
    done(a, "delete from pgdisque.queue_setting");
}

static void errors_add_nothing(void **state) {
    static const char *const wrong[] = {
        "'q', 'x', delay => -1",
        "'q', 'x', retry => -1",
        "'q', 'x', ttl => 0",
        "'q', 'x', delay => 9, ttl => 9",
        "'q', 'x', priority => 256",
        "'q', 'x', priority => -1",
        "'q', 'x', delay => null",
        "'q', 'x', attempts => -1",
        "'q', 'x', backoff => 3601",
        "'q', 'x', deadqueue => 'd'",
        "'q', 'x', retry => 0, attempts => 1",
        "'q', 'x', attempts => 1, deadqueue => 'q'",
        "'q', 'x', group_key => ''",
        "'q', 'x', group_key => repeat('g', 513)",
        "'q', 'x', group_key => 'g', delay => 1",
    };

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_string_equal(sql(a, "select pgdisque.add_job(%s)", wrong[i]), "error 22023");
    does(a, "error 22004", "select pgdisque.add_job(null, 'x')");
    does(a, "error 22004", "select pgdisque.add_job('q', null::text)");
    does(a, "error 22004", "select pgdisque.add_jobs('q', array['x', null])");
    does(a, "", "select pgdisque.add_jobs('q', '{}'::text[])");
    does(a, "0", "select count(*) from pgdisque.queue");
    done(a, "select pgdisque.add_job('q', 'x'); update pgdisque.queue set pause = 1");
    does(a, "error 55000", "select pgdisque.add_job('q', 'x')");
    does(a, "1", "select count(*) from pgdisque.job");
}

static void a_rollback_adds_nothing(void **state) {
    (void)state;
    done(a, "begin");
    done(a, "select pgdisque.add_job('q', 'x')");
    does(b, "0 0", "select (select count(*) from pgdisque.jobs), (select count(*) from pgdisque.queues)");
    done(a, "rollback");
    does(b, "0 0", "select (select count(*) from pgdisque.jobs), (select count(*) from pgdisque.queues)");
}

/* A server that wants a queue which a transaction is making does not wait for it. */
static void no_server_waits_for_a_new_queue(void **state) {
    (void)state;
    done(a, "begin");
    done(a, "select pgdisque.add_job('new', 'x')");
    assert_string_equal(CALL(b, SQL_OPEN_QUEUES, "{new}", "{null}"), "");
    done(a, "commit");
    assert_string_not_equal(CALL(b, SQL_OPEN_QUEUES, "{new}", "{null}"), "");
    does(a, "1", "select count(*) from pgdisque.queue");
}

/* A server does not forget a queue that an open transaction may know. */
static void known_queues_stay(void **state) {
    (void)state;
    done(a, "select pgdisque.add_job('q', 'x'); delete from pgdisque.job");
    assert_string_equal(CALL(b, SQL_DROP_QUEUES, "{1}", "none"), "");
}

/* ---- taking ---- */

static void in_order_and_no_more_than_asked_for(void **state) {
    (void)state;
    done(a, "select pgdisque.add_jobs('q', array['1', '2', '3', '4', '5'])");
    done(a, "select pgdisque.add_job('q', 'urgent', priority => 1)");
    done(a, "select pgdisque.add_job('q', 'later', delay => 100)");
    does(a, "urgent; 1", BODIES("'q', 2"));
    does(b, "2", BODIES("'q'"));
    does(a, "3; 4; 5", BODIES("'q', 100"));
    does(a, "", BODIES("'q', 100"));
    does(a, "", BODIES("'unknown'"));
    does(a, "error 22023", BODIES("'q', 0"));
    done(a, "select pgdisque.add_job('q', '6'); update pgdisque.queue set pause = 2");
    does(a, "", BODIES("'q'"));
}

static void the_lease_is_in_the_row(void **state) {
    (void)state;
    done(a, "select pgdisque.add_job('q', 'x', retry => 60), pgdisque.add_job('q', 'once', retry => 0)");
    does(a, "x; once", BODIES("'q', 2, 'ada'"));
    does(a, "0 1 0 t ada; 0 1 0 f ada",
         "select owner, deliveries, additional_deliveries, ready_at between clock_timestamp() + interval '50 "
         "s' "
         "and clock_timestamp() + interval '60 s', worker from pgdisque.job order by id");
    does(a, "0 ada q 2", "select node, worker, queue, jobs from pgdisque.workers");
    done(a, "update pgdisque.job set ready_at = clock_timestamp() - interval '1 s' where retry > 0");
    does(a, "queued 1 0", "select state, additional_deliveries, node from pgdisque.jobs where retry > 0");
    does(b, "x 1", "select convert_from(body, 'UTF8'), additional_deliveries from pgdisque.get_jobs('q', 5)");
    does(a, sql(b, "select session_user || ' ' || pg_backend_pid()"),
         "select worker from pgdisque.jobs where retry > 0");
}

static void transactions_take_different_jobs(void **state) {
    (void)state;
    done(a, "select pgdisque.add_jobs('q', array['1', '2', '3'])");
    done(a, "begin");
    done(b, "begin");
    does(a, "1", BODIES("'q'"));
    does(b, "2", BODIES("'q'"));
    done(a, "rollback");
    does(a, "1", BODIES("'q'"));
    does(b, "3", BODIES("'q', 9"));
}

/* A rollback puts a job back before the place where other sessions continue. */
static void others_find_returned_jobs(void **state) {
    (void)state;
    done(a, "select pgdisque.add_jobs('q', array['1', '2', '3', '4'])");
    done(a, "begin");
    does(a, "1", BODIES("'q'"));
    does(b, "2", BODIES("'q'"));
    done(a, "rollback");
    EVENTUALLY(strcmp(sql(b, BODIES("'q'")), "1") == 0);
}

/* An empty table's statistics do not lead it to read the table. */
static void jobs_are_found_by_the_index(void **state) {
    static const char scans[] =
        "select seq_scan from pg_stat_xact_user_tables where relid = 'pgdisque.job'::regclass";
    const char *id, *before;

    (void)state;
    done(a, "vacuum analyze pgdisque.job");
    done(a, "select pgdisque.add_jobs('q', array['1', '2', '3'])");
    done(a, "begin");
    before = sql(a, scans);
    id = sql(a, "select id from pgdisque.get_jobs('q')");
    assert_string_equal(sql(a, "select pgdisque.working(array['%s'])", id), "1");
    assert_string_equal(sql(a, "select pgdisque.nack_jobs(array['%s'])", id), "1");
    assert_string_equal(sql(a, "select pgdisque.ack_jobs(array['%s'])", id), "1");
    does(a, before, scans);
}

/* Thousands of rows that vacuum cannot remove cost a call nothing. */
static void finished_jobs_are_not_read_again(void **state) {
    static const char fetched[] =
        "select idx_tup_read from pg_stat_xact_user_tables as t "
        "cross join lateral (select pg_stat_get_xact_tuples_returned('pgdisque.job_pkey'::regclass) as "
        "idx_tup_read) as i "
        "where t.relid = 'pgdisque.job'::regclass";
    long long before;

    (void)state;
    done(b, "begin isolation level repeatable read");
    done(b, "select 1");
    done(a, "select pgdisque.add_jobs('q', array(select 'x' from generate_series(1, 3000)))");
    done(a, "select pgdisque.ack_jobs(array(select id from pgdisque.get_jobs('q', 2990)))");
    done(a, "select pgdisque.get_jobs('q')");
    /* Without the search from the beginning, which runs once a second. */
    done(a, "select set_config('pgdisque.cursor_1', regexp_replace(current_setting('pgdisque.cursor_1'), "
            "'[^,]*$', (extract(epoch from clock_timestamp()) + 60)::text), false)");
    done(a, "begin");
    before = atoll(sql(a, fetched));
    done(a, "select pgdisque.get_jobs('q')");
    assert_in_range(atoll(sql(a, fetched)) - before, 1, 20);
}

/* ---- the ends of jobs ---- */

static void acknowledged_jobs_are_gone(void **state) {
    (void)state;
    done(a, "select pgdisque.add_jobs('q', array['1', '2', '3'])");
    done(a, "select pgdisque.get_jobs('q')");
    does(a, "2", "select pgdisque.ack_jobs(" IDS("convert_from(body, 'UTF8') < '3'") ")");
    does(a, "3", "select convert_from(body, 'UTF8') from pgdisque.jobs");
    done(a, "update pgdisque.job set expires_at = now()");
    does(a, "0 1",
         "select pgdisque.ack_jobs(array[pgdisque.api_id(pgdisque.api_secret(), null, queue_id, rank, id, "
         "expires_at, retry)]), 1 from pgdisque.job");
}

/* A transaction takes a job and acknowledges it. */
static void all_or_nothing(void **state) {
    (void)state;
    done(a, "select pgdisque.add_job('q', 'x')");
    done(a, "begin");
    does(a, "1", "select pgdisque.ack_jobs(array(select id from pgdisque.get_jobs('q')))");
    does(b, "", BODIES("'q'"));
    done(a, "rollback");
    does(a, "x 0", "select convert_from(body, 'UTF8'), additional_deliveries from pgdisque.get_jobs('q')");
}

static void nacked_jobs_come_back(void **state) {
    (void)state;
    done(a, "select pgdisque.add_job('q', 'x'), pgdisque.add_job('q', 'later', delay => 100, retry => 0), "
            "pgdisque.add_job('q', 'once', retry => 0)");
    does(a, "x; once", BODIES("'q', 9"));
    does(a, "2", "select pgdisque.nack_jobs(" IDS("true") ")");
    does(a, "0", "select pgdisque.nack_jobs(" IDS("state = 'queued'") ")");
    does(a, "x 1 - -; later 1 - -; once 0 0 t",
         "select convert_from(body, 'UTF8'), nacks, owner, worker is not null or null from pgdisque.job "
         "order by id");
    does(b, "x; later", BODIES("'q', 9"));
}

/* The last lease is over, and no server has moved the job to the dead letters yet. */
static void the_state_of_an_exhausted_job(void **state) {
    (void)state;
    done(a, "select pgdisque.add_job('q', 'x', attempts => 1)");
    does(a, "queued", "select state from pgdisque.jobs");
    done(a, "select pgdisque.get_jobs('q')");
    does(a, "active", "select state from pgdisque.jobs");
    done(a, "update pgdisque.job set ready_at = now() - interval '1 s'");
    does(a, "exhausted", "select state from pgdisque.jobs");
}

static void working_begins_the_lease_again(void **state) {
    (void)state;
    done(a, "select pgdisque.add_job('q', 'x', retry => 60), pgdisque.add_job('q', 'once', retry => 0), "
            "pgdisque.add_job('q', 'queued')");
    done(a, "select pgdisque.get_jobs('q', 2, 'me')");
    done(a, "update pgdisque.job set ready_at = clock_timestamp() + interval '5 s' where retry = 60");
    does(a, "2", "select pgdisque.working(" IDS("true") ")");
    does(a, "t me",
         "select ready_at > clock_timestamp() + interval '50 s', worker from pgdisque.job where retry = 60");
    does(a, "active", "select state from pgdisque.jobs where retry = 300");
    /* Half of its life is over. */
    done(a, "update pgdisque.job set expires_at = clock_timestamp() + interval '1 ms' * "
            "(extract(epoch from clock_timestamp() - pgdisque.api_created_at(id)) * 500)");
    done(a, "update pgdisque.job set expires_at = greatest(expires_at, clock_timestamp() + interval '9 s'), "
            "id = id - (30000::bigint << 22)");
    does(a, "0", "select pgdisque.working(" IDS("true") ")");
    does(a, "1", "select pgdisque.working(array(select id || ':1' from pgdisque.jobs where retry = 60))");
    does(a, "t",
         "select ready_at between expires_at and expires_at + interval '1 s' from pgdisque.job where retry = "
         "60");
}

static void cancelled_jobs_end(void **state) {
    (void)state;
    done(a, "select pgdisque.add_job('q', '1', headers => '{\"a\": \"b\"}'), pgdisque.add_job('q', '2'), "
            "pgdisque.add_job('q', '3', delay => 9), pgdisque.add_job('q', '4')");
    does(a, "1 {\"a\": \"b\"}",
         "select convert_from(body, 'UTF8'), headers from pgdisque.get_jobs('q', 1, 'me')");
    does(a, "3", "select pgdisque.cancel_jobs(" IDS("body <> '4'") ")");
    does(a, "0", "select pgdisque.cancel_jobs(" IDS("body = '1'") ")");
    does(a, "1 active t {\"a\": \"b\"}; 4 queued f -",
         "select convert_from(body, 'UTF8'), state, cancelled, headers from pgdisque.jobs order by 1");
    does(a, "0", "select pgdisque.enqueue_jobs(" IDS("body = '1'") ")");
    does(a, "0", "select pgdisque.working(" IDS("body = '1'") ")");
    done(a, "update pgdisque.job set ready_at = clock_timestamp() - interval '1 s' where body = '1'");
    does(a, "4", "select convert_from(body, 'UTF8') from pgdisque.get_jobs('q', 9, 'me')");
    does(a, "exhausted", "select state from pgdisque.jobs where body = '1'");
    does(a, "error 22023", "select pgdisque.add_job('q', 'x', headers => '{\"a\": 1}')");
    does(a, "error 22023", "select pgdisque.add_job('q', 'x', headers => '[]')");
}

static void everything_of_a_worker_comes_back(void **state) {
    (void)state;
    done(a, "select pgdisque.add_jobs('q', array['1', '2', '3', '4'])");
    done(a, "select pgdisque.get_jobs('q', 2, 'gone'), pgdisque.get_jobs('q', 1, 'busy')");
    done(a, "update pgdisque.job set owner = 7, ready_at = clock_timestamp() + interval '1 min' where body = "
            "'4'");
    does(a, "0 busy 1; 0 gone 2; 7 - 1", "select node, worker, jobs from pgdisque.workers order by 1, 2");
    does(a, "0", "select pgdisque.release_worker(null)");
    does(a, "2", "select pgdisque.release_worker('gone')");
    does(a, "1", "select pgdisque.release_node(7)");
    does(b, "1 1 2; 2 1 2; 4 1 2",
         "select convert_from(body, 'UTF8'), additional_deliveries, token from pgdisque.get_jobs('q', 9)");
}

/* ---- notifications to servers ---- */

static const char *told(void) {
    static char text[8192];
    PGnotify *n;

    text[0] = '\0';
    does(b, "", "listen pgdisque");
    while ((n = PQnotifies(b))) {
        const char *items = strchr(n->extra, ' ');

        /* Format, seal, node, run, message, waiting, time. */
        for (int i = 0; items && i < 5; i++)
            items = strchr(items + 1, ' ');
        assert_true(items && strncmp(items, " o1", 3) == 0);
        items = strchr(items + 1, ' ');
        strcat(text, items ? items : " ?");
        PQfreemem(n);
    }
    return text;
}

static const char *last_key(void) {
    return sql(a, "select concat_ws(',', queue_id, rank, id) from pgdisque.job order by id desc limit 1");
}

static const char *until(void) {
    return sql(a, "select pgdisque.api_us(ready_at) from pgdisque.job order by id desc limit 1");
}

static void servers_are_told(void **state) {
    const char *key, *end;

    (void)state;
    told();
    done(a, "select pgdisque.add_job('q', 'x')");
    key = last_key();
    assert_string_equal(told(), text_of(" p1 c1,1,1,1,0 a%s,1", key));
    done(a, "select pgdisque.get_jobs('q')");
    end = until();
    assert_string_equal(told(), text_of(" c1,-1,0,0,1 g%s,%s,0", key, end));
    done(a, "select pgdisque.working(" IDS("true") ")");
    assert_string_equal(told(), text_of(" l%s,%s c1,0,0,0,0 g%s,%s,0", key, end, key, until()));
    end = until();
    done(a, "select pgdisque.nack_jobs(" IDS("true") ")");
    assert_string_equal(told(), text_of(" l%s,%s c1,1,0,1,0 k%s", key, end, key));
    done(a, "select pgdisque.ack_jobs(" IDS("true") ")");
    assert_string_equal(told(), " c1,-1,-1,0,0");
    done(a, "select pgdisque.add_job('q', 'x', wake => false), pgdisque.wake(array['q', 'unknown'])");
    assert_string_equal(told(), " v1");
    done(a, "select pgdisque.add_job('q', 'x', delay => 100)");
    assert_string_equal(told(), text_of(" t1,%s j1,1,0 c1,0,1,0,0", until()));
    done(a, "begin; select pgdisque.add_job('q', 'x'); rollback");
    assert_string_equal(told(), "");
}

/* Jobs that are revived at a rate are delayed. */
static void servers_count_revived_jobs(void **state) {
    (void)state;
    done(a, "insert into pgdisque.queue (name) values ('q')");
    done(a,
         "insert into pgdisque.dead_job (id, died_at, expires_at, queue_id, retry, delay, deliveries, nacks, "
         "additional_deliveries, rank, replicate, body) select n, now(), now() + interval '1 hour', 1, 60, "
         "0, 3, "
         "0, 2, 0, 1, 'x' from generate_series(1, 3) as n");
    told();
    done(a, "select pgdisque.revive('q', 2, rate => 1)");
    assert_string_equal(told(), text_of(" j1,2,0 c1,0,2,0,0 d1 t1,%s",
                                        sql(a, "select pgdisque.api_us(min(ready_at)) from pgdisque.job")));
    done(a, "select pgdisque.revive('q')");
    assert_non_null(strstr(told(), " c1,1,1,1,0 d1 "));
}

/* Each cancellation of a running job is told once, and that of a queued job is no message to a worker. */
static void workers_are_told_of_cancellations(void **state) {
    const char *key, *expires;

    (void)state;
    done(a, "select pgdisque.add_job('q', 'x', retry => 60)");
    key = last_key();
    expires = sql(a, "select pgdisque.api_us(expires_at) from pgdisque.job");
    done(a, "select pgdisque.get_jobs('q'), pgdisque.add_job('q', 'y')");
    told();
    done(a, "select pgdisque.cancel_jobs(" IDS("body = 'x'") ")");
    assert_non_null(strstr(told(), text_of(" u%s,%s,60", key, expires)));
    done(a, "select pgdisque.cancel_jobs(" IDS("true") ")");
    assert_null(strstr(told(), " u"));
}

/* The outcome, the message about a new delay, and the end of a key at the first delivery. */
static void unique_jobs_tell_their_outcome(void **state) {
    (void)state;
    does(a, "added", "select outcome from pgdisque.add_unique_job('q', 'x', 'k', until_start => true)");
    does(a, "existing", "select outcome from pgdisque.add_unique_job('q', 'y', 'k')");
    told();
    does(a, "replaced",
         "select outcome from pgdisque.add_unique_job('q', 'y', 'k', replace => true, delay => 50)");
    assert_string_equal(told(), text_of(" j1,1,0 c1,-1,0,0,0 t1,%s", until()));
    does(a, "delayed y", "select state, encode(body, 'escape') from pgdisque.jobs");
    does(a, "replaced",
         "select outcome from pgdisque.add_unique_job('q', 'z', 'k', replace => true, delay => 0)");
    assert_string_equal(told(), text_of(" j1,-1,0 c1,1,0,1,0 k%s", last_key()));
    does(a, "z", BODIES("'q', 9"));
    does(a, "added", "select outcome from pgdisque.add_unique_job('q', 'x2', 'k')");
    does(a, "existing", "select outcome from pgdisque.add_unique_job('q', 'y2', 'k', replace => false)");
    does(a, "t", "select pgdisque.unlock('q', 'k')");
    does(a, "f", "select pgdisque.unlock('q', 'k')");
    does(a, "f", "select pgdisque.unlock('nothere', 'k')");
    does(a, "added", "select outcome from pgdisque.add_unique_job('q', 'x3', 'k')");
}

static void a_later_delay_renews_the_time_to_live(void **state) {
    (void)state;
    does(a, "added", "select outcome from pgdisque.add_unique_job('q', 'x', 'k', ttl => 100)");
    does(a, "replaced",
         "select outcome from pgdisque.add_unique_job('q', 'y', 'k', replace => true, delay => 1000)");
    does(a, "t t",
         "select ready_at > clock_timestamp() + interval '990 seconds', "
         "expires_at between ready_at + interval '99 seconds' and ready_at + interval '101 seconds' "
         "from pgdisque.job");
}

/* The jobs wait. The servers are told of a job that may be the next of its group, and after its end of another. */
static void jobs_of_groups_wait(void **state) {
    const char *first, *second;

    (void)state;
    done(a, "insert into pgdisque.queue (name) values ('q')");
    told();
    done(a, "select pgdisque.add_jobs('q', array['1', '2'], group_key => 'g')");
    first = sql(a, "select concat_ws(',', queue_id, rank, id) from pgdisque.job order by id limit 1");
    does(a, "infinity g; infinity g", "select ready_at, encode(group_key, 'escape') from pgdisque.job");
    does(a, "waiting g; waiting g", "select state, group_key from pgdisque.jobs");
    second = last_key();
    does(a, "", BODIES("'q', 9"));
    does(a, "0", "select pgdisque.nack_jobs(" IDS("true") ")");
    does(a, "0", "select pgdisque.working(" IDS("true") ")");
    assert_string_equal(told(), text_of(" j1,0,2 c1,0,2,0,0 m%s", first));
    done(a, "update pgdisque.job set ready_at = now() where body = '1'");
    does(a, "1", BODIES("'q', 9"));
    told();
    does(a, "1", "select pgdisque.ack_jobs(" IDS("body = '1'") ")");
    assert_non_null(strstr(told(), text_of("m%s", second)));
    does(a, "1", "select pgdisque.ack_jobs(" IDS("true") ")");
    assert_null(strchr(told(), 'm'));
}

/* ---- rights ---- */

/* Each role can run its own functions and no others. A role without a grant can run none. */
static void roles_have_the_least_rights(void **state) {
    static const char *const roles[] = { "producer", "consumer", "reader", "stranger" };
    static const struct {
        const char *call;
        const char *who;
    } calls[] = {
        { "pgdisque.add_job('q', 'x')", "producer" },
        { "pgdisque.add_job('q', '\\x00'::bytea)", "producer" },
        { "count(*) from pgdisque.add_jobs('q', array['x'])", "producer" },
        { "pgdisque.wake(array['q'])", "producer" },
        { "count(*) from pgdisque.get_jobs('q')", "consumer" },
        { "pgdisque.ack_jobs('{}')", "consumer" },
        { "pgdisque.nack_jobs('{}')", "consumer" },
        { "pgdisque.working('{}')", "consumer" },
        { "pgdisque.release_worker('x')", "consumer" },
        { "count(*) from pgdisque.jobs where id <> ''", "reader" },
        { "count(*) from pgdisque.queues where queue <> ''", "reader" },
        { "count(*) from (select * from pgdisque.jobs offset 0) as j where j is not null", "reader" },
        { "count(*) from (select * from pgdisque.dead offset 0) as d where d is not null", "reader" },
        { "count(*) from (select * from pgdisque.done offset 0) as d where d is not null", "reader" },
        { "count(*) from pgdisque.nodes", "reader" },
        { "count(*) from pgdisque.workers where queue <> ''", "reader" },
        { "pgdisque.release_node(1)", "" },
        { "pgdisque.api_secret()", "" },
        { "pgdisque.api_tell('{}')", "" },
        { "pgdisque.api_new_id()", "" },
        { "pgdisque.grant_roles()", "" },
        { "* from pgdisque.job", "" },
        { "* from pgdisque.queue", "" },
        { "* from pgdisque.secret", "" },
    };

    (void)state;
    done(a, "do $$ begin create role pgdisque_stranger; exception when duplicate_object then null; end $$");
    for (size_t r = 0; r < sizeof roles / sizeof *roles; r++) {
        assert_string_equal(sql(a, "set role pgdisque_%s", roles[r]), "");
        for (size_t c = 0; c < sizeof calls / sizeof *calls; c++) {
            bool refused = strcmp(sql(a, "select %s", calls[c].call), "error 42501") == 0;

            if (refused == (strcmp(calls[c].who, roles[r]) == 0))
                fail_msg("%s %s %s", roles[r], refused ? "may not" : "may", calls[c].call);
        }
        does(a, "", "reset role");
    }
}

/* Every function that runs with the owner's rights looks names up in pg_catalog only. */
/* Postgres does not inline an immutable function with stable operators: it plans the function in each call. */
static void small_functions_are_inlined(void **state) {
    (void)state;
    done(a, "create function pg_temp.is_inlined(proc pg_proc) returns boolean language plpgsql as $$ "
            "declare line text; plan text := ''; begin "
            "for line in execute (select format('explain (verbose) select pgdisque.%s(%s) from (select %s "
            "offset 0) as q', "
            "proc.proname, string_agg('a' || n, ', '), string_agg(format('null::%s as a%s', format_type(t, "
            "null), n), ', ')) "
            "from unnest(proc.proargtypes::oid[]) with ordinality as u (t, n)) "
            "loop plan := plan || line; end loop; "
            "return strpos(plan, proc.proname || '(') = 0; end $$");
    does(a, "",
         "select p.proname from pg_proc as p where p.pronamespace = 'pgdisque'::regnamespace and p.proconfig "
         "is null "
         "and p.prolang = (select l.oid from pg_language as l where l.lanname = 'sql') and p.pronargs > 0 "
         "and not p.proretset and not pg_temp.is_inlined(p)");
    done(a, "drop function pg_temp.is_inlined(pg_proc)");
}

static void search_paths_are_pinned(void **state) {
    (void)state;
    does(a, "",
         "select proname from pg_proc where pronamespace = 'pgdisque'::regnamespace and prosecdef "
         "and not 'search_path=pg_catalog, pg_temp' = any (coalesce(proconfig, '{}'))");
    does(a, "0",
         "select count(*) from pg_proc, lateral aclexplode(coalesce(proacl, acldefault('f', proowner))) as "
         "acl "
         "where pronamespace = 'pgdisque'::regnamespace and acl.grantee = 0");
    done(a, "create schema trap; create function trap.clock_timestamp() returns timestamptz language plpgsql "
            "as $$ begin raise 'caught'; end $$; set search_path = trap, pg_catalog");
    done(a, "select pgdisque.add_job('q', 'x')");
    does(a, "x", BODIES("'q'"));
    done(a, "reset search_path; drop schema trap cascade");
}

/* Servers run the text again only after a change of it. */
static void functions_are_made_once(void **state) {
    const char *made;

    (void)state;
    made =
        sql(a, "select max(xmin::text::bigint) from pg_proc where pronamespace = 'pgdisque'::regnamespace");
    assert_null(migrate(a));
    does(a, made,
         "select max(xmin::text::bigint) from pg_proc where pronamespace = 'pgdisque'::regnamespace");
    done(a, "update pgdisque.api set digest = 'older'; drop function pgdisque.wake(text[])");
    assert_null(migrate(a));
    done(a, "select pgdisque.wake(array['q'])");
    does(a, "f", "select digest = 'older' from pgdisque.api");
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, fresh, settle)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(ids_are_those_of_the_server),
        TEST(invalid_ids_are_refused),
        TEST(numbers_are_given_once),
        TEST(jobs_are_as_the_server_makes_them),
        TEST(defaults_are_the_queues),
        TEST(errors_add_nothing),
        TEST(a_rollback_adds_nothing),
        TEST(no_server_waits_for_a_new_queue),
        TEST(known_queues_stay),
        TEST(in_order_and_no_more_than_asked_for),
        TEST(the_lease_is_in_the_row),
        TEST(transactions_take_different_jobs),
        TEST(others_find_returned_jobs),
        TEST(jobs_are_found_by_the_index),
        TEST(finished_jobs_are_not_read_again),
        TEST(acknowledged_jobs_are_gone),
        TEST(all_or_nothing),
        TEST(nacked_jobs_come_back),
        TEST(the_state_of_an_exhausted_job),
        TEST(working_begins_the_lease_again),
        TEST(cancelled_jobs_end),
        TEST(everything_of_a_worker_comes_back),
        TEST(servers_are_told),
        TEST(servers_count_revived_jobs),
        TEST(workers_are_told_of_cancellations),
        TEST(unique_jobs_tell_their_outcome),
        TEST(a_later_delay_renews_the_time_to_live),
        TEST(jobs_of_groups_wait),
        TEST(roles_have_the_least_rights),
        TEST(search_paths_are_pinned),
        TEST(small_functions_are_inlined),
        TEST(functions_are_made_once),
    };

    return run_sql_suite("api", tests, sizeof(tests) / sizeof(tests[0]));
}
