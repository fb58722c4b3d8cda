/* Bytes and nulls through the binary parameters and results that the server uses. */
#include "session.h"

#include <stdlib.h>
#include <string.h>

#include "pg/params.h"

#define ALL_BYTES 256
#define BIG ((size_t)3 * 1024 * 1024)

static PGconn *conn;
static struct params params;

static int open_database(void **state) {
    (void)state;
    if (!conn)
        conn = session_open(database_new());
    tables_clear(conn);
    params_reset(&params);
    return 0;
}

/* The caller clears the result. */
static PGresult *run(enum sql_stmt stmt) {
    const char *values[PARAMS_MAX];
    int lengths[PARAMS_MAX], formats[PARAMS_MAX];
    PGresult *res;

    params_finish(&params, values, lengths, formats);
    res = PQexecPrepared(conn, sql_texts[stmt].name, params.columns, values, lengths, formats, 1);
    if (PQresultStatus(res) != PGRES_TUPLES_OK && PQresultStatus(res) != PGRES_COMMAND_OK)
        fail_msg("%s: %s", sql_texts[stmt].name, PQresultErrorMessage(res));
    params_reset(&params);
    return res;
}

static void expect_bytes(struct slice got, struct slice want) {
    assert_int_equal(got.len, want.len);
    if (want.len > 0)
        assert_memory_equal(got.ptr, want.ptr, want.len);
}

/* Every byte there is, beginning with i. */
static struct slice all_bytes(unsigned i) {
    static char bytes[2 * ALL_BYTES];

    for (unsigned k = 0; k < sizeof(bytes); k++)
        bytes[k] = (char)k;
    return (struct slice){ bytes + i, ALL_BYTES };
}

#define MINUTE INT64_C(60000000)
/* 2030-01-01 12:00:00 UTC in microseconds since 1970. */
#define NOON INT64_C(1893499200000000)

struct job {
    int64_t id, ready_at, wake_at; /* wake_at 0: null */
    int16_t owner;                 /* 0: null */
    struct slice body;
};

static void add(struct job j) {
    params_int8(&params, 0, j.id);
    params_time(&params, 1, j.ready_at);
    params_time(&params, 2, NOON + 60 * MINUTE);
    if (j.wake_at)
        params_time(&params, 3, j.wake_at);
    else
        params_null(&params, 3, PARAM_TIME);
    params_int4(&params, 4, 1);
    params_int4(&params, 5, 60);
    params_int4(&params, 6, 0);
    params_int2(&params, 7, 0);
    params_int2(&params, 8, 1);
    if (j.owner)
        params_int2(&params, 9, j.owner);
    else
        params_null(&params, 9, PARAM_INT2);
    params_bytea(&params, 10, j.body);
    params_null(&params, 11, PARAM_INT4);
    params_null(&params, 12, PARAM_INT4);
    params_null(&params, 13, PARAM_BYTEA);
    params_null(&params, 14, PARAM_BYTEA);
}

static PGresult *scan(void) {
    params_set_int4(&params, 0, 1);
    params_set_int2(&params, 1, INT16_MIN);
    params_set_int8(&params, 2, INT64_MIN);
    params_set_int4(&params, 3, 1000);
    params_set_time(&params, 4, NOON);
    params_set_bool(&params, 5, true);
    params_set_int8(&params, 6, INT64_MAX);
    params_set_null(&params, 7);
    params_set_null(&params, 8);
    return run(SQL_SCAN_QUEUE);
}

/* Each byte alone, each at both ends of others, no byte, and more bytes than a page has. */
static void bodies_come_back_as_they_were(void **state) {
    char *big = malloc(BIG);
    PGresult *res;

    (void)state;
    for (size_t i = 0; i < BIG; i++)
        big[i] = (char)(i * 2654435761u >> 24);
    for (unsigned i = 0; i < ALL_BYTES; i++) {
        add((struct job){ .id = i, .ready_at = NOON, .body = { all_bytes(i).ptr, 1 } });
        add((struct job){ .id = ALL_BYTES + i, .ready_at = NOON, .body = all_bytes(i) });
    }
    add((struct job){ .id = 2 * ALL_BYTES, .ready_at = NOON, .body = { "", 0 } });
    add((struct job){ .id = 2 * ALL_BYTES + 1, .ready_at = NOON, .body = { big, BIG } });
    PQclear(run(SQL_ADD_JOBS));
    res = scan();
    assert_int_equal(PQntuples(res), 2 * ALL_BYTES + 2);
    for (unsigned i = 0; i < ALL_BYTES; i++) {
        expect_bytes(row_bytes(res, (int)i, 13), (struct slice){ all_bytes(i).ptr, 1 });
        expect_bytes(row_bytes(res, ALL_BYTES + (int)i, 13), all_bytes(i));
    }
    expect_bytes(row_bytes(res, 2 * ALL_BYTES, 13), (struct slice){ "", 0 });
    expect_bytes(row_bytes(res, 2 * ALL_BYTES + 1, 13), (struct slice){ big, BIG });
    PQclear(res);
    free(big);
}

static void expect_job(const PGresult *res, int row, struct job want) {
    assert_int_equal(row_int8(res, row, 3), want.id);
    assert_int_equal(row_time(res, row, 4), want.ready_at);
    assert_int_equal(row_time(res, row, 5), NOON + 60 * MINUTE);
    assert_int_equal(row_bool(res, row, 6), want.wake_at == want.ready_at);
    assert_int_equal(row_null(res, row, 7), want.owner == 0);
    if (want.owner)
        assert_int_equal(row_int2(res, row, 7), want.owner);
}

/* First, last, between others, alone; and all of them. */
static void nulls_are_told_from_values(void **state) {
    static const struct job jobs[] = {
        { .id = 1, .ready_at = NOON },
        { .id = 2, .ready_at = NOON + MINUTE, .wake_at = NOON + MINUTE },
        { .id = 3, .ready_at = TIME_NEVER, .owner = 1023 },
        { .id = 4, .ready_at = TIME_BEGINNING, .owner = 1 },
        { .id = 5, .ready_at = NOON - 1 },
    };
    int count = sizeof(jobs) / sizeof(jobs[0]);
    PGresult *res;

    (void)state;
    for (int i = 0; i < count; i++)
        add((struct job){ jobs[i].id, jobs[i].ready_at, jobs[i].wake_at, jobs[i].owner, { "", 0 } });
    PQclear(run(SQL_ADD_JOBS));
    res = scan();
    assert_int_equal(PQntuples(res), count);
    for (int i = 0; i < count; i++)
        expect_job(res, i, jobs[i]);
    PQclear(res);
    add((struct job){ .id = 6, .ready_at = NOON, .body = { "", 0 } });
    params_jsonb_or_null(&params, 15, SLICE("{\"headers\": {\"\\u00fc\": \"x\"}}"));
    res = run(SQL_ADD_MISSING);
    assert_int_equal(PQntuples(res), 1);
    PQclear(res);
    res = scan();
    assert_true(row_jsonb_or_null(res, 0, COL_SCAN_QUEUE_HEADERS).ptr == NULL);
    expect_bytes(row_jsonb_or_null(res, count, COL_SCAN_QUEUE_HEADERS), SLICE("{\"\xc3\xbc\": \"x\"}"));
    PQclear(res);
}

static int32_t open_queue(struct slice name) {
    PGresult *res;
    int32_t id;

    params_bytea(&params, 0, name);
    params_null(&params, 1, PARAM_INT2);
    res = run(SQL_OPEN_QUEUES);
    assert_int_equal(PQntuples(res), 1);
    expect_bytes(row_bytes(res, 0, 1), name);
    id = row_int4(res, 0, 0);
    PQclear(res);
    return id;
}

/* "" and "\0", "a" and "a\0" are different names. */
static void names_are_bytes(void **state) {
    static const struct slice names[] = { { "", 0 },    { "\0", 1 }, { "a", 1 },
                                          { "a\0", 2 }, { "A", 1 },  { "\xff", 1 } };
    int count = sizeof(names) / sizeof(names[0]);
    int32_t first[8];

    (void)state;
    for (int i = 0; i < count; i++)
        first[i] = open_queue(names[i]);
    for (int i = 0; i < count; i++) {
        assert_int_equal(open_queue(names[i]), first[i]);
        for (int k = 0; k < i; k++)
            assert_int_not_equal(first[i], first[k]);
    }
    assert_int_equal(open_queue(all_bytes(0)), open_queue(all_bytes(0)));
    assert_int_not_equal(open_queue(all_bytes(0)), open_queue(all_bytes(1)));
}

/* No two names share a queue, and no name is too long for the index. */
static void names_may_be_long(void **state) {
    char *name = malloc(BIG);
    int32_t one, other;

    (void)state;
    for (size_t i = 0; i < BIG; i++)
        name[i] = (char)(i * 2654435761u >> 24);
    one = open_queue((struct slice){ name, BIG });
    name[BIG - 1]++;
    other = open_queue((struct slice){ name, BIG });
    assert_int_not_equal(one, other);
    assert_int_equal(open_queue((struct slice){ name, BIG }), other);
    free(name);
}

static void nodes_are_texts(void **state) {
    PGresult *res;

    (void)state;
    params_set_text(&params, 0, "0123456789abcdef0123456789abcdef01234567");
    params_set_text(&params, 1, "");
    params_set_int4(&params, 2, 7711);
    params_set_int8(&params, 3, 0);
    res = run(SQL_REGISTER_NODE);
    assert_int_equal(row_int2(res, 0, 0), 1);
    PQclear(res);
    assert_string_equal(sql(conn, "select addr = '', port from pgdisque.node"), "t 7711");
}

static void an_empty_array_is_one(void **state) {
    PGresult *res;

    (void)state;
    jobs_put(conn, "1/0/1 wake=11:00:00");
    params_int4(&params, 0, 1);
    params_int2(&params, 1, 0);
    params_int8(&params, 2, 1);
    params_set_time(&params, 3, NOON);
    params_ensure_int4_array(&params, 4);
    res = run(SQL_WAKE_DUE);
    assert_int_equal(PQntuples(res), 1);
    assert_int_equal(row_time(res, 0, COL_WAKE_DUE_READY_AT), NOON - 60 * MINUTE);
    assert_int_equal(row_time(res, 0, COL_WAKE_DUE_WAKE_AT), NOON + 60 * MINUTE);
    PQclear(res);
    assert_string_equal(jobs_now(conn), "1/0/1 wake=13:00:00");
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(bodies_come_back_as_they_were, open_database),
        cmocka_unit_test_setup(nulls_are_told_from_values, open_database),
        cmocka_unit_test_setup(names_are_bytes, open_database),
        cmocka_unit_test_setup(names_may_be_long, open_database),
        cmocka_unit_test_setup(nodes_are_texts, open_database),
        cmocka_unit_test_setup(an_empty_array_is_one, open_database),
    };
    int failed = run_sql_suite("bytes", tests, sizeof(tests) / sizeof(tests[0]));

    PQfinish(conn);
    params_free(&params);
    return failed;
}
