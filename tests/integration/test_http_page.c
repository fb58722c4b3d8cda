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
    static char number[16];
    static const char *options[] = { "--http-port", number, NULL };

    (void)state;
    http_port = server_free_port();
    snprintf(number, sizeof number, "%d", http_port);
    server_start(&s, postgres_conninfo(&pg, NULL), options);
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
    expect_http(session_of(cookie), 200, "{\"user\":\"default\",\"login\":false,\"version\":\"");
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
        "Origin: http://evil.example\r\n",
        "Origin: null\r\n",
        "Origin: http://localhost:81\r\n",
        "Sec-Fetch-Site: cross-site\r\n",
        "Sec-Fetch-Site: same-site\r\n",
        "Sec-Fetch-Site: cross-site\r\nOrigin: http://localhost\r\n",
        "Cookie: x=y\r\n",
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_login),         cmocka_unit_test(test_secure_cookie),
        cmocka_unit_test(test_wrong_logins),  cmocka_unit_test(test_user),
        cmocka_unit_test(test_many_sessions), cmocka_unit_test(test_other_sites),
        cmocka_unit_test(test_basic),
    };

    return RUN_SUITE_WITH("http_page", tests, start_server, stop_server);
}
