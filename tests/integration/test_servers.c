/* Several servers on one database: the effect of a command at one server is visible at all servers. */
#include "servers.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum { A, B, C };

/* ---- the servers ---- */

static void test_all_know_each_other(void **state) {
    (void)state;
    for (int i = 0; i < SERVERS; i++) {
        const char *info;

        for (int k = 0; k < SERVERS; k++) {
            const char *line = node_line(at[i], node_id(at[k]));

            assert_string_equal(hello_priority(at[i], node_id(at[k])), "1");
            assert_non_null(strstr(line, text_of("127.0.0.1:%d", group_size[k]->port)));
            assert_non_null(strstr(line, i == k ? " myself " : " noflags "));
            assert_non_null(strstr(line, " connected"));
        }
        EVENTUALLY(strstr(info = ask(at[i], "CLUSTER INFO"), "cluster_known_nodes:3") != NULL);
        assert_non_null(strstr(info, "cluster_reachable_nodes:2"));
        assert_string_equal(ask(at[i], "CLUSTER FORGET %s", node_id(at[(i + 1) % SERVERS])), "+OK");
        assert_int_equal(info_number(at[i], "nodes"), 3);
    }
}

static void test_leaving_is_seen(void **state) {
    const char *id = node_id(at[B]);

    (void)state;
    expect(at[B], "+OK", "CLUSTER LEAVING yes");
    EVENTUALLY(strcmp(hello_priority(at[A], id), "100") == 0);
    EVENTUALLY(strcmp(hello_priority(at[C], id), "100") == 0);
    assert_non_null(strstr(node_line(at[A], id), " leaving "));
    expect(at[B], "+OK", "CLUSTER LEAVING no");
    EVENTUALLY(strcmp(hello_priority(at[A], id), "1") == 0);
    assert_non_null(strstr(node_line(at[A], id), " noflags "));
}

/* ---- jobs go where they are wanted ---- */

/* The first job of a queue, the next jobs, and a queue among others. */
static void test_delivered_where_a_client_waits(void **state) {
    struct wire w;

    (void)state;
    for (int i = 0; i < 6; i++) {
        const char *id;

        wait_at(B, &w, "there");
        id = add_job(at[i % 2 == 0 ? A : C], "there", "x", "");
        raw_expect(&w, text_of("[[\"there\" \"%s\" \"x\"]]", id));
        assert_true(queue_is_empty(at[A], "there"));
        expect(at[C], ":1", "ACKJOB %s", id);
        wire_close(&w);
    }
    EVENTUALLY(all_have("there", 0) && all_agree("there"));
}

static void test_clients_that_wait_for_several_queues(void **state) {
    struct wire w;

    (void)state;
    raw_open_on(&w, group_size[B]);
    wire_words(&w, "GETJOB", "COUNT", "5", "FROM", "several1", "several2", "several3", NULL);
    EVENTUALLY(raw_waits(&w, at[B]));
    raw_expect(&w, text_of("[[\"several3\" \"%s\" \"x\"]]", add_job(at[A], "several3", "x", "")));
    wire_close(&w);
}

static void test_found_without_waiting(void **state) {
    const char *got;

    (void)state;
    for (int i = 0; i < 5; i++) {
        const char *id = add_job(at[i % SERVERS], "nohang", "x", "");

        EVENTUALLY(strcmp(got = ask(at[(i + 1) % SERVERS], "GETJOB NOHANG FROM nohang"), "nil") != 0);
        assert_non_null(strstr(got, id));
        for (int k = 0; k < SERVERS; k++)
            assert_true(queue_is_empty(at[k], "nohang"));
    }
}

/* A client waits at each server, and there is one job: one client gets it, and the others get the next jobs. */
static void test_one_job_wakes_one(void **state) {
    struct wire w[SERVERS];
    int served = 0;

    (void)state;
    for (int i = 0; i < SERVERS; i++)
        wait_at(i, &w[i], "one");
    for (int n = 1; n <= SERVERS; n++) {
        add_job(at[B], "one", "x", "");
        EVENTUALLY((wire_pending(&w[A]) > 0) + (wire_pending(&w[B]) > 0) + (wire_pending(&w[C]) > 0) >
                   served);
        served++;
        HOLDS_FOR(50, (wire_pending(&w[A]) > 0) + (wire_pending(&w[B]) > 0) + (wire_pending(&w[C]) > 0) ==
                          served);
    }
    for (int i = 0; i < SERVERS; i++)
        wire_close(&w[i]);
    EVENTUALLY(all_have("one", 0));
}

/* Clients ask at one server only, and all jobs are added at the others. The jobs come in the order of the adds. */
static void test_many_jobs_in_order(void **state) {
    char *ids[300];

    (void)state;
    for (int i = 0; i < 300; i++)
        ids[i] = strdup(add_job(at[A], "order", "x", ""));
    EVENTUALLY(number(at[B], "QLEN order") == 300);
    for (int i = 0; i < 300; i++) {
        assert_non_null(strstr(ask(at[B], "GETJOB TIMEOUT 60000 FROM order"), ids[i]));
        later(at[C], "ACKJOB %s", ids[i]);
        free(ids[i]);
    }
    for (int i = 0; i < 300; i++)
        expect_next(at[C], ":1");
    EVENTUALLY(all_have("order", 0) && all_agree("order"));
}

/* ---- commands about a job that another server has leased ---- */

static bool all_are_empty(const char *queue) {
    for (int i = 0; i < SERVERS; i++)
        if (!queue_is_empty(at[i], queue))
            return false;
    return true;
}

/* The other server does not return a job that the leasing server would return. It may have counted the job for a
 * moment, until it heard of the lease's end. */
static void check_no_returned_peer(const char *queue) {
    HOLDS_FOR(2600, all_are_empty(queue));
    EVENTUALLY(all_have(queue, 0) && all_agree(queue));
}

/* Has as much happened to the queue, as all know it? */
static bool all_count(const char *queue, const char *field, int least) {
    for (int i = 0; i < SERVERS; i++)
        if (atoi(queue_field(at[i], queue, field)) < least)
            return false;
    return true;
}

static void test_acknowledged_elsewhere(void **state) {
    const char *ack = add_job(at[A], "acks", "ack", "RETRY 2");
    const char *del = add_job(at[A], "acks", "del", "RETRY 2");
    const char *fast = add_job(at[A], "acks", "fast", "RETRY 2");

    (void)state;
    get_job(at[A], "acks", "ack");
    get_job(at[A], "acks", "del");
    get_job(at[A], "acks", "fast");
    expect(at[B], ":1", "ACKJOB %s", ack);
    expect(at[C], ":1", "DELJOB %s", del);
    expect(at[B], ":1", "FASTACK %s", fast);
    expect(at[A], ":0", "ACKJOB %s %s %s", ack, del, fast);
    check_no_returned_peer("acks");
}

static void test_nacked_elsewhere(void **state) {
    const char *id = add_job(at[A], "nacks", "x", "RETRY 2");

    (void)state;
    get_job(at[A], "nacks", "x");
    expect(at[B], ":1", "NACK %s", id);
    expect_job_at(C, "nacks", id);
    assert_string_equal(job_field(at[A], id, "nacks"), "1");
    expect(at[B], ":1", "ACKJOB %s", id);
    check_no_returned_peer("nacks");
}

static void test_enqueued_and_dequeued_elsewhere(void **state) {
    const char *id = add_job(at[A], "queued", "x", "RETRY 2");
    int64_t dequeued;

    (void)state;
    get_job(at[A], "queued", "x");
    expect(at[B], ":1", "ENQUEUE %s", id);
    EVENTUALLY(all_have("queued", 1));
    dequeued = now_ms();
    expect(at[C], ":1", "DEQUEUE %s", id);
    expect_job_at(A, "queued", id);
    assert_true(now_ms() - dequeued >= 1800);
    expect(at[C], ":1", "ACKJOB %s", id);
    check_no_returned_peer("queued");
}

/* Two deliveries are RETRY apart, counted from the last WORKING, wherever that was. */
static void test_worked_on_elsewhere(void **state) {
    const char *id = add_job(at[A], "working", "x", "RETRY 8");
    int64_t worked = 0;

    (void)state;
    get_job(at[A], "working", "x");
    for (int i = 0; i < SERVERS; i++)
        EVENTUALLY(strcmp(queue_field(at[i], "working", "jobs-out"), "1") == 0);
    for (int i = 0; i < 3; i++) {
        HOLDS_FOR(3200, all_have("working", 0));
        worked = now_ms();
        expect(at[B], ":8", "WORKING %s", id);
    }
    expect_job_at(C, "working", id);
    assert_true(now_ms() - worked >= 7800);
    expect(at[A], ":1", "ACKJOB %s", id);
    check_no_returned_peer("working");
}

/* True if a reply begins within a second. */
static bool comes_soon(struct wire *w) {
    for (int i = 0; i < 200 && !wire_pending(w); i++)
        pause_briefly();
    return wire_pending(w);
}

/* Cancels the job at B, or by SQL. */
static void cancel_job(const char *id, bool by_sql) {
    if (by_sql)
        free(postgres_query(server.database, text_of("select pgdisque.cancel_jobs(array['%s'])", id)));
    else
        expect(at[B], ":1", "CANCEL %s", id);
}

/*
 * True if the worker of a new job hears that it is cancelled. A message between servers is lost if one of them is taken
 * for dead, so the caller repeats this. The worker keeps the job *id.
 */
static bool cancel_is_heard(struct wire *heard, bool by_sql, const char **id) {
    bool is = false;

    *id = add_job(at[A], "cancelled", "x", "RETRY 60");
    get_job(at[A], "cancelled", "x");
    cancel_job(*id, by_sql);
    while (!is && comes_soon(heard)) {
        struct value *v = wire_reply(heard, EVENTUALLY_MS);
        char *got = value_text(v);

        is = strcmp(got, text_of("[\"message\" \"__cancel__:cancelled\" \"%s\"]", *id)) == 0;
        value_free(v);
        free(got);
    }
    if (!is)
        expect(at[A], ":1", "NACK %s", *id);
    return is;
}

/* The worker hears at its server, and the job ends with NACK, or with the lease that another server watches now. */
static void test_cancelled_elsewhere(void **state) {
    const char *id, *left;
    struct wire heard, waiting;

    (void)state;
    raw_open_on(&heard, group_size[C]);
    raw_open_on(&waiting, group_size[C]);
    wire_words(&heard, "SUBSCRIBE", "__cancel__:cancelled", NULL);
    raw_expect(&heard, "[\"subscribe\" \"__cancel__:cancelled\" :1]");
    EVENTUALLY(cancel_is_heard(&heard, true, &id));
    expect(at[B], ":1", "NACK %s", id);
    EVENTUALLY(cancel_is_heard(&heard, false, &id));
    expect(at[A], "-CANCELLED the job is cancelled: end it with NACK or ACKJOB", "WORKING %s", id);
    expect(at[A], ":1", "NACK %s", id);
    assert_string_equal(job_field(at[C], id, "state"), "gone");
    left = add_job(at[A], "cancelled", "y", "RETRY 2");
    get_job(at[A], "cancelled", "y");
    wire_words(&waiting, "WAITJOB", left, NULL);
    EVENTUALLY(raw_waits(&waiting, at[C]));
    expect(at[B], ":1", "CANCEL %s", left);
    raw_expect(&waiting, "[\"cancelled\" $-1]");
    EVENTUALLY(all_have("cancelled", 0) && all_agree("cancelled"));
    wire_close(&heard);
    wire_close(&waiting);
}

/* The session of A that listens. It does nothing until it gets SIGCONT. */
static pid_t stop_listener(void) {
    const char *asked = text_of("select pid from pg_stat_activity where application_name like '%%%.8s%%' and "
                                "application_name like '%%channel'",
                                node_id(at[A]));
    pid_t pid = (pid_t)postgres_number(server.database, asked);

    assert_true(pid > 0 && kill(pid, SIGSTOP) == 0);
    return pid;
}

/* A does not know yet that B has given the job another lease. A ends the job with that lease. */
static void test_cancelled_before_the_new_lease_is_known(void **state) {
    const char *id = add_job(at[A], "extended", "x", "RETRY 2");
    pid_t listener;

    (void)state;
    get_job(at[A], "extended", "x");
    listener = stop_listener();
    expect(at[B], ":2", "WORKING %s", id);
    expect(at[A], ":1", "CANCEL %s", id);
    assert_int_equal(kill(listener, SIGCONT), 0);
    EVENTUALLY(jobs_in_database("extended") == 0 && all_have("extended", 0) && all_agree("extended"));
}

static void test_shown_anywhere(void **state) {
    const char *id = add_job(at[A], "shown", "body", "RETRY 100");

    (void)state;
    for (int i = 0; i < SERVERS; i++)
        assert_string_equal(job_field(at[i], id, "state"), "queued");
    get_job(at[A], "shown", "body");
    for (int i = 0; i < SERVERS; i++) {
        assert_string_equal(job_field(at[i], id, "state"), "active");
        assert_string_equal(job_field(at[i], id, "body"), "body");
    }
    expect(at[C], ":1", "DELJOB %s", id);
    assert_string_equal(job_field(at[A], id, "state"), "gone");
}

/* ---- time ---- */

static void test_delays_end_for_all(void **state) {
    struct wire w;
    int64_t start;
    const char *id;

    (void)state;
    wait_at(B, &w, "delays");
    start = now_ms();
    id = add_job(at[A], "delays", "x", "DELAY 1");
    raw_expect(&w, text_of("[[\"delays\" \"%s\" \"x\"]]", id));
    assert_true(now_ms() - start >= 800);
    wire_close(&w);
    expect(at[C], ":1", "ACKJOB %s", id);
    EVENTUALLY(all_have("delays", 0) && all_agree("delays"));
}

/* Acknowledged elsewhere before its delay was over, it does not come. */
static void test_delayed_and_gone(void **state) {
    const char *id = add_job(at[A], "delaygone", "x", "DELAY 1");

    (void)state;
    expect(at[B], ":1", "ACKJOB %s", id);
    check_no_returned_peer("delaygone");
}

static void test_leases_end_for_all(void **state) {
    const char *id = add_job(at[B], "leases", "x", "RETRY 2");
    int64_t start = now_ms();
    struct wire w;

    (void)state;
    get_job(at[B], "leases", "x");
    wait_at(A, &w, "leases");
    raw_expect(&w, text_of("[[\"leases\" \"%s\" \"x\"]]", id));
    assert_true(now_ms() - start >= 1800);
    expect(at[B], ":1", "ACKJOB %s", id);
    wire_close(&w);
    check_no_returned_peer("leases");
}

static void test_expired_for_all(void **state) {
    (void)state;
    add_job(at[A], "ttl", "x", "TTL 1 RETRY 0");
    EVENTUALLY(all_count("ttl", "jobs-in", 1));
    EVENTUALLY(all_have("ttl", 0) && jobs_in_database("ttl") == 0);
    EVENTUALLY(all_agree("ttl"));
}

/* ---- queues ---- */

static void test_paused_for_all(void **state) {
    struct wire w;
    const char *id;

    (void)state;
    expect(at[A], "+in", "PAUSE paused in");
    EVENTUALLY(strcmp(ask(at[B], "PAUSE paused state"), "+in") == 0);
    expect_start(at[B], "-PAUSED ", "ADDJOB paused x 0");
    expect(at[C], "+none", "PAUSE paused none");
    EVENTUALLY(strcmp(ask(at[B], "PAUSE paused state"), "+none") == 0);
    expect(at[C], "+out", "PAUSE paused out");
    for (int i = 0; i < SERVERS; i++)
        EVENTUALLY(strcmp(queue_field(at[i], "paused", "pause"), "out") == 0);
    id = add_job(at[A], "paused", "x", "");
    EVENTUALLY(number(at[B], "QLEN paused") == 1);
    assert_true(queue_is_empty(at[B], "paused"));
    wait_at(B, &w, "paused");
    expect(at[A], "+none", "PAUSE paused none");
    raw_expect(&w, text_of("[[\"paused\" \"%s\" \"x\"]]", id));
    wire_close(&w);
    expect(at[A], ":1", "ACKJOB %s", id);
    EVENTUALLY(all_have("paused", 0) && all_agree("paused"));
}

/* A server undoes the change of another server before it was told of the change. */
static void test_undone_before_the_notification(void **state) {
    (void)state;
    for (int i = 0; i < 20; i++) {
        expect(at[A], "+in", "PAUSE undone%d in", i);
        expect(at[C], "+none", "PAUSE undone%d none", i);
        expect(at[A], "+OK", "QCONFIG undone%d SET ttl 100", i);
        expect(at[B], "+OK", "QCONFIG undone%d RESET", i);
    }
    assert_int_equal(
        postgres_number(server.database,
                        "select count(*) from pgdisque.queue as q left join pgdisque.queue_setting "
                        "as s on s.queue_id = q.id where q.name like 'undone%' and (q.pause <> 0 or "
                        "s.name is not null)"),
        0);
    for (int i = 0; i < SERVERS; i++)
        EVENTUALLY(strcmp(ask(at[i], "PAUSE undone19 state"), "+none") == 0);
}

static void test_scanned_anywhere(void **state) {
    (void)state;
    add_job(at[A], "scanned", "x", "");
    EVENTUALLY(strstr(ask(at[B], "QSCAN COUNT 10000"), "\"scanned\"") != NULL);
    EVENTUALLY(strstr(ask(at[C], "JSCAN QUEUE scanned"), "D-") != NULL);
    EVENTUALLY(strstr(ask(at[B], "QPEEK scanned 1"), "\"x\"") != NULL);
}

static void test_flushed_for_all(void **state) {
    const char *leased = add_job(at[A], "flushed", "x", "RETRY 2");

    (void)state;
    get_job(at[A], "flushed", "x");
    add_job(at[B], "flushed", "y", "");
    add_job(at[C], "flushed", "z", "DELAY 1");
    EVENTUALLY(all_count("flushed", "jobs-in", 2));
    expect(at[B], "+OK", "DEBUG FLUSHALL");
    EVENTUALLY(all_have("flushed", 0));
    expect(at[A], ":0", "ACKJOB %s", leased);
    check_no_returned_peer("flushed");
    expect_job_at(A, "flushed", add_job(at[C], "flushed", "new", ""));
}

/* ---- counters ---- */

#define STEPS 1500
#define QUEUES 3
#define KEPT 40

static char ids[KEPT][ID_SIZE];

static const char *any_id(void) {
    return ids[rand() % KEPT];
}

static void keep_id(const char *reply) {
    const char *id = strstr(reply, "D-");

    if (id != NULL && strlen(id) >= ID_SIZE - 1)
        strncpy(ids[rand() % KEPT], id, ID_SIZE - 1);
}

static void random_step(redisContext *c) {
    static const char *const on_ids[] = { "ACKJOB", "NACK", "ENQUEUE", "DEQUEUE", "WORKING" };
    static const char *const options[] = { "RETRY 1", "RETRY 2", "RETRY 2 DELAY 1" };
    int q = rand() % QUEUES, what = rand() % 10;

    if (what < 4)
        keep_id(add_job(c, text_of("random%d", q), "x", options[rand() % 3]));
    else if (what < 7)
        keep_id(ask(c, "GETJOB NOHANG COUNT %d FROM random%d", 1 + rand() % 3, q));
    else
        ask(c, "%s %s", on_ids[rand() % 5], any_id());
}

/* In the end all leases are over: as many are queued as there are. */
static void test_counters_are_the_same_everywhere(void **state) {
    const char *seed = getenv("PGDISQUE_TEST_SEED");

    (void)state;
    srand(seed != NULL ? (unsigned)atoi(seed) : 4711);
    for (int i = 0; i < KEPT; i++)
        strcpy(ids[i], add_job(at[A], "random0", "x", "RETRY 1"));
    for (int i = 0; i < STEPS; i++)
        random_step(at[rand() % SERVERS]);
    for (int i = 0; i < KEPT; i++)
        ask(at[i % SERVERS], "ACKJOB %s", ids[i]);
    for (int q = 0; q < QUEUES; q++) {
        const char *name = forever(text_of("random%d", q));
        bool same = WAIT_UNTIL(all_have(name, jobs_in_database(name)) && all_agree(name), 3 * EVENTUALLY_MS);

        for (int i = 0; !same && i < SERVERS; i++)
            print_message("# server %d: %s, %lld in the database\n", i, ask(at[i], "QSTAT %s", name),
                          jobs_in_database(name));
        assert_true(same);
    }
}

/* The sessions of the server at n with that work. */
static const char *sessions_at(int n, const char *work) {
    return text_of("from pg_stat_activity where application_name = 'pgdisque %.8s %s'", node_id(at[n]), work);
}

/* Saved counters of a server come late, while another server counts the queue again. */
static void test_counters_that_are_saved_late(void **state) {
    pid_t reader = (pid_t)postgres_number(server.database, text_of("select pid %s", sessions_at(C, "read")));

    (void)state;
    expect_job_at(A, "savedlate", add_job(at[C], "savedlate", "x", ""));
    EVENTUALLY(postgres_number(server.database, "select count(*) from pgdisque.queue_counter as c join "
                                                "pgdisque.queue as q on q.id = c.queue_id where q.name = "
                                                "'savedlate' and jobs_in = 1 and jobs_out = 1") == 1);
    assert_int_equal(kill(reader, SIGSTOP), 0);
    add_job(at[C], "savedlate", "y", "");
    EVENTUALLY(all_have("savedlate", 1));
    assert_int_equal(postgres_number(server.database, text_of("select count(pg_terminate_backend(pid)) %s",
                                                              sessions_at(A, "channel"))),
                     1);
    /* The others count while the database lacks the last changes. */
    EVENTUALLY(atoi(queue_field(at[A], "savedlate", "jobs-in")) == 1);
    assert_int_equal(kill(reader, SIGCONT), 0);
    EVENTUALLY(all_agree("savedlate"));
}

/* ---- on another database ---- */

#define MANY 4

static void test_many_start_at_once(void **state) {
    const char *database = postgres_conninfo(&pg, NULL);
    struct server s[MANY];
    redisContext *c[MANY];

    (void)state;
    for (int i = 0; i < MANY; i++)
        server_spawn(&s[i], database, NULL);
    for (int i = 0; i < MANY; i++) {
        server_wait_ready(&s[i]);
        c[i] = client_open_on(&s[i]);
    }
    for (int i = 0; i < MANY; i++)
        EVENTUALLY(hello_count(c[i]) == MANY);
    assert_int_equal(postgres_number(database, "select count(distinct number) from pgdisque.node"), MANY);
    for (int i = 0; i < MANY; i++) {
        const char *id = add_job(c[i], "q", "x", "");

        assert_non_null(strstr(ask(c[(i + 1) % MANY], "GETJOB TIMEOUT 60000 FROM q"), id));
        expect(c[(i + 2) % MANY], ":1", "ACKJOB %s", id);
    }
    for (int i = 0; i < MANY; i++) {
        redisFree(c[i]);
        assert_int_equal(server_stop(&s[i]), 0);
    }
    assert_int_equal(postgres_number(database, "select count(*) from pgdisque.node where left_at is null"),
                     0);
}

/* Goes last. */
static void test_all_end_well(void **state) {
    (void)state;
    servers_teardown(NULL);
    for (int i = 0; i < SERVERS; i++)
        assert_int_equal(server_stop(group_size[i]), 0);
    assert_int_equal(
        postgres_number(server.database, "select count(*) from pgdisque.node where left_at is null"), 0);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, servers_setup, servers_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_all_know_each_other),
        TEST(test_leaving_is_seen),
        TEST(test_delivered_where_a_client_waits),
        TEST(test_clients_that_wait_for_several_queues),
        TEST(test_found_without_waiting),
        TEST(test_one_job_wakes_one),
        TEST(test_many_jobs_in_order),
        TEST(test_acknowledged_elsewhere),
        TEST(test_nacked_elsewhere),
        TEST(test_enqueued_and_dequeued_elsewhere),
        TEST(test_worked_on_elsewhere),
        TEST(test_cancelled_elsewhere),
        TEST(test_cancelled_before_the_new_lease_is_known),
        TEST(test_shown_anywhere),
        TEST(test_delays_end_for_all),
        TEST(test_delayed_and_gone),
        TEST(test_leases_end_for_all),
        TEST(test_expired_for_all),
        TEST(test_paused_for_all),
        TEST(test_undone_before_the_notification),
        TEST(test_scanned_anywhere),
        TEST(test_flushed_for_all),
        TEST(test_counters_are_the_same_everywhere),
        TEST(test_counters_that_are_saved_late),
        cmocka_unit_test(test_many_start_at_once),
        TEST(test_all_end_well),
    };

    return RUN_SUITE("servers", tests);
}
