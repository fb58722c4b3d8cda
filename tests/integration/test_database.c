/* The database disconnects and returns. The database refuses a single row. */
#include "fixture.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <libpq-fe.h>

/* A test that failed may have left it stopped. */
static int ensure_database(void **state) {
    (void)state;
    if (!pg.pid)
        postgres_resume(&pg);
    return WAIT_UNTIL(strcmp(server_ping(&server), "+PONG") == 0, EVENTUALLY_MS) ? 0 : -1;
}

static void test_database_away_at_start(void **state) {
    const char *database = postgres_conninfo(&pg, NULL);
    struct server late;
    struct wire w;

    (void)state;
    postgres_stop(&pg, false);
    server_spawn(&late, database, NULL);
    EVENTUALLY(strncmp(server_ping(&late), "-LOADING ", 9) == 0);
    raw_open_on(&w, &late);
    wire_words(&w, "ADDJOB", "q", "a", "0", NULL);
    assert_true(wire_wait_bytes(&w, 9, 5000));
    assert_memory_equal(w.data + w.start, "-LOADING ", 9);
    value_free(wire_reply(&w, 5000));
    wire_words(&w, "HELLO", "3", NULL);
    value_free(wire_reply(&w, 5000));
    postgres_resume(&pg);
    server_wait_ready(&late);
    wire_words(&w, "QLEN", "q", NULL);
    raw_expect(&w, ":0");
    wire_close(&w);
    assert_int_equal(server_stop(&late), 0);
    EVENTUALLY(strcmp(server_ping(&server), "+PONG") == 0);
}

static void test_sigterm_while_the_database_is_away(void **state) {
    const char *database = postgres_conninfo(&pg, NULL);
    struct server late;

    (void)state;
    postgres_stop(&pg, false);
    server_spawn(&late, database, NULL);
    EVENTUALLY(strncmp(server_ping(&late), "-LOADING ", 9) == 0);
    assert_int_equal(server_stop(&late), 0);
    postgres_resume(&pg);
}

/* The server answers an ADDJOB late while the database is away, without an error. An ADDJOB with a timeout gets an
 * error in time. */
static void test_add_while_the_database_is_away(void **state) {
    redisContext *c = client_open();
    struct wire waiting, hasty;
    int64_t start;
    struct value *v;

    (void)state;
    add_job(c, "away", "before", "");
    raw_open(&waiting);
    raw_open(&hasty);
    postgres_stop(&pg, true);
    wire_words(&waiting, "ADDJOB", "away", "waiting", "0", NULL);
    start = now_ms();
    wire_words(&hasty, "ADDJOB", "away", "hasty", "300", NULL);
    v = wire_reply(&hasty, 5000);
    assert_non_null(v);
    assert_int_equal(v->type, '-');
    assert_memory_equal(v->text, "NOREPL ", 7);
    assert_in_range(now_ms() - start, 250, 300 + patience(EVENTUALLY_MS));
    value_free(v);
    assert_int_equal(wire_pending(&waiting), 0);
    postgres_resume(&pg);
    v = wire_reply(&waiting, 15000);
    assert_non_null(v);
    assert_int_equal(v->type, '+');
    value_free(v);
    get_job(c, "away", "before");
    get_job(c, "away", "waiting");
    wire_close(&waiting);
    wire_close(&hasty);
    redisFree(c);
}

/* An ADDJOB times out while its statement runs. The server removes the job when it is committed, also if clients wait
 * for ends of jobs. */
static void test_an_add_that_was_given_up(void **state) {
    PGconn *lock = postgres_connect(server.database);
    redisContext *c = client_open();
    const char *id = add_job(c, "given-up", "stays", "");
    struct wire w;

    (void)state;
    raw_open(&w);
    wire_words(&w, "WAITJOB", id, NULL);
    EVENTUALLY(blocked_clients() == 1);
    PQclear(PQexec(lock, "begin; lock pgdisque.job in share mode"));
    expect_start(c, "-NOREPL ", "ADDJOB given-up goes 300");
    PQclear(PQexec(lock, "commit"));
    PQfinish(lock);
    EVENTUALLY(number(c, "QLEN given-up") == 1 &&
               postgres_number(server.database,
                               "select count(*) from pgdisque.job as j join pgdisque.queue as q "
                               "on q.id = j.queue_id where q.name = 'given-up'") == 1);
    get_job(c, "given-up", "stays");
    expect(c, ":1", "ACKJOB %s", id);
    raw_expect(&w, "[\"done\" $-1]");
    wire_close(&w);
    redisFree(c);
}

static void test_waiting_clients_see_nothing_of_it(void **state) {
    redisContext *c = client_open();
    struct wire w;
    const char *id;

    (void)state;
    raw_open(&w);
    wire_words(&w, "GETJOB", "FROM", "across", NULL);
    EVENTUALLY(blocked_clients() == 1);
    postgres_stop(&pg, true);
    postgres_resume(&pg);
    id = add_job(c, "across", "a", "");
    raw_expect(&w, text_of("[[\"across\" \"%s\" \"a\"]]", id));
    expect(c, ":1", "ACKJOB %s", id);
    wire_close(&w);
    redisFree(c);
}

#define LOADERS 8
#define JOBS_EACH 400

/* A client that sends its next command after the reply to the last one. */
struct loader {
    struct wire wire;
    int sent;
    int answered;
    char ids[JOBS_EACH][ID_SIZE];
};

static void load_step(struct loader *l) {
    struct value *v;

    if (l->answered < l->sent) {
        if (!wire_pending(&l->wire))
            return;
        v = wire_reply(&l->wire, 5000);
        assert_non_null(v);
        if (v->type != '+')
            fail_msg("ADDJOB: -%s", v->text);
        strcpy(l->ids[l->answered++], v->text);
        value_free(v);
    }
    if (l->sent < JOBS_EACH) {
        l->sent++;
        wire_words(&l->wire, "ADDJOB", "underload", "x", "0", NULL);
    }
}

static int total_answered(const struct loader *loaders) {
    int sum = 0;

    for (int i = 0; i < LOADERS; i++)
        sum += loaders[i].answered;
    return sum;
}

static void load_until(struct loader *loaders, int answered) {
    int64_t end = now_ms() + patience(20000);

    while (total_answered(loaders) < answered) {
        if (now_ms() > end)
            fail_msg("stuck at %d answers", total_answered(loaders));
        for (int i = 0; i < LOADERS; i++)
            load_step(&loaders[i]);
    }
}

/* Postgres crashes twice under load. The server answers all ADDJOBs in the end. Each answered job exists exactly once.
 */
static void test_immediate_restart_under_load(void **state) {
    static struct loader loaders[LOADERS];
    redisContext *c = client_open();

    (void)state;
    for (int i = 0; i < LOADERS; i++)
        raw_open(&loaders[i].wire);
    for (int round = 1; round <= 2; round++) {
        load_until(loaders, round * 500);
        postgres_stop(&pg, true);
        for (int i = 0; i < LOADERS; i++)
            load_step(&loaders[i]);
        postgres_resume(&pg);
    }
    load_until(loaders, LOADERS * JOBS_EACH);
    assert_int_equal(number(c, "QLEN underload"), LOADERS * JOBS_EACH);
    for (int i = 0; i < LOADERS; i++) {
        for (int j = 0; j < JOBS_EACH; j++)
            later(c, "ACKJOB %s", loaders[i].ids[j]);
        for (int j = 0; j < JOBS_EACH; j++)
            expect_next(c, ":1");
        wire_close(&loaders[i].wire);
    }
    assert_int_equal(number(c, "QLEN underload"), 0);
    redisFree(c);
}

/* The same for consumers: nothing is delivered twice within its retry time, and
 * nothing that was acknowledged comes back. */
static void test_consumers_across_a_restart(void **state) {
    redisContext *c = client_open();
    static char seen[600];
    int got = 0;

    (void)state;
    for (int i = 0; i < 600; i++)
        later(c, "ADDJOB consume %d 0 RETRY 300", i);
    for (int i = 0; i < 600; i++)
        assert_int_equal(next_reply(c)[0], '+');
    while (got < 600) {
        redisReply *r;

        if (got == 200) {
            postgres_stop(&pg, true);
            postgres_resume(&pg);
        }
        r = redisCommand(c, "GETJOB TIMEOUT 60000 FROM consume");
        if (!r || r->type != REDIS_REPLY_ARRAY)
            fail_msg("nothing after %d jobs", got);
        seen[atoi(r->element[0]->element[2]->str)]++;
        expect(c, ":1", "ACKJOB %s", r->element[0]->element[1]->str);
        freeReplyObject(r);
        got++;
    }
    for (int i = 0; i < 600; i++)
        assert_int_equal(seen[i], 1);
    assert_true(queue_is_empty(c, "consume"));
    redisFree(c);
}

static void test_terminated_connections(void **state) {
    redisContext *c = client_open();
    long long before = info_number(c, "db_disconnects");

    (void)state;
    for (int i = 0; i < 10; i++) {
        later(c, "ADDJOB terminated %d 0", i);
        sessions_end("");
        assert_int_equal(next_reply(c)[0], '+');
        get_job(c, "terminated", text_of("%d", i));
    }
    assert_true(info_number(c, "db_disconnects") > before);
    redisFree(c);
}

/* A session that begins after the trigger was made must not run its code. The server waits until it has gone. */
static void test_trigger_made_while_the_server_runs(void **state) {
    redisContext *c = client_open();

    (void)state;
    add_job(c, "distrust", "before", "");
    free(postgres_query(server.database,
                        "create function public.strange() returns trigger language plpgsql as"
                        " $$ begin return new; end $$;"
                        "create trigger strange before insert on pgdisque.job"
                        " for each row execute function public.strange()"));
    sessions_end("");
    EVENTUALLY(strstr(ask(c, "INFO ALL"), "schema pgdisque is not trusted") != NULL);
    expect_start(c, "-NOREPL", "ADDJOB distrust refused 100");
    later(c, "ADDJOB distrust after 0");
    free(postgres_query(server.database,
                        "drop trigger strange on pgdisque.job; drop function public.strange()"));
    assert_int_equal(next_reply(c)[0], '+');
    get_job(c, "distrust", "before");
    get_job(c, "distrust", "after");
    redisFree(c);
}

/* ---- connections that live, and nothing comes through ---- */

/* How long may it take until it is noticed. */
#define DEAF_MS 15000
/* Silence, and two looks at the session. */
#define LOOKS_MS 6000

/* The process of Postgres that serves the write connection; 0: there is no such process. */
static pid_t hot_session(void) {
    char *text = postgres_query(server.database, "select coalesce(max(pid), 0) from pg_stat_activity"
                                                 " where application_name like 'pgdisque % write'"
                                                 " and datname = current_database()");
    pid_t pid = (pid_t)atoi(text);

    free(text);
    return pid;
}

static bool is_idle(pid_t pid) {
    return postgres_number(server.database, text_of("select count(*) from pg_stat_activity where pid = %d "
                                                    "and state = 'idle'",
                                                    (int)pid)) == 1;
}

/* Stops the session on the write connection between two statements. The server leaves a session at work alone. */
static pid_t stop_hot_session(void) {
    for (int tries = 0; tries < 100; tries++) {
        pid_t pid = hot_session();

        assert_true(pid > 0 && kill(pid, SIGSTOP) == 0);
        if (is_idle(pid))
            return pid;
        kill(pid, SIGCONT);
    }
    fail_msg("the session is never idle");
    return 0;
}

static void test_deaf_connection_with_a_job_under_way(void **state) {
    redisContext *c = client_open();
    long long before = info_number(c, "db_disconnects");
    struct wire w;
    struct value *v;
    pid_t pid;

    (void)state;
    raw_open(&w);
    pid = stop_hot_session();
    wire_words(&w, "ADDJOB", "polls", "x", "0", NULL);
    if (!WAIT_UNTIL(info_number(c, "db_disconnects") > before, DEAF_MS)) {
        kill(pid, SIGCONT);
        fail_msg("not noticed");
    }
    assert_int_equal(wire_pending(&w), 0);
    /* Until the process has ended, the server cannot know the result of the statements that it has received. */
    kill(pid, SIGCONT);
    v = wire_reply(&w, DEAF_MS);
    assert_non_null(v);
    assert_int_equal(v->type, '+');
    value_free(v);
    assert_int_equal(number(c, "QLEN polls"), 1);
    assert_int_not_equal(hot_session(), pid);
    wire_close(&w);
    redisFree(c);
}

static void test_deaf_connection_of_an_idle_server(void **state) {
    redisContext *c = client_open();
    long long before = info_number(c, "db_disconnects");
    pid_t pid = stop_hot_session();

    (void)state;
    if (!WAIT_UNTIL(info_number(c, "db_disconnects") > before, DEAF_MS)) {
        kill(pid, SIGCONT);
        fail_msg("not noticed");
    }
    kill(pid, SIGCONT);
    EVENTUALLY(hot_session() != 0 && hot_session() != pid);
    add_job(c, "heartbeat", "x", "");
    redisFree(c);
}

/* A statement that waits, be it for ever, is not given up. */
static void test_long_statement_is_left_alone(void **state) {
    redisContext *c = client_open();
    long long before = info_number(c, "db_disconnects");
    PGconn *user = PQconnectdb(server.database);
    pid_t pid = hot_session();
    struct wire w;
    struct value *v;

    (void)state;
    raw_open(&w);
    PQclear(PQexec(user, "begin; lock table pgdisque.job in share mode"));
    wire_words(&w, "ADDJOB", "locked", "x", "0", NULL);
    HOLDS_FOR(LOOKS_MS, wire_pending(&w) == 0);
    assert_int_equal(hot_session(), pid);
    PQclear(PQexec(user, "commit"));
    v = wire_reply(&w, DEAF_MS);
    assert_non_null(v);
    assert_int_equal(v->type, '+');
    value_free(v);
    assert_int_equal(info_number(c, "db_disconnects"), before);
    PQfinish(user);
    wire_close(&w);
    redisFree(c);
}

/* Other sessions wait behind a migration that waits for a lock. So it gives up after some seconds, and tries again. */
static void test_migration_behind_a_lock(void **state) {
    struct server late;
    PGconn *user;

    (void)state;
    server_start(&late, postgres_conninfo(&pg, NULL), NULL);
    assert_int_equal(server_stop(&late), 0);
    user = postgres_connect(late.database);
    PQclear(PQexec(user, "begin; lock table pgdisque.migration"));
    server_spawn(&late, late.database, NULL);
    EVENTUALLY(file_contains(late.log, "canceling statement due to lock timeout"));
    PQclear(PQexec(user, "commit"));
    EVENTUALLY(file_contains(late.log, "[server] ready on"));
    PQfinish(user);
    assert_int_equal(server_stop(&late), 0);
}

/* ---- refusals of the database ---- */

static void test_cancelled_statements(void **state) {
    redisContext *c = client_open();

    (void)state;
    for (int i = 0; i < 20; i++) {
        later(c, "ADDJOB cancelled %d 0", i);
        free(postgres_query(postgres_conninfo(&pg, "postgres"),
                            "select count(pg_cancel_backend(pid)) from pg_stat_activity"
                            " where datname like 'test%' and pid <> pg_backend_pid()"));
        assert_int_equal(next_reply(c)[0], '+');
    }
    assert_int_equal(number(c, "QLEN cancelled"), 20);
    redisFree(c);
}

static const char bad_body_trigger[] =
    "create function public.refuse() returns trigger language plpgsql as $$"
    " begin raise exception 'bad body' using errcode = 'check_violation'; end $$;"
    "create trigger refuse before insert on pgdisque.job for each row"
    " when (new.body = 'poison') execute function public.refuse()";

/* A row that the database refuses fails alone, with any other rows in its transaction. */
static void test_bad_row_fails_alone(void **state) {
    redisContext *c = client_open();
    int failed = 0;

    (void)state;
    free(postgres_query(server.database, bad_body_trigger));
    for (int i = 0; i < 100; i++)
        later(c, "ADDJOB neighbours %s 0", i == 50 ? "poison" : "good");
    for (int i = 0; i < 100; i++) {
        const char *got = next_reply(c);

        failed += got[0] == '-';
        if ((i == 50) != (got[0] == '-'))
            fail_msg("request %d: %s", i, got);
    }
    assert_int_equal(failed, 1);
    assert_int_equal(number(c, "QLEN neighbours"), 99);
    assert_true(info_number(c, "suspect_transactions") > 0);
    free(postgres_query(server.database, "drop trigger refuse on pgdisque.job"));
    free(postgres_query(server.database, "drop function public.refuse()"));
    redisFree(c);
}

/* The same for a job that would be handed to a waiting client: the client continues to wait. */
static void test_bad_row_for_a_waiting_client(void **state) {
    redisContext *c = client_open();
    struct wire w;
    const char *id;

    (void)state;
    free(postgres_query(server.database, bad_body_trigger));
    raw_open(&w);
    wire_words(&w, "GETJOB", "FROM", "poisoned", NULL);
    EVENTUALLY(blocked_clients() == 1);
    expect_start(c, "-", "ADDJOB poisoned poison 0");
    assert_int_equal(wire_pending(&w), 0);
    assert_int_equal(number(c, "QLEN poisoned"), 0);
    id = add_job(c, "poisoned", "good", "");
    raw_expect(&w, text_of("[[\"poisoned\" \"%s\" \"good\"]]", id));
    free(postgres_query(server.database, "drop trigger refuse on pgdisque.job"));
    free(postgres_query(server.database, "drop function public.refuse()"));
    wire_close(&w);
    redisFree(c);
}

/* A push that is refused gives no element to a client that waits. */
static void test_bad_element_for_a_waiting_client(void **state) {
    redisContext *c = client_open();
    struct wire w;

    (void)state;
    free(postgres_query(server.database, bad_body_trigger));
    raw_open(&w);
    wire_words(&w, "BLPOP", "pushed", "0", NULL);
    EVENTUALLY(blocked_clients() == 1);
    expect_start(c, "-DBERR ", "RPUSH pushed good poison good");
    expect(c, ":0", "LLEN pushed");
    assert_int_equal(wire_pending(&w), 0);
    expect(c, ":1", "RPUSH pushed last");
    raw_expect(&w, "[\"pushed\" \"last\"]");
    free(postgres_query(server.database, "drop trigger refuse on pgdisque.job"));
    free(postgres_query(server.database, "drop function public.refuse()"));
    wire_close(&w);
    redisFree(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_database_away_at_start, ensure_database),
        cmocka_unit_test_setup(test_sigterm_while_the_database_is_away, ensure_database),
        cmocka_unit_test_setup(test_add_while_the_database_is_away, ensure_database),
        cmocka_unit_test_setup(test_an_add_that_was_given_up, ensure_database),
        cmocka_unit_test_setup(test_waiting_clients_see_nothing_of_it, ensure_database),
        cmocka_unit_test_setup(test_immediate_restart_under_load, ensure_database),
        cmocka_unit_test_setup(test_consumers_across_a_restart, ensure_database),
        cmocka_unit_test_setup(test_terminated_connections, ensure_database),
        cmocka_unit_test_setup(test_trigger_made_while_the_server_runs, ensure_database),
        cmocka_unit_test_setup(test_deaf_connection_with_a_job_under_way, ensure_database),
        cmocka_unit_test_setup(test_deaf_connection_of_an_idle_server, ensure_database),
        cmocka_unit_test_setup(test_long_statement_is_left_alone, ensure_database),
        cmocka_unit_test_setup(test_migration_behind_a_lock, ensure_database),
        cmocka_unit_test_setup(test_cancelled_statements, ensure_database),
        cmocka_unit_test_setup(test_bad_row_fails_alone, ensure_database),
        cmocka_unit_test_setup(test_bad_row_for_a_waiting_client, ensure_database),
        cmocka_unit_test_setup(test_bad_element_for_a_waiting_client, ensure_database),
    };

    return RUN_SUITE("database", tests);
}
