/* ADDJOB GROUP over several servers: jobs of a group run in order, one at a time, while servers die. */
#include "servers.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { A, B, C };

#define CONSUMERS 30
#define GROUPS 6
#define JOBS 40 /* of each group */

struct consumer {
    redisContext *c;
    int at;
};

static struct consumer consumers[CONSUMERS];
/* The latest job of each group that anybody was given. */
static int latest[GROUPS];

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
    memset(latest, 0, sizeof latest);
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

static void fire(struct consumer *w) {
    redisFree(w->c);
    w->c = NULL;
}

/* Some are acknowledged, some put back, and some forgotten until their leases end. */
static void work_on(struct consumer *w, const char *id) {
    int luck = rand() % 10;

    if (luck < 7)
        redisAppendCommand(w->c, "ACKJOB %s", id);
    else if (luck < 9)
        redisAppendCommand(w->c, "NACK %s", id);
}

static bool job_exists(const char *id) {
    return postgres_number(server.database,
                           text_of("select count(*) from pgdisque.jobs where id = '%s'", id)) > 0;
}

/* Bodies are the number of the group and of the job. A group's job is delivered after the job before it has ended.
 * Only a second delivery can be read later: the lease ended, and then the first consumer acknowledged the job. */
static void begin(struct consumer *w, const redisReply *job, const char *queue) {
    int group, number;

    assert_int_equal(sscanf(job->element[2]->str, "%d %d", &group, &number), 2);
    if (number < latest[group] && job_exists(job->element[1]->str))
        fail_msg("group %d: job %d after job %d", group, number, latest[group]);
    if (number > latest[group])
        latest[group] = number;
    work_on(w, job->element[1]->str);
    ask_job(w, queue);
}

static void hear(struct consumer *w, const char *queue) {
    redisReply *reply = NULL;

    if (redisBufferRead(w->c) != REDIS_OK) {
        fire(w);
        return;
    }
    while (redisGetReplyFromReader(w->c, (void **)&reply) == REDIS_OK && reply != NULL) {
        if (reply->type == REDIS_REPLY_ARRAY && reply->elements == 1)
            begin(w, reply->element[0], queue);
        freeReplyObject(reply);
    }
}

static void work_a_moment(const char *queue) {
    struct pollfd fds[CONSUMERS];

    for (int i = 0; i < CONSUMERS; i++)
        fds[i] = (struct pollfd){ consumers[i].c == NULL ? -1 : consumers[i].c->fd, POLLIN, 0 };
    poll(fds, CONSUMERS, 1);
    for (int i = 0; i < CONSUMERS; i++)
        if (fds[i].revents != 0)
            hear(&consumers[i], queue);
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

/* All jobs of a group are added at the same server. */
static void fill(const char *queue, const char *retry) {
    for (int i = 0; i < GROUPS * JOBS; i++)
        later(at[i % GROUPS % SERVERS], "ADDJOB %s %b 0 RETRY %s GROUP g%d", queue,
              text_of("%d %d", i % GROUPS, i / GROUPS + 1),
              strlen(text_of("%d %d", i % GROUPS, i / GROUPS + 1)), retry, i % GROUPS);
    for (int i = 0; i < GROUPS * JOBS; i++)
        assert_true(*next_reply(at[i % GROUPS % SERVERS]) == '+');
}

static void work_until(const char *queue, long long left) {
    int64_t deadline = now_ms() + patience(120000);

    while (jobs_in_database(queue) > left) {
        work_a_moment(queue);
        assert_in_range(most_let_go(queue), 0, 1);
        assert_true(now_ms() < deadline);
    }
}

/* ---- tests ---- */

static void test_one_after_another(void **state) {
    const char *first, *second;

    (void)state;
    first = add_job(at[A], "one", "a", "RETRY 60 GROUP g");
    /* The clock of B may be behind. Then the jobs that B adds would be older. */
    EVENTUALLY(number(at[B], "QLEN one") == 1);
    second = add_job(at[B], "one", "b", "RETRY 60 GROUP g");
    EVENTUALLY(number(at[C], "QLEN one") == 1);
    get_job(at[C], "one", "a");
    assert_true(queue_is_empty(at[A], "one"));
    /* Nothing lets it go but the end of the first. */
    expect(at[A], ":0", "ENQUEUE %s", second);
    expect(at[A], ":0", "NACK %s", second);
    expect(at[A], ":0", "DEQUEUE %s", second);
    expect_start(at[A], "-NOJOB", "WORKING %s", second);
    assert_string_equal(job_field(at[B], second, "state"), "waiting");
    assert_true(queue_is_empty(at[B], "one"));
    expect(at[B], ":1", "NACK %s", first);
    assert_non_null(strstr(ask(at[A], "GETJOB TIMEOUT 60000 FROM one"), first));
    expect(at[B], ":1", "ACKJOB %s", first);
    assert_non_null(strstr(ask(at[C], "GETJOB TIMEOUT 60000 FROM one"), second));
}

static void test_order(void **state) {
    (void)state;
    hire("order");
    fill("order", "1");
    work_until("order", 0);
    dismiss();
    EVENTUALLY(all_have("order", 0));
}

static void test_order_with_kills(void **state) {
    (void)state;
    hire("kills");
    fill("kills", "1");
    work_until("kills", GROUPS * JOBS * 3 / 4);
    server_kill(group_size[B]);
    work_until("kills", GROUPS * JOBS / 2);
    server_kill(group_size[A]);
    work_until("kills", 0);
    dismiss();
}

static void test_order_with_lost_connections(void **state) {
    (void)state;
    hire("cuts");
    fill("cuts", "1");
    for (int left = GROUPS * JOBS - 20; left > 0; left -= 20) {
        work_until("cuts", left);
        sessions_end("write");
    }
    work_until("cuts", 0);
    dismiss();
}

/* Each way to end the first job releases the next job of the group. */
static void test_other_ends(void **state) {
    (void)state;
    add_job(at[A], "ends", "a", "RETRY 0 TTL 5 GROUP g");
    add_job(at[A], "ends", "b", "RETRY 60 GROUP g");
    add_job(at[A], "ends", "c", "RETRY 60 GROUP g");
    add_job(at[A], "ends", "d", "RETRY 60 GROUP g");
    assert_non_null(strstr(ask(at[B], "GETJOB TIMEOUT 60000 FROM ends"), "\"a\""));
    /* Its TTL is over. */
    assert_non_null(strstr(ask(at[B], "GETJOB TIMEOUT 60000 FROM ends"), "\"b\""));
    free(postgres_query(server.database, "select pgdisque.ack_jobs(array(select id from pgdisque.jobs where "
                                         "queue = 'ends' and state = 'active'))"));
    assert_non_null(strstr(ask(at[C], "GETJOB TIMEOUT 60000 FROM ends"), "\"c\""));
    free(postgres_query(server.database,
                        "delete from pgdisque.job where body = 'c' and queue_id = (select id "
                        "from pgdisque.queue where name = 'ends')"));
    assert_non_null(strstr(ask(at[C], "GETJOB TIMEOUT 60000 FROM ends"), "\"d\""));
}

/* A moved job leaves its group, so it does not run beside another job of the group. The move releases the next job. */
static void test_moves(void **state) {
    (void)state;
    for (int i = 0; i < 3; i++)
        add_job(at[A], "moves", text_of("%d", i), "RETRY 60 GROUP g");
    EVENTUALLY(number(at[A], "QLEN moves") == 1);
    expect(at[A], "\"0\"", "RPOPLPUSH moves moves");
    EVENTUALLY(number(at[A], "QLEN moves") == 2);
    expect(at[A], "\"1\"", "LMOVE moves moved RIGHT LEFT");
    EVENTUALLY(number(at[A], "QLEN moves") == 2);
    assert_int_equal(most_let_go("moves"), 1);
    assert_int_equal(most_let_go("moved"), 0);
}

/* Groups do not wait for each other. Jobs without a group do not wait for groups. A claim passes by a deep group. */
static void test_groups_are_apart(void **state) {
    (void)state;
    for (int i = 0; i < 3000; i++)
        later(at[A], "ADDJOB apart deep 0 RETRY 60 GROUP deep");
    for (int i = 0; i < 3000; i++)
        assert_true(*next_reply(at[A]) == '+');
    add_job(at[B], "apart", "other", "RETRY 60 GROUP other");
    add_job(at[B], "apart", "none", "RETRY 60");
    EVENTUALLY(number(at[C], "QLEN apart") == 3);
    get_job(at[C], "apart", "deep");
    assert_non_null(strstr(ask(at[C], "GETJOB TIMEOUT 60000 COUNT 9 FROM apart"), "other"));
    EVENTUALLY(all_have("apart", 0));
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, servers_setup, servers_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_one_after_another), TEST(test_order),
        TEST(test_order_with_kills),  TEST(test_order_with_lost_connections),
        TEST(test_other_ends),        TEST(test_moves),
        TEST(test_groups_are_apart),
    };

    return RUN_SUITE("groups", tests);
}
