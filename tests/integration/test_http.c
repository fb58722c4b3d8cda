/* HTTP: probes, figures, commands as JSON, logins, and requests of other sites. */
#include "fixture.h"
#include "http_requests.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/util.h"

#define CONNECTIONS_MAX 256
#define AT_ONCE 128
/* Connections that may run commands. */
#define RUNS 192
/* Clients that read no reply, and the bytes of each of the four elements of their replies. In JSON each byte has six. */
#define UNREAD 8
#define UNREAD_BYTES (1000 * 1000)
#define LONG_REQUESTS 100
#define LONG_REQUEST_BYTES (1000 * 1000)

static struct server s;

static int start_server(void **state) {
    static const char *const others[] = { "--http-hosts", "queue.example", "--metrics-queues", "3", NULL };

    (void)state;
    server_start(&s, postgres_conninfo(&pg, NULL), http_options(others));
    return 0;
}

static int stop_server(void **state) {
    (void)state;
    return server_stop(&s);
}

static void test_probes(void **state) {
    (void)state;
    EVENTUALLY(strstr(http_get("/ready"), "{\"ready\":true}") != NULL);
    expect_http(http_get("/health"), 200, "{\"milliseconds\":");
    expect_http(http_get("/ready"), 200, "Cache-Control: no-store");
    expect_http(http_get("/ready"), 200, "X-Content-Type-Options: nosniff");
}

static void test_metrics(void **state) {
    redisContext *c = client_open_on(&s);

    (void)state;
    add_job(c, "say \"hi\\\"", "x", "");
    freeReplyObject(redisCommand(c, "ADDJOB %b x 0", "a\xff\n\0\rb", (size_t)6));
    add_job(c, "third", "x", "");
    add_job(c, "fourth", "x", "");
    expect_http(http_get("/metrics"), 200,
                "Content-Type: application/openmetrics-text; version=1.0.0; charset=utf-8");
    expect_http(http_reply, 200, "\npgdisque_queue_length{queue=\"say \\\"hi\\\\\\\"\"} 1\n");
    expect_http(http_reply, 200, "\npgdisque_queue_length{queue=\"a\\\\xff\\n\\\\x00\\\\x0db\"} 1\n");
    expect_http(http_reply, 200, "\npgdisque_queue_jobs_in_total{queue=\"third\"} 1\n");
    expect_http(http_reply, 200, "\npgdisque_queues 4\n");
    expect_http(http_reply, 200, "\npgdisque_command_calls_total{command=\"addjob\"} 4\n");
    expect_http(http_reply, 200, "\n# EOF\n");
    assert_null(strstr(http_reply, "fourth"));
    expect(c, "+OK", "CONFIG SET metrics-queues 4");
    expect_http(http_get("/metrics"), 200, "queue=\"fourth\"");
    redisFree(c);
}

static void test_commands(void **state) {
    redisContext *c = client_open_on(&s);

    (void)state;
    expect_http(http_run("[\"ADDJOB\", \"mail\", \"caf\\u00e9 \\u0000\", 0]"), 200,
                "\r\n\r\n{\"reply\":\"D-");
    expect_http(http_run("[\"ADDJOB\", \"mail\", {\"base64\": \"/wA=\"}, 0]"), 200,
                "\r\n\r\n{\"reply\":\"D-");
    expect_http(http_run("[\"QPEEK\", \"mail\", 10]"), 200, "caf\xc3\xa9 \\u0000\"");
    expect_http(http_reply, 200, "{\"base64\":\"/wA=\"}");
    expect_http(http_run("[\"QLEN\", \"mail\"]"), 200, "\r\n\r\n{\"reply\":2}\n");
    expect_http(http_run("[\"GETJOB\", \"NOHANG\", \"FROM\", \"none\"]"), 200, "\r\n\r\n{\"reply\":null}\n");
    expect_http(http_run("[\"NONSENSE\"]"), 400, "{\"error\":\"ERR unknown command");
    expect_http(http_run("[]"), 400, "expected an array of 1 to 1024 words");
    expect_http(http_run("[1.5]"), 400, "word 1 is neither");
    expect_http(http_run("[\"ECHO\", {\"base64\": \"!\"}]"), 400, "word 2 is neither");
    expect_http(http_run("{\"QLEN\": 1}"), 400, "expected an array");
    expect_http(http_run("nonsense"), 400, "expected an array");
    expect_http(http_run(""), 400, "expected an array");
    expect_http(http_run("[\"\\u0\xc3\xa9"), 400, "the body is not JSON");
    expect_http(http_run("[\"\xff\xfe\"]"), 400, "word 1 is neither");
    expect(c, ":2", "QLEN mail");
    redisFree(c);
}

/* Several commands of a request run in their order, and an error of one is no error of the request. */
static void test_command_lists(void **state) {
    redisContext *c = client_open_on(&s);

    (void)state;
    expect_http(
        http_run(
            "[[\"ADDJOB\", \"list\", \"x\", 0], [\"QLEN\", \"list\"], [\"NONSENSE\"], [\"LPOP\", \"list\"]]"),
        200, "{\"replies\":[\"D-");
    expect_http(http_reply, 200, ",1,{\"error\":\"ERR unknown command");
    expect_http(http_reply, 200, ",\"x\"]}\n");
    expect_http(http_run("[[\"MULTI\"], [\"PING\"], [\"EXEC\"]]"), 200,
                "{\"replies\":[\"OK\",\"QUEUED\",[\"PONG\"]]}");
    expect_http(http_run("[[\"PING\"], \"PING\"]"), 400, "expected an array of 1 to");
    expect_http(http_run("[[\"PING\"], []]"), 400, "expected an array of 1 to");
    expect_http(http_run("[[\"PING\"], [\"SUBSCRIBE\", \"x\"]]"), 400, "needs a connection");
    expect_http(http_run("[\"client\", \"reply\", \"off\"]"), 400, "needs a connection");
    expect_http(http_run("[[\"ADDJOB\", \"list\", \"x\", 0], [\"QUIT\"], [\"PING\"]]"), 503,
                "may have been executed");
    expect(c, ":1", "QLEN list");
    redisFree(c);
}

static void test_many_commands(void **state) {
    char body[2048] = "[[\"PING\"]";

    (void)state;
    for (int i = 1; i < 100; i++)
        strcat(body, ",[\"PING\"]");
    expect_http(http_run(text_of("%s]", body)), 200, "\"PONG\",\"PONG\"]}");
    expect_http(http_run(text_of("%s,[\"PING\"]]", body)), 400, "at most 100 commands");
}

/* "[text,text,...]" */
static const char *array_of(const char *text, int count) {
    const char *all = text;

    for (int i = 1; i < count; i++)
        all = text_of("%s,%s", all, text);
    return text_of("[%s]", all);
}

/* The replies have more values than the server writes as JSON in one turn. */
static void test_many_values(void **state) {
    const char *push = text_of("[\"RPUSH\",\"many\",%s", array_of("0", 1000) + 1);

    (void)state;
    expect_http(http_run(array_of(push, 5)), 200, "{\"replies\":[1000,2000,3000,4000,5000]}");
    expect_http(http_run(array_of("[\"LRANGE\",\"many\",0,-1]", 10)), 200, "{\"replies\":[[\"0\",\"0\"");
    expect_http(http_run(array_of("[\"LRANGE\",\"many\",0,-1]", 90)), 500, "the reply is too large for HTTP");
    expect_http(http_run("[\"DEL\",\"many\"]"), 200, "1");
}

/* Maps become objects, if their keys are texts. */
static void test_maps(void **state) {
    redisContext *c = client_open_on(&s);

    (void)state;
    add_job(c, "map", "x", "");
    expect_http(http_run("[\"QCONFIG\", \"map\"]"), 200, "{\"reply\":{\"");
    expect_http(http_run("[\"CONFIG\", \"GET\", \"port\"]"), 200,
                text_of("{\"reply\":{\"port\":\"%d\"}}", s.port));
    redisFree(c);
}

static void test_wrong_requests(void **state) {
    (void)state;
    expect_http(http_get("/nowhere"), 404, "the paths are");
    expect_http(http_get("/api/command"), 405, "this path takes POST");
    expect_http(http_reply, 405, "\r\nAllow: POST\r\n");
    expect_http(request_from("localhost", "POST /metrics", "", ""), 405, "this path takes GET");
    expect_http(request_from("localhost", "POST /api/command", "Content-Type: text/plain\r\n", "[\"PING\"]"),
                415, "application/json");
    expect_http(
        request_from("localhost", "POST /api/command", "Content-Type: application/jsonx\r\n", "[\"PING\"]"),
        415, "application/json");
    expect_http(http_get("/api/../metrics"), 404, "the paths are");
    expect_http(http_get("/%6detrics"), 404, "the paths are");
}

/* A path refuses a method that it does not take, also one that HTTP does not have. The reply is that of this server. */
static void test_methods(void **state) {
    static const char *const methods[] = { "PUT", "DELETE", "OPTIONS", "TRACE", "PATCH", "get", "BREW" };

    (void)state;
    for (size_t i = 0; i < LENGTH(methods); i++) {
        expect_http(request_from("localhost", text_of("%s /metrics", methods[i]), "", ""), 405,
                    "\r\nAllow: GET, HEAD\r\n");
        expect_http(http_reply, 405, "{\"error\":\"this path takes GET\"}");
        expect_http(http_reply, 405, "\r\nContent-Security-Policy: default-src 'none';");
        expect_http(http_reply, 405, "\r\nX-Content-Type-Options: nosniff\r\n");
        expect_http(request_from("localhost", text_of("%s /page.css", methods[i]), "", ""), 405,
                    "\r\nAllow: GET, HEAD\r\n");
        expect_http(
            request_from("localhost", text_of("%s /api/command", methods[i]), JSON_TYPE, "[\"PING\"]"), 405,
            "\r\nAllow: POST\r\n");
        expect_http(request_from("localhost", text_of("%s /nowhere", methods[i]), "", ""), 404,
                    "the paths are");
        expect_http(request_from("evil.example", text_of("%s /metrics", methods[i]), "", ""), 403,
                    "http-hosts");
    }
    expect_http(request_from("localhost", "OPTIONS *", "", ""), 404, "Content-Security-Policy: ");
}

/* evhttp keeps the connection of a CONNECT open. */
static void test_connect(void **state) {
    struct wire w;
    char line[64];

    (void)state;
    wire_open(&w, "127.0.0.1", http_port);
    wire_send_text(&w, "CONNECT localhost:80 HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert_true(wire_read_line(&w, line, sizeof line, EVENTUALLY_MS));
    assert_string_equal(line, "HTTP/1.1 404 Not Found");
    wire_close(&w);
}

/* A body that HTTP's library does not read is not taken for a request. */
static void test_unread_body(void **state) {
    static const char *const heads[] = { "GET /ready HTTP/1.1\r\nContent-Length: 40",
                                         "DELETE /ready HTTP/1.1\r\nContent-Length: 40",
                                         "BREW /ready HTTP/1.1\r\nTransfer-Encoding: chunked" };
    struct wire w;

    (void)state;
    for (size_t i = 0; i < LENGTH(heads); i++) {
        wire_open(&w, "127.0.0.1", http_port);
        wire_send_text(&w, text_of("%s\r\nHost: localhost\r\n\r\n"
                                   "GET /nowhere HTTP/1.1\r\nHost: localhost\r\n\r\n",
                                   heads[i]));
        assert_non_null(strstr(http_read_all(&w), "\r\nConnection: close\r\n"));
        assert_null(strstr(http_reply, "the paths are"));
    }
}

/* The reply to HEAD has the headers of GET, and no body. */
static void test_head(void **state) {
    (void)state;
    expect_http(request_from("localhost", "HEAD /ready", "", ""), 200, "Content-Length: 15\r\n");
    expect_http(http_reply, 200, "Content-Security-Policy: default-src 'none';");
    assert_string_equal(strstr(http_reply, "\r\n\r\n"), "\r\n\r\n");
    expect_http(request_from("localhost", "HEAD /api/command", "", ""), 405, "\r\nAllow: POST\r\n");
}

static void test_page(void **state) {
    char *tag;

    (void)state;
    expect_http(http_get("/"), 200, "Content-Type: text/html; charset=utf-8\r\n");
    expect_http(http_reply, 200, "\r\n\r\n<!DOCTYPE html>");
    expect_http(http_reply, 200, "Cache-Control: no-cache\r\n");
    expect_http(http_reply, 200, "frame-ancestors 'none'");
    expect_http(http_reply, 200, "Referrer-Policy: same-origin\r\n");
    tag = strdup(strstr(http_reply, "ETag: ") + strlen("ETag: "));
    *strchr(tag, '\r') = '\0';
    expect_http(request_from("localhost", "GET /index.html", text_of("If-None-Match: W/%s\r\n", tag), ""),
                304, "");
    assert_string_equal(strstr(http_reply, "\r\n\r\n"), "\r\n\r\n");
    expect_http(request_from("localhost", "GET /index.html", "If-None-Match: \"other\"\r\n", ""), 200, tag);
    expect_http(http_get("/page.css"), 200, "Content-Type: text/css");
    expect_http(http_get("/chart.js"), 200, "Content-Type: text/javascript");
    expect_http(request_from("localhost", "POST /page.css", "", ""), 405, "this path takes GET");
    expect_http(http_get("/page/index.html"), 404, "");
    expect_http(http_get("/../src/page/index.html"), 404, "");
    expect_http(request_from("evil.example", "GET /", "", ""), 403, "http-hosts");
    free(tag);
}

/* The client of a request has the address of its HTTP connection. */
static void test_address(void **state) {
    (void)state;
    expect_http(http_run("[\"CLIENT\", \"INFO\"]"), 200, " addr=127.0.0.1:");
    assert_non_null(strstr(http_reply, text_of(" laddr=127.0.0.1:%d ", http_port)));
}

/* The name of another site, which resolves to the address of this machine. */
static void test_hosts(void **state) {
    (void)state;
    expect_http(request_from("evil.example", "GET /metrics", "", ""), 403, "http-hosts");
    expect_http(request_from("queue.example", "GET /metrics", "", ""), 200, "# EOF");
    expect_http(request_from("queue.example:80", "GET /metrics", "", ""), 200, "# EOF");
    expect_http(request_from("queue.example.evil", "GET /metrics", "", ""), 403, "http-hosts");
    expect_http(request_from("[::1]", "GET /metrics", "", ""), 200, "# EOF");
    expect_http(request_from("[::1]:80", "GET /metrics", "", ""), 200, "# EOF");
    expect_http(request_from("[evil.example]", "GET /metrics", "", ""), 403, "http-hosts");
    expect_http(request_from("[::1].evil.example", "GET /metrics", "", ""), 403, "http-hosts");
    expect_http(request_from("LOCALHOST", "GET /metrics", "", ""), 200, "# EOF");
}

/* default:secret, default:wrong, none:x */
#define RIGHT_LOGIN "Authorization: Basic ZGVmYXVsdDpzZWNyZXQ=\r\n"
#define WRONG_LOGIN "Authorization: Basic ZGVmYXVsdDp3cm9uZw==\r\n"
#define UNKNOWN_LOGIN "Authorization: Basic bm9uZTp4\r\n"

/* Probes, and logins with a password, under any name. A page of another site can send any login that needs no password. */
static void test_hosts_of_programs(void **state) {
    redisContext *c = client_open_on(&s);

    (void)state;
    expect_http(request_from("pgdisque", "GET /ready", "", ""), 200, "true");
    expect_http(request_from("pgdisque", "GET /health", "", ""), 200, "milliseconds");
    expect_http(request_from("pgdisque", "GET /metrics", RIGHT_LOGIN, ""), 403, "http-hosts");
    expect_http(request_from("pgdisque", "POST /api/command", RIGHT_LOGIN JSON_TYPE, "[\"PING\"]"), 403,
                "http-hosts");
    expect(c, "+OK", "CONFIG SET requirepass secret");
    expect_http(request_from("pgdisque", "GET /metrics", RIGHT_LOGIN, ""), 200, "# EOF");
    expect_http(request_from("pgdisque", "POST /api/command", RIGHT_LOGIN JSON_TYPE, "[\"PING\"]"), 200,
                "PONG");
    expect_http(request_from("pgdisque", "GET /metrics", WRONG_LOGIN, ""), 401, "WRONGPASS");
    expect_http(request_from("pgdisque", "GET /metrics", UNKNOWN_LOGIN, ""), 401, "WRONGPASS");
    expect_http(request_from("pgdisque", "GET /metrics", "Authorization: Bearer x\r\n", ""), 403,
                "http-hosts");
    expect_http(request_from("pgdisque", "GET /metrics", "", ""), 403, "http-hosts");
    expect_http(request_from("pgdisque", "GET /", RIGHT_LOGIN, ""), 403, "http-hosts");
    expect_http(request_from("pgdisque", "GET /api/session", RIGHT_LOGIN, ""), 403, "http-hosts");
    expect(c, "+OK", "AUTH secret");
    expect(c, "+OK", "CONFIG SET requirepass %s", "");
    redisFree(c);
}

static void expect_metrics(const char *accept, const char *type) {
    expect_http(request_from("localhost", "GET /metrics", accept, ""), 200,
                text_of("Content-Type: %s; charset=utf-8\r\n", type));
    expect_http(http_reply, 200, "Vary: Accept\r\n");
    assert_int_equal(strstr(http_reply, "# EOF") == NULL, strncmp(type, "text/plain", 10) == 0);
}

/* Readers of the older format do not name the newer one. */
static void test_formats_of_metrics(void **state) {
    static const char newer[] = "application/openmetrics-text; version=1.0.0",
                      older[] = "text/plain; version=0.0.4";

    (void)state;
    expect_metrics("", newer);
    expect_metrics("Accept: */*\r\n", newer);
    expect_metrics(
        "Accept: application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3\r\n", newer);
    expect_metrics("Accept: text/plain\r\n", older);
    expect_metrics("Accept: application/json, text/plain;version=0.0.4;q=0.3, */*;q=0.1\r\n", older);
}

#define LOGIN_NEEDED \
    "{\"error\":\"NOAUTH Authentication required: send user and password with HTTP Basic authentication\"}"

static void test_logins(void **state) {
    redisContext *c = client_open_on(&s);

    (void)state;
    expect(c, "+OK", "CONFIG SET requirepass secret");
    expect_http(http_get("/metrics"), 401, "WWW-Authenticate: Basic realm=\"pgdisque\"");
    expect_http(http_get("/metrics"), 401, LOGIN_NEEDED);
    expect_http(http_get("/health"), 401, LOGIN_NEEDED);
    expect_http(http_run("[\"QLEN\", \"mail\"]"), 401, LOGIN_NEEDED);
    expect_http(http_run("[[\"QLEN\", \"mail\"]]"), 401, LOGIN_NEEDED);
    expect_http(http_run("["), 401, LOGIN_NEEDED);
    expect_http(http_get("/ready"), 200, "true");
    /* default:secret, default:wrong, and no colon */
    expect_http(
        request_from("localhost", "GET /metrics", "Authorization: Basic ZGVmYXVsdDpzZWNyZXQ=\r\n", ""), 200,
        "# EOF");
    expect_http(
        request_from("localhost", "GET /metrics", "Authorization: Basic ZGVmYXVsdDp3cm9uZw==\r\n", ""), 401,
        "WRONGPASS");
    expect_http(request_from("localhost", "GET /metrics", "Authorization: Basic ZGVmYXVsdA==\r\n", ""), 400,
                "Basic");
    expect_http(request_from("localhost", "GET /metrics", "Authorization: Bearer x\r\n", ""), 400, "Basic");
    expect(c, "+OK", "AUTH secret");
    expect(c, "+OK", "CONFIG SET requirepass %s", "");
    redisFree(c);
}

/* A command with so many bytes as its last word. */
static char *large_command(const char *start, size_t len) {
    char *text = xmalloc(strlen(start) + len + 4);

    sprintf(text, "%s\"%*s\"]", start, (int)len, "x");
    return text;
}

/* A large body is read only after the login, and that of a login is small. */
static void test_large_bodies(void **state) {
    static const char *const login = "Authorization: Basic ZGVmYXVsdDpzZWNyZXQ=\r\n" JSON_TYPE;
    char *add = large_command("[\"RPUSH\", \"large\", ", 1000 * 1000),
         *wrong = large_command("nonsense", 20000);
    redisContext *c = client_open_on(&s);

    (void)state;
    expect_http(http_run(add), 200, "{\"reply\":1}");
    expect_http(http_run(wrong), 400, "expected an array");
    expect(c, "+OK", "CONFIG SET requirepass secret");
    expect_http(http_run(wrong), 401, "NOAUTH");
    expect_http(http_post("/api/command", login, wrong), 400, "expected an array");
    expect_http(http_post("/api/command", login, add), 200, "{\"reply\":2}");
    expect_http(http_post("/api/login", JSON_TYPE, wrong), 413, "at most 4096 bytes");
    expect(c, "+OK", "AUTH secret");
    expect(c, "+OK", "CONFIG SET requirepass %s", "");
    expect(c, ":2", "LLEN large");
    redisFree(c);
    free(add);
    free(wrong);
}

/* A name of any bytes. */
static void test_name_of_bytes(void **state) {
    redisContext *c = client_open_on(&s);

    (void)state;
    freeReplyObject(redisCommand(c, "ACL SETUSER %b on >x", "\xff\xfe", (size_t)2));
    expect_http(request_from("localhost", "GET /api/session", "Authorization: Basic //46eA==\r\n", ""), 200,
                "{\"user\":{\"base64\":\"//4=\"},\"login\":false,");
    freeReplyObject(redisCommand(c, "ACL DELUSER %b", "\xff\xfe", (size_t)2));
    redisFree(c);
}

/* Connections that send nothing, or the beginning of a request, give way to the next one. RESP goes on. */
static void test_many_connections(void **state) {
    struct wire w[CONNECTIONS_MAX];
    redisContext *c = client_open_on(&s);

    (void)state;
    for (int i = 0; i < CONNECTIONS_MAX; i++) {
        wire_open(&w[i], "127.0.0.1", http_port);
        if (i % 2)
            wire_send_text(&w[i], "GET /ready HTTP/1.1\r\nHo");
    }
    for (int i = 0; i < 3; i++)
        expect_http(http_get("/ready"), 200, "true");
    expect(c, "+PONG", "PING");
    for (int i = 0; i < CONNECTIONS_MAX; i++)
        wire_reset(&w[i]);
    redisFree(c);
}

/* Requests whose wrong passwords are answered late give way, and take no place of other requests. */
static void test_delayed_logins_give_way(void **state) {
    struct wire w[CONNECTIONS_MAX];
    redisContext *c = client_open_on(&s);

    (void)state;
    for (int i = 0; i < CONNECTIONS_MAX; i++) {
        wire_open(&w[i], "127.0.0.1", http_port);
        for (int k = 0; k < 8; k++)
            wire_send_text(&w[i],
                           "GET /health HTTP/1.1\r\nHost: localhost\r\nAuthorization: Basic eDp5\r\n\r\n");
    }
    EVENTUALLY(info_number(c, "connected_clients") > CONNECTIONS_MAX / 2);
    for (int i = 0; i < 3; i++) {
        expect_http(http_get("/ready"), 200, "true");
        expect_http(http_get("/health"), 200, "milliseconds");
        expect_http(http_run("[\"PING\"]"), 200, "PONG");
    }
    for (int i = 0; i < CONNECTIONS_MAX; i++)
        wire_reset(&w[i]);
    redisFree(c);
}

static void wait_by_http(struct wire *w) {
    static const char *const body = "[\"GETJOB\",\"FROM\",\"greedy\"]";

    wire_open(w, "127.0.0.1", http_port);
    wire_send_text(
        w,
        text_of(
            "POST /api/command HTTP/1.1\r\nHost: localhost\r\nAuthorization: Basic Z3JlZWR5Ong=\r\n" JSON_TYPE
            "Content-Length: %zu\r\n\r\n%s",
            strlen(body), body));
}

static bool all_are_refused_or_wait(redisContext *c, struct wire *w) {
    long long waiting = info_number(c, "blocked_clients");

    for (int i = 0; i < RUNS; i++)
        waiting += wire_pending(&w[i]) > 0;
    return waiting == RUNS;
}

/* The commands of one user leave room for those of others. */
static void test_share_of_a_user(void **state) {
    struct wire w[RUNS], more;
    redisContext *c = client_open_on(&s);
    char line[64];

    (void)state;
    expect(c, "+OK", "ACL SETUSER greedy on >x +getjob ~greedy");
    for (int i = 0; i < RUNS; i++)
        wait_by_http(&w[i]);
    EVENTUALLY(all_are_refused_or_wait(c, w));
    assert_in_range(info_number(c, "blocked_clients"), RUNS / 2, RUNS * 3 / 4);
    wait_by_http(&more);
    assert_true(wire_read_line(&more, line, sizeof line, EVENTUALLY_MS));
    assert_string_equal(line, "HTTP/1.1 503 Service Unavailable");
    expect_http(http_get("/health"), 200, "milliseconds");
    expect_http(http_run("[\"PING\"]"), 200, "PONG");
    wire_close(&more);
    for (int i = 0; i < RUNS; i++)
        wire_reset(&w[i]);
    expect(c, ":1", "ACL DELUSER greedy");
    redisFree(c);
}

/* The bytes that arrive until the server closes the connection. */
static size_t bytes_until_end(struct wire *w) {
    static char room[1 << 16];
    size_t bytes = w->end - w->start;
    ssize_t got;

    while ((got = recv(w->fd, room, sizeof room, 0)) > 0)
        bytes += (size_t)got;
    return bytes;
}

/* The server keeps long replies that no client reads only up to its bound. */
static void test_unread_replies(void **state) {
    static const char *const run =
        "POST /api/command HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" JSON_TYPE
        "Content-Length: 26\r\n\r\n[\"LRANGE\",\"unread\",0,-1  ]";
    struct wire w[UNREAD];
    redisContext *c = client_open_on(&s);
    char *element = malloc(UNREAD_BYTES);
    int room = 64 * 1024, whole = 0, cut = 0;

    (void)state;
    memset(element, 1, UNREAD_BYTES);
    for (int i = 0; i < 4; i++)
        freeReplyObject(redisCommand(c, "RPUSH unread %b", element, (size_t)UNREAD_BYTES));
    for (int i = 0; i < UNREAD; i++) {
        wire_open(&w[i], "127.0.0.1", http_port);
        assert_int_equal(setsockopt(w[i].fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof room), 0);
        wire_send_text(&w[i], run);
        EVENTUALLY(wire_pending(&w[i]) > 0);
    }
    for (int i = 0; i < UNREAD; i++) {
        size_t bytes = bytes_until_end(&w[i]);

        whole += bytes > 4 * 6 * UNREAD_BYTES;
        cut += bytes < 4 * 6 * UNREAD_BYTES;
        wire_close(&w[i]);
    }
    assert_true(whole >= 2);
    assert_true(cut >= 2);
    assert_int_equal(whole + cut, UNREAD);
    expect(c, ":1", "DEL unread");
    free(element);
    redisFree(c);
}

static int count_ended(struct wire *w, int count) {
    int ended = 0;

    for (int i = 0; i < count; i++) {
        (void)wire_pending(&w[i]);
        ended += w[i].eof;
    }
    return ended;
}

/* The server keeps requests that have not arrived as a whole only up to their bound. None of them is logged in. */
static void test_long_requests(void **state) {
    static const char *const head =
        "POST /api/command HTTP/1.1\r\nHost: localhost\r\n" JSON_TYPE "Content-Length: 1048576\r\n\r\n";
    struct wire w[LONG_REQUESTS];
    redisContext *c = client_open_on(&s);
    char *body = calloc(1, LONG_REQUEST_BYTES);

    (void)state;
    for (int i = 0; i < LONG_REQUESTS; i++) {
        wire_open(&w[i], "127.0.0.1", http_port);
        wire_send_text(&w[i], head);
        (void)wire_send(&w[i], body, LONG_REQUEST_BYTES);
    }
    EVENTUALLY(count_ended(w, LONG_REQUESTS) >= LONG_REQUESTS - 67);
    assert_true(count_ended(w, LONG_REQUESTS) <= LONG_REQUESTS - 60);
    assert_in_range(info_number(c, "mem_http"), 60LL * 1000 * 1000, 64LL * 1024 * 1024);
    for (int i = 0; i < LONG_REQUESTS; i++)
        wire_close(&w[i]);
    EVENTUALLY(info_number(c, "mem_http") == 0);
    free(body);
    redisFree(c);
}

/* Requests that arrive at the same time are served over several turns. Some clients go before their request is served. */
static void test_requests_at_once(void **state) {
    struct wire w[AT_ONCE];
    char line[64];

    (void)state;
    for (int i = 0; i < AT_ONCE; i++)
        wire_open(&w[i], "127.0.0.1", http_port);
    server_freeze(&s);
    for (int i = 0; i < AT_ONCE; i++)
        wire_send_text(&w[i], i % 2 ? "GET /ready HTTP/1.1\r\nHost: localhost\r\n\r\n"
                                    : "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
    for (int i = 0; i < AT_ONCE; i += 3)
        wire_reset(&w[i]);
    server_thaw(&s);
    for (int i = 0; i < AT_ONCE; i++) {
        if (i % 3 == 0)
            continue;
        assert_true(wire_read_line(&w[i], line, sizeof line, EVENTUALLY_MS));
        assert_string_equal(line, "HTTP/1.1 200 OK");
        wire_close(&w[i]);
    }
}

/* The client goes while its command waits for a job: the job stays in the queue. */
static void test_client_that_goes(void **state) {
    redisContext *c = client_open_on(&s);
    struct wire w;

    (void)state;
    wire_open(&w, "127.0.0.1", http_port);
    wire_send_text(&w, "POST /api/command HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                       "Content-Length: 27\r\n\r\n[\"GETJOB\", \"FROM\", \"later\"] ");
    EVENTUALLY(info_number(c, "blocked_clients") == 1);
    wire_reset(&w);
    EVENTUALLY(info_number(c, "blocked_clients") == 0);
    add_job(c, "later", "x", "");
    get_job(c, "later", "x");
    redisFree(c);
}

/* The client resets the connection before the server accepts it, so the socket has no address any more. */
static void test_client_that_has_gone(void **state) {
    redisContext *c = client_open_on(&s);
    char line[200];
    struct wire w;

    (void)state;
    expect(c, "+OK", "CONFIG SET maxclients-per-address 5");
    expect(c, "+OK", "CONFIG SET protected-mode no");
    server_freeze(&s);
    wire_open(&w, "127.0.0.1", http_port);
    wire_send_text(&w, "GET /ready HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
    wire_reset(&w);
    server_thaw(&s);
    expect(c, "+PONG", "PING");
    wire_open(&w, "127.0.0.1", http_port);
    wire_send_text(&w, "GET /ready HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
    assert_true(wire_read_line(&w, line, sizeof line, EVENTUALLY_MS));
    assert_memory_equal(line, "HTTP/1.1 200", 12);
    expect(c, "+OK", "CONFIG SET protected-mode yes");
    expect(c, "+OK", "CONFIG SET maxclients-per-address 0");
    wire_close(&w);
    redisFree(c);
}

static void test_large_input(void **state) {
    struct wire w;
    char *line = malloc(20000);

    (void)state;
    memset(line, 'x', 19999);
    line[19999] = '\0';
    wire_open(&w, "127.0.0.1", http_port);
    wire_send_text(&w, text_of("GET / HTTP/1.1\r\nHost: localhost\r\n"));
    wire_send_text(&w, line);
    http_read_all(&w);
    expect_http(request_from("localhost", "POST /api/command",
                             "Content-Type: application/json\r\nContent-Length: 2000000\r\n", ""),
                413, "");
    expect_http(http_get("/ready"), 200, "true");
    free(line);
}

/* ---- examples of the documents ---- */

/* The next line of an example, without its indent; an empty text at the end of the example. */
static const char *example_line(FILE *f) {
    static char line[1024];

    if (fgets(line, sizeof line, f) == NULL || strncmp(line, "    ", 4) != 0)
        return "";
    line[strcspn(line, "\n")] = '\0';
    return line + 4;
}

static void play_example(const char *request, const char *body, const char *expected) {
    int status = atoi(expected);
    char *reply = strdup(expected + strlen("200 "));
    char *dots = strstr(reply, "...");

    if (dots != NULL)
        *dots = '\0';
    expect_http(request_from("localhost", request, JSON_TYPE, body), status, text_of("\r\n\r\n%s", reply));
    free(reply);
}

/* Sends each request of doc/http.md and compares the reply. */
static void test_document(void **state) {
    FILE *f = fopen("doc/http.md", "r");
    char line[1024];
    int played = 0;

    (void)state;
    assert_non_null(f);
    while (fgets(line, sizeof line, f) != NULL) {
        char *request, *body;

        if (strncmp(line, "    POST /", 10) != 0 && strncmp(line, "    GET /", 9) != 0)
            continue;
        line[strcspn(line, "\n")] = '\0';
        request = strdup(line + 4);
        body = strdup(example_line(f));
        play_example(request, body, example_line(f));
        played++;
        free(request);
        free(body);
    }
    assert_true(played > 8);
    fclose(f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_probes),
        cmocka_unit_test(test_metrics),
        cmocka_unit_test(test_commands),
        cmocka_unit_test(test_command_lists),
        cmocka_unit_test(test_many_commands),
        cmocka_unit_test(test_many_values),
        cmocka_unit_test(test_maps),
        cmocka_unit_test(test_wrong_requests),
        cmocka_unit_test(test_methods),
        cmocka_unit_test(test_connect),
        cmocka_unit_test(test_unread_body),
        cmocka_unit_test(test_head),
        cmocka_unit_test(test_page),
        cmocka_unit_test(test_address),
        cmocka_unit_test(test_hosts),
        cmocka_unit_test(test_hosts_of_programs),
        cmocka_unit_test(test_formats_of_metrics),
        cmocka_unit_test(test_logins),
        cmocka_unit_test(test_large_bodies),
        cmocka_unit_test(test_name_of_bytes),
        cmocka_unit_test(test_many_connections),
        cmocka_unit_test(test_delayed_logins_give_way),
        cmocka_unit_test(test_share_of_a_user),
        cmocka_unit_test(test_unread_replies),
        cmocka_unit_test(test_long_requests),
        cmocka_unit_test(test_requests_at_once),
        cmocka_unit_test(test_client_that_goes),
        cmocka_unit_test(test_client_that_has_gone),
        cmocka_unit_test(test_large_input),
        cmocka_unit_test(test_document),
    };

    return RUN_SUITE_WITH("http", tests, start_server, stop_server);
}
