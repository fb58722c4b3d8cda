/* The page: its sessions, requests of other sites, and its events. */
#include "fixture.h"
#include "http_requests.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OWN "Origin: http://localhost\r\n"

static struct server s;
static redisContext *admin;

static int start_server(void **state) {
    (void)state;
    server_start(&s, postgres_conninfo(&pg, NULL), http_options(NULL));
    admin = client_open_on(&s);
    EVENTUALLY(strstr(http_get("/ready"), "{\"ready\":true}") != NULL);
    expect_http(http_get("/api/session"), 200, "{\"user\":\"default\",\"login\":false,");
    expect(admin, "+OK", "CONFIG SET requirepass secret");
    expect(admin, "+OK", "AUTH secret");
    return 0;
}

static int stop_server(void **state) {
    (void)state;
    expect(admin, "+OK", "CONFIG SET requirepass %s", "");
    redisFree(admin);
    assert_int_equal(server_stop(&s), 0);
    return 0;
}

static const char *log_in(const char *user, const char *password) {
    return http_post("/api/login", OWN, text_of("{\"user\":\"%s\",\"password\":\"%s\"}", user, password));
}

/* Logs in, and writes the header with the cookie. */
static void log_in_ok(const char *user, const char *password, char *header, size_t size) {
    const char *cookie;

    expect_http(log_in(user, password), 200, text_of("{\"user\":\"%s\"}", user));
    cookie = strstr(http_reply, "Set-Cookie: ");
    assert_non_null(cookie);
    snprintf(header, size, "%s", cookie + strlen("Set-"));
    strcpy(strchr(header, ';'), "\r\n");
}

/* Runs a command as a page of this server does. */
static const char *run_as(const char *cookie, const char *command) {
    return http_post("/api/command", text_of(OWN "%s", cookie), command);
}

static const char *session_of(const char *cookie) {
    return request_from("localhost", "GET /api/session", cookie, "");
}

static void test_login(void **state) {
    char cookie[256], other[256];

    (void)state;
    expect_http(session_of(""), 200, "{\"user\":null,\"login\":true,");
    log_in_ok("default", "secret", cookie, sizeof cookie);
    assert_non_null(strstr(http_reply, text_of("Set-Cookie: pgdisque_%d=", http_port)));
    assert_non_null(strstr(http_reply, "; HttpOnly; SameSite=Strict\r\n"));
    assert_null(strstr(http_reply, "Secure"));
    expect_http(session_of(cookie), 200,
                "{\"user\":\"default\",\"login\":false,\"cookie\":true,\"version\":\"");
    expect_http(run_as(cookie, "[\"ACL\", \"WHOAMI\"]"), 200, "{\"reply\":\"default\"}");
    expect_http(run_as("", "[\"ACL\", \"WHOAMI\"]"), 401, "NOAUTH");
    log_in_ok("default", "secret", other, sizeof other);
    assert_string_not_equal(cookie, other);
    expect_http(http_post("/api/logout", text_of(OWN "%s", cookie), "{}"), 200, "; Max-Age=0\r\n");
    expect_http(run_as(cookie, "[\"PING\"]"), 401, "NOAUTH");
    expect_http(run_as(other, "[\"PING\"]"), 200, "PONG");
    expect_http(session_of(cookie), 200, "\"login\":true");
}

static void test_secure_cookie(void **state) {
    (void)state;
    expect_http(http_post("/api/login", OWN "X-Forwarded-Proto: https\r\n",
                          "{\"user\":\"default\",\"password\":\"secret\"}"),
                200, "; SameSite=Strict; Secure\r\n");
}

static void test_wrong_logins(void **state) {
    (void)state;
    expect_http(log_in("default", "wrong"), 401, "WRONGPASS");
    assert_null(strstr(http_reply, "Set-Cookie"));
    assert_null(strstr(http_reply, "WWW-Authenticate"));
    expect_http(log_in("none", "secret"), 401, "WRONGPASS");
    expect_http(http_post("/api/login", OWN, "{\"user\":\"default\"}"), 400, "expected");
    expect_http(http_post("/api/login", OWN, "{\"user\":\"\",\"password\":\"secret\"}"), 400, "expected");
    expect_http(http_post("/api/login", OWN, "nonsense"), 400, "expected");
    expect_http(http_get("/api/login"), 405, "POST");
    expect_http(run_as("Cookie: pgdisque_1=x; a\r\n", "[\"PING\"]"), 401, "NOAUTH");
    expect_http(run_as(text_of("Cookie: pgdisque_%d=%s\r\n", http_port,
                               "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"),
                       "[\"PING\"]"),
                401, "NOAUTH");
}

/* The rights are those of the user, as they are now. */
static void test_user(void **state) {
    char cookie[256], again[256];

    (void)state;
    expect(admin, "+OK", "ACL SETUSER ada on >one >two ~mine +qlen +acl|whoami");
    log_in_ok("ada", "one", cookie, sizeof cookie);
    expect_http(run_as(cookie, "[\"ACL\", \"WHOAMI\"]"), 200, "\"ada\"");
    expect_http(run_as(cookie, "[\"QLEN\", \"mine\"]"), 200, "0");
    expect_http(run_as(cookie, "[\"QLEN\", \"other\"]"), 403, "NOPERM");
    expect(admin, "+OK", "ACL SETUSER ada -qlen");
    expect_http(run_as(cookie, "[\"QLEN\", \"mine\"]"), 403, "NOPERM");
    log_in_ok("ada", "two", again, sizeof again);
    expect(admin, "+OK", "ACL SETUSER ada <one");
    expect_http(run_as(cookie, "[\"ACL\", \"WHOAMI\"]"), 401, "NOAUTH");
    expect_http(run_as(again, "[\"ACL\", \"WHOAMI\"]"), 200, "\"ada\"");
    expect(admin, "+OK", "ACL SETUSER ada off");
    expect_http(run_as(again, "[\"ACL\", \"WHOAMI\"]"), 401, "NOAUTH");
    expect(admin, "+OK", "ACL SETUSER ada on");
    log_in_ok("ada", "two", again, sizeof again);
    expect(admin, ":1", "ACL DELUSER ada");
    expect_http(run_as(again, "[\"ACL\", \"WHOAMI\"]"), 401, "NOAUTH");
    expect(admin, "+OK", "ACL SETUSER ada on >two +@all ~*");
    expect_http(run_as(again, "[\"ACL\", \"WHOAMI\"]"), 401, "NOAUTH");
    expect(admin, ":1", "ACL DELUSER ada");
}

/* A user has at most 32 sessions: the next login ends the one that was unused for the longest time. */
static void test_many_sessions(void **state) {
    char first[256], second[256], cookie[256];

    (void)state;
    expect(admin, "+OK", "ACL SETUSER eve on >pw ~* +@all");
    log_in_ok("eve", "pw", first, sizeof first);
    log_in_ok("eve", "pw", second, sizeof second);
    for (int i = 2; i < 32; i++)
        log_in_ok("eve", "pw", cookie, sizeof cookie);
    expect_http(session_of(first), 200, "\"eve\"");
    log_in_ok("eve", "pw", cookie, sizeof cookie);
    expect_http(session_of(first), 200, "\"eve\"");
    expect_http(session_of(second), 200, "\"login\":true");
    expect(admin, ":1", "ACL DELUSER eve");
}

/* A browser tells the site of the page that sends a request. */
static void test_other_sites(void **state) {
    static const char *const refused[] = {
        "Origin: http://evil.example\r\n", "Origin: null\r\n",
        "Origin: http://localhost:81\r\n", "Sec-Fetch-Site: cross-site\r\n",
        "Sec-Fetch-Site: same-site\r\n",   "Sec-Fetch-Site: cross-site\r\nOrigin: http://localhost\r\n",
    };
    static const char *const allowed[] = {
        "",
        "Sec-Fetch-Site: same-origin\r\n",
        "Sec-Fetch-Site: none\r\n",
        "Origin: https://LOCALHOST\r\n",
        "Sec-Fetch-Site: same-origin\r\nCookie: x=y\r\n",
    };

    (void)state;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        expect_http(http_post("/api/command", refused[i], "[\"PING\"]"), 403, "another site");
    expect_http(http_post("/api/command", "Cookie: x=y\r\n", "[\"PING\"]"), 403,
                "a POST with a cookie needs the header Origin; programs use Basic authentication");
    for (size_t i = 0; i < sizeof allowed / sizeof *allowed; i++)
        expect_http(http_post("/api/command", allowed[i], "[\"PING\"]"), 401, "NOAUTH");
    expect_http(request_from("localhost", "GET /api/session", "Sec-Fetch-Site: cross-site\r\n", ""), 403, "");
    expect_http(request_from("localhost", "GET /ready", "Sec-Fetch-Site: cross-site\r\n", ""), 200, "");
}

/* Basic authentication goes on, and is stronger than a cookie. Programs are asked for it, browsers are not. */
static void test_basic(void **state) {
    static const char basic[] = "Authorization: Basic ZGVmYXVsdDpzZWNyZXQ=\r\n";
    char cookie[256];

    (void)state;
    expect(admin, "+OK", "ACL SETUSER bob on >pw ~* +@all");
    log_in_ok("bob", "pw", cookie, sizeof cookie);
    expect_http(run_as(text_of("%s%s", cookie, basic), "[\"ACL\", \"WHOAMI\"]"), 200, "\"default\"");
    expect_http(session_of(basic), 200, "{\"user\":\"default\",\"login\":false");
    expect_http(http_run("[\"PING\"]"), 401, "WWW-Authenticate: Basic");
    assert_null(strstr(run_as("", "[\"PING\"]"), "WWW-Authenticate"));
    expect(admin, ":1", "ACL DELUSER bob");
}

/* ---- events ---- */

/* Begins a stream on w. */
static void stream_on(struct wire *w, const char *query, const char *headers) {
    wire_open(w, "127.0.0.1", http_port);
    wire_send_text(w, text_of("GET /api/events%s HTTP/1.1\r\nHost: localhost\r\n%s\r\n", query, headers));
}

/* True once the stream has sent the text. */
static bool has_sent(struct wire *w, const char *text) {
    return wire_pending(w) > 0 && memmem(w->data + w->start, w->end - w->start, text, strlen(text)) != NULL;
}

static void expect_sent(struct wire *w, const char *text) {
    EVENTUALLY(has_sent(w, text));
}

static void test_events(void **state) {
    char cookie[256];
    struct wire all, one;

    (void)state;
    log_in_ok("default", "secret", cookie, sizeof cookie);
    stream_on(&all, "", cookie);
    stream_on(&one, "?queue=caf%C3%A9+%22%00", cookie);
    expect_sent(&all, "HTTP/1.1 200 OK\r\n");
    expect_sent(&all, "Content-Type: text/event-stream\r\n");
    expect_sent(&all, "event: figures\ndata: {\"now\":1");
    expect_sent(&all, "\"database_connected\":true}}\n\n");
    expect_sent(&one, ",\"queue\":null}\n\n");
    freeReplyObject(redisCommand(admin, "ADDJOB %b x 0", "caf\xc3\xa9 \"", (size_t)8));
    expect_sent(&all, "\"len\":1,");
    expect_sent(&one, ",\"queue\":{\"name\":\"caf\xc3\xa9 \\\"\\u0000\",\"len\":1,");
    wire_close(&all);
    wire_close(&one);
    EVENTUALLY(info_number(admin, "connected_clients") == 1);
}

static void expect_no_events(const char *query, const char *headers, int status, const char *part) {
    expect_http(request_from("localhost", text_of("GET /api/events%s", query), headers, ""), status, part);
}

static void test_refused_events(void **state) {
    char cookie[256];

    (void)state;
    expect_no_events("", "", 401, "NOAUTH Authentication required: send user and password");
    expect(admin, "+OK", "ACL SETUSER ada on >one ~mine +qstat");
    log_in_ok("ada", "one", cookie, sizeof cookie);
    expect_no_events("", cookie, 403,
                     "{\"error\":\"NOPERM the events of the server need the right to run INFO\"}");
    expect_no_events("?queue=other", cookie, 403, "{\"error\":\"NOPERM ");
    expect(admin, "+OK", "ACL SETUSER ada +info");
    expect_no_events("?queue=other", cookie, 403, "NOPERM");
    expect_no_events("", text_of("%sSec-Fetch-Site: cross-site\r\n", cookie), 403, "another site");
    expect(admin, ":1", "ACL DELUSER ada");
}

/* Begins a stream of ada, and waits for its first event. */
static void begin_stream(struct wire *w, const char *query) {
    char cookie[256];

    log_in_ok("ada", "one", cookie, sizeof cookie);
    stream_on(w, query, cookie);
    expect_sent(w, "event: figures\n");
}

/* Without the right to INFO, the figures of a queue come alone. */
static void test_events_of_queue_only(void **state) {
    struct wire w;

    (void)state;
    expect(admin, "+OK", "ACL SETUSER ada reset on >one ~mine +qstat");
    begin_stream(&w, "?queue=mine");
    expect_sent(&w, ",\"queue\":null}\n\n");
    freeReplyObject(redisCommand(admin, "ADDJOB mine x 0"));
    expect_sent(&w, ",\"queue\":{\"name\":\"mine\",\"len\":1,");
    assert_false(has_sent(&w, "server"));
    expect(admin, "+OK", "ACL SETUSER ada +info");
    expect_sent(&w, ",\"server\":{");
    expect(admin, "+OK", "ACL SETUSER ada -info -qstat");
    EVENTUALLY(has_sent(&w, "\r\n0\r\n\r\n"));
    wire_close(&w);
    expect(admin, ":1", "DEL mine");
    expect(admin, ":1", "ACL DELUSER ada");
}

/* Jobs that wait for their predecessors. */
static void test_events_of_waiting_jobs(void **state) {
    char cookie[256];
    struct wire w;
    redisReply *id = redisCommand(admin, "ADDJOB first x 0");

    (void)state;
    freeReplyObject(redisCommand(admin, "ADDJOB second x 0 AFTER %s", id->str));
    log_in_ok("default", "secret", cookie, sizeof cookie);
    stream_on(&w, "", cookie);
    expect_sent(&w, "\"waiting\":0,\"after\":1,");
    wire_close(&w);
    expect(admin, ":1", "DELJOB %s", id->str);
    freeReplyObject(id);
}

/* A stream ends as soon as its user may not read the figures. */
static void expect_end_after(const char *query, const char *command) {
    struct wire w;

    expect(admin, "+OK", "ACL SETUSER ada reset on >one ~mine +qstat +info");
    begin_stream(&w, query);
    freeReplyObject(redisCommand(admin, command));
    EVENTUALLY(has_sent(&w, "\r\n0\r\n\r\n"));
    wire_close(&w);
}

static void test_end_of_events(void **state) {
    (void)state;
    expect_end_after("", "ACL SETUSER ada -info");
    expect_end_after("?queue=mine", "ACL SETUSER ada -qstat");
    expect_end_after("?queue=mine", "ACL SETUSER ada resetkeys");
    expect_end_after("", "ACL SETUSER ada resetpass");
    expect_end_after("", "ACL SETUSER ada off");
    expect_end_after("", "ACL DELUSER ada");
}

/* A user may have 64 streams. Probes are served beside them. */
static void test_many_streams(void **state) {
    struct wire w[64];
    char cookie[256];

    (void)state;
    expect(admin, "+OK", "ACL SETUSER ada reset on >one ~mine +qstat +info");
    log_in_ok("ada", "one", cookie, sizeof cookie);
    for (int i = 0; i < 64; i++) {
        stream_on(&w[i], i % 2 ? "?queue=mine" : "", cookie);
        expect_sent(&w[i], "event: figures\n");
    }
    expect_no_events("", cookie, 503, "of one user");
    expect_http(http_get("/ready"), 200, "true");
    expect_http(
        request_from("localhost", "GET /metrics", "Authorization: Basic ZGVmYXVsdDpzZWNyZXQ=\r\n", ""), 200,
        "Content-Type: application/openmetrics-text");
    expect(admin, ":1", "ACL DELUSER ada");
    for (int i = 0; i < 64; i++) {
        EVENTUALLY(has_sent(&w[i], "\r\n0\r\n\r\n"));
        wire_close(&w[i]);
    }
}

static void add_long_name(size_t len) {
    char *name = malloc(len);

    memset(name, 1, len);
    freeReplyObject(redisCommand(admin, "ADDJOB %b x 0", name, len));
    free(name);
}

/* A client that does not read its events is disconnected. Each event has the long name of the queue. */
static void test_unread_events(void **state) {
    char cookie[256], query[8000] = "?queue=";
    struct wire w;

    (void)state;
    for (int i = 0; i < 2000; i++)
        strcat(query, "%01");
    expect(admin, "+OK", "ACL SETUSER ada reset on >one ~* +qstat +info +addjob");
    log_in_ok("ada", "one", cookie, sizeof cookie);
    stream_on(&w, query, cookie);
    expect_sent(&w, "\"queue\":null}");
    EVENTUALLY(info_number(admin, "connected_clients") == 2);
    add_long_name(2000);
    EVENTUALLY(info_number(admin, "connected_clients") == 1);
    wire_close(&w);
    expect(admin, ":1", "ACL DELUSER ada");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_login),
        cmocka_unit_test(test_secure_cookie),
        cmocka_unit_test(test_wrong_logins),
        cmocka_unit_test(test_user),
        cmocka_unit_test(test_many_sessions),
        cmocka_unit_test(test_other_sites),
        cmocka_unit_test(test_basic),
        cmocka_unit_test(test_events),
        cmocka_unit_test(test_refused_events),
        cmocka_unit_test(test_end_of_events),
        cmocka_unit_test(test_many_streams),
        cmocka_unit_test(test_unread_events),
        cmocka_unit_test(test_events_of_queue_only),
        cmocka_unit_test(test_events_of_waiting_jobs),
    };

    return RUN_SUITE_WITH("http_page", tests, start_server, stop_server);
}
