/* /ready and /health while the queues are loaded, while the database is away, and during a shutdown. */
#include "fixture.h"
#include "http_requests.h"

#include <signal.h>
#include <string.h>
#include <libpq-fe.h>

/* Starts a server with a port for HTTP. Does not wait. */
static void spawn_with_http(struct server *s, const char *database) {
    server_spawn(s, database, http_options(NULL));
}

static bool accepts(int port) {
    struct wire w;

    if (!wire_try_open(&w, port))
        return false;
    wire_close(&w);
    return true;
}

/* The database has the address of a closed port. */
static void test_before_the_queues_are_loaded(void **state) {
    struct server s;

    (void)state;
    spawn_with_http(&s, text_of("host=127.0.0.1 port=%d", server_free_port()));
    EVENTUALLY(accepts(http_port));
    expect_http(http_get("/ready"), 503, "{\"ready\":false}");
    expect_http(http_get("/health"), 503, "LOADING");
    server_kill(&s);
}

/* Each probe gets a reply: HEALTH waits for five seconds at most. */
static void test_without_a_database(void **state) {
    struct server s;

    (void)state;
    spawn_with_http(&s, postgres_conninfo(&pg, NULL));
    server_wait_ready(&s);
    EVENTUALLY(strstr(http_get("/ready"), "{\"ready\":true}") != NULL);
    postgres_stop(&pg, true);
    EVENTUALLY(strstr(http_get("/ready"), "{\"ready\":false}") != NULL);
    expect_http(http_reply, 503, "");
    expect_http(http_get("/health"), 503, "NOREPL");
    postgres_resume(&pg);
    EVENTUALLY(strstr(http_get("/ready"), "{\"ready\":true}") != NULL);
    EVENTUALLY(strncmp(http_get("/health"), "HTTP/1.1 200", 12) == 0);
    assert_int_equal(server_stop(&s), 0);
}

/* Sends GET /ready on an open connection. Returns all bytes until the end of a reply or of the connection. */
static const char *ready_on(struct wire *w) {
    static char reply[4096];
    size_t len;

    (void)wire_send_text(w, "GET /ready HTTP/1.1\r\nHost: localhost\r\n\r\n");
    EVENTUALLY(wire_pending(w) > 0 || w->eof);
    (void)WAIT_UNTIL(w->eof || memchr(w->data + w->start, '}', wire_pending(w)) != NULL, EVENTUALLY_MS);
    len = w->end - w->start < sizeof reply ? w->end - w->start : sizeof reply - 1;
    memcpy(reply, w->data + w->start, len);
    reply[len] = '\0';
    w->start = w->end;
    return reply;
}

/* A locked table delays the shutdown. A connection that was open before hears that the server is not ready, unless the
 * server has ended. */
static void test_during_a_shutdown(void **state) {
    struct wire kept, adder;
    struct server s;
    const char *database = postgres_conninfo(&pg, NULL);
    const char *reply;
    PGconn *other;

    (void)state;
    spawn_with_http(&s, database);
    server_wait_ready(&s);
    EVENTUALLY(strstr(http_get("/ready"), "{\"ready\":true}") != NULL);
    wire_open(&kept, "127.0.0.1", http_port);
    assert_non_null(strstr(ready_on(&kept), "{\"ready\":true}"));
    other = PQconnectdb(database);
    PQclear(PQexec(other, "begin; lock table pgdisque.job in exclusive mode"));
    raw_open_on(&adder, &s);
    wire_words(&adder, "ADDJOB", "q", "x", "0", NULL);
    EVENTUALLY(postgres_number(database, "select count(*) from pg_locks where not granted") > 0);
    kill(s.pid, SIGTERM);
    EVENTUALLY(!accepts(s.port));
    reply = ready_on(&kept);
    if (reply[0] != '\0')
        expect_http(reply, 503, "the server stops");
    PQclear(PQexec(other, "commit"));
    PQfinish(other);
    wire_close(&kept);
    wire_close(&adder);
    assert_int_equal(server_stop(&s), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_before_the_queues_are_loaded),
        cmocka_unit_test(test_without_a_database),
        cmocka_unit_test(test_during_a_shutdown),
    };

    return RUN_SUITE("probes", tests);
}
