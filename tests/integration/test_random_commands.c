/* Random commands of the command table: each request has exactly one reply, in order. Random sessions do no harm. */
#include "fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "random.h"

/*
 * The commands go in pipelines to two servers, as several users, while connections to Postgres are lost. After each
 * command comes an ECHO of its own number.
 */
#define CONNECTIONS 6
#define PIPELINE 16
#define WORDS_MAX 8
#define COMMANDS_MAX 300
#define IDS 32
#define REPLY_MS 200
#define PATIENCE_MS 60000

static struct server other;
static char *commands[COMMANDS_MAX];
static size_t command_count;
static char ids[IDS][ID_SIZE + 8];
static size_t id_count;
static unsigned long sent, replies;

/* Commands that close the connection, end the server, change the state of the model, or send further replies. */
static const char *const left_out[] = {
    "shutdown", "quit",  "monitor", "subscribe", "psubscribe", "unsubscribe", "punsubscribe", "client",
    "config",   "debug", "acl",     "auth",      "cluster",    "reset",       "hello",
};

static const char *const texts[] = {
    "q1",
    "q2",
    "q3",
    "list1",
    "list2",
    "tenant:1",
    "",
    "*",
    "q*",
    "FROM",
    "COUNT",
    "TIMEOUT",
    "NOHANG",
    "RETRY",
    "TTL",
    "DELAY",
    "MAXLEN",
    "ASYNC",
    "UNIQUE",
    "GROUP",
    "PRIORITY",
    "ATTEMPTS",
    "LEFT",
    "RIGHT",
    "MATCH",
    "STATE",
    "QUEUE",
    "WITHCOUNTERS",
    "BUSYLOOP",
    "IN",
    "OUT",
    "ALL",
    "NX",
    "XX",
    "GT",
    "EX",
    "PX",
    "FOR",
    "BACKOFF",
    "WORKER",
    "REPLY",
    "ID",
    "queued",
    "active",
    "dead",
    "HELP",
    "GET",
    "LIST",
    "RESET",
    "@every 1h",
    "BEFORE",
    "max-active",
    "rate",
    "0",
    "1",
    "2",
    "-1",
    "10",
    "0.01",
    "1000",
    "9223372036854775807",
    "-9223372036854775808",
    "1e400",
    "nan",
    "abc",
    "body",
    "redis.call('PING')",
};

struct connection {
    struct wire wire;
    redisContext *control; /* of the same server */
    long long id;
    bool in_multi;
};

static struct connection connections[CONNECTIONS];

/* A command that was sent and is not yet answered. */
static struct request {
    const char *name;
    unsigned long number;
} pipeline[PIPELINE];

static bool is_left_out(const char *name) {
    for (size_t i = 0; i < sizeof(left_out) / sizeof(*left_out); i++)
        if (strcmp(name, left_out[i]) == 0)
            return true;
    return false;
}

static void read_commands(redisContext *c) {
    redisReply *list = redisCommand(c, "COMMAND LIST");

    assert_non_null(list);
    assert_int_equal(list->type, REDIS_REPLY_ARRAY);
    for (size_t i = 0; i < list->elements && command_count < COMMANDS_MAX; i++)
        if (!is_left_out(list->element[i]->str) && strchr(list->element[i]->str, '|') == NULL)
            commands[command_count++] = strdup(list->element[i]->str);
    freeReplyObject(list);
    assert_true(command_count > 60);
}

/* ---- requests ---- */

static const char *random_word(char *room, size_t *len) {
    uint64_t kind = random_below(20);
    const char *word = texts[random_below(sizeof(texts) / sizeof(*texts))];

    if (kind < 4 && id_count > 0)
        word = ids[random_below(id_count)];
    else if (kind < 8)
        word = texts[random_below(5)];
    else if (kind == 8) {
        for (*len = random_below(20); word != room; word = room)
            for (size_t i = 0; i < *len; i++)
                room[i] = (char)random_below(256);
        return room;
    }
    *len = strlen(word);
    return word;
}

static void send_command(struct connection *c, struct request *r) {
    const char *words[WORDS_MAX];
    char room[WORDS_MAX][20];
    size_t lens[WORDS_MAX];
    int count = 1 + (int)random_below(WORDS_MAX - 1);

    r->name = commands[random_below(command_count)];
    r->number = ++sent;
    words[0] = r->name;
    lens[0] = strlen(r->name);
    for (int i = 1; i < count; i++)
        words[i] = random_word(room[i], &lens[i]);
    if (random_below(8) == 0)
        wire_words(&c->wire, "ADDJOB", texts[random_below(3)], "body", "0", NULL), r->name = "addjob";
    else
        wire_command(&c->wire, count, words, lens);
    wire_words(&c->wire, "ECHO", text_of("marker-%lu", r->number), NULL);
}

/* ---- replies ---- */

static void keep_ids(const struct value *v) {
    if (v->text != NULL && v->len >= ID_SIZE - 1 && v->len < sizeof(ids[0]) &&
        strncmp(v->text, "D-", 2) == 0) {
        size_t place = id_count < IDS ? id_count++ : random_below(IDS);

        snprintf(ids[place], sizeof(ids[0]), "%s", v->text);
    }
    for (size_t i = 0; i < v->count; i++)
        keep_ids(v->items[i]);
}

/* A command may wait, for a job or for the database. The control connection ends the wait. */
static struct value *reply_of(struct connection *c) {
    struct value *v = NULL;

    for (int waited = 0; v == NULL && waited < PATIENCE_MS && !c->wire.eof; waited += REPLY_MS) {
        v = wire_reply(&c->wire, REPLY_MS);
        if (v == NULL)
            (void)ask(c->control, "CLIENT UNBLOCK %lld", c->id);
    }
    return v;
}

static void follow_multi(struct connection *c, const char *name, const struct value *v) {
    if (strcmp(name, "multi") == 0 && v->type == '+')
        c->in_multi = true;
    else if (strcmp(name, "exec") == 0 || strcmp(name, "discard") == 0)
        c->in_multi = c->in_multi && v->type == '-' && strncmp(v->text, "ERR wrong number", 16) == 0;
}

static void read_pair(struct connection *c, const struct request *r) {
    struct value *v = reply_of(c), *echo = v == NULL ? NULL : reply_of(c);
    const char *marker = text_of("marker-%lu", r->number);

    if (echo == NULL)
        fail_msg("%s (%lu): no reply; closed: %d", r->name, r->number, c->wire.eof);
    keep_ids(v);
    follow_multi(c, r->name, v);
    replies++;
    if (c->in_multi) {
        if (strcmp(echo->text, "QUEUED") != 0)
            fail_msg("%s (%lu): ECHO in MULTI got %s", r->name, r->number, value_text(echo));
    } else if (echo->type != '$' || strcmp(echo->text, marker) != 0) {
        fail_msg("%s (%lu): %s, then %s", r->name, r->number, value_text(v), value_text(echo));
    }
    value_free(v);
    value_free(echo);
}

static void run_pipeline(struct connection *c) {
    size_t count = 1 + random_below(PIPELINE);

    for (size_t i = 0; i < count; i++)
        send_command(c, &pipeline[i]);
    for (size_t i = 0; i < count; i++)
        read_pair(c, &pipeline[i]);
}

/* ---- the test ---- */

static void open_connection(struct connection *c, const struct server *s, redisContext *control,
                            const char *user) {
    struct value *v;

    c->control = control;
    raw_open_on(&c->wire, s);
    if (user != NULL) {
        wire_words(&c->wire, "AUTH", user, "password", NULL);
        v = wire_reply(&c->wire, PATIENCE_MS);
        assert_non_null(v);
        assert_string_equal(v->text, "OK");
        value_free(v);
    }
    wire_words(&c->wire, "CLIENT", "ID", NULL);
    v = wire_reply(&c->wire, PATIENCE_MS);
    assert_non_null(v);
    c->id = v->number;
    value_free(v);
}

static void make_users(redisContext *c) {
    expect(c, "+OK", "ACL SETUSER reader on >password ~q* -@all +@read +@connection +@transaction +client");
    expect(c, "+OK", "ACL SETUSER tenant on >password ~q1 ~list1 +@all -@admin");
}

static void test_each_request_has_one_reply(void **state) {
    static const char *const users[] = { NULL, "reader", "tenant" };
    const char *wanted = getenv("FUZZ_COMMANDS");
    unsigned long most = wanted != NULL ? strtoul(wanted, NULL, 10) : 3000;
    const char *options[] = { "--getjob-max-block", "20", NULL };
    redisContext *control[2];

    (void)state;
    random_start(11);
    server_start(&other, server.database, options);
    control[0] = client_open();
    control[1] = client_open_on(&other);
    make_users(control[0]);
    make_users(control[1]);
    read_commands(control[0]);
    for (int i = 0; i < CONNECTIONS; i++)
        open_connection(&connections[i], i % 2 ? &other : &server, control[i % 2], users[i / 2]);
    while (sent < most) {
        run_pipeline(&connections[random_below(CONNECTIONS)]);
        if (random_below(60) == 0)
            sessions_end("");
    }
    printf("# %lu commands of %zu kinds\n", replies, command_count);
    for (int i = 0; i < CONNECTIONS; i++)
        wire_close(&connections[i].wire);
    expect(control[0], "+PONG", "PING");
    expect(control[1], "+PONG", "PING");
    redisFree(control[0]);
    redisFree(control[1]);
    assert_int_equal(server_stop(&other), 0);
}

/* ---- commands about sessions ---- */

static const char *const session_commands[] = {
    "ACL",       "AUTH",       "HELLO",       "CLIENT",       "CONFIG",  "CLUSTER", "RESET",
    "SUBSCRIBE", "PSUBSCRIBE", "UNSUBSCRIBE", "PUNSUBSCRIBE", "MONITOR", "QUIT",    "MULTI",
    "EXEC",      "PUBLISH",    "PUBSUB",      "COMMAND",      "GETJOB",  "PING",
};

static const char *const session_words[] = {
    "SETUSER",   "GETUSER",  "DELUSER",  "LIST",   "USERS",    "WHOAMI",   "CAT",     "DRYRUN", "LOG",
    "LOAD",      "SAVE",     "GENPASS",  "u1",     "u2",       "on",       "off",     "nopass", ">secret",
    "<secret",   "secret",   "reset",    "+@all",  "-@all",    "+acl|cat", "~q*",     "%R~q1",  "&*",
    "(+get ~q)", "(",        "2",        "3",      "0",        "AUTH",     "SETNAME", "ID",     "INFO",
    "REPLY",     "OFF",      "ON",       "SKIP",   "NO-EVICT", "TRACKING", "KILL",    "USER",   "TYPE",
    "UNBLOCK",   "CACHING",  "GET",      "*",      "hz",       "SLOTS",    "NODES",   "MYID",   "COUNT",
    "q1",        "q*",       "CHANNELS", "NUMSUB", "DOCS",     "FROM",     "GETKEYS", "getjob", "TIMEOUT",
    "10",        "\xff\xfe", "",
};

/* Writes one command. Its replies are not known: CLIENT REPLY OFF and subscriptions change them. */
static void send_session_command(struct wire *w) {
    const char *words[WORDS_MAX];
    size_t lens[WORDS_MAX];
    int count = 1 + (int)random_below(WORDS_MAX - 1);

    words[0] = session_commands[random_below(sizeof(session_commands) / sizeof(*session_commands))];
    for (int i = 1; i < count; i++)
        words[i] = session_words[random_below(sizeof(session_words) / sizeof(*session_words))];
    for (int i = 0; i < count; i++)
        lens[i] = strlen(words[i]);
    wire_command(w, count, words, lens);
}

/* Sessions change users, protocols and subscriptions while they use them. After each session the server replies to
 * others, and a new client can log in as a user of the session. */
static void test_sessions_do_no_harm(void **state) {
    const char *wanted = getenv("FUZZ_COMMANDS");
    unsigned long most = (wanted != NULL ? strtoul(wanted, NULL, 10) : 3000) / PIPELINE, count = 0;
    redisContext *control = client_open();

    (void)state;
    random_start(12);
    for (; count < most; count++) {
        struct wire w;

        raw_open_on(&w, &server);
        for (int i = 0; i < PIPELINE; i++)
            send_session_command(&w);
        value_free(wire_reply(&w, REPLY_MS));
        if (random_below(2) == 0)
            value_free(wire_reply(&w, REPLY_MS));
        wire_close(&w);
        if (control == NULL || control->err != 0) {
            redisFree(control);
            control = client_open();
        }
        expect(control, "+OK", "ACL SETUSER default reset on nopass +@all ~* &*");
        expect(control, "+PONG", "PING");
    }
    printf("# %lu sessions\n", count);
    (void)add_job(control, "alive", "body", "");
    expect(control, ":1", "QLEN alive");
    redisFree(control);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_request_has_one_reply),
        cmocka_unit_test(test_sessions_do_no_harm),
    };

    return RUN_SUITE("random_commands", tests);
}
