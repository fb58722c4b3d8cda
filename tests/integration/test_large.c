/* Large requests: their jobs are added over a connection of their own, and other clients need not wait for them. */
#include "fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LARGE (3 * 1024 * 1024)
#define LARGE_SESSION "application_name like 'pgdisque % large'"

static PGconn *gate;
static char *body;

/* ---- a database that is slow with large bodies ---- */

static void run_sql(const char *sql) {
    PGresult *res = PQexec(gate, sql);

    if (PQresultStatus(res) != PGRES_COMMAND_OK && PQresultStatus(res) != PGRES_TUPLES_OK)
        fail_msg("%s: %s", sql, PQerrorMessage(gate));
    PQclear(res);
}

static void remove_gate(void) {
    run_sql("drop trigger if exists gate on pgdisque.job");
    run_sql("drop function if exists public.at_gate()");
}

static void open_gate(void) {
    run_sql("select pg_advisory_unlock_all()");
}

/* Statements with large bodies wait until it opens. */
static int set_gate(void **state) {
    (void)state;
    run_sql("create function public.at_gate() returns trigger language plpgsql as $$ begin "
            "  if octet_length(new.body) >= 1000000 then "
            "    while not pg_try_advisory_xact_lock_shared(42) loop perform pg_sleep(0.005); end loop; "
            "  end if; return new; end $$");
    run_sql(
        "create trigger gate before insert on pgdisque.job for each row execute function public.at_gate()");
    run_sql("select pg_advisory_lock(42)");
    return 0;
}

static int take_gate_away(void **state) {
    (void)state;
    open_gate();
    remove_gate();
    return 0;
}

static bool is_at_gate(void) {
    return postgres_number(server.database, "select count(*) from pg_stat_activity where " LARGE_SESSION
                                            " and wait_event = 'PgSleep'") == 1;
}

/* Did an element go over the large connection? Then the connection is ready. */
static bool goes_apart(redisContext *c) {
    (void)ask(c, "LPUSH apart %s", body);
    return postgres_number(server.database, "select count(*) from pg_stat_activity where " LARGE_SESSION
                                            " and query like '%insert into pgdisque.job%'") == 1;
}

static int start(void **state) {
    redisContext *c = client_open();

    (void)state;
    body = malloc(LARGE + 1);
    memset(body, 'x', LARGE);
    body[LARGE] = '\0';
    gate = postgres_connect(server.database);
    /* The connection is there before the gate: a server trusts no schema with a trigger that it did not make. */
    EVENTUALLY(goes_apart(c));
    redisFree(c);
    return 0;
}

static int stop(void **state) {
    (void)state;
    PQfinish(gate);
    free(body);
    return 0;
}

static long long wire_reply_number(struct wire *w) {
    struct value *v = wire_reply(w, EVENTUALLY_MS);
    long long n;

    assert_non_null(v);
    n = v->number;
    value_free(v);
    return n;
}

static void send_all(redisContext *c) {
    for (int done = 0; !done;)
        assert_int_equal(redisBufferWrite(c, &done), REDIS_OK);
}

/* ---- tests ---- */

static void test_others_go_on(void **state) {
    redisContext *c = client_open(), *other = client_open();

    (void)state;
    later(c, "LPUSH large %s", body);
    send_all(c);
    EVENTUALLY(is_at_gate());
    for (int i = 1; i <= 20; i++)
        expect(other, text_of(":%d", i), "LPUSH small %d", i);
    expect(other, "\"1\"", "RPOP small");
    (void)get_job(other, "jobs", (add_job(other, "jobs", "x", ""), "x"));
    expect(other, ":1", "LPUSH large small");
    expect(other, "[\"small\"]", "LRANGE large 0 -1");
    open_gate();
    expect_next(c, ":2");
    expect(other, ":2", "LLEN large");
    redisFree(other);
    redisFree(c);
}

/* The large and the small command of a client keep their order. */
static void test_order_of_a_client(void **state) {
    redisContext *c = client_open(), *other = client_open();

    (void)state;
    later(c, "RPUSH order a");
    later(c, "RPUSH order %s", body);
    later(c, "RPUSH order b");
    later(c, "ADDJOB order %s 0", body);
    later(c, "RPUSH order c");
    send_all(c);
    expect_next(c, ":1");
    EVENTUALLY(is_at_gate());
    expect(other, "[\"a\"]", "LRANGE order 0 -1");
    open_gate();
    expect_next(c, ":2");
    expect_next(c, ":3");
    assert_int_equal(next_reply(c)[1], 'D');
    expect_next(c, ":5");
    expect(other, "\"a\"", "LPOP order");
    assert_true(strlen(ask(other, "LPOP order")) > LARGE);
    expect(other, "\"b\"", "LPOP order");
    assert_true(strlen(ask(other, "LPOP order")) > LARGE);
    expect(other, "\"c\"", "LPOP order");
    redisFree(other);
    redisFree(c);
}

/* A client that waits gets the element, though walks went by while it was on its way. */
static void test_waiting_clients(void **state) {
    redisContext *c = client_open(), *waiting = client_open(), *other = client_open();

    (void)state;
    later(c, "LPUSH wait %s", body);
    send_all(c);
    EVENTUALLY(is_at_gate());
    later(waiting, "BRPOP wait 0");
    send_all(waiting);
    EVENTUALLY(blocked_clients() == 1);
    for (int i = 0; i < 5; i++) {
        expect(other, ":1", "LPUSH wait2 x");
        expect(other, "nil", "GETJOB NOHANG FROM wait");
        expect(other, "\"x\"", "RPOP wait2");
    }
    open_gate();
    expect_next(c, ":1");
    assert_true(strlen(next_reply(waiting)) > LARGE);
    expect(other, ":0", "LLEN wait");
    redisFree(other);
    redisFree(waiting);
    redisFree(c);
}

static void end_large_session(void) {
    run_sql("select pg_terminate_backend(pid) from pg_stat_activity where " LARGE_SESSION);
}

/* The session ends before the commit, or about then: the elements are there once, and the counts are right. */
static void test_session_that_ends(void **state) {
    redisContext *c = client_open(), *other = client_open();

    for (int i = 0; i < 6; i++) {
        later(c, "LPUSH killed %s", body);
        send_all(c);
        EVENTUALLY(is_at_gate());
        if (i % 2 == 0)
            end_large_session();
        open_gate();
        if (i % 2 == 1)
            end_large_session();
        remove_gate();
        expect_next(c, text_of(":%d", i + 1));
        expect(other, text_of(":%d", i + 1), "LLEN killed");
        EVENTUALLY(goes_apart(c));
        set_gate(state);
    }
    open_gate();
    for (int i = 0; i < 6; i++)
        assert_true(strlen(ask(other, "RPOP killed")) > LARGE);
    expect(other, "nil", "RPOP killed");
    expect(other, ":0", "LLEN killed");
    redisFree(other);
    redisFree(c);
}

/* All jobs are removed behind the large request: nothing is counted that has gone. */
static void test_flushed_in_between(void **state) {
    redisContext *c = client_open(), *other = client_open();

    (void)state;
    later(c, "LPUSH flushed %s", body);
    send_all(c);
    EVENTUALLY(is_at_gate());
    later(other, "DEBUG FLUSHALL");
    send_all(other);
    open_gate();
    expect_next(c, ":1");
    expect_next(other, "+OK");
    EVENTUALLY(number(other, "LLEN flushed") == 0);
    expect(other, "nil", "RPOP flushed");
    redisFree(other);
    redisFree(c);
}

/* ---- a push in many statements ---- */

#define ELEMENTS 12

/* Elements of 3 MB, each with its own letter. */
static void send_push(struct wire *w, const char *list) {
    char *element = malloc(LARGE + 2);
    char head[64];
    int size =
        snprintf(head, sizeof head, "*%d\r\n$5\r\nRPUSH\r\n$%zu\r\n%s\r\n", ELEMENTS + 2, strlen(list), list);

    assert_true(wire_send(w, head, (size_t)size));
    for (int i = 0; i < ELEMENTS; i++) {
        memset(element, 'a' + i, LARGE);
        memcpy(element + LARGE, "\r\n", 2);
        size = snprintf(head, sizeof head, "$%d\r\n", LARGE);
        assert_true(wire_send(w, head, (size_t)size));
        assert_true(wire_send(w, element, LARGE + 2));
    }
    free(element);
}

static void expect_elements(redisContext *c, const char *list) {
    expect(c, text_of(":%d", ELEMENTS), "LLEN %s", list);
    for (int i = 0; i < ELEMENTS; i++) {
        redisReply *r = redisCommand(c, "LPOP %s", list);

        assert_non_null(r);
        assert_int_equal(r->len, LARGE);
        assert_int_equal(r->str[0], 'a' + i);
        assert_int_equal(r->str[LARGE - 1], 'a' + i);
        freeReplyObject(r);
    }
    expect(c, "nil", "LPOP %s", list);
}

static void test_many_statements(void **state) {
    redisContext *other = client_open();
    struct wire w;

    (void)state;
    raw_open(&w);
    send_push(&w, "parts");
    assert_int_equal(wire_reply_number(&w), ELEMENTS);
    expect_elements(other, "parts");
    wire_close(&w);
    redisFree(other);
}

/* While the session waits at its first statement, it does not read the others, and nothing of the push is there. When the session ends, all of it is
 * pushed again. */
static void test_session_that_ends_between_statements(void **state) {
    redisContext *other = client_open();
    struct wire w;

    (void)state;
    raw_open(&w);
    send_push(&w, "between");
    EVENTUALLY(is_at_gate());
    EVENTUALLY(info_number(other, "mem_database") > LARGE);
    assert_true(info_number(other, "mem_database") < 4 * LARGE);
    expect(other, ":0", "LLEN between");
    expect(other, ":1", "LPUSH beside x");
    expect(other, "\"x\"", "LPOP beside");
    end_large_session();
    open_gate();
    remove_gate();
    assert_int_equal(wire_reply_number(&w), ELEMENTS);
    expect_elements(other, "between");
    wire_close(&w);
    redisFree(other);
}

#define GATED(test) cmocka_unit_test_setup_teardown(test, set_gate, take_gate_away)

int main(void) {
    const struct CMUnitTest tests[] = {
        GATED(test_others_go_on),
        GATED(test_order_of_a_client),
        GATED(test_waiting_clients),
        GATED(test_session_that_ends),
        GATED(test_flushed_in_between),
        cmocka_unit_test(test_many_statements),
        GATED(test_session_that_ends_between_statements),
    };

    return RUN_SUITE_WITH("large requests", tests, start, stop);
}
