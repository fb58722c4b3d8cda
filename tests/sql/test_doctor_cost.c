/* The number of rows that the doctor's statements read does not grow with the jobs. */
#include "session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MANY 100000
/* The first 100 rows of six queues; the index alone has more pages than that. */
#define MOST_PAGES 150

static const char *database;

/* All jobs but the last have been delivered, so that the searched job lies at the end. */
static int fill(void **state) {
    PGconn *conn;

    (void)state;
    database = database_new();
    conn = session_open(database);
    sql(conn, "insert into pgdisque.queue (name) select n::text::bytea from generate_series(1, 6) as n");
    sql(conn,
        "insert into pgdisque.job (id, ready_at, expires_at, queue_id, retry, body)"
        " select n, now() + interval '1 hour', now() + interval '1 day', 1 + n %% 6, 60, 'x'"
        " from generate_series(1, %d) as n",
        MANY);
    sql(conn, "update pgdisque.job set ready_at = now() where id = %d", MANY);
    PQfinish(conn);
    return 0;
}

/* The plan of the doctor's statement, or NULL if the statement is not for this database. */
static char *explain(PGconn *conn, enum doctor_stmt stmt) {
    char *text = NULL;
    size_t size = 0;
    FILE *f;
    PGresult *res;

    PQclear(PQexec(conn, "deallocate all"));
    PQclear(PQexec(conn, text_of("prepare it (text, text, text, text) as %s", doctor_texts[stmt].text)));
    res = PQexec(conn, "explain (analyze, buffers, costs off, timing off) execute it ('0', '', 'on', '1')");
    if (PQresultStatus(res) == PGRES_TUPLES_OK) {
        f = open_memstream(&text, &size);
        for (int i = 0; i < PQntuples(res); i++)
            fprintf(f, "%s\n", PQgetvalue(res, i, 0));
        fclose(f);
    }
    PQclear(res);
    return text;
}

static long pages_in(const char *plan) {
    const char *at = strstr(plan, "Buffers: shared ");
    long hit = 0, read = 0;

    if (at == NULL || sscanf(at, "Buffers: shared hit=%ld read=%ld", &hit, &read) == 0)
        return -1;
    return hit + read;
}

static void test_jobs_are_not_all_read(void **state) {
    PGconn *conn = session_open(database);
    int asked = 0;

    (void)state;
    for (int i = 0; i < DOCTOR_COUNT; i++) {
        char *plan = explain(conn, (enum doctor_stmt)i);

        if (plan == NULL)
            continue;
        asked++;
        if (strstr(plan, "Seq Scan on job ") != NULL)
            fail_msg("%s reads all jobs:\n%s", doctor_texts[i].name, plan);
        free(plan);
    }
    /* Two are for other versions and tables. */
    assert_true(asked >= DOCTOR_COUNT - 2);
    PQfinish(conn);
}

static void check_cost(enum doctor_stmt stmt) {
    PGconn *conn = session_open(database);
    char *plan = explain(conn, stmt);

    assert_non_null(plan);
    if (strstr(plan, "using job_pkey on job") == NULL || pages_in(plan) < 0 || pages_in(plan) > MOST_PAGES)
        fail_msg("%ld pages:\n%s", pages_in(plan), plan);
    free(plan);
    PQfinish(conn);
}

static void test_ready_is_bounded(void **state) {
    (void)state;
    check_cost(DOCTOR_READY);
}

static void test_running_is_bounded(void **state) {
    (void)state;
    check_cost(DOCTOR_RUNNING);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_jobs_are_not_all_read, fill),
        cmocka_unit_test(test_ready_is_bounded),
        cmocka_unit_test(test_running_is_bounded),
    };

    return run_sql_suite("doctor_cost", tests, sizeof(tests) / sizeof(tests[0]));
}
