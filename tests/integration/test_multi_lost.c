/* Commands whose transaction was committed, and whose answer was lost: the reply is true. */
#include "fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "standby.h"

/* A commit that waits for a missing standby is already in the log. If the session ends then, later sessions see the
 * commit. */
static struct postgres primary;
static struct server guarded, other;
static redisContext *c, *elsewhere;

static const char *const no_waits[] = { "--durability", "local", NULL };

/* Only transactions with a mark wait. The server's periodic transactions do not, or EXEC could follow them. */
static void let_marks_wait(void) {
    free(postgres_query(guarded.database,
                        "alter table pgdisque.commit_marker add constraint mark_waits "
                        "check (pg_catalog.set_config('synchronous_commit', 'on', true) is not null)"));
}

static int group_start(void **state) {
    (void)state;
    primary_start(&primary);
    server_start(&guarded, postgres_conninfo(&primary, NULL), no_waits);
    let_marks_wait();
    return 0;
}

static int group_stop(void **state) {
    int failed = server_stop(&guarded);

    (void)state;
    postgres_stop(&primary, true);
    return failed;
}

static int alone(void **state) {
    (void)state;
    commits_wait_for_missing(guarded.database, false);
    c = client_open_on(&guarded);
    return 0;
}

static int with_another(void **state) {
    (void)alone(state);
    server_start(&other, guarded.database, no_waits);
    elsewhere = client_open_on(&other);
    EVENTUALLY(strstr(ask(c, "CLUSTER INFO"), "cluster_known_nodes:2") != NULL);
    return 0;
}

static int part(void **state) {
    (void)state;
    redisFree(c);
    if (elsewhere == NULL)
        return 0;
    redisFree(elsewhere);
    elsewhere = NULL;
    return server_stop(&other);
}

/* Sends the commands between MULTI and EXEC. Each string has the words of a command; the last is NULL. */
static void send_transaction(struct wire *w, const char *const *commands) {
    int count = 0;

    raw_open_on(w, &guarded);
    wire_words(w, "MULTI", NULL);
    for (; commands[count] != NULL; count++)
        wire_send_text(w, text_of("%s\r\n", commands[count]));
    raw_expect(w, "+OK");
    while (count-- > 0)
        raw_expect(w, "+QUEUED");
    commits_wait_for_missing(guarded.database, true);
    wire_words(w, "EXEC", NULL);
}

/* Counts the sessions that wait in EXEC's commit. counted is "*", or a function that ends them. */
static long long waiting_sessions(const char *counted) {
    return postgres_number(
        guarded.database,
        text_of("select count(%s) from pg_stat_activity where application_name like 'pgdisque %% write' "
                "and wait_event = 'SyncRep' and query like '%%insert into pgdisque.commit_marker%%'",
                counted));
}

static void end_waiting_session(void) {
    EVENTUALLY(waiting_sessions("pg_terminate_backend(pid)") >= 1);
    EVENTUALLY(waiting_sessions("*") == 0);
    commits_wait_for_missing(guarded.database, false);
}

static const char *lose_answer(struct wire *w) {
    static char text[512];
    struct value *v;
    char *all;

    end_waiting_session();
    v = wire_reply(w, EVENTUALLY_MS);
    assert_non_null(v);
    all = value_text(v);
    snprintf(text, sizeof text, "%s", all);
    free(all);
    value_free(v);
    wire_close(w);
    return text;
}

static long long jobs_of(const char *queue) {
    return postgres_number(guarded.database,
                           text_of("select count(*) from pgdisque.jobs where queue = '%s'", queue));
}

/* Or its row would be made first, by another transaction. */
static void make_queue(const char *name) {
    expect(c, ":1", "ACKJOB %s", add_job(c, name, "x", ""));
}

static void handed_on(const char *from, const char *to) {
    const char *id = add_job(c, from, "x", ""), *reply;
    struct wire w;

    make_queue(to);
    get_job(c, from, "x");
    send_transaction(&w, (const char *[]){ text_of("ACKJOB %s", id), text_of("ADDJOB %s y 0", to), NULL });
    reply = lose_answer(&w);
    assert_string_equal(text_of("%.7s", reply), "[:1 +D-");
    assert_int_equal(number(c, "QLEN %s", to), 1);
    assert_int_equal(number(c, "QLEN %s", from), 0);
    assert_int_equal(jobs_of(to), 1);
    assert_int_equal(jobs_of(from), 0);
    get_job(c, to, "y");
}

static void test_one_server(void **state) {
    (void)state;
    handed_on("from", "to");
}

static void test_two_servers(void **state) {
    (void)state;
    handed_on("from-two", "to-two");
    EVENTUALLY(number(elsewhere, "QLEN to-two") == 0);
}

/* The reply of each command tells as much as the server knows. */
static void test_reply_tells_the_known_result(void **state) {
    const char *worked = add_job(c, "guess", "worked", "RETRY 3600");
    const char *put_back = add_job(c, "guess", "put-back", "RETRY 3600");
    const char *queued = add_job(c, "queued", "queued", "RETRY 3600");
    const char *reply;
    struct wire w;

    (void)state;
    make_queue("guessed");
    get_job(c, "guess", "worked");
    get_job(c, "guess", "put-back");
    send_transaction(&w, (const char *[]){ text_of("WORKING %s", worked), text_of("NACK %s", put_back),
                                           text_of("DEQUEUE %s", queued), "ADDJOB guessed x 0 UNIQUE k",
                                           "GETJOB FROM guessed", "PING", NULL });
    reply = lose_answer(&w);
    assert_string_equal(text_of("%.37s", reply), "[-UNKNOWN the command was done with i");
    assert_non_null(strstr(reply, " +D-"));
    assert_non_null(strstr(reply, " *-1 +PONG]"));
    /* No client got the job. An active job and a dequeued job stay as they are. */
    EVENTUALLY(number(c, "QLEN guessed") == 1);
    get_job(c, "guessed", "x");
    get_job(c, "guess", "put-back");
    assert_string_equal(job_field(c, worked, "state"), "active");
    assert_string_equal(job_field(c, queued, "state"), "active");
    assert_int_equal(number(c, "QLEN queued"), 0);
    assert_true(queue_is_empty(c, "guess"));
}

/* The pushed element is there. The popped element is gone, and no reply says that the list was empty. */
static void test_lists(void **state) {
    const char *reply;
    struct wire w;

    (void)state;
    expect(c, ":3", "RPUSH source a b c");
    expect(c, ":1", "RPUSH target x");
    send_transaction(&w, (const char *[]){ "RPUSH target y", "LPOP source", "RPOPLPUSH source target",
                                           "LREM source 0 b", "LPUSHX target z", NULL });
    reply = lose_answer(&w);
    assert_string_equal(text_of("%.2s", reply), "[:");
    for (int i = 0; i < 4; i++) {
        reply = strstr(reply, "-UNKNOWN the command was done");
        assert_non_null(reply);
        reply++;
    }
    expect(c, "[\"z\" \"c\" \"x\" \"y\"]", "LRANGE target 0 -1");
    EVENTUALLY(number(c, "LLEN target") == 4 && number(c, "LLEN source") == 0);
    expect(c, "nil", "LPOP source 9");
    expect(c, "[\"z\" \"c\" \"x\" \"y\"]", "LPOP target 9");
}

static void test_keys(void **state) {
    const char *reply;
    struct wire w;

    (void)state;
    expect(c, ":3", "RPUSH from a b c");
    expect(c, ":1", "RPUSH to x");
    expect(c, ":2", "RPUSH dropped x y");
    send_transaction(&w, (const char *[]){ "DEL dropped", "RENAME from to", "EXPIRE to 1000 NX",
                                           "PERSIST none", "TTL to", NULL });
    reply = lose_answer(&w);
    for (int i = 0; i < 3; i++) {
        reply = strstr(reply, "-UNKNOWN the command was done");
        assert_non_null(reply);
        reply++;
    }
    assert_string_equal(strstr(reply, ":0") == NULL ? reply : ":0", ":0");
    expect(c, "[\"a\" \"b\" \"c\"]", "LRANGE to 0 -1");
    EVENTUALLY(number(c, "LLEN to") == 3 && number(c, "LLEN from") == 0 && number(c, "LLEN dropped") == 0);
    assert_in_range(number(c, "TTL to"), 900, 1000);
    expect(c, "nil", "LPOP dropped 9");
    expect(c, "[\"a\" \"b\" \"c\"]", "LPOP to 9");
}

/* Sends a command by itself, and loses its answer. line: words without blanks. */
static const char *lost_line(const char *line) {
    struct wire w;

    raw_open_on(&w, &guarded);
    commits_wait_for_missing(guarded.database, true);
    wire_send_text(&w, text_of("%s\r\n", line));
    return lose_answer(&w);
}

static const char *lost_command(const char *command, const char *argument) {
    return lost_line(text_of("%s %s", command, argument));
}

#define assert_maybe(reply)    \
    assert_string_equal(reply, \
                        "-UNKNOWN the connection to the database was lost: the command may have been done")
#define assert_unknown(reply) assert_string_equal(text_of("%.30s", reply), "-UNKNOWN the command was done ")

/* A repeated CANCEL would find no job, and reply 0. */
static void test_cancel(void **state) {
    const char *id = add_job(c, "cancelled", "x", "");

    (void)state;
    assert_unknown(lost_command("CANCEL", id));
    expect(c, "nil", "SHOW %s", id);
    EVENTUALLY(number(c, "QLEN cancelled") == 0);
}

/* A repeated DEL or SREM would reply 0. */
static void test_library_values(void **state) {
    (void)state;
    expect(c, "+OK", "SET stat:lost 5");
    assert_unknown(lost_command("DEL", "stat:lost"));
    expect(c, "nil", "GET stat:lost");
    expect(c, ":2", "SADD processes a b");
    assert_unknown(lost_line("SREM processes a"));
    expect(c, "[\"b\"]", "SMEMBERS processes");
}

/* Adds a job with one attempt, and delivers it. */
static const char *take_once(const char *queue) {
    const char *id = add_job(c, queue, "x", "ATTEMPTS 1");

    get_job(c, queue, "x");
    return id;
}

static const char *dead_job(const char *queue) {
    const char *id = take_once(queue);

    expect(c, ":1", "NACK %s", id);
    EVENTUALLY(number(c, "QLEN %s DEAD", queue) == 1);
    return id;
}

static void test_dead_letters(void **state) {
    const char *deleted = dead_job("deleted"), *revived;

    (void)state;
    assert_unknown(lost_command("DELJOB", deleted));
    expect(c, "nil", "SHOW %s", deleted);
    EVENTUALLY(number(c, "QLEN deleted DEAD") == 0);
    revived = dead_job("revived");
    assert_unknown(lost_command("ENQUEUE", revived));
    EVENTUALLY(number(c, "QLEN revived DEAD") == 0);
    get_job(c, "revived", "x");
}

/* A repeated page would take the next dead letters, too. Without COUNT the server repeats it. */
static void test_counts_of_dead_letters(void **state) {
    (void)state;
    for (int i = 0; i < 4; i++)
        expect(c, ":1", "NACK %s", take_once("counted"));
    EVENTUALLY(number(c, "QLEN counted DEAD") == 4);
    assert_maybe(lost_line("DELDEAD counted COUNT 1"));
    EVENTUALLY(number(c, "QLEN counted DEAD") == 3);
    assert_maybe(lost_line("REVIVE counted COUNT 1"));
    EVENTUALLY(number(c, "QLEN counted DEAD") == 2 && number(c, "QLEN counted") == 1);
    get_job(c, "counted", "x");
    expect(c, ":2", "DELDEAD counted");
}

/* The marker does not tell whether the command has found its list and its element. */
static void test_changes_of_lists(void **state) {
    (void)state;
    expect(c, ":2", "RPUSH listed a b");
    expect(c, ":1", "RPUSH there x");
    assert_unknown(lost_line("LSET listed 1 B"));
    expect(c, "[\"a\" \"B\"]", "LRANGE listed 0 -1");
    assert_unknown(lost_line("RENAMENX listed there"));
    expect(c, "[\"a\" \"B\"]", "LRANGE listed 0 -1");
    assert_unknown(lost_line("RENAME listed there"));
    expect(c, "[\"a\" \"B\"]", "LRANGE there 0 -1");
    expect(c, ":1", "DEL there");
}

static void test_unschedule(void **state) {
    (void)state;
    expect(c, "+OK", "SCHEDULE nightly @daily reports body");
    assert_unknown(lost_command("UNSCHEDULE", "nightly"));
    expect(c, ":0", "UNSCHEDULE nightly");
}

/* The completion job comes, although the server does not know that the batch was closed. */
static void test_batch_close(void **state) {
    char batch[41];

    (void)state;
    assert_int_equal(sscanf(ask(c, "BATCH NEW lots COMPLETE done"), "\"%40[^\"]\"", batch), 1);
    assert_unknown(lost_line(text_of("BATCH CLOSE %s", batch)));
    EVENTUALLY(number(c, "QLEN lots") == 1);
    get_job(c, "lots", "done");
}

/* The transaction of a refused ADDJOB is committed, too, and has added nothing: the reply must not be an ID. */
static void test_workflow_of_two_servers(void **state) {
    const char *gone = add_job(c, "step-one", "x", ""), *before = add_job(c, "step-one", "y", "");
    struct wire w;

    (void)state;
    make_queue("step-two");
    expect(c, ":1", "ACKJOB %s", gone);
    raw_open_on(&w, &guarded);
    commits_wait_for_missing(guarded.database, true);
    wire_words(&w, "ADDJOB", "step-two", "never", "0", "AFTER", gone, NULL);
    assert_string_equal(text_of("%.20s", lose_answer(&w)), "-NOJOB AFTER names a");
    raw_open_on(&w, &guarded);
    commits_wait_for_missing(guarded.database, true);
    wire_words(&w, "ADDJOB", "step-two", "once", "0", "AFTER", before, NULL);
    assert_string_equal(text_of("%.3s", lose_answer(&w)), "+D-");
    expect(c, ":1", "ACKJOB %s", before);
    get_job(c, "step-two", "once");
    assert_true(queue_is_empty(c, "step-two"));
}

/* The body is replaced, and the server does not know whether this ADDJOB has replaced it. */
static void test_replace_of_two_servers(void **state) {
    (void)state;
    add_job(c, "replaced-two", "old", "UNIQUE k");
    assert_unknown(lost_line("ADDJOB replaced-two new 0 UNIQUE k REPLACE WITHOUTCOME"));
    get_job(c, "replaced-two", "new");
}

/* The committed try added no job, because an application was taking the key. */
static void test_taken_key_of_two_servers(void **state) {
    PGconn *holder = postgres_connect(guarded.database);
    struct wire w;
    struct value *v;

    (void)state;
    make_queue("held");
    PQclear(
        PQexec(holder, "begin; select pgdisque.add_job('held', 'of the application', unique_key => 'k')"));
    raw_open_on(&w, &guarded);
    commits_wait_for_missing(guarded.database, true);
    wire_words(&w, "ADDJOB", "held", "mine", "0", "UNIQUE", "k", NULL);
    end_waiting_session();
    PQclear(PQexec(holder, "rollback"));
    PQfinish(holder);
    v = wire_reply(&w, EVENTUALLY_MS);
    assert_true(v != NULL && v->type == '+');
    get_job(c, "held", "mine");
    value_free(v);
    wire_close(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_one_server, alone, part),
        cmocka_unit_test_setup_teardown(test_reply_tells_the_known_result, alone, part),
        cmocka_unit_test_setup_teardown(test_lists, alone, part),
        cmocka_unit_test_setup_teardown(test_keys, alone, part),
        cmocka_unit_test_setup_teardown(test_cancel, alone, part),
        cmocka_unit_test_setup_teardown(test_library_values, alone, part),
        cmocka_unit_test_setup_teardown(test_dead_letters, alone, part),
        cmocka_unit_test_setup_teardown(test_counts_of_dead_letters, alone, part),
        cmocka_unit_test_setup_teardown(test_changes_of_lists, alone, part),
        cmocka_unit_test_setup_teardown(test_unschedule, alone, part),
        cmocka_unit_test_setup_teardown(test_batch_close, alone, part),
        cmocka_unit_test_setup_teardown(test_two_servers, with_another, part),
        cmocka_unit_test_setup_teardown(test_workflow_of_two_servers, with_another, part),
        cmocka_unit_test_setup_teardown(test_replace_of_two_servers, with_another, part),
        cmocka_unit_test_setup_teardown(test_taken_key_of_two_servers, with_another, part),
    };

    return RUN_SUITE_WITH("multi_lost", tests, group_start, group_stop);
}
