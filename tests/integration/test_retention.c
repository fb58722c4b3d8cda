/* Finished jobs that are kept, over three servers: ACKJOB RESULT, WAITJOB, and how they leave again. */
#include "servers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { A, B, C };
#define MANY 200

#define MEGABYTE 1000000
#define LONG_RESULT (9 * MEGABYTE)
#define LOST_ROUNDS 40
/* Jobs with the shortest retentions are in tables that the server empties in turn, one each five seconds. */
#define SHORT "5"
#define TURNS_MS 40000

static long long ask_database(const char *query) {
    return postgres_number(server.database, query);
}

static long long retained(const char *queue) {
    return ask_database(text_of("select count(*) from pgdisque.done where queue = '%s'", queue));
}

/* Bytes of all tables for finished jobs. */
static long long retained_bytes(void) {
    return ask_database("select sum(pg_relation_size(i.inhrelid)) from pg_inherits as i "
                        "where i.inhparent = 'pgdisque.retained'::regclass");
}

static bool all_keep(const char *queue, const char *seconds) {
    const char *want = text_of("[\"retention\" \"%s\"]", seconds);

    for (int i = 0; i < SERVERS; i++)
        if (strcmp(ask(at[i], "QCONFIG %s GET retention", queue), want) != 0)
            return false;
    return true;
}

static void keep(const char *queue, const char *seconds) {
    expect(at[A], "+OK", "QCONFIG %s SET retention %s", queue, seconds);
    EVENTUALLY(all_keep(queue, seconds));
}

static const char *delivered(const char *queue, const char *body) {
    const char *id = add_job(at[A], queue, body, "");

    assert_string_equal(get_job(at[A], queue, body), id);
    return id;
}

/* Starts WAITJOB at a server; returns when the client waits there. */
static void await(int n, struct wire *w, const char *id) {
    raw_open_on(w, group_size[n]);
    wire_words(w, "WAITJOB", id, "TIMEOUT", "60000", NULL);
    EVENTUALLY(raw_waits(w, at[n]));
}

static void await_everywhere(struct wire w[SERVERS], const char *id) {
    for (int i = 0; i < SERVERS; i++)
        await(i, &w[i], id);
}

static void told_everywhere(struct wire w[SERVERS], const char *what) {
    for (int i = 0; i < SERVERS; i++) {
        raw_expect(&w[i], what);
        wire_close(&w[i]);
    }
}

/* ---- the retained jobs ---- */

static void test_kept_with_all_there_is_to_say(void **state) {
    const char *id;

    (void)state;
    keep("kept", "1000");
    id = add_job(at[A], "kept", "body", "RETRY 100");
    get_job(at[A], "kept", "body");
    expect(at[A], ":1", "NACK %s", id);
    expect_job_at(B, "kept", id);
    expect(at[C], "+OK", "CLIENT SETNAME worker-7");
    expect(at[C], ":1", "ACKJOB RESULT %s %s", "fine", id);
    for (int i = 0; i < SERVERS; i++) {
        assert_string_equal(job_field(at[i], id, "state"), "done");
        assert_string_equal(job_field(at[i], id, "queue"), "kept");
        assert_string_equal(job_field(at[i], id, "body"), "body");
        assert_string_equal(job_field(at[i], id, "result"), "fine");
        assert_string_equal(job_field(at[i], id, "worker"), "worker-7");
        assert_string_equal(job_field(at[i], id, "deliveries"), "2");
        assert_string_equal(job_field(at[i], id, "nacks"), "1");
        expect(at[i], ":0", "ACKJOB %s", id);
        expect(at[i], "[\"done\" \"fine\"]", "WAITJOB %s", id);
    }
    assert_int_equal(
        ask_database(text_of("select count(*) from pgdisque.done where id = '%s' and result = 'fine' and "
                             "body = 'body' and worker = 'worker-7' and deliveries = 2 and "
                             "abs(extract(epoch from clock_timestamp() - finished_at)) < 60 and "
                             "keep_until - finished_at = interval '1000 seconds'",
                             id)),
        1);
    EVENTUALLY(all_have("kept", 0) && all_agree("kept"));
}

static void test_all_ways_of_ending(void **state) {
    const char *id;

    (void)state;
    keep("ways", "1000");
    expect(at[B], ":1", "FASTACK %s", delivered("ways", "fastack"));
    expect(at[B], ":1", "ACKJOB %s", add_job(at[A], "ways", "never delivered", "DELAY 100"));
    id = add_job(at[A], "ways", "at most once", "RETRY 0");
    get_job(at[A], "ways", "at most once");
    assert_int_equal(retained("ways"), 2);
    expect(at[B], ":1", "ACKJOB %s", id);
    assert_int_equal(retained("ways"), 3);
    expect(at[B], ":1", "DELJOB %s", delivered("ways", "deleted"));
    id = delivered("ways", "nacked");
    expect(at[B], ":1", "NACK %s", id);
    assert_string_equal(job_field(at[B], id, "state"), "queued");
    id = add_job(at[A], "ways", "expires", "TTL 1");
    EVENTUALLY(strcmp(job_field(at[A], id, "state"), "gone") == 0);
    assert_int_equal(retained("ways"), 3);
}

/* Each ID of a command has the retention of its own queue. Jobs that finished under an old retention keep it. */
static void test_queues_of_one_command(void **state) {
    const char *kept = delivered("several-kept", "a"), *plain = delivered("several-plain", "b");

    (void)state;
    keep("several-kept", "1000");
    expect(at[B], ":2", "ACKJOB %s %s %s", kept, plain, kept);
    assert_string_equal(job_field(at[C], kept, "state"), "done");
    assert_string_equal(job_field(at[C], plain, "state"), "gone");
    keep("several-kept", "0");
    expect(at[B], ":1", "ACKJOB %s", delivered("several-kept", "c"));
    assert_int_equal(retained("several-kept"), 1);
}

/* Without a retention the server keeps a result for the clients that wait for it, and a little longer. */
static void test_a_result_is_kept_anyway(void **state) {
    const char *id = delivered("result", "x");

    (void)state;
    expect(at[A], ":1", "ACKJOB result %b %s", "", (size_t)0, id);
    expect(at[B], "[\"done\" \"\"]", "WAITJOB %s", id);
    assert_int_equal(ask_database(text_of("select count(*) from pgdisque.done where id = '%s' and "
                                          "keep_until - finished_at = interval '1 minute'",
                                          id)),
                     1);
}

static void test_large_results(void **state) {
    char *text = malloc(MEGABYTE + 1);
    const char *id = delivered("large", "x");
    redisReply *reply;

    (void)state;
    for (int i = 0; i < MEGABYTE; i++)
        text[i] = (char)(i * 7 + i / 256);
    expect(at[A], ":1", "ACKJOB RESULT %b %s", text, (size_t)MEGABYTE, id);
    for (int i = 0; i < SERVERS; i++) {
        reply = redisCommand(at[i], "WAITJOB %s", id);
        assert_non_null(reply);
        assert_int_equal(reply->elements, 2);
        assert_int_equal(reply->element[1]->len, MEGABYTE);
        assert_memory_equal(reply->element[1]->str, text, MEGABYTE);
        freeReplyObject(reply);
    }
    free(text);
}

/* A statement reads results of 16 MB, and then no more. Each of several clients gets a longer one, in turn. */
static void test_results_together(void **state) {
    char *result = calloc(1, LONG_RESULT), ids[3][64];
    struct wire w[2];

    (void)state;
    for (int i = 0; i < 3; i++)
        snprintf(ids[i], sizeof ids[i], "%s", delivered("long", "x"));
    for (int i = 0; i < 2; i++)
        await(A, &w[i], ids[0]);
    for (int i = 0; i < 3; i++)
        freeReplyObject(redisCommand(at[B], "ACKJOB RESULT %b %s", result, (size_t)LONG_RESULT, ids[i]));
    for (int i = 0; i < 2; i++) {
        struct value *v = wire_reply(&w[i], EVENTUALLY_MS);

        assert_non_null(v);
        assert_int_equal(v->count, 2);
        assert_int_equal(v->items[1]->len, LONG_RESULT);
        value_free(v);
        wire_close(&w[i]);
    }
    expect_start(at[A], "-LIMIT the results take more than 16 MB", "WAITJOB %s %s %s", ids[0], ids[1],
                 ids[2]);
    freeReplyObject(redisCommand(at[A], "WAITJOB %s %s", ids[0], ids[1]));
    expect(at[A], "+PONG", "PING");
    free(result);
}

static void test_by_sql(void **state) {
    const char *id = delivered("by-sql", "x");
    struct wire w[SERVERS];

    (void)state;
    keep("by-sql", "1000");
    await_everywhere(w, id);
    assert_int_equal(ask_database(text_of("select pgdisque.ack_jobs(array['%s'], 'from sql')", id)), 1);
    told_everywhere(w, "[\"done\" \"from sql\"]");
    assert_string_equal(job_field(at[B], id, "result"), "from sql");
    EVENTUALLY(all_have("by-sql", 0) && all_agree("by-sql"));
}

static void test_flushall(void **state) {
    const char *done = delivered("flushed", "x"), *waited = add_job(at[A], "flushed", "y", "");
    struct wire w[SERVERS];

    (void)state;
    keep("flushed", "1000");
    expect(at[A], ":1", "ACKJOB %s", done);
    await_everywhere(w, waited);
    expect(at[A], "+OK", "DEBUG FLUSHALL");
    told_everywhere(w, "[\"gone\" $-1]");
    assert_int_equal(retained_bytes(), 0);
}

/* ---- waiting clients ---- */

static void test_all_waiting_clients_get_a_reply(void **state) {
    struct wire w[SERVERS], more;
    const char *id;

    (void)state;
    keep("waits", "1000");
    for (int i = 0; i < SERVERS; i++) {
        id = delivered("waits", "x");
        await_everywhere(w, id);
        await(i, &more, id);
        expect(at[i], ":1", "ACKJOB RESULT r %s", id);
        told_everywhere(w, "[\"done\" \"r\"]");
        raw_expect(&more, "[\"done\" \"r\"]");
        wire_close(&more);
    }
}

static void test_without_retention(void **state) {
    struct wire w[SERVERS];
    const char *id = add_job(at[A], "unkept", "x", "");

    (void)state;
    await_everywhere(w, id);
    expect(at[B], ":1", "DELJOB %s", id);
    told_everywhere(w, "[\"gone\" $-1]");
    id = add_job(at[A], "unkept", "x", "TTL 5");
    await_everywhere(w, id);
    told_everywhere(w, "[\"gone\" $-1]");
    expect_start(at[A], "-NOJOB", "WAITJOB %s", id);
}

/* A job that is queued again has not ended. */
static void test_only_the_end_counts(void **state) {
    const char *id = delivered("end", "x");
    struct wire w;

    (void)state;
    keep("end", "1000");
    await(B, &w, id);
    expect(at[C], ":1", "NACK %s", id);
    get_job(at[C], "end", "x");
    expect(at[C], ":1", "ENQUEUE %s", id);
    HOLDS_FOR(500, wire_pending(&w) == 0);
    expect(at[C], ":1", "ACKJOB %s", id);
    raw_expect(&w, "[\"done\" $-1]");
    wire_close(&w);
}

static void test_ways_out_of_waiting(void **state) {
    const char *id = add_job(at[A], "out", "x", "");
    struct wire w;

    (void)state;
    expect(at[B], "nil", "WAITJOB %s TIMEOUT 300", id);
    raw_open_on(&w, group_size[A]);
    wire_words(&w, "CLIENT", "ID", NULL);
    raw_expect(&w, text_of(":%lld", number(at[A], "CLIENT ID") + 1));
    for (int error = 0; error < 2; error++) {
        wire_words(&w, "WAITJOB", id, NULL);
        EVENTUALLY(info_number(at[A], "blocked_clients") == 1);
        expect(at[A], ":1", "CLIENT UNBLOCK %lld %s", number(at[A], "CLIENT ID") + 1,
               error ? "ERROR" : "TIMEOUT");
        raw_expect(&w, error ? "-UNBLOCKED client unblocked via CLIENT UNBLOCK" : "*-1");
    }
    wire_words(&w, "WAITJOB", id, NULL);
    EVENTUALLY(info_number(at[A], "blocked_clients") == 1);
    wire_close(&w);
    EVENTUALLY(info_number(at[A], "blocked_clients") == 0);
    expect(at[A], ":1", "DELJOB %s", id);
}

/* No server receives a notification. The server finds the end by a search. */
static void test_deaf_servers(void **state) {
    const char *id = delivered("polls", "x");
    struct wire w;

    (void)state;
    keep("polls", "1000");
    await(B, &w, id);
    for (int i = 0; i < 20; i++)
        sessions_end("channel");
    expect(at[A], ":1", "ACKJOB RESULT r %s", id);
    raw_expect(&w, "[\"done\" \"r\"]");
    wire_close(&w);
}

/* ---- trouble ---- */

/* Each job is acknowledged once, and kept once, whenever the connection dies. */
static void test_lost_connections(void **state) {
    const char *ids[LOST_ROUNDS];

    (void)state;
    keep("lost", "1000");
    for (int i = 0; i < LOST_ROUNDS; i++)
        ids[i] = add_job(at[A], "lost", "x", "");
    for (int i = 0; i < LOST_ROUNDS; i++) {
        later(at[B], "ACKJOB RESULT r%d %s", i, ids[i]);
        for (int done = 0; !done;)
            assert_int_equal(redisBufferWrite(at[B], &done), REDIS_OK);
        usleep((useconds_t)(i * 397 % 1500));
        sessions_end("write");
        expect_next(at[B], ":1");
        expect(at[C], text_of("[\"done\" \"r%d\"]", i), "WAITJOB %s", ids[i]);
    }
    assert_int_equal(retained("lost"), LOST_ROUNDS);
    EVENTUALLY(all_have("lost", 0));
}

/* A WAITJOB for many jobs, which end at two servers. One of these is killed, and the connections of the waiting server
 * are lost. */
static void test_many_jobs(void **state) {
    const char *ids[MANY];
    char command[16 + MANY * 64] = "WAITJOB";
    redisReply *reply;

    (void)state;
    keep("many", "1000");
    for (int i = 0; i < MANY; i++) {
        ids[i] = add_job(at[i % 2], "many", "x", "");
        strcat(strcat(command, " "), ids[i]);
    }
    later(at[C], command);
    for (int done = 0; !done;)
        assert_int_equal(redisBufferWrite(at[C], &done), REDIS_OK);
    for (int i = 0; i < MANY; i++) {
        if (i == MANY / 2) {
            server_kill(group_size[A]);
            sessions_end("read");
        }
        expect(at[i < MANY / 2 ? A : B], ":1", "ACKJOB RESULT r%d %s", i, ids[i]);
    }
    assert_int_equal(redisGetReply(at[C], (void **)&reply), REDIS_OK);
    assert_int_equal(reply->elements, MANY);
    for (size_t i = 0; i < MANY; i++) {
        assert_string_equal(reply->element[i]->element[0]->str, ids[i]);
        assert_string_equal(reply->element[i]->element[1]->str, "done");
        assert_string_equal(reply->element[i]->element[2]->str, text_of("r%zu", i));
    }
    freeReplyObject(reply);
}

static void test_kills(void **state) {
    const char *done = delivered("kills", "x"), *open = delivered("kills", "y");
    struct wire w;

    (void)state;
    keep("kills", "1000");
    expect(at[B], ":1", "ACKJOB RESULT r %s", done);
    await(C, &w, open);
    server_kill(group_size[B]);
    server_kill(group_size[A]);
    expect(at[C], "[\"done\" \"r\"]", "WAITJOB %s", done);
    expect(at[C], ":1", "ACKJOB RESULT s %s", open);
    raw_expect(&w, "[\"done\" \"s\"]");
    wire_close(&w);
    assert_int_equal(retained("kills"), 2);
}

/* ---- the tables in turn ---- */

/* A session reads the tables for some rounds. Each ACKJOB is answered, and WAITJOB finds all finished jobs. After the
 * session ends, the server removes expired results without a DELETE. */
static void test_readers_do_not_stop_it(void **state) {
    PGconn *reader = postgres_connect(server.database);
    int64_t end = now_ms() + 16000;

    (void)state;
    keep("turns", SHORT);
    PQclear(PQexec(reader, "begin isolation level repeatable read"));
    PQclear(PQexec(reader, "select count(*) from pgdisque.retained"));
    for (int i = 0; now_ms() < end; i++) {
        const char *id = delivered("turns", "x");

        if (i == 300) {
            PQclear(PQexec(reader, "rollback; begin; select count(*) from pgdisque.done"));
        }
        expect(at[B], ":1", "ACKJOB RESULT r %s", id);
        expect(at[C], "[\"done\" \"r\"]", "WAITJOB %s", id);
        pause_briefly();
    }
    PQfinish(reader);
    assert_true(WAIT_UNTIL(retained("turns") == 0, TURNS_MS));
    assert_true(WAIT_UNTIL(retained_bytes() == 0, TURNS_MS));
    assert_int_equal(ask_database("select coalesce(sum(n_tup_del), 0) from pg_stat_user_tables "
                                  "where relname like 'retained%'"),
                     0);
}

/* Jobs with a long retention stay when those with a short one leave. */
static void test_long_and_short(void **state) {
    const char *of_short = delivered("short", "x"), *of_long = delivered("long", "x");

    (void)state;
    keep("short", "1");
    keep("long", "2592000");
    expect(at[A], ":2", "ACKJOB %s %s", of_short, of_long);
    EVENTUALLY(strcmp(job_field(at[B], of_short, "state"), "gone") == 0);
    expect_start(at[B], "-NOJOB", "WAITJOB %s", of_short);
    assert_string_equal(job_field(at[B], of_long, "state"), "done");
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, servers_setup, servers_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_kept_with_all_there_is_to_say),
        TEST(test_all_ways_of_ending),
        TEST(test_queues_of_one_command),
        TEST(test_a_result_is_kept_anyway),
        TEST(test_large_results),
        TEST(test_results_together),
        TEST(test_by_sql),
        TEST(test_all_waiting_clients_get_a_reply),
        TEST(test_without_retention),
        TEST(test_only_the_end_counts),
        TEST(test_ways_out_of_waiting),
        TEST(test_deaf_servers),
        TEST(test_lost_connections),
        TEST(test_many_jobs),
        TEST(test_kills),
        TEST(test_long_and_short),
        TEST(test_flushall),
        TEST(test_readers_do_not_stop_it),
    };

    return RUN_SUITE("finished jobs", tests);
}
