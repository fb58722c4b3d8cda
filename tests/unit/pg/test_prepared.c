/* The statements of a session: named after their Prepares. wraps: PQsendPrepare PQsendQueryPrepared PQsendQueryParams PQpipelineSync */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "pg/prepared.h"

int __wrap_PQsendPrepare(PGconn *pg, const char *name, const char *text, int count, const Oid *types);
int __wrap_PQsendQueryPrepared(PGconn *pg, const char *name, int count, const char *const *values,
                               const int *lengths, const int *formats, int format);
int __wrap_PQsendQueryParams(PGconn *pg, const char *text, int count, const Oid *types,
                             const char *const *values, const int *lengths, const int *formats, int format);
int __wrap_PQpipelineSync(PGconn *pg);

static struct prepared session;
static char sent[400]; /* since the last expect_sent() */
static bool breaks;    /* nothing can be sent */

static int note(const char *what, const char *name) {
    size_t used = strlen(sent);

    snprintf(sent + used, sizeof sent - used, "%s%s%s%s", used > 0 ? ", " : "", what,
             *name != '\0' ? " " : "", name);
    return breaks ? 0 : 1;
}

int __wrap_PQsendPrepare(PGconn *pg, const char *name, const char *text, int count, const Oid *types) {
    (void)pg;
    (void)text;
    (void)count;
    (void)types;
    return note("prepare", name);
}

int __wrap_PQsendQueryPrepared(PGconn *pg, const char *name, int count, const char *const *values,
                               const int *lengths, const int *formats, int format) {
    (void)pg;
    (void)count;
    (void)values;
    (void)lengths;
    (void)formats;
    (void)format;
    return note("named", name);
}

int __wrap_PQsendQueryParams(PGconn *pg, const char *text, int count, const Oid *types,
                             const char *const *values, const int *lengths, const int *formats, int format) {
    (void)pg;
    (void)count;
    (void)types;
    (void)values;
    (void)lengths;
    (void)formats;
    (void)format;
    for (int i = 0; i < SQL_COUNT; i++)
        if (sql_texts[i].text == text)
            return note("unnamed", sql_texts[i].name);
    return 0;
}

int __wrap_PQpipelineSync(PGconn *pg) {
    (void)pg;
    return note("sync", "");
}

static void expect_sent(const char *want) {
    assert_string_equal(sent, want);
    sent[0] = '\0';
}

static int begin_session(void **state) {
    (void)state;
    breaks = false;
    assert_true(prepared_begin(&session, NULL));
    sent[0] = '\0';
    return 0;
}

static void use(enum sql_stmt stmt) {
    assert_true(prepared_execute(&session, NULL, stmt, 0, NULL, NULL, NULL));
}

static bool prepare(void) {
    bool broken = false, any = prepared_send_used(&session, NULL, &broken);

    assert_false(broken);
    return any;
}

static bool result(ExecStatusType status) {
    PGresult *res = PQmakeEmptyPGresult(NULL, status);
    bool last = prepared_take_result(&session, res);

    PQclear(res);
    return last;
}

static void prepared_after_its_first_use(void **state) {
    (void)state;
    assert_false(prepare());
    use(SQL_ADD_JOBS);
    expect_sent("unnamed add_jobs");
    assert_true(prepare());
    expect_sent("prepare add_jobs, sync");
    use(SQL_ADD_JOBS);
    assert_false(prepare());
    expect_sent("unnamed add_jobs");
    assert_false(result(PGRES_COMMAND_OK));
    assert_true(result(PGRES_PIPELINE_SYNC));
    use(SQL_ADD_JOBS);
    assert_false(prepare());
    expect_sent("named add_jobs");
}

/* db.c sends them between transactions. */
static void named_from_the_beginning(void **state) {
    (void)state;
    use(SQL_FENCE);
    use(SQL_SET_DURABILITY);
    use(SQL_TAKE_SNAPSHOT);
    expect_sent("named fence, named set_durability, named take_snapshot");
}

/* A lock on the table of the second statement: the statement waits for its next use, the third does not. */
static void an_error_holds_up_its_statement_only(void **state) {
    (void)state;
    use(SQL_ACK_JOBS);
    use(SQL_ADD_JOBS);
    use(SQL_CLAIM_SCAN);
    sent[0] = '\0';
    assert_true(prepare());
    expect_sent("prepare ack_jobs, prepare add_jobs, prepare claim_scan, sync");
    assert_false(result(PGRES_COMMAND_OK));
    assert_false(result(PGRES_FATAL_ERROR));
    assert_false(result(PGRES_PIPELINE_ABORTED));
    assert_true(result(PGRES_PIPELINE_SYNC));
    assert_true(prepare());
    expect_sent("prepare claim_scan, sync");
    assert_false(result(PGRES_COMMAND_OK));
    assert_true(result(PGRES_PIPELINE_SYNC));
    use(SQL_ADD_JOBS);
    use(SQL_CLAIM_SCAN);
    expect_sent("unnamed add_jobs, named claim_scan");
    assert_true(prepare());
    expect_sent("prepare add_jobs, sync");
}

static void a_new_session_has_no_statements(void **state) {
    (void)state;
    use(SQL_ADD_JOBS);
    assert_true(prepare());
    assert_true(prepared_begin(&session, NULL));
    sent[0] = '\0';
    assert_false(prepare());
    use(SQL_ADD_JOBS);
    assert_true(prepare());
    expect_sent("unnamed add_jobs, prepare add_jobs, sync");
}

static void tells_that_the_connection_is_broken(void **state) {
    bool broken = false;

    (void)state;
    use(SQL_ADD_JOBS);
    breaks = true;
    assert_true(prepared_send_used(&session, NULL, &broken));
    assert_true(broken);
    assert_false(prepared_execute(&session, NULL, SQL_ADD_JOBS, 0, NULL, NULL, NULL));
    assert_false(prepared_begin(&session, NULL));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(prepared_after_its_first_use, begin_session),
        cmocka_unit_test_setup(named_from_the_beginning, begin_session),
        cmocka_unit_test_setup(an_error_holds_up_its_statement_only, begin_session),
        cmocka_unit_test_setup(a_new_session_has_no_statements, begin_session),
        cmocka_unit_test_setup(tells_that_the_connection_is_broken, begin_session),
    };

    return cmocka_run_group_tests_name("prepared", tests, NULL, NULL);
}
