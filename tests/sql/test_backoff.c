/* The back-off of the statements and that of C are the same. */
#include "session.h"

#include <stdlib.h>

#include "base/job_key.h"

#define RETRY 60

static PGconn *conn;

static int open_database(void **state) {
    (void)state;
    if (!conn)
        conn = session_open(database_new());
    tables_clear(conn);
    return 0;
}

#define IDS 7
static const int64_t ids[IDS] = {
    1, 1008, 1009, 12345, INT64_C(1319413953331201), -INT64_C(1319413953331777), INT64_MAX,
};

/* Claims the jobs in the order of their ids. The back-off of sql/parts/backoff.sql is a part of their leases. */
static void claim_them(int backoff, int deliveries) {
    sql(conn, "delete from pgdisque.job");
    for (size_t i = 0; i < IDS; i++)
        jobs_put(conn, text_of("1/0/%lld retry=%d backoff=%d deliveries=%d", (long long)ids[i], RETRY,
                               backoff, deliveries - 1));
    CALL(conn, SQL_CLAIM_SCAN, "1", "-1", "0", "100", NOW, "1", NOW);
}

static int64_t claimed_backoff_us(int64_t id) {
    return atoll(sql(conn,
                     "select (extract(epoch from ready_at - leased_at) * 1000000)::bigint from pgdisque.job "
                     "where id = %lld",
                     (long long)id)) -
           RETRY * INT64_C(1000000);
}

static void test_c_and_sql_agree(void **state) {
    static const struct {
        int backoff, deliveries;
    } cases[] = { { 1, 1 }, { 1, 2 }, { 5, 3 }, { 1, 12 }, { 7, 13 }, { 3600, 1 }, { 3600, 40 } };

    (void)state;
    for (size_t k = 0; k < sizeof(cases) / sizeof(*cases); k++) {
        claim_them(cases[k].backoff, cases[k].deliveries);
        for (size_t i = 0; i < IDS; i++) {
            int64_t in_c = job_backoff_us(ids[i], cases[k].backoff, cases[k].deliveries);
            int64_t in_sql = claimed_backoff_us(ids[i]);

            /* Both round to microseconds. */
            if (llabs(in_c - in_sql) > 1)
                fail_msg("id %lld, backoff %d, deliveries %d: %lld us in C, %lld us in SQL",
                         (long long)ids[i], cases[k].backoff, cases[k].deliveries, (long long)in_c,
                         (long long)in_sql);
        }
    }
}

/* Jobs of successive milliseconds, and of the same millisecond, come back at different times. */
static void test_jobs_come_back_at_different_times(void **state) {
    (void)state;
    for (int64_t step = 1; step <= INT64_C(1) << 22; step <<= 22) {
        int64_t earliest = INT64_MAX, latest = 0;

        for (int64_t n = 0; n < 1000; n++) {
            int64_t us = job_backoff_us(INT64_C(1319413953331200) + n * step, 80, 1);

            earliest = us < earliest ? us : earliest;
            latest = us > latest ? us : latest;
        }
        assert_in_range(earliest, 80000000, 81000000);
        assert_in_range(latest, 89000000, 90000000);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_c_and_sql_agree, open_database),
        cmocka_unit_test(test_jobs_come_back_at_different_times),
    };
    int failed = run_sql_suite("back-off", tests, sizeof(tests) / sizeof(tests[0]));

    PQfinish(conn);
    return failed;
}
