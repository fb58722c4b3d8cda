/* QCONFIG per-group over several servers: each group has its own max-active and rate, while servers die. */
#include "servers.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { A, B, C };

#define CONSUMERS 30
#define GROUPS 5
#define JOBS 40 /* of each group */
#define WORK_MS 20

struct consumer {
    redisContext *c;
    int at;
    int group;
    char id[64]; /* of the job that it has, or "" */
    int64_t until;
};

static struct consumer consumers[CONSUMERS];
/* How many of a group were being worked on, by the clients. */
static int running[GROUPS];
static int most_running;

static void send_out(redisContext *c) {
    for (int sent = 0; !sent;)
        if (redisBufferWrite(c, &sent) != REDIS_OK)
            return;
}

static void ask_job(struct consumer *w, const char *queue) {
    redisAppendCommand(w->c, "GETJOB FROM %s", queue);
    send_out(w->c);
}

static void hire(const char *queue) {
    memset(running, 0, sizeof running);
    most_running = 0;
    for (int i = 0; i < CONSUMERS; i++) {
        consumers[i] = (struct consumer){ .at = i % SERVERS };
        consumers[i].c = client_open_on(group_size[consumers[i].at]);
        ask_job(&consumers[i], queue);
    }
}

static void dismiss(void) {
    for (int i = 0; i < CONSUMERS; i++)
        if (consumers[i].c != NULL)
            redisFree(consumers[i].c);
}

static void lose(struct consumer *w) {
    running[w->group] -= w->id[0] != '\0';
    w->id[0] = '\0';
    redisFree(w->c);
    w->c = NULL;
}

/* Bodies are the group's number. */
static void begin(struct consumer *w, const redisReply *job) {
    snprintf(w->id, sizeof w->id, "%s", job->element[1]->str);
    w->group = atoi(job->element[2]->str);
    w->until = now_ms() + rand() % WORK_MS;
    if (++running[w->group] > most_running)
        most_running = running[w->group];
}

/* The end of its work is when the word of it leaves. Some are put back. */
static void finish(struct consumer *w, const char *queue) {
    running[w->group]--;
    redisAppendCommand(w->c, "%s %s", rand() % 10 < 8 ? "ACKJOB" : "NACK", w->id);
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
            begin(w, reply->element[0]);
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

/* The largest number of jobs of a group that are queued or active. */
static long long most_let_go(const char *queue) {
    return postgres_number(
        server.database,
        text_of(
            "select coalesce(max(n), 0) from (select count(*) as n from pgdisque.job as j join "
            "pgdisque.queue as q on q.id = j.queue_id where q.name = '%s' and j.group_key is not null and "
            "(j.ready_at < 'infinity' or j.owner is not null) group by j.group_key) as g",
            queue));
}

static void limit(const char *queue, int most, int rate) {
    expect(at[A], "+OK", "QCONFIG %s SET per-group 1 max-active %d rate %d", queue, most, rate);
}

/* All jobs of a group are added at the same server. */
static void fill(const char *queue, int groups, int jobs, int retry) {
    for (int i = 0; i < groups * jobs; i++)
        later(at[i % groups % SERVERS], "ADDJOB %s %d 0 RETRY %d GROUP g%d", queue, i % groups, retry,
              i % groups);
    for (int i = 0; i < groups * jobs; i++)
        assert_true(*next_reply(at[i % groups % SERVERS]) == '+');
}

static void work_until(const char *queue, long long left, int most) {
    int64_t deadline = now_ms() + patience(120000);

    while (jobs_in_database(queue) > left) {
        work_a_moment(queue);
        assert_in_range(most_let_go(queue), 0, most);
        assert_true(now_ms() < deadline);
    }
}

/* ---- max-active ---- */

static void test_never_more(void **state) {
    (void)state;
    limit("never", 3, 0);
    hire("never");
    fill("never", GROUPS, JOBS, 600);
    work_until("never", 0, 3);
    dismiss();
    assert_int_equal(most_running, 3);
    EVENTUALLY(all_have("never", 0));
}

static void test_with_kills(void **state) {
    (void)state;
    limit("kills", 3, 0);
    hire("kills");
    fill("kills", GROUPS, JOBS, 1);
    work_until("kills", GROUPS * JOBS * 3 / 4, 3);
    server_kill(group_size[B]);
    work_until("kills", GROUPS * JOBS / 2, 3);
    server_kill(group_size[A]);
    work_until("kills", 0, 3);
    dismiss();
}

static void test_with_lost_connections(void **state) {
    (void)state;
    limit("cuts", 2, 0);
    hire("cuts");
    fill("cuts", GROUPS, JOBS, 1);
    for (int left = GROUPS * JOBS - 40; left > 0; left -= 40) {
        work_until("cuts", left, 2);
        sessions_end("write");
    }
    work_until("cuts", 0, 2);
    dismiss();
}

/* A new setting is in force for all groups at once. Without max-active the limit of a group is 1. */
static void test_raised_and_lowered(void **state) {
    char *ids;

    (void)state;
    limit("turns", 0, 0);
    fill("turns", 1, 9, 600);
    EVENTUALLY(number(at[C], "QLEN turns") == 1);
    limit("turns", 4, 0);
    EVENTUALLY(number(at[C], "QLEN turns") == 4);
    limit("turns", 2, 0);
    ids = postgres_query(server.database, "select string_agg(id, ' ' order by number) from (select id, "
                                          "number from pgdisque.jobs where queue = 'turns' and ready_at < "
                                          "'infinity' order by number limit 3) as j");
    for (const char *id = strtok(ids, " "); id != NULL; id = strtok(NULL, " "))
        expect(at[B], ":1", "ACKJOB %s", id);
    free(ids);
    /* One of the four jobs is left, and another is added. */
    EVENTUALLY(number(at[B], "QLEN turns") == 2);
    assert_int_equal(most_let_go("turns"), 2);
    expect(at[C], "+OK", "QCONFIG turns SET per-group 0 max-active 0");
    get_job(at[A], "turns", "0");
    get_job(at[A], "turns", "0");
    assert_int_equal(most_let_go("turns"), 2);
}

/* Jobs without a group do not count for the limit, and a group does not count for another group. */
static void test_others_are_not_limited(void **state) {
    (void)state;
    limit("others", 1, 0);
    for (int i = 0; i < 5; i++)
        add_job(at[A], "others", "none", "RETRY 60");
    add_job(at[A], "others", "g", "RETRY 60 GROUP g");
    add_job(at[A], "others", "g", "RETRY 60 GROUP g");
    add_job(at[B], "others", "h", "RETRY 60 GROUP h");
    EVENTUALLY(all_have("others", 7));
    assert_int_equal(postgres_number(server.database, "select count(*) from pgdisque.get_jobs('others', 9)"),
                     7);
}

/* ---- rate ---- */

static double database_now(void) {
    char *text = postgres_query(server.database, "select extract(epoch from clock_timestamp())");
    double now = strtod(text, NULL);

    free(text);
    return now;
}

#define RATE 20
#define RATED 50 /* of each group; two of them have no need to wait */

/* No client takes the jobs. The servers release them as fast as the rate allows. */
static void expect_paced(const char *queue, int groups, double began) {
    EVENTUALLY(jobs_in_database(queue) == groups * RATED);
    /* First the servers must notice that a server is dead. */
    assert_true(WAIT_UNTIL(most_let_go(queue) == RATED, 60000));
    assert_true(database_now() - began >= (RATED - 2.0) / RATE);
    assert_true(WAIT_UNTIL(number(at[C], "QLEN %s", queue) == groups * RATED, 60000));
}

static void test_rate(void **state) {
    double began = database_now();

    (void)state;
    limit("rate", 1000, RATE);
    fill("rate", 3, RATED, 600);
    expect_paced("rate", 3, began);
}

/* Clients that wait for tokens die. The others continue, and get no more tokens for it. */
static void test_rate_with_kills(void **state) {
    double began = database_now();

    (void)state;
    limit("heirs", 1000, RATE);
    fill("heirs", 2, RATED, 600);
    EVENTUALLY(most_let_go("heirs") > 4);
    server_kill(group_size[A]);
    server_kill(group_size[B]);
    expect_paced("heirs", 2, began);
}

/* The jobs of a group come one after another, and no sooner than the rate allows. */
static void test_rate_of_one_after_another(void **state) {
    double began = database_now();

    (void)state;
    limit("one", 0, 5);
    fill("one", 1, 8, 600);
    hire("one");
    work_until("one", 0, 1);
    dismiss();
    assert_true(database_now() - began >= 7.0 / 5);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, servers_setup, servers_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_never_more),
        TEST(test_with_kills),
        TEST(test_with_lost_connections),
        TEST(test_raised_and_lowered),
        TEST(test_others_are_not_limited),
        TEST(test_rate),
        TEST(test_rate_with_kills),
        TEST(test_rate_of_one_after_another),
    };

    return RUN_SUITE("per-group", tests);
}
