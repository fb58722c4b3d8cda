/* UNIQUE over several servers: 64 clients request the same key while servers and connections die. */
#include "servers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <libpq-fe.h>

enum { A, B, C };

#define RACERS 64
#define ROUNDS 12

/* A client that requests the key. While its server is down it has no connection. */
struct racer {
    redisContext *c;
    const struct server *at;
    bool waits;
};

static struct racer racers[RACERS];

static long long living(const char *queue, const char *key) {
    return postgres_number(
        server.database,
        text_of("select count(*) from pgdisque.job as j join pgdisque.queue as q on q.id = j.queue_id "
                "where q.name = '%s' and j.unique_key = '%s'",
                queue, key));
}

static void race_open(void) {
    for (int i = 0; i < RACERS; i++)
        racers[i] = (struct racer){ .at = group_size[i % SERVERS] };
}

static void race_close(void) {
    for (int i = 0; i < RACERS; i++)
        if (racers[i].c != NULL)
            redisFree(racers[i].c);
}

static void ask_for(struct racer *r, const char *queue, const char *key) {
    if (r->c == NULL)
        r->c = client_open_on(r->at);
    redisAppendCommand(r->c, "ADDJOB %s x 0 UNIQUE %s", queue, key);
    r->waits = true;
    for (int done = 0; !done;)
        if (redisBufferWrite(r->c, &done) != REDIS_OK)
            break;
}

/* Its ID, or "" when the connection has gone: then it asks again, at a server that is there. */
static const char *answer(struct racer *r, const char *queue, const char *key) {
    const char *text = next_reply(r->c);

    if (text[0] == '+')
        return text;
    if (strncmp(text, "-LOADING", 8) != 0) {
        assert_string_equal(text, "closed");
        redisFree(r->c);
        r->c = NULL;
        r->at = group_size[C];
    }
    ask_for(r, queue, key);
    return "";
}

/* All clients request the key at once, and again after each failure, until they have a reply. All replies are the same.
 */
static char *race(const char *queue, const char *key, void (*trouble)(int round), int round) {
    char *winner = NULL;

    for (int i = 0; i < RACERS; i++)
        ask_for(&racers[i], queue, key);
    trouble(round);
    for (int i = 0; i < RACERS; i++) {
        const char *id;

        while (*(id = answer(&racers[i], queue, key)) == '\0')
            pause_briefly();
        if (winner == NULL)
            winner = strdup(id);
        assert_string_equal(id, winner);
    }
    assert_int_equal(living(queue, key), 1);
    return winner;
}

/* ---- trouble ---- */

static void none(int round) {
    (void)round;
}

/* A or B dies at some point of the race, the other one the next time. */
static void kill_one(int round) {
    usleep((useconds_t)(round * 397 % 4000));
    server_kill(group_size[round % 2 == 0 ? A : B]);
}

static void cut_sessions(int round) {
    usleep((useconds_t)(round * 397 % 4000));
    sessions_end("write");
}

static void race_rounds(const char *queue, void (*trouble)(int round)) {
    race_open();
    for (int round = 0; round < ROUNDS; round++) {
        char *id = race(queue, "key", trouble, round);

        if (trouble == kill_one) {
            servers_teardown(NULL);
            assert_int_equal(servers_setup(NULL), 0);
            for (int i = 0; i < RACERS; i++)
                racers[i].at = group_size[i % SERVERS];
        }
        expect(at[C], ":1", "ACKJOB %s", id + 1);
        assert_int_equal(living(queue, "key"), 0);
        free(id);
    }
    race_close();
    EVENTUALLY(all_have(queue, 0));
    for (int i = 0; i < SERVERS; i++)
        assert_true(queue_is_empty(at[i], queue));
}

static void test_races(void **state) {
    (void)state;
    race_rounds("races", none);
}

static void test_races_with_kills(void **state) {
    (void)state;
    race_rounds("kills", kill_one);
}

static void test_races_with_lost_connections(void **state) {
    (void)state;
    race_rounds("cuts", cut_sessions);
}

/* ---- other ends of a key ---- */

/* Two servers add many keys in one batch, in opposite order. */
static void test_many_keys_at_once(void **state) {
    (void)state;
    for (int i = 0; i < 200; i++) {
        later(at[A], "ADDJOB many x 0 UNIQUE k%d", i);
        later(at[B], "ADDJOB many x 0 UNIQUE k%d", 199 - i);
    }
    for (int i = 0; i < 200; i++) {
        assert_true(*next_reply(at[A]) == '+');
        assert_true(*next_reply(at[B]) == '+');
    }
    assert_int_equal(jobs_in_database("many"), 200);
    EVENTUALLY(all_have("many", 200));
}

/* The TTL is over. Both servers that could remove the job are stopped. */
static void test_expired_jobs_hold_no_key(void **state) {
    const char *old = add_job(at[A], "expired", "x", "UNIQUE k TTL 2");
    const char *fresh;

    (void)state;
    free(postgres_query(server.database,
                        "update pgdisque.job set expires_at = now() - interval '1 second', "
                        "wake_at = now() + interval '1 hour' where unique_key = 'k' and queue_id = "
                        "(select id from pgdisque.queue where name = 'expired')"));
    fresh = add_job(at[B], "expired", "y", "UNIQUE k");
    assert_string_not_equal(old, fresh);
    assert_int_equal(living("expired", "k"), 1);
    get_job(at[B], "expired", "y");
}

/* The window holds at all servers, over restarts, and while the queue is idle. */
static void test_for_a_time(void **state) {
    const char *id = add_job(at[A], "window", "x", "UNIQUE k FOR 1000");

    (void)state;
    get_job(at[A], "window", "x");
    expect(at[B], ":1", "ACKJOB %s", id);
    expect(at[B], text_of("+%s", id), "ADDJOB window y 0 UNIQUE k");
    server_kill(group_size[C]);
    servers_teardown(NULL);
    servers_setup(NULL);
    expect(at[C], text_of("+%s", id), "ADDJOB window y 0 UNIQUE k FOR 5");
    EVENTUALLY(all_have("window", 0));
    expect(at[A], "+OK", "DEBUG FLUSHALL");
    assert_string_not_equal(add_job(at[C], "window", "y", "UNIQUE k"), id);
}

/* An ADDJOB that its client gave up on is sent again by the client: both mean the same job, which stays. */
static void test_asked_again_after_a_timeout(void **state) {
    PGconn *holder = PQconnectdb(server.database);
    const char *id;

    (void)state;
    expect(at[A], ":0", "QLEN timeout");
    PQclear(PQexec(holder, "begin; lock table pgdisque.job in exclusive mode"));
    expect_start(at[A], "-NOREPL", "ADDJOB timeout x 200 UNIQUE k");
    later(at[B], "ADDJOB timeout y 0 UNIQUE k");
    PQfinish(holder);
    id = next_reply(at[B]);
    assert_true(*id == '+');
    expect(at[A], id, "ADDJOB timeout z 0 UNIQUE k");
    EVENTUALLY(all_have("timeout", 1));
    assert_int_equal(jobs_in_database("timeout"), 1);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, servers_setup, servers_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_races),
        TEST(test_races_with_kills),
        TEST(test_races_with_lost_connections),
        TEST(test_many_keys_at_once),
        TEST(test_expired_jobs_hold_no_key),
        TEST(test_for_a_time),
        TEST(test_asked_again_after_a_timeout),
    };

    return RUN_SUITE("unique", tests);
}
