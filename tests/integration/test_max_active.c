/* QCONFIG max-active over several servers: at no time more jobs run than the limit, while servers die. */
#include "servers.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { A, B, C };

#define CONSUMERS 64
#define WORK_MS 4
#define MOST_CUTS 20

/* ---- consumers ---- */

/* It asks for a job, has it for a while, and acknowledges it. */
struct consumer {
    redisContext *c;
    int at;
    char id[ID_SIZE]; /* of the job that it has, or "" */
    int64_t until;
};

static struct consumer consumers[CONSUMERS];
static int running;
static int most_running;
static int done;

static void flush_out(struct consumer *w) {
    for (int sent = 0; !sent;)
        if (redisBufferWrite(w->c, &sent) != REDIS_OK)
            return;
}

static void ask_job(struct consumer *w, const char *queue) {
    redisAppendCommand(w->c, "GETJOB FROM %s", queue);
    flush_out(w);
}

static void hire(const char *queue) {
    for (int i = 0; i < CONSUMERS; i++) {
        consumers[i] = (struct consumer){ .at = i % SERVERS };
        consumers[i].c = client_open_on(group_size[consumers[i].at]);
        ask_job(&consumers[i], queue);
    }
    running = most_running = done = 0;
}

static void dismiss(void) {
    for (int i = 0; i < CONSUMERS; i++)
        if (consumers[i].c != NULL)
            redisFree(consumers[i].c);
}

/* The consumer loses its job at the end of the lease. The job counts for another consumer then. */
static void lose(struct consumer *w) {
    running -= w->id[0] != '\0';
    w->id[0] = '\0';
    redisFree(w->c);
    w->c = NULL;
}

static void begin(struct consumer *w, const redisReply *jobs) {
    const redisReply *job = jobs->element[0];

    memcpy(w->id, job->element[1]->str, ID_SIZE - 1);
    w->until = now_ms() + rand() % WORK_MS;
    if (++running > most_running)
        most_running = running;
}

/* The end of its work is when the acknowledgement leaves. */
static void finish(struct consumer *w, const char *queue) {
    running--;
    done++;
    redisAppendCommand(w->c, "ACKJOB %s", w->id);
    w->id[0] = '\0';
    ask_job(w, queue);
}

static void hear(struct consumer *w) {
    redisReply *reply = NULL;

    if (redisBufferRead(w->c) != REDIS_OK) {
        lose(w);
        return;
    }
    while (redisGetReplyFromReader(w->c, (void **)&reply) == REDIS_OK && reply != NULL) {
        if (reply->type == REDIS_REPLY_ARRAY && reply->elements == 1)
            begin(w, reply);
        freeReplyObject(reply);
    }
}

static void work_a_moment(const char *queue) {
    struct pollfd fds[CONSUMERS];

    for (int i = 0; i < CONSUMERS; i++)
        fds[i] = (struct pollfd){ consumers[i].c == NULL ? -1 : consumers[i].c->fd, POLLIN, 0 };
    poll(fds, CONSUMERS, 1);
    /* Ends before beginnings: both can be older than the event that is read now. */
    for (int i = 0; i < CONSUMERS; i++)
        if (consumers[i].id[0] != '\0' && consumers[i].until <= now_ms())
            finish(&consumers[i], queue);
    for (int i = 0; i < CONSUMERS; i++)
        if (fds[i].revents != 0)
            hear(&consumers[i]);
}

static long long held(const char *queue) {
    return postgres_number(
        server.database,
        text_of("select count(*) from pgdisque.job as j join pgdisque.queue as q on q.id = j.queue_id "
                "where q.name = '%s' and j.owner is not null and j.ready_at > clock_timestamp()",
                queue));
}

static void limit(const char *queue, int most) {
    expect(at[A], "+OK", "QCONFIG %s SET max-active %d", queue, most);
    for (int i = 0; i < SERVERS; i++)
        EVENTUALLY(strcmp(ask(at[i], "QCONFIG %s GET max-active", queue),
                          text_of("[\"max-active\" \"%d\"]", most)) == 0);
}

static void fill(const char *queue, int jobs, int retry) {
    for (int i = 0; i < jobs; i++)
        later(at[i % SERVERS], "ADDJOB %s x 0 RETRY %d", queue, retry);
    for (int i = 0; i < jobs; i++)
        assert_true(*next_reply(at[i % SERVERS]) == '+');
}

/* Checks the limit in the database and by the records of the consumers. */
static void work(const char *queue, int jobs, int most) {
    int64_t deadline = now_ms() + patience(120000);

    while (done < jobs && now_ms() < deadline) {
        work_a_moment(queue);
        assert_in_range(held(queue), 0, most);
        assert_in_range(running, 0, most);
    }
    assert_true(done >= jobs);
}

/* ---- tests ---- */

static void test_never_more(void **state) {
    (void)state;
    limit("never", 5);
    hire("never");
    fill("never", 600, 60);
    work("never", 600, 5);
    /* The queue has enough jobs, so the consumers also reach the limit. */
    assert_int_equal(most_running, 5);
    dismiss();
    EVENTUALLY(all_have("never", 0));
}

/* Half of them die with their servers, or lose their leases. */
static void test_with_kills(void **state) {
    (void)state;
    limit("kills", 5);
    hire("kills");
    fill("kills", 500, 2);
    work("kills", 100, 5);
    server_kill(group_size[B]);
    for (int i = 0; i < 40; i++) {
        work_a_moment("kills");
        assert_in_range(held("kills"), 0, 5);
    }
    work("kills", 200, 5);
    server_kill(group_size[A]);
    for (int left = 1; left > 0;) {
        work_a_moment("kills");
        assert_in_range(held("kills"), 0, 5);
        left = (int)jobs_in_database("kills");
    }
    dismiss();
}

static void test_with_lost_connections(void **state) {
    (void)state;
    limit("cuts", 5);
    hire("cuts");
    fill("cuts", 400, 2);
    for (int moment = 0; jobs_in_database("cuts") > 0; moment++) {
        work_a_moment("cuts");
        assert_in_range(held("cuts"), 0, 5);
        /* A busy machine needs more moments. They must not cause more cuts, which need more moments, too. */
        if (moment % 50 == 10 && moment < 50 * MOST_CUTS)
            sessions_end("write");
    }
    dismiss();
}

/* Says WORKING of any job, at any server, and ends or requeues the job if that is granted. Is it granted? */
static bool intrude(char ids[][ID_SIZE], int jobs) {
    const char *id = ids[rand() % jobs];
    const char *reply = ask(at[rand() % SERVERS], "WORKING %s", id);

    if (strcmp(reply, ":60") != 0) {
        assert_true(strncmp(reply, "-MAXACTIVE", 10) == 0 || strncmp(reply, "-NOJOB", 6) == 0);
        return false;
    }
    assert_in_range(held("working"), 0, 5);
    ask(at[rand() % SERVERS], "%s %s", rand() % 2 == 0 ? "ACKJOB" : "ENQUEUE", id);
    return true;
}

/* WORKING starts queued jobs, and goes on with jobs that were requeued, beside claims at three servers. */
static void test_with_working(void **state) {
    static char ids[200][ID_SIZE];
    int granted = 0, refused = 0;

    (void)state;
    limit("working", 5);
    for (int i = 0; i < 200; i++)
        memcpy(ids[i], add_job(at[i % SERVERS], "working", "x", "RETRY 60"), ID_SIZE - 1);
    hire("working");
    while (jobs_in_database("working") > 0) {
        work_a_moment("working");
        if (intrude(ids, 200))
            granted++;
        else
            refused++;
        assert_in_range(held("working"), 0, 5);
    }
    assert_true(granted > 0 && refused > 0);
    dismiss();
}

/* A job that is not acknowledged keeps its slot to the end of its lease, and goes first then. */
static void test_a_lease_that_ends(void **state) {
    const char *first;

    (void)state;
    limit("lease", 1);
    first = add_job(at[A], "lease", "x", "RETRY 3");
    get_job(at[A], "lease", "x");
    add_job(at[A], "lease", "y", "PRIORITY 9 DELAY 3 RETRY 60");
    assert_true(queue_is_empty(at[B], "lease"));
    assert_non_null(strstr(ask(at[B], "GETJOB TIMEOUT 60000 FROM lease"), first));
    assert_true(queue_is_empty(at[A], "lease"));
    expect(at[C], ":1", "ACKJOB %s", first);
    assert_non_null(strstr(ask(at[A], "GETJOB TIMEOUT 60000 FROM lease"), "\"y\""));
}

/* As soon as it has heard of it. */
static void take(redisContext *c, const char *queue, char id[ID_SIZE]) {
    const char *reply = ask(c, "GETJOB TIMEOUT 60000 FROM %s", queue);
    const char *at_id = strstr(reply, "D-");

    assert_non_null(at_id);
    memcpy(id, at_id, ID_SIZE - 1);
    id[ID_SIZE - 1] = '\0';
}

/* Each end of a job, at any server, wakes a client that waits at another server. */
static void wakes(const char *how) {
    const char *next;
    char taken[ID_SIZE];
    struct wire w;

    take(at[A], "wakes", taken);
    next = add_job(at[A], "wakes", "x", "RETRY 60");
    wait_at(B, &w, "wakes");
    HOLDS_FOR(50, wire_pending(&w) == 0);
    expect(at[C], ":1", "%s %s", how, taken);
    if (strcmp(how, "NACK") == 0 || strcmp(how, "ENQUEUE") == 0) {
        raw_expect(&w, text_of("[[\"wakes\" \"%s\" \"x\"]]", taken));
        expect(at[C], ":1", "ACKJOB %s", taken);
    } else {
        raw_expect(&w, text_of("[[\"wakes\" \"%s\" \"x\"]]", next));
        expect(at[C], ":1", "NACK %s", next);
    }
    wire_close(&w);
}

static void test_waiting_clients_are_woken(void **state) {
    (void)state;
    limit("wakes", 1);
    add_job(at[A], "wakes", "x", "RETRY 60");
    wakes("ACKJOB");
    wakes("NACK");
    wakes("DELJOB");
    wakes("ENQUEUE");
    wakes("FASTACK");
}

/* Nothing starts before fewer are running. */
static void test_a_limit_that_is_lowered(void **state) {
    char ids[6][ID_SIZE];

    (void)state;
    limit("lower", 6);
    for (int i = 0; i < 10; i++)
        add_job(at[A], "lower", "x", "RETRY 60");
    for (int i = 0; i < 6; i++)
        take(at[i % SERVERS], "lower", ids[i]);
    assert_true(queue_is_empty(at[A], "lower"));
    limit("lower", 3);
    for (int i = 0; i < 3; i++) {
        expect(at[B], ":1", "ACKJOB %s", ids[i]);
        assert_true(queue_is_empty(at[i], "lower"));
    }
    assert_string_equal(queue_field(at[A], "lower", "running"), "3");
    expect(at[B], ":1", "ACKJOB %s", ids[3]);
    EVENTUALLY(strncmp(ask(at[C], "GETJOB NOHANG FROM lower"), "[[", 2) == 0);
    assert_true(queue_is_empty(at[C], "lower"));
    limit("lower", 4);
    EVENTUALLY(strncmp(ask(at[C], "GETJOB NOHANG FROM lower"), "[[", 2) == 0);
    assert_true(queue_is_empty(at[A], "lower"));
}

/* RETRY 0 has no lease that ends: its slot is free when the job is acknowledged or its TTL is over. */
static void test_at_most_once(void **state) {
    (void)state;
    limit("once", 1);
    add_job(at[A], "once", "x", "RETRY 0 TTL 4");
    get_job(at[A], "once", "x");
    add_job(at[A], "once", "y", "RETRY 60");
    assert_true(queue_is_empty(at[B], "once"));
    assert_non_null(strstr(ask(at[B], "GETJOB TIMEOUT 60000 FROM once"), "\"y\""));
}

/* The most deliveries in any time of so many milliseconds, by the rows: a lease began when the job was given out. */
static long long most_within(const char *queue, int ms) {
    return postgres_number(
        server.database,
        text_of("select max(n) from (select count(*) over (order by j.ready_at range between interval '%d "
                "milliseconds' preceding and current row) as n from pgdisque.job as j join pgdisque.queue as "
                "q on q.id = j.queue_id where q.name = '%s' and j.owner is not null) as w",
                ms, queue));
}

/* Clients of three servers take all they can. */
static void test_rate(void **state) {
    (void)state;
    expect(at[A], "+OK", "QCONFIG rate SET rate 200");
    for (int i = 0; i < SERVERS; i++)
        EVENTUALLY(strcmp(ask(at[i], "QCONFIG rate GET rate"), "[\"rate\" \"200\"]") == 0);
    fill("rate", 500, 1000);
    for (int left = 500, i = 0; left > 0; i++)
        left -= strncmp(ask(at[i % SERVERS], "GETJOB TIMEOUT 1000 FROM rate"), "[[", 2) == 0;
    /* Servers' clocks are some milliseconds apart. */
    assert_in_range(most_within("rate", 1000), 20, 200 + 20 + 10);
    assert_in_range(most_within("rate", 100), 2, 20 + 20 + 10);
}

/* The next reply is a job with that text in it. */
static void get_by_wire(struct wire *w, const char *part) {
    struct value *v = wire_reply(w, 60000);
    char *text;

    assert_non_null(v);
    text = value_text(v);
    assert_true(strncmp(text, "[[", 2) == 0);
    assert_non_null(strstr(text, part));
    free(text);
    value_free(v);
    wire_close(w);
}

static long long database_ms(void) {
    return postgres_number(server.database, "select (extract(epoch from clock_timestamp()) * 1000)::bigint");
}

/* Clients of three servers wait for the tokens of a rate below one per second. The first job comes at once. By the
 * database's clock, the third one comes a whole period after it, and the fourth one later. */
static void test_rate_with_a_period(void **state) {
    long long began = database_ms();
    struct wire w[SERVERS];

    (void)state;
    expect(at[A], "+OK", "QCONFIG slow SET rate 2/10s");
    for (int i = 0; i < SERVERS; i++)
        EVENTUALLY(strcmp(ask(at[i], "QCONFIG slow GET rate"), "[\"rate\" \"2/10s\"]") == 0);
    fill("slow", 4, 1000);
    for (int i = 0; i < SERVERS; i++)
        wait_at(i, &w[i], "slow");
    for (int i = 0; i < SERVERS; i++)
        get_by_wire(&w[i], "\"x\"");
    assert_true(database_ms() - began >= 10000);
    assert_int_equal(held("slow"), 3);
    /* A client that waits hears of the new rate, at another server as well. */
    wait_at(B, &w[B], "slow");
    expect(at[A], "+OK", "QCONFIG slow SET rate 0");
    get_by_wire(&w[B], "\"x\"");
}

/* ---- server-max-active ---- */

static void limit_servers(const char *queue, int most) {
    expect(at[A], "+OK", "QCONFIG %s SET server-max-active %d", queue, most);
    for (int i = 0; i < SERVERS; i++)
        EVENTUALLY(strcmp(ask(at[i], "QCONFIG %s GET server-max-active", queue),
                          text_of("[\"server-max-active\" \"%d\"]", most)) == 0);
}

/* Each server has its own jobs. An end at another server makes room, and a job that was added at a full server goes
 * to a client of another one. */
static void test_most_of_a_server(void **state) {
    char ids[SERVERS][2][ID_SIZE];
    struct wire w, other;

    (void)state;
    limit_servers("each", 2);
    fill("each", 7, 600);
    for (int i = 0; i < SERVERS; i++) {
        take(at[i], "each", ids[i][0]);
        take(at[i], "each", ids[i][1]);
        assert_true(queue_is_empty(at[i], "each"));
    }
    wait_at(A, &w, "each");
    HOLDS_FOR(50, wire_pending(&w) == 0);
    expect(at[C], ":1", "ACKJOB %s", ids[A][1]);
    get_by_wire(&w, "\"x\"");
    wait_at(A, &w, "each");
    expect(at[B], ":1", "ACKJOB %s", ids[B][0]);
    wait_at(B, &other, "each");
    add_job(at[A], "each", "y", "RETRY 600");
    get_by_wire(&other, "\"y\"");
    HOLDS_FOR(50, wire_pending(&w) == 0);
    expect(at[C], ":1", "NACK %s", ids[A][0]);
    get_by_wire(&w, "\"x\"");
}

/* The limits of the queue hold beside those of its servers. */
static void test_most_of_a_server_and_of_all(void **state) {
    char id[ID_SIZE];
    struct wire w;

    (void)state;
    expect(at[A], "+OK", "QCONFIG both SET max-active 3 group-max-active 2");
    limit_servers("both", 2);
    for (int i = 0; i < 6; i++)
        add_job(at[i % SERVERS], "both", "x", i < 3 ? "RETRY 600 GROUP g" : "RETRY 600");
    EVENTUALLY(number(at[A], "QLEN both") == 5);
    take(at[A], "both", id);
    take(at[A], "both", id);
    assert_true(queue_is_empty(at[A], "both"));
    take(at[B], "both", id);
    assert_true(queue_is_empty(at[B], "both"));
    assert_true(queue_is_empty(at[C], "both"));
    assert_int_equal(held("both"), 3);
    wait_at(A, &w, "both");
    expect(at[C], ":1", "ACKJOB %s", id);
    HOLDS_FOR(50, wire_pending(&w) == 0);
    take(at[C], "both", id);
    expect(at[A], "+OK", "QCONFIG both SET server-max-active 0 max-active 0");
    get_by_wire(&w, "\"x\"");
}

/* A transaction of SQL that works and acknowledges holds its slot, and gives it back with its end. */
static void test_beside_sql(void **state) {
    PGconn *worker = PQconnectdb(server.database);

    (void)state;
    limit("sql", 2);
    fill("sql", 6, 60);
    PQclear(PQexec(worker, "begin"));
    PQclear(PQexec(worker, "select pgdisque.ack_jobs(array(select id from pgdisque.get_jobs('sql', 1)))"));
    get_job(at[A], "sql", "x");
    assert_true(queue_is_empty(at[A], "sql"));
    PQclear(PQexec(worker, "rollback"));
    assert_non_null(strstr(ask(at[B], "GETJOB TIMEOUT 60000 FROM sql"), "\"x\""));
    assert_int_equal(postgres_number(server.database, "select count(*) from pgdisque.get_jobs('sql', 5)"), 0);
    PQfinish(worker);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, servers_setup, servers_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_never_more),
        TEST(test_with_kills),
        TEST(test_with_lost_connections),
        TEST(test_with_working),
        TEST(test_a_lease_that_ends),
        TEST(test_waiting_clients_are_woken),
        TEST(test_a_limit_that_is_lowered),
        TEST(test_at_most_once),
        TEST(test_rate),
        TEST(test_rate_with_a_period),
        TEST(test_most_of_a_server),
        TEST(test_most_of_a_server_and_of_all),
        TEST(test_beside_sql),
    };

    return RUN_SUITE("max-active", tests);
}
