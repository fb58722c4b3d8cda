/* Workflows and batches at three servers: kills of servers and of the database, exactly one completion job. */
#include "servers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LEVELS 4
#define WIDTH 5
#define JOBS 120
#define KILL_EVERY 12 /* deliveries */
#define CANCELS 48
#define CANCELS_PER_KILL 12

static int deliveries;

/* Kills the servers and the database in turn. */
static void break_something(void) {
    static int turn;
    int n = turn++ % (SERVERS + 1);

    if (n < SERVERS) {
        server_kill(group_size[n]);
        server_resume(group_size[n]);
    } else {
        postgres_stop(&pg, true);
        postgres_resume(&pg);
    }
}

/* A reply of any server, or NULL. The connection lasts for one command, because servers die. */
static redisReply *flow_ask(const char *command) {
    struct server *s = group_size[rand() % SERVERS];
    redisContext *c = redisConnectWithTimeout("127.0.0.1", s->port, (struct timeval){ 10, 0 });
    redisReply *reply = NULL;

    if (c != NULL && c->err == 0) {
        redisSetTimeout(c, (struct timeval){ 10, 0 });
        reply = redisCommand(c, command);
    }
    if (c != NULL)
        redisFree(c);
    if (reply != NULL && reply->type == REDIS_REPLY_ERROR) {
        freeReplyObject(reply);
        reply = NULL;
    }
    return reply;
}

static void flow_tell(const char *command) {
    redisReply *reply = flow_ask(command);

    if (reply != NULL)
        freeReplyObject(reply);
}

static long long flow_rows(const char *queue, const char *condition) {
    return postgres_number(
        server.database,
        text_of("select count(*) from pgdisque.jobs where queue = '%s' and %s", queue, condition));
}

/* Takes up to five jobs and acknowledges them. check is called for each. */
static void flow_work(const char *queue, void (*check)(const char *body)) {
    redisReply *jobs = flow_ask(text_of("GETJOB NOHANG COUNT 5 FROM %s", queue));

    for (size_t i = 0; jobs != NULL && i < jobs->elements; i++) {
        if (check != NULL)
            check(jobs->element[i]->element[2]->str);
        if (++deliveries % KILL_EVERY == 0)
            break_something();
        flow_tell(text_of("ACKJOB %s", jobs->element[i]->element[1]->str));
    }
    if (jobs != NULL)
        freeReplyObject(jobs);
}

/* A job runs after all jobs of the levels before it. */
static void check_level(const char *body) {
    assert_int_equal(flow_rows("levels", text_of("convert_from(body, 'UTF8')::integer < %d", atoi(body))), 0);
}

/* One statement counts both tables: a job moves from the waiting ones to its queue while the test looks. */
static long long flow_left(void) {
    return postgres_number(server.database,
                           "select (select count(*) from pgdisque.jobs where queue = 'levels')"
                           " + (select count(*) from pgdisque.waiting_job where not is_batch)");
}

static void test_a_workflow_survives_kills(void **state) {
    const char *before[WIDTH] = { NULL }, *now[WIDTH];
    char after[8 + WIDTH * (ID_SIZE + 1)];

    (void)state;
    for (int level = 0; level < LEVELS; level++) {
        strcpy(after, " AFTER");
        for (int i = 0; i < WIDTH && level > 0; i++)
            sprintf(after + strlen(after), " %s", before[i]);
        for (int i = 0; i < WIDTH; i++)
            now[i] = add_job(at[i % SERVERS], "levels", text_of("%d", level),
                             text_of("RETRY 1%s", level > 0 ? after : ""));
        memcpy(before, now, sizeof before);
    }
    while (flow_left() > 0)
        flow_work("levels", check_level);
    assert_true(deliveries >= LEVELS * WIDTH);
}

static bool batch_is_complete(const char *batch) {
    redisReply *reply = flow_ask(text_of("BATCH SHOW %s", batch));
    bool is = false;

    for (size_t i = 0; reply != NULL && i + 1 < reply->elements; i += 2)
        if (strcmp(reply->element[i]->str, "state") == 0)
            is = strcmp(reply->element[i + 1]->str, "complete") == 0;
    if (reply != NULL)
        freeReplyObject(reply);
    return is;
}

/* A sum of columns of pgdisque.batch. The batches of the other tests are in the same database. */
static long long batch_sum(const char *batch, const char *sum) {
    return postgres_number(
        server.database,
        text_of("select %s from pgdisque.batch as b, pgdisque.api_keys(array['%s']) as k where b.id = k.id",
                sum, batch));
}

static void test_a_batch_survives_kills(void **state) {
    char batch[ID_SIZE] = "";

    (void)state;
    assert_int_equal(
        sscanf(ask(at[0], "BATCH NEW batchdone COMPLETE all FAILURE bad"), "\"%40[^\"]\"", batch), 1);
    for (int i = 0; i < JOBS; i++)
        add_job(at[i % SERVERS], "batched", "x", text_of("RETRY 1 BATCH %s", batch));
    expect(at[1], ":1", "BATCH CLOSE %s", batch);
    while (flow_rows("batched", "true") > 0)
        flow_work("batched", NULL);
    EVENTUALLY(batch_is_complete(batch));
    assert_int_equal(batch_sum(batch, "done"), JOBS);
    assert_int_equal(flow_rows("batchdone", "true"), 1);
    HOLDS_FOR(300, flow_rows("batchdone", "true") == 1);
}

/* True if a server has replied that it cancelled the job. Without a reply the job may be cancelled as well. */
static bool cancel_said(const char *id) {
    redisReply *reply = flow_ask(text_of("CANCEL %s", id));
    bool said = reply != NULL && reply->integer == 1;

    if (reply != NULL)
        freeReplyObject(reply);
    return said;
}

static long long cancelled_row(const char *id) {
    return postgres_number(
        server.database,
        text_of("select count(*) from pgdisque.flow_job as f, pgdisque.api_keys(array['%s']) as k "
                "where f.id = k.id and f.outcome = 3",
                id));
}

/*
 * Each third job is cancelled, half of these while a worker has it. The worker acknowledges all its jobs. A job whose
 * CANCEL has replied 1 counts as cancelled, and no job counts twice.
 */
static void test_cancelled_jobs_never_count_as_done(void **state) {
    const char *ids[CANCELS];
    char batch[ID_SIZE] = "";
    long long said = 0, noted = 0;

    (void)state;
    assert_int_equal(sscanf(ask(at[0], "BATCH NEW canceldone COMPLETE all"), "\"%40[^\"]\"", batch), 1);
    for (int i = 0; i < CANCELS; i++)
        ids[i] = add_job(at[i % SERVERS], "cancelled", "x", text_of("RETRY 1 BATCH %s", batch));
    expect(at[1], ":1", "BATCH CLOSE %s", batch);
    for (int i = 0; i < CANCELS; i++) {
        redisReply *jobs = i % 2 == 0 ? flow_ask("GETJOB NOHANG COUNT 3 FROM cancelled") : NULL;

        if (i % CANCELS_PER_KILL == 0)
            break_something();
        if (i % 3 == 0 && cancel_said(ids[i])) {
            said++;
            noted += cancelled_row(ids[i]);
        }
        for (size_t k = 0; jobs != NULL && k < jobs->elements; k++)
            flow_tell(text_of("ACKJOB %s", jobs->element[k]->element[1]->str));
        if (jobs != NULL)
            freeReplyObject(jobs);
    }
    while (flow_rows("cancelled", "true") > 0)
        flow_work("cancelled", NULL);
    EVENTUALLY(batch_is_complete(batch));
    assert_int_equal(noted, said);
    assert_true(said > 0);
    assert_true(batch_sum(batch, "cancelled") >= said);
    assert_int_equal(batch_sum(batch, "done + cancelled + failed"), CANCELS);
    assert_int_equal(batch_sum(batch, "failed"), 0);
    assert_int_equal(flow_rows("canceldone", "true"), 1);
}

/* An end without a server that counts it: the job was deleted by a session of the database. */
static void test_the_leader_finds_ends(void **state) {
    const char *first = add_job(at[0], "found", "1", ""), *second;

    (void)state;
    second = add_job(at[1], "found", "2", text_of("AFTER %s", first));
    assert_int_equal(
        postgres_number(server.database, text_of("select pgdisque.ack_jobs(array['%s'])", first)), 1);
    EVENTUALLY(flow_rows("found", "state = 'queued'") == 1);
    expect_job_at(2, "found", second);
}

/* The job dies before its predecessor has ended. All servers count the dead letter. */
static void test_expired_successors_are_kept(void **state) {
    const char *first = add_job(at[0], "earlier", "1", ""), *second;

    (void)state;
    expect(at[0], "+OK", "QCONFIG kept SET expired dead");
    second = add_job(at[1], "kept", "2", text_of("TTL 1 AFTER %s", first));
    for (int i = 0; i < SERVERS; i++)
        EVENTUALLY(strcmp(queue_field(at[i], "kept", "dead"), "1") == 0);
    expect(at[2], ":1", "REVIVE kept");
    expect_job_at(2, "kept", second);
    expect(at[0], ":1", "ACKJOB %s", first);
}

static void flow_sql(PGconn *session, const char *sql) {
    PGresult *res = PQexec(session, sql);

    assert_true(PQresultStatus(res) == PGRES_COMMAND_OK || PQresultStatus(res) == PGRES_TUPLES_OK);
    PQclear(res);
}

/* A session added the successor while a server counted the end of the predecessor, and the server did not see it. */
static void test_the_leader_finds_missed_successors(void **state) {
    const char *first = add_job(at[0], "missed", "1", ""), *second;
    PGconn *session = postgres_connect(server.database);

    (void)state;
    second = add_job(at[1], "missed", "2", text_of("AFTER %s", first));
    flow_sql(session, "begin");
    flow_sql(session, text_of("select pgdisque.ack_jobs(array['%s'])", first));
    flow_sql(session, text_of("update pgdisque.flow_job as f set ended_at = now(), outcome = 1, is_settled = "
                              "true from pgdisque.api_keys(array['%s']) as k where f.id = k.id",
                              first));
    flow_sql(session, "commit");
    PQfinish(session);
    EVENTUALLY(flow_rows("missed", "state = 'queued'") == 1);
    expect_job_at(2, "missed", second);
}

/* Another session gives the predecessor its row in flow_job while the statement of EXEC waits for its lock. The
 * statement does not see that row, and is sent again. */
static void test_a_transaction_meets_another_session(void **state) {
    const char *first = add_job(at[0], "met", "1", "");
    PGconn *session = postgres_connect(server.database);

    (void)state;
    flow_sql(session, "begin");
    flow_sql(session, text_of("select pgdisque.add_job_after('met', '2', array['%s'])", first));
    later(at[0], "MULTI");
    later(at[0], "ADDJOB met 3 0 AFTER %s", first);
    later(at[0], "EXEC");
    expect_next(at[0], "+OK");
    expect_next(at[0], "+QUEUED");
    EVENTUALLY(postgres_number(server.database, "select count(*) from pg_locks where not granted") > 0);
    flow_sql(session, "commit");
    PQfinish(session);
    assert_string_equal(text_of("%.4s", next_reply(at[0])), "[+D-");
    expect(at[0], ":1", "ACKJOB %s", first);
    EVENTUALLY(flow_rows("met", "state = 'queued'") == 2);
}

/* An element of a client that has gone is still a job of its workflow and its batch. The lock of the batch keeps the
 * leader from counting the end before. */
static void test_an_element_comes_back(void **state) {
    PGconn *session = postgres_connect(server.database);
    char batch[ID_SIZE] = "";
    const char *first;
    struct wire w;

    (void)state;
    assert_int_equal(sscanf(ask(at[0], "BATCH NEW backdone COMPLETE all"), "\"%40[^\"]\"", batch), 1);
    first = add_job(at[0], "back", "x", text_of("ATTEMPTS 1 RETRY 3600 BATCH %s", batch));
    add_job(at[0], "backnext", "y", text_of("AFTER %s", first));
    flow_sql(session, "begin");
    flow_sql(session, text_of("select from pgdisque.batch as b, pgdisque.api_keys(array['%s']) as k where "
                              "b.id = k.id for update of b",
                              batch));
    raw_open(&w);
    raw_stop_reading(&w);
    wire_words(&w, "LPOP", "back", NULL);
    EVENTUALLY(flow_rows("back", "true") == 0);
    wire_reset(&w);
    EVENTUALLY(flow_rows("back", "state = 'queued'") == 1);
    PQfinish(session);
    get_job(at[0], "back", "x");
    expect(at[0], ":1", "NACK %s", first);
    EVENTUALLY(batch_sum(batch, "failed") == 1);
    EVENTUALLY(number(at[0], "QLEN backnext DEAD") == 1);
    assert_int_equal(batch_sum(batch, "done"), 0);
}

/* ---- moved predecessors ---- */

/* The end of the job in its former queue, with the same number, is counted. */
static bool end_is_settled(const char *id) {
    return postgres_number(server.database,
                           text_of("select count(*) from pgdisque.flow_job as f, pgdisque.api_keys("
                                   "array['%s']) as k where f.id = k.id and f.is_settled",
                                   id)) == 1;
}

/* The successor waits for the end of the job in its new queue. */
static void follows_moved(const char *queue, const char *id) {
    const char *successor = add_job(at[0], "movednext", queue, text_of("AFTER %s", id));
    char *in_sql = postgres_query(server.database, text_of("select pgdisque.add_job_after('movednext', '%s', "
                                                           "array['%s'])",
                                                           queue, id));

    assert_string_equal(job_field(at[0], successor, "state"), "waiting");
    assert_string_equal(job_field(at[0], in_sql, "state"), "waiting");
    expect(at[0], ":1", "ACKJOB %s", id);
    EVENTUALLY(number(at[0], "QLEN movednext") == 2);
    expect(at[0], text_of("[\"%s\" \"%s\"]", queue, queue), "LPOP movednext 2");
    free(in_sql);
}

/* A moved job keeps its number. The successors of the job before the move have their predecessor's outcome. */
static void test_moved_predecessors(void **state) {
    const char *first = add_job(at[0], "moving", "x", "ATTEMPTS 1 RETRY 3600 DEADQUEUE movedover");

    (void)state;
    add_job(at[0], "movedlast", "y", text_of("AFTER %s ON FAIL continue", first));
    get_job(at[0], "moving", "x");
    expect(at[0], ":1", "NACK %s", first);
    EVENTUALLY(number(at[0], "QLEN movedlast") == 1 && number(at[0], "QLEN movedover") == 1);
    EVENTUALLY(end_is_settled(first));
    follows_moved("dead", get_job(at[0], "movedover", "x"));
    first = add_job(at[0], "renamed", "x", "RETRY 3600");
    add_job(at[0], "movedlast", "y", text_of("AFTER %s", first));
    expect(at[0], "+OK", "RENAME renamed renamedto");
    EVENTUALLY(number(at[0], "QLEN movedlast") == 2 && number(at[0], "QLEN renamedto") == 1);
    EVENTUALLY(end_is_settled(first));
    follows_moved("renamed", get_job(at[0], "renamedto", "x"));
}

/* ---- many dependencies ---- */

/* In a transaction: 1,000 jobs, and some that wait for all of them. Returns the reply of EXEC. */
static const char *add_fan_in(int successors) {
    struct wire w;
    struct value *v;
    static char text[64];

    raw_open(&w);
    assert_true(wire_send_text(&w, "MULTI\r\nADDJOBS many 0 JOBS 1000"));
    for (int i = 0; i < 1000; i++)
        assert_true(wire_send_text(&w, " x"));
    assert_true(wire_send_text(&w, "\r\n"));
    for (int i = 0; i < successors; i++)
        assert_true(wire_send_text(&w, "ADDJOB later x 0 AFTER #1\r\n"));
    assert_true(wire_send_text(&w, "EXEC\r\n"));
    raw_expect(&w, "+OK");
    for (int i = 0; i < successors + 1; i++)
        raw_expect(&w, "+QUEUED");
    v = wire_reply(&w, EVENTUALLY_MS);
    assert_non_null(v);
    snprintf(text, sizeof text, "%.*s", (int)(v->text == NULL ? 0 : strcspn(v->text, ":")),
             v->text == NULL ? "" : v->text);
    value_free(v);
    wire_close(&w);
    return text;
}

/* AFTER #1 names 1,000 jobs in a few bytes. */
static void test_dependencies_are_limited(void **state) {
    (void)state;
    assert_string_equal(add_fan_in(101), "LIMIT the jobs of the transaction wait for too many jobs");
    assert_int_equal(flow_rows("many", "true"), 0);
    assert_string_equal(add_fan_in(3), "");
    assert_int_equal(flow_rows("many", "true"), 1000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_workflow_survives_kills, servers_setup, servers_teardown),
        cmocka_unit_test_setup_teardown(test_a_batch_survives_kills, servers_setup, servers_teardown),
        cmocka_unit_test_setup_teardown(test_cancelled_jobs_never_count_as_done, servers_setup,
                                        servers_teardown),
        cmocka_unit_test_setup_teardown(test_the_leader_finds_ends, servers_setup, servers_teardown),
        cmocka_unit_test_setup_teardown(test_expired_successors_are_kept, servers_setup, servers_teardown),
        cmocka_unit_test_setup_teardown(test_the_leader_finds_missed_successors, servers_setup,
                                        servers_teardown),
        cmocka_unit_test_setup_teardown(test_a_transaction_meets_another_session, servers_setup,
                                        servers_teardown),
        cmocka_unit_test_setup_teardown(test_an_element_comes_back, servers_setup, servers_teardown),
        cmocka_unit_test_setup_teardown(test_moved_predecessors, servers_setup, servers_teardown),
        cmocka_unit_test_setup_teardown(test_dependencies_are_limited, servers_setup, servers_teardown),
    };

    return RUN_SUITE("flows", tests);
}
