/* Commands over very many names: other clients are served in between, and replies are whole. */
#include "fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The replies to so many do not fit into sockets' buffers. */
#define NAMES 400000
#define FEW_NAMES 20000

static redisContext *c;

/* Sends command word... prefix0 prefix1 ... as one array. */
static void send_names(struct wire *w, const char *words, int word_count, const char *prefix, int count) {
    size_t room = (size_t)count * 48 + 256, len = 0;
    char *bytes = malloc(room), name[32];

    len += (size_t)snprintf(bytes, room, "*%d\r\n%s", word_count + count, words);
    for (int i = 0; i < count; i++) {
        int size = snprintf(name, sizeof name, "%s%d", prefix, i);

        len += (size_t)snprintf(bytes + len, room - len, "$%d\r\n%s\r\n", size, name);
    }
    assert_true(wire_send(w, bytes, len));
    free(bytes);
}

static void subscribe_all(struct wire *w, int count) {
    send_names(w, "$9\r\nSUBSCRIBE\r\n", 1, "name-", count);
}

/* Reads a reply for each name, with the number of names at that time. */
static void expect_replies(struct wire *w, const char *what, int first_count, int change) {
    for (int i = 0; i < NAMES; i++) {
        struct value *v = wire_reply(w, EVENTUALLY_MS);
        char name[32];

        snprintf(name, sizeof name, "name-%d", i);
        assert_non_null(v);
        assert_string_equal(v->items[0]->text, what);
        assert_string_equal(v->items[1]->text, name);
        assert_int_equal(v->items[2]->number, first_count + i * change);
        value_free(v);
    }
}

/* It cannot end before its client reads. */
static void test_others_are_served_in_between(void **state) {
    struct wire w;
    long long steps = info_number(c, "later_steps");

    (void)state;
    raw_open(&w);
    subscribe_all(&w, NAMES);
    EVENTUALLY(info_number(c, "pubsub_channels") > 0);
    assert_string_equal(ask(c, "PING"), "+PONG");
    assert_true(info_number(c, "pubsub_channels") < NAMES);
    expect_replies(&w, "subscribe", 1, 1);
    assert_true(info_number(c, "later_steps") - steps >= NAMES / 1000);
    assert_int_equal(info_number(c, "pubsub_channels"), NAMES);
    /* A message comes between the replies. */
    expect(c, ":1", "PUBLISH name-%d x", NAMES - 1);
    wire_close(&w);
    EVENTUALLY(info_number(c, "pubsub_channels") == 0);
    assert_int_equal(info_number(c, "pubsub_clients"), 0);
}

static void test_messages_between_replies(void **state) {
    struct wire w;
    struct value *v = NULL;
    int names = 0, messages = 0;

    (void)state;
    raw_open(&w);
    subscribe_all(&w, NAMES);
    EVENTUALLY(number(c, "PUBLISH name-0 x") == 1);
    while (names < NAMES || messages == 0) {
        v = wire_reply(&w, EVENTUALLY_MS);
        assert_non_null(v);
        assert_int_equal(v->count, 3);
        names += strcmp(v->items[0]->text, "subscribe") == 0;
        messages += strcmp(v->items[0]->text, "message") == 0;
        value_free(v);
    }
    assert_int_equal(messages, 1);
    /* The replies to later commands come later. */
    assert_true(wire_send_text(&w, "PUNSUBSCRIBE\r\nUNSUBSCRIBE\r\nPING\r\n"));
    v = wire_reply(&w, EVENTUALLY_MS);
    value_free(v);
    expect_replies(&w, "unsubscribe", NAMES - 1, -1);
    v = wire_reply(&w, EVENTUALLY_MS);
    assert_string_equal(v->text, "PONG");
    value_free(v);
    assert_int_equal(info_number(c, "pubsub_channels"), 0);
    wire_close(&w);
}

/* The server writes nothing of a reply that takes several turns before the reply is whole. */
static void expect_whole_array(struct wire *w, size_t count, int *messages) {
    struct value *v = wire_reply(w, EVENTUALLY_MS);

    for (; v != NULL && v->type != '*'; v = wire_reply(w, EVENTUALLY_MS)) {
        assert_true(v->type == '>' || v->type == '+');
        *messages += 1;
        value_free(v);
    }
    assert_non_null(v);
    assert_int_equal(v->count, count);
    for (size_t i = 0; i < v->count; i++)
        assert_int_equal(v->items[i]->type, '$');
    value_free(v);
}

/* Its steps take turns with messages for the same client. */
static void go_on_publishing_until_listed(struct wire *w, size_t count) {
    long long before = info_number(c, "later_steps");
    int messages = 0, sent = 0;

    assert_true(wire_send_text(w, "PUBSUB CHANNELS\r\nPUBSUB CHANNELS\r\nPING\r\n"));
    for (; sent < 10 || (info_number(c, "later_steps") - before < 10 && sent < 1000); sent++)
        expect(c, ":1", "PUBLISH own x");
    expect_whole_array(w, count, &messages);
    expect_whole_array(w, count, &messages);
    assert_true(info_number(c, "later_steps") - before >= 10);
    for (struct value *v = NULL; messages < sent + 1; messages++) {
        v = wire_reply(w, EVENTUALLY_MS);
        assert_non_null(v);
        assert_true(v->type == '>' || strcmp(v->text, "PONG") == 0);
        value_free(v);
    }
}

static void test_messages_for_a_client_that_lists_names(void **state) {
    struct wire many, w;

    (void)state;
    raw_open(&many);
    subscribe_all(&many, NAMES);
    expect_replies(&many, "subscribe", 1, 1);
    raw_open(&w);
    assert_true(wire_send_text(&w, "HELLO 3\r\nSUBSCRIBE own\r\n"));
    value_free(wire_reply(&w, EVENTUALLY_MS));
    value_free(wire_reply(&w, EVENTUALLY_MS));
    go_on_publishing_until_listed(&w, NAMES + 1);
    wire_close(&w);
    wire_close(&many);
    EVENTUALLY(info_number(c, "pubsub_channels") == 0);
}

/* The lines that a monitor is shown, its own commands' among them. */
static void test_a_monitor_that_lists_names(void **state) {
    struct wire many, w;
    int lines = 0;

    (void)state;
    raw_open(&many);
    subscribe_all(&many, NAMES);
    expect_replies(&many, "subscribe", 1, 1);
    raw_open(&w);
    assert_true(wire_send_text(&w, "MONITOR\r\n"));
    value_free(wire_reply(&w, EVENTUALLY_MS));
    assert_true(wire_send_text(&w, "PUBSUB CHANNELS\r\n"));
    for (int i = 0; i < 100; i++)
        assert_string_equal(ask(c, "PING"), "+PONG");
    expect_whole_array(&w, NAMES, &lines);
    assert_true(lines > 0);
    wire_close(&w);
    wire_close(&many);
    EVENTUALLY(info_number(c, "pubsub_channels") == 0);
}

/* At any moment. */
static void test_disconnects_in_the_middle(void **state) {
    (void)state;
    for (int round = 0; round < 5; round++) {
        struct wire w;

        raw_open(&w);
        subscribe_all(&w, NAMES);
        if (round % 2 == 0)
            EVENTUALLY(info_number(c, "pubsub_channels") > 1000 * round);
        wire_reset(&w);
        EVENTUALLY(info_number(c, "pubsub_clients") == 0 && info_number(c, "pubsub_channels") == 0);
        expect(c, ":0", "PUBLISH name-1 x");
    }
}

static void test_listing_while_channels_come_and_go(void **state) {
    struct wire stays, goes;
    int met = 0;
    redisReply *r;

    (void)state;
    raw_open(&stays);
    raw_open(&goes);
    subscribe_all(&stays, FEW_NAMES);
    send_names(&goes, "$9\r\nSUBSCRIBE\r\n", 1, "gone-", FEW_NAMES);
    EVENTUALLY(info_number(c, "pubsub_channels") == 2 * FEW_NAMES);
    wire_close(&goes);
    r = redisCommand(c, "PUBSUB CHANNELS");
    assert_int_equal(r->type, REDIS_REPLY_ARRAY);
    for (size_t i = 0; i < r->elements; i++)
        met += strncmp(r->element[i]->str, "name-", 5) == 0;
    assert_int_equal(met, FEW_NAMES);
    freeReplyObject(r);
    r = redisCommand(c, "PUBSUB CHANNELS name-1999?");
    assert_int_equal(r->elements, 10);
    freeReplyObject(r);
    wire_close(&stays);
}

static void test_too_many_patterns(void **state) {
    struct wire w;
    char line[256];

    (void)state;
    raw_open(&w);
    send_names(&w, "$10\r\nPSUBSCRIBE\r\n", 1, "p*", 1025);
    assert_true(wire_read_line(&w, line, sizeof line, EVENTUALLY_MS));
    assert_string_equal(line, "-LIMIT a client listens to at most 1024 patterns");
    assert_int_equal(info_number(c, "pubsub_patterns"), 0);
    wire_close(&w);
}

/* All clients send at once, so no command may count on room that another command is about to take. */
static void test_too_many_patterns_of_all(void **state) {
    struct wire w[65];
    char line[256];
    int refused = 0;

    (void)state;
    for (int i = 0; i < 65; i++) {
        char prefix[16];

        snprintf(prefix, sizeof prefix, "%d-*", i);
        raw_open(&w[i]);
        send_names(&w[i], "$10\r\nPSUBSCRIBE\r\n", 1, prefix, 1024);
    }
    for (int i = 0; i < 65; i++) {
        assert_true(wire_read_line(&w[i], line, sizeof line, EVENTUALLY_MS));
        refused += strcmp(line, "-LIMIT all clients together listen to at most 65536 patterns") == 0;
    }
    assert_int_equal(refused, 1);
    for (int i = 0; i < 65; i++)
        wire_close(&w[i]);
    EVENTUALLY(info_number(c, "pubsub_patterns") == 0);
}

/* The names of a GETJOB make no queues in SCAN, which lists only the queues with jobs. */
static void test_too_many_queues(void **state) {
    struct wire w;
    char line[256];

    (void)state;
    raw_open(&w);
    send_names(&w, "$6\r\nGETJOB\r\n$6\r\nNOHANG\r\n$4\r\nFROM\r\n", 3, "q-", 1001);
    assert_true(wire_read_line(&w, line, sizeof line, EVENTUALLY_MS));
    assert_string_equal(line, "-LIMIT a command takes jobs from at most 1000 queues");
    send_names(&w, "$6\r\nGETJOB\r\n$6\r\nNOHANG\r\n$4\r\nFROM\r\n", 3, "q-", 1000);
    assert_true(wire_read_line(&w, line, sizeof line, EVENTUALLY_MS));
    assert_string_equal(line, "*-1");
    wire_close(&w);
    expect(c, "[\"0\" []]", "SCAN %d COUNT 100", 1000000);
}

static void test_too_many_keys(void **state) {
    static const struct {
        const char *words;
        int word_count;
        const char *reply;
    } lines[] = {
        { "$6\r\nEXISTS\r\n", 1, ":0" },
        { "$3\r\nDEL\r\n", 1, ":0" },
        { "$6\r\nUNLINK\r\n", 1, ":0" },
        { "$6\r\nPUBSUB\r\n$6\r\nNUMSUB\r\n", 2, "*20000" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        struct wire w;
        char line[256];

        raw_open(&w);
        send_names(&w, lines[i].words, lines[i].word_count, "key-", 10001);
        assert_true(wire_read_line(&w, line, sizeof line, EVENTUALLY_MS));
        assert_string_equal(line, "-LIMIT no more than 10000 names at once");
        send_names(&w, lines[i].words, lines[i].word_count, "key-", 10000);
        assert_true(wire_read_line(&w, line, sizeof line, EVENTUALLY_MS));
        assert_string_equal(line, lines[i].reply);
        wire_close(&w);
    }
}

#define WAITING 50

/* Queues without rows are there as long as clients wait for them. */
static void wait_for_many_queues(struct wire *waiting) {
    for (int i = 0; i < WAITING; i++) {
        char prefix[16];

        snprintf(prefix, sizeof prefix, "scan-%d-", i);
        raw_open(&waiting[i]);
        send_names(&waiting[i], "$6\r\nGETJOB\r\n$4\r\nFROM\r\n", 2, prefix, 1000);
    }
    EVENTUALLY(info_number(c, "blocked_clients") == WAITING);
}

static size_t count_scanned(const redisReply *names) {
    size_t found = 0;

    for (size_t i = 0; i < names->elements; i++)
        found += strncmp(names->element[i]->str, "scan-", 5) == 0;
    return found;
}

static void list_in_steps(void) {
    size_t found = 0, steps = 0;
    long long cursor = 0;

    do {
        redisReply *r = redisCommand(c, "QSCAN %lld COUNT 1000000", cursor);

        cursor = atoll(r->element[0]->str);
        assert_true(r->element[1]->elements <= 20000);
        found += count_scanned(r->element[1]);
        freeReplyObject(r);
        steps++;
    } while (cursor != 0);
    assert_int_equal(found, WAITING * 1000);
    assert_true(steps >= 3);
}

/* All queues are listed, once each, by several steps. */
static void test_listing_very_many_queues(void **state) {
    struct wire waiting[WAITING];
    redisReply *r;

    (void)state;
    wait_for_many_queues(waiting);
    assert_true(info_number(c, "registered_queues") >= WAITING * 1000);
    r = redisCommand(c, "QSCAN BUSYLOOP");
    assert_string_equal(r->element[0]->str, "0");
    assert_int_equal(count_scanned(r->element[1]), WAITING * 1000);
    freeReplyObject(r);
    list_in_steps();
    for (int i = 0; i < WAITING; i++)
        wire_close(&waiting[i]);
    EVENTUALLY(info_number(c, "blocked_clients") == 0);
    add_job(c, "scan-1-7", "x", "");
    add_job(c, "scan-4-7", "x", "");
    expect(c, ":2", "DBSIZE");
    expect(c, "[\"scan-1-7\" \"scan-4-7\"]", "KEYS scan-*");
    expect_start(c, "\"scan-", "RANDOMKEY");
    get_job(c, "scan-1-7", "x");
    expect(c, "[\"scan-4-7\"]", "KEYS *");
    expect(c, "\"scan-4-7\"", "RANDOMKEY");
    get_job(c, "scan-4-7", "x");
    expect(c, ":0", "DBSIZE");
    expect(c, "nil", "RANDOMKEY");
}

/* Names make at most some thousand unused queues. */
static void test_names_are_forgotten(void **state) {
    struct wire w;
    char line[256];

    (void)state;
    add_job(c, "named-0-1", "x", "");
    raw_open(&w);
    for (int i = 0; i < 200; i++) {
        char prefix[16];

        snprintf(prefix, sizeof prefix, "named-%d-", i + 1);
        send_names(&w, "$6\r\nGETJOB\r\n$6\r\nNOHANG\r\n$4\r\nFROM\r\n", 3, prefix, 1000);
        assert_true(wire_read_line(&w, line, sizeof line, EVENTUALLY_MS));
    }
    wire_close(&w);
    EVENTUALLY(info_number(c, "registered_queues") < 20000);
    expect(c, ":1", "QLEN named-0-1");
    expect(c, "nil", "QSTAT named-200-1");
    get_job(c, "named-0-1", "x");
}

/* A command about keys of libraries is refused before its keys are compared with the patterns of the libraries. */
static void test_too_many_library_keys(void **state) {
    static const char refusal[] =
        "-LIMIT a command about a key of a library must have at most 4000 arguments";
    struct wire w;

    (void)state;
    raw_open(&w);
    send_names(&w, "$4\r\nMGET\r\n", 1, "stat:", 4000);
    raw_expect(&w, refusal);
    assert_true(wire_send_text(&w, "MULTI\r\n"));
    raw_expect(&w, "+OK");
    send_names(&w, "$4\r\nMGET\r\n", 1, "stat:", 4000);
    raw_expect(&w, refusal);
    assert_true(wire_send_text(&w, "EXEC\r\n"));
    raw_expect(&w, "-EXECABORT Transaction discarded because of previous errors.");
    wire_close(&w);
}

/* Sends a transaction that takes an element, and that many commands with many names. command: its name, as a bulk. */
static void send_transaction(struct wire *w, int commands, const char *command) {
    expect(c, ":1", "RPUSH among x");
    raw_open(w);
    assert_true(wire_send_text(w, "MULTI\r\nLPOP among\r\n"));
    for (int i = 0; i < commands; i++)
        send_names(w, command, 1, "n", FEW_NAMES / 10);
    for (int i = 0; i < commands + 2; i++)
        raw_expect(w, i == 0 ? "+OK" : "+QUEUED");
    assert_true(wire_send_text(w, "EXEC\r\nPING\r\n"));
}

static void check_transaction(const char *command) {
    long long steps = info_number(c, "later_steps");
    struct wire w;
    struct value *v;

    send_transaction(&w, 100, command);
    v = wire_reply(&w, EVENTUALLY_MS);
    assert_non_null(v);
    assert_int_equal(v->count, 101);
    assert_string_equal(v->items[0]->text, "x");
    for (size_t i = 1; i < v->count; i++)
        assert_int_equal(v->items[i]->number, 0);
    value_free(v);
    raw_expect(&w, "+PONG");
    assert_true(info_number(c, "later_steps") > steps);
    wire_close(&w);
}

/* Commands between MULTI and EXEC that are answered from memory take several turns, too. The jobs of the transaction stay
 * with the client until its reply is complete. */
static void test_transaction_of_many_names(void **state) {
    (void)state;
    check_transaction("$6\r\nEXISTS\r\n");
}

/* Commands that change something take several turns, too: EXEC prepares them before the first statement. */
static void test_transaction_with_many_changes(void **state) {
    (void)state;
    check_transaction("$3\r\nDEL\r\n");
}

/* EXEC writes all statements of a transaction in one turn, so their rows have a limit. */
static void test_transaction_with_too_many_queues(void **state) {
    struct wire w;

    (void)state;
    raw_open(&w);
    assert_true(wire_send_text(&w, "MULTI\r\nRPUSH among y\r\n"));
    for (int i = 0; i < 200; i++)
        send_names(&w, "$6\r\nGETJOB\r\n$6\r\nNOHANG\r\n$4\r\nFROM\r\n", 3, "n", 1000);
    for (int i = 0; i < 202; i++)
        raw_expect(&w, i == 0 ? "+OK" : "+QUEUED");
    assert_true(wire_send_text(&w, "EXEC\r\n"));
    raw_expect(
        &w,
        "-LIMIT the commands of the transaction name too many jobs and queues: 200000 in all are allowed");
    expect(c, ":0", "LLEN among");
    wire_close(&w);
}

/* The server goes on and loses no element if the client disconnects while EXEC prepares the commands, or later. */
static void test_client_goes_while_exec_prepares(void **state) {
    struct wire w;

    (void)state;
    send_transaction(&w, 500, "$3\r\nDEL\r\n");
    wire_reset(&w);
    EVENTUALLY(info_number(c, "connected_clients") == 1);
    EVENTUALLY(strcmp(ask(c, "LPOP among"), "\"x\"") == 0);
}

/* A client that disconnects before its EXEC replies has not received the elements. */
static void test_transaction_of_a_client_that_has_gone(void **state) {
    struct wire w;

    (void)state;
    send_transaction(&w, 2000, "$6\r\nEXISTS\r\n");
    EVENTUALLY(number(c, "LLEN among") == 0);
    wire_reset(&w);
    EVENTUALLY(number(c, "LLEN among") == 1);
    expect(c, "\"x\"", "LPOP among");
}

/* ---- bytes that are equal except at their ends ---- */

#define ALIKE_BYTES 20000

/* A command with `count` arguments that have a number at their beginnings or ends, and else the same bytes. */
struct alike {
    const char *words; /* the command and its key, as bulks */
    int word_count;
    const char *before, *after;  /* bulks around each argument, one of them empty */
    const char *prefix, *suffix; /* of each argument */
    int count;
    const char *reply; /* its beginning */
};

static void send_alike(struct wire *w, const struct alike *a, bool at_end) {
    static char fill[ALIKE_BYTES + 1];
    char number[12];
    size_t room = (size_t)a->count * (ALIKE_BYTES + 100) + 200, len;
    char *bytes = malloc(room);

    memset(fill, 'a', ALIKE_BYTES);
    len = (size_t)snprintf(bytes, room, "*%d\r\n%s", a->word_count + 2 * a->count, a->words);
    for (int i = 0; i < a->count; i++) {
        size_t size = strlen(a->prefix) + ALIKE_BYTES + 6 + strlen(a->suffix);

        len += (size_t)snprintf(bytes + len, room - len, "%s$%zu\r\n%s", a->before, size, a->prefix);
        snprintf(number, sizeof number, "%06d", i);
        len +=
            (size_t)snprintf(bytes + len, room - len, "%s%s", at_end ? fill : number, at_end ? number : fill);
        len += (size_t)snprintf(bytes + len, room - len, "%s\r\n%s", a->suffix, a->after);
    }
    assert_true(wire_send(w, bytes, len));
    free(bytes);
}

/* The processor time of the longest turn while the server runs the command, in milliseconds. */
static long long turn_of_alike(const struct alike *a, bool at_end) {
    struct wire w;
    char line[256];

    expect(c, "+OK", "CONFIG RESETSTAT");
    raw_open(&w);
    send_alike(&w, a, at_end);
    assert_true(wire_read_line(&w, line, sizeof line, EVENTUALLY_MS));
    assert_memory_equal(line, a->reply, strlen(a->reply));
    wire_close(&w);
    return info_number(c, "longest_turn_cpu_ms");
}

/* The comparison of each argument with each other would take seconds. */
static void test_arguments_that_are_alike(void **state) {
    static const struct alike commands[] = {
        { "$4\r\nHSET\r\n$19\r\nhost:1:0123456789ab\r\n", 2, "", "$1\r\nv\r\n", "", "", 1998,
          "-LIMIT a field of a library's key must be at most 512 bytes long" },
        { "$4\r\nZADD\r\n$8\r\nschedule\r\n", 2, "$1\r\n1\r\n", "", "{\"jid\":\"", "\"}", 1000,
          "-ERR a member must be a JSON object with a field queue" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        long long usual = turn_of_alike(&commands[i], false), alike = turn_of_alike(&commands[i], true);

        if (alike > 4 * usual + 100)
            fail_msg("%s: %lld ms in place of %lld ms", commands[i].reply, alike, usual);
    }
}

/* ---- patterns that take long ---- */

#define SLOW_QUEUES 300
#define SLOW_MEMBERS 1000
#define SLOW_PATTERN 900

/* A star, many a's and a b: a comparison with a's takes up to a millisecond. */
static const char *slow_pattern(int len) {
    static char pattern[SLOW_PATTERN + 1];

    memset(pattern, 'a', (size_t)len);
    pattern[0] = '*';
    pattern[len - 1] = 'b';
    pattern[len] = '\0';
    return pattern;
}

/* A name or member of len a's, then a number. */
static const char *slow_name(const char *prefix, int len, int number) {
    static char name[2000];
    size_t at = (size_t)snprintf(name, sizeof name, "%s", prefix);

    memset(name + at, 'a', (size_t)len);
    snprintf(name + at + len, sizeof name - at - (size_t)len, "%d", number);
    return name;
}

/* The comparisons take many steps, between which other clients are served. Returns the number of steps. */
static long long expect_steps(const char *command, const char *reply) {
    long long steps = info_number(c, "later_steps");
    struct wire w;

    raw_open(&w);
    assert_true(wire_send_text(&w, command));
    EVENTUALLY(info_number(c, "later_steps") - steps > 2);
    raw_expect(&w, reply);
    wire_close(&w);
    steps = info_number(c, "later_steps") - steps;
    assert_true(steps >= 20);
    return steps;
}

static void add_slow_queues(void) {
    for (int i = 0; i < SLOW_QUEUES; i++)
        later(c, "RPUSH %s x", slow_name("queue:", 1200, i));
    for (int i = 0; i < SLOW_QUEUES; i++)
        expect_next(c, ":1");
}

static void test_slow_patterns_of_queues(void **state) {
    redisContext *tenant = client_open();
    long long steps, most;

    (void)state;
    add_slow_queues();
    most =
        expect_steps(text_of("SCAN 0 COUNT 100000 MATCH %s\r\n", slow_pattern(SLOW_PATTERN)), "[\"0\" []]");
    expect_steps(text_of("SSCAN queues 0 MATCH %s\r\n", slow_pattern(SLOW_PATTERN)), "[\"0\" []]");
    /* Queues that the user may not read take no time. */
    expect(c, "+OK", "ACL SETUSER slow on nopass ~own:* +scan +auth");
    expect(tenant, "+OK", "AUTH slow x");
    steps = info_number(c, "later_steps");
    expect(tenant, "[\"0\" []]", "SCAN 0 COUNT 100000 MATCH %s", slow_pattern(SLOW_PATTERN));
    assert_in_range(info_number(c, "later_steps") - steps, 0, most / 4);
    expect(c, ":1", "ACL DELUSER slow");
    redisFree(tenant);
    for (int i = 0; i < SLOW_QUEUES; i++)
        expect(c, ":1", "DEL %s", slow_name("queue:", 1200, i));
}

/* The pages of SCAN are those of the count, also if they take several turns. */
static void test_pages_with_a_slow_pattern(void **state) {
    long long cursor = 0, found = 0, pages = 0;

    (void)state;
    add_slow_queues();
    do {
        redisReply *r =
            redisCommand(c, "SCAN %lld COUNT 7 MATCH *%s*", cursor, slow_name("", SLOW_PATTERN, 1));

        cursor = atoll(r->element[0]->str);
        assert_in_range(r->element[1]->elements, 0, 7);
        found += (long long)r->element[1]->elements;
        freeReplyObject(r);
        pages++;
    } while (cursor != 0);
    assert_int_equal(found, 111);
    assert_true(pages >= 111 / 7);
    for (int i = 0; i < SLOW_QUEUES; i++)
        expect(c, ":1", "DEL %s", slow_name("queue:", 1200, i));
}

static void test_slow_patterns_of_members(void **state) {
    (void)state;
    for (int i = 0; i < SLOW_MEMBERS; i++)
        later(c, "SADD paused %s", slow_name("", 480, i));
    for (int i = 0; i < SLOW_MEMBERS; i++)
        expect_next(c, ":1");
    expect_steps(text_of("SSCAN paused 0 MATCH %s\r\n", slow_pattern(300)), "[\"0\" []]");
    expect_steps(text_of("SSCAN paused 0 MATCH %s77\r\n", slow_name("*", 300, 7)),
                 text_of("[\"0\" [\"%s\"]]", slow_name("", 480, 777)));
    expect(c, ":1", "DEL paused");
}

#define MEMBER "{\"queue\":\"slow\",\"x\":\"%s\"}"

/* A member of megabytes is compared in pieces. */
static void test_slow_patterns_of_a_sorted_set(void **state) {
    enum { MEMBERS = 300, LARGE = 4 << 20 };
    char *large = malloc(LARGE + 1);

    (void)state;
    for (int i = 0; i < MEMBERS; i++)
        later(c, "ZADD schedule %lld " MEMBER, 4000000000LL + i, slow_name("", 1200, i));
    for (int i = 0; i < MEMBERS; i++)
        expect_next(c, ":1");
    expect_steps(text_of("ZSCAN schedule 0 MATCH %s\r\n", slow_pattern(SLOW_PATTERN)), "[\"0\" []]");
    expect(c, "+OK", "MULTI");
    expect(c, "+QUEUED", "ZSCAN schedule 0 MATCH %s", slow_pattern(SLOW_PATTERN));
    expect(c, "+QUEUED", "ZCARD schedule");
    expect(c, text_of("[[\"0\" []] :%d]", MEMBERS), "EXEC");
    expect(c, ":1", "DEL schedule");
    memset(large, 'a', LARGE);
    large[LARGE] = '\0';
    expect(c, ":1", "ZADD schedule 4000000000 " MEMBER, large);
    expect_steps(text_of("ZSCAN schedule 0 MATCH %s\r\n", slow_pattern(SLOW_PATTERN)), "[\"0\" []]");
    expect_start(c, "[\"0\" [\"", "ZSCAN schedule 0 MATCH *a\"}");
    expect(c, ":1", "DEL schedule");
    free(large);
}

/* The client goes in the middle of the comparisons. */
static void test_disconnect_during_slow_patterns(void **state) {
    long long requests = info_number(c, "mem_requests"), steps = info_number(c, "later_steps");
    struct wire w;

    (void)state;
    for (int i = 0; i < SLOW_MEMBERS; i++)
        later(c, "SADD paused %s", slow_name("", 480, i));
    for (int i = 0; i < SLOW_MEMBERS; i++)
        expect_next(c, ":1");
    raw_open(&w);
    assert_true(wire_send_text(&w, text_of("SSCAN paused 0 MATCH %s\r\n", slow_pattern(300))));
    EVENTUALLY(info_number(c, "later_steps") - steps > 2);
    wire_reset(&w);
    EVENTUALLY(info_number(c, "mem_requests") <= requests);
    expect(c, ":1", "DEL paused");
}

static int open_clients(void **state) {
    (void)state;
    c = client_open();
    return 0;
}

static int close_clients(void **state) {
    (void)state;
    redisFree(c);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slow_patterns_of_queues),
        cmocka_unit_test(test_pages_with_a_slow_pattern),
        cmocka_unit_test(test_others_are_served_in_between),
        cmocka_unit_test(test_messages_between_replies),
        cmocka_unit_test(test_messages_for_a_client_that_lists_names),
        cmocka_unit_test(test_a_monitor_that_lists_names),
        cmocka_unit_test(test_disconnects_in_the_middle),
        cmocka_unit_test(test_listing_while_channels_come_and_go),
        cmocka_unit_test(test_too_many_patterns),
        cmocka_unit_test(test_too_many_patterns_of_all),
        cmocka_unit_test(test_too_many_queues),
        cmocka_unit_test(test_too_many_keys),
        cmocka_unit_test(test_too_many_library_keys),
        cmocka_unit_test(test_listing_very_many_queues),
        cmocka_unit_test(test_names_are_forgotten),
        cmocka_unit_test(test_transaction_of_many_names),
        cmocka_unit_test(test_transaction_with_many_changes),
        cmocka_unit_test(test_transaction_with_too_many_queues),
        cmocka_unit_test(test_client_goes_while_exec_prepares),
        cmocka_unit_test(test_transaction_of_a_client_that_has_gone),
        cmocka_unit_test(test_arguments_that_are_alike),
        cmocka_unit_test(test_slow_patterns_of_members),
        cmocka_unit_test(test_slow_patterns_of_a_sorted_set),
        cmocka_unit_test(test_disconnect_during_slow_patterns),
    };

    return RUN_SUITE_WITH("long_work", tests, open_clients, close_clients);
}
