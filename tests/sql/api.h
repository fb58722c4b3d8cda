#ifndef API_H
#define API_H

#include "base/job_key.h"
#include "session.h"

#include <string.h>

/* The parts that the programs about sql/api/ share. Each program has a single file, which includes this one. */

static PGconn *a, *b;

/* A session of an application, which has only the default settings. */
static inline PGconn *application(const char *conninfo) {
    PGconn *conn = session_open(conninfo);

    assert_string_equal(sql(conn, "reset all"), "");
    return conn;
}

static inline int fresh(void **state) {
    (void)state;
    if (!a) {
        const char *conninfo = database_new();

        a = application(conninfo);
        b = application(conninfo);
    }
    tables_clear(a);
    /* Where the sessions went on belongs to queues that are gone. */
    for (int i = 0; i < 2; i++)
        sql(i ? a : b,
            "select set_config('pgdisque.cursor_' || n, '', false) from generate_series(1, 9) as n");
    return 0;
}

static inline int settle(void **state) {
    (void)state;
    sql(a, "rollback");
    sql(b, "rollback");
    return 0;
}

static inline void does(PGconn *conn, const char *want, const char *statement) {
    assert_string_equal(sql(conn, "%s", statement), want);
}

static inline void done(PGconn *conn, const char *statement) {
    const char *result = sql(conn, "%s", statement);

    if (strncmp(result, "error", 5) == 0)
        fail_msg("%s: %s", statement, result);
}

#define BODIES(...) "select convert_from(body, 'UTF8') from pgdisque.get_jobs(" __VA_ARGS__ ")"
#define IDS(condition) "array(select id from pgdisque.jobs where " condition ")"

#endif
