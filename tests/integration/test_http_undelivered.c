/* HTTP: the jobs and elements in a response that its client did not receive are put back. */
#include "fixture.h"
#include "http_requests.h"

#include <stdlib.h>
#include <string.h>

/* Two of them fit into a response, three do not. */
#define LARGE_BYTES ((size_t)4 * 1000 * 1000)
#define TOO_LARGE_BYTES ((size_t)9 * 1000 * 1000)

static struct server s;

static int start_server(void **state) {
    (void)state;
    server_start(&s, postgres_conninfo(&pg, NULL), http_options(NULL));
    return 0;
}

static int stop_server(void **state) {
    (void)state;
    return server_stop(&s);
}

/* Sends commands on a connection that stays open. */
static void begin_request(struct wire *w, const char *commands) {
    wire_open(w, "127.0.0.1", http_port);
    wire_send_text(w, text_of("POST /api/command HTTP/1.1\r\nHost: localhost\r\n" JSON_TYPE
                              "Content-Length: %zu\r\n\r\n%s",
                              strlen(commands), commands));
}

/* An element or a job of many bytes, all of them the letter. start: the command up to the body. */
static void add_large(redisContext *c, const char *start, char letter, size_t bytes, const char *end) {
    char *body = malloc(bytes);
    redisReply *reply;

    memset(body, letter, bytes);
    reply = redisCommand(c, text_of("%s %%b %s", start, end), body, bytes);
    assert_non_null(reply);
    assert_int_not_equal(reply->type, REDIS_REPLY_ERROR);
    freeReplyObject(reply);
    free(body);
}

static char first_letter_of_pop(redisContext *c, const char *list) {
    redisReply *reply = redisCommand(c, "LPOP %s", list);
    char letter;

    assert_non_null(reply);
    assert_int_equal(reply->type, REDIS_REPLY_STRING);
    letter = reply->str[0];
    freeReplyObject(reply);
    return letter;
}

static void expect_no_copies(redisContext *c) {
    EVENTUALLY(info_number(c, "mem_unsent") == 0);
}

/* ---- responses that are too large ---- */

static void test_elements_too_large(void **state) {
    redisContext *c = client_open_on(&s);

    (void)state;
    for (char letter = 'a'; letter <= 'd'; letter++)
        add_large(c, "RPUSH big", letter, LARGE_BYTES, "");
    expect_http(http_run("[\"LPOP\",\"big\",4]"), 500, "the reply is too large");
    EVENTUALLY(number(c, "LLEN big") == 4);
    expect_http(http_run("[[\"LPOP\",\"big\"],[\"RPOP\",\"big\"],[\"LPOP\",\"big\"],[\"LLEN\",\"big\"]]"),
                500, "the reply is too large");
    EVENTUALLY(number(c, "LLEN big") == 4);
    for (char letter = 'a'; letter <= 'd'; letter++)
        assert_int_equal(first_letter_of_pop(c, "big"), letter);
    expect_no_copies(c);
    redisFree(c);
}

static void test_element_too_large(void **state) {
    redisContext *c = client_open_on(&s);

    (void)state;
    add_large(c, "RPUSH one", 'x', TOO_LARGE_BYTES, "");
    expect_http(http_run("[\"LPOP\",\"one\"]"), 500, "the reply is too large");
    EVENTUALLY(number(c, "LLEN one") == 1);
    assert_int_equal(first_letter_of_pop(c, "one"), 'x');
    expect_no_copies(c);
    redisFree(c);
}

static void test_jobs_too_large(void **state) {
    static const char *const retries[] = { "0 RETRY 0", "0 RETRY 600" };
    redisContext *c = client_open_on(&s);

    (void)state;
    for (int i = 0; i < 4; i++)
        add_large(c, "ADDJOB heavy", 'x', LARGE_BYTES, retries[i % 2]);
    expect_http(http_run("[\"GETJOB\",\"COUNT\",\"4\",\"FROM\",\"heavy\"]"), 500, "the reply is too large");
    EVENTUALLY(number(c, "QLEN heavy") == 4);
    expect(c, ":1", "DEL heavy");
    redisFree(c);
}

/* ---- clients that go ---- */

/* The last command waits, so no byte of the response is written. */
static void test_client_goes_first(void **state) {
    redisContext *c = client_open_on(&s);
    struct wire w;

    (void)state;
    expect(c, ":4", "RPUSH gone a b c d");
    add_job(c, "gone0", "x", "RETRY 0");
    add_job(c, "gone600", "x", "RETRY 600");
    begin_request(&w,
                  "[[\"LPOP\",\"gone\"],[\"GETJOB\",\"FROM\",\"gone0\"],[\"GETJOB\",\"FROM\",\"gone600\"],"
                  "[\"MULTI\"],[\"LPOP\",\"gone\"],[\"RPOP\",\"gone\"],[\"EXEC\"],"
                  "[\"GETJOB\",\"FROM\",\"never\"]]");
    EVENTUALLY(info_number(c, "blocked_clients") == 1);
    expect(c, ":1", "LLEN gone");
    assert_true(info_number(c, "mem_unsent") > 0);
    wire_reset(&w);
    EVENTUALLY(number(c, "LLEN gone") == 4);
    expect(c, "[\"a\" \"b\" \"c\" \"d\"]", "LRANGE gone 0 -1");
    EVENTUALLY(number(c, "QLEN gone0") == 1 && number(c, "QLEN gone600") == 1);
    expect_no_copies(c);
    redisFree(c);
}

/* The next request of the connection has begun, so the server does not watch for the end of the connection. It notices
 * the end when it writes the response. */
static void go_unnoticed(redisContext *c, const char *command) {
    struct wire w;

    begin_request(&w, command);
    EVENTUALLY(info_number(c, "blocked_clients") == 1);
    wire_send_text(&w, "P");
    expect(c, "+PONG", "PING");
    wire_reset(&w);
    expect(c, "+PONG", "PING");
    assert_int_equal(info_number(c, "blocked_clients"), 1);
}

static void test_response_is_not_written(void **state) {
    redisContext *c = client_open_on(&s);

    (void)state;
    go_unnoticed(c, "[\"BLPOP\",\"late\",0]");
    expect(c, ":1", "RPUSH late x");
    EVENTUALLY(number(c, "LLEN late") == 1 && info_number(c, "blocked_clients") == 0);
    go_unnoticed(c, "[\"GETJOB\",\"FROM\",\"late0\"]");
    add_job(c, "late0", "x", "RETRY 0");
    EVENTUALLY(number(c, "QLEN late0") == 1 && info_number(c, "blocked_clients") == 0);
    go_unnoticed(c, "[\"GETJOB\",\"FROM\",\"late600\"]");
    add_job(c, "late600", "x", "RETRY 600");
    EVENTUALLY(number(c, "QLEN late600") == 1 && info_number(c, "blocked_clients") == 0);
    expect(c, "\"x\"", "LPOP late");
    get_job(c, "late0", "x");
    get_job(c, "late600", "x");
    expect_no_copies(c);
    redisFree(c);
}

/* ---- responses that are written ---- */

/* After QUIT the server disconnects the client of the commands before it passes their replies on. */
static void test_received(void **state) {
    redisContext *c = client_open_on(&s);

    (void)state;
    expect(c, ":3", "RPUSH taken a b c");
    add_job(c, "taken0", "x", "RETRY 0");
    add_job(c, "taken600", "x", "RETRY 600");
    expect_http(http_run("[\"LPOP\",\"taken\"]"), 200, "{\"reply\":\"a\"}");
    expect_http(http_run("[[\"LPOP\",\"taken\"],[\"GETJOB\",\"FROM\",\"taken0\"],[\"QUIT\"]]"), 200,
                "{\"replies\":[\"b\",[[");
    expect_http(http_run("[[\"MULTI\"],[\"RPOP\",\"taken\"],[\"EXEC\"],[\"GETJOB\",\"FROM\",\"taken600\"]]"),
                200, "[\"c\"],[[");
    expect_no_copies(c);
    /* A job or element that was put back is committed before this job. */
    add_job(c, "barrier", "x", "");
    expect(c, ":0", "LLEN taken");
    expect(c, ":0", "QLEN taken0");
    expect(c, ":0", "QLEN taken600");
    redisFree(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_elements_too_large),      cmocka_unit_test(test_element_too_large),
        cmocka_unit_test(test_jobs_too_large),          cmocka_unit_test(test_client_goes_first),
        cmocka_unit_test(test_response_is_not_written), cmocka_unit_test(test_received),
    };

    return RUN_SUITE_WITH("http_undelivered", tests, start_server, stop_server);
}
