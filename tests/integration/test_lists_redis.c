/* Lists against Redis: random commands to both, and every reply must be the same. */
#include "fixture.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "random.h"

#define ROUNDS 4000
#define WAITERS 3
#define MAX_WORDS 16
#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

/*
 * Words of capital letters that stand for something: K a key, V a value, I an index, N a small number, E an
 * end, O a timeout that is over soon, R a number that is not 0, S and M seconds and milliseconds of Unix time far ahead, C a
 * condition of EXPIRE, X a number that is written oddly, T an odd number of seconds that is refused.
 */
static const char *const forms[] = {
    "LRANGE K I I",
    "LRANGE K 0 -1",
    "LRANGE K I I",
    "LINDEX K I",
    "LREM K I V",
    "LPUSH K V",
    "LPUSH K V V",
    "RPUSH K V",
    "RPUSH K V V V",
    "LPUSH K V V V V",
    "LPUSHX K V",
    "RPUSHX K V V",
    "LPOP K",
    "RPOP K",
    "LPOP K",
    "RPOP K",
    "LPOP K N",
    "RPOP K N",
    "LLEN K",
    "BLPOP K O",
    "BRPOP K K O",
    "LMPOP 1 K E",
    "LMPOP 3 K K K E",
    "LMPOP 2 K K E COUNT N",
    "BLMPOP O 2 K K E",
    "BLMPOP O 1 K E COUNT N",
    "RPOPLPUSH K K",
    "RPOPLPUSH K K",
    "LMOVE K K E E",
    "LMOVE K K E E",
    "BRPOPLPUSH K K O",
    "BLMOVE K K E E O",
    "EXISTS K K",
    "TYPE K",
    "LTRIM K I I",
    "LTRIM K 0 N",
    "LTRIM K N -1",
    "LSET K I V",
    "LSET K I V",
    "LPOS K V",
    "LPOS K V RANK R",
    "LPOS K V RANK R COUNT N MAXLEN N",
    "LPOS K V COUNT 0",
    "LPOS K V RANK R COUNT 0",
    "LPOS K V MAXLEN N RANK R",
};

/* Which are sent many at a time. */
static const char *const pushes[] = {
    "LPUSH K V", "RPUSH K V", "LPUSH K V V V", "RPUSH K V V", "LPUSHX K V", "RPUSHX K V V V",
};

/* Both servers find the errors of these in the same order. */
static const char *const wrong[] = {
    "DEL",
    "UNLINK",
    "RENAME K",
    "RENAMENX K K K",
    "TTL",
    "PERSIST K K",
    "EXPIRE K x",
    "EXPIRE K 1 FOO",
    "EXPIRE K x NX XX",
    "EXPIRE K 1 GT lt",
    "EXPIRE K 1 XX GT NX",
    "EXPIRE K 9223372036854775807",
    "EXPIRE K -9223372036854775807",
    "PEXPIRE K 9223372036854775807",
    "EXPIREAT K 9223372036854775807",
    "PEXPIREAT K 9223372036854775808",
    "LRANGE K x 1",
    "LRANGE K 1 x",
    "LINDEX K x",
    "LREM K x a",
    "LTRIM K x 1",
    "LTRIM K 1 x",
    "LTRIM K 1",
    "LSET K x v",
    "LSET K 100 v",
    "LSET none x v",
    "LPOS K",
    "LPOS K v RANK 0",
    "LPOS K v RANK x",
    "LPOS K v RANK",
    "LPOS K v COUNT -1",
    "LPOS K v COUNT x",
    "LPOS K v MAXLEN -1",
    "LPOS K v FOO 1",
    "LPUSH K",
    "LPOP",
    "LPOP K x",
    "RPOP K -1",
    "LPOP K 1 1",
    "BLPOP K x",
    "BLPOP K -1",
    "BRPOP 1",
    "LMPOP 0 K LEFT",
    "LMPOP x K LEFT",
    "LMPOP 1 K UP",
    "LMPOP 2 K LEFT",
    "LMPOP 1 K LEFT COUNT",
    "LMPOP 1 K LEFT COUNT 0",
    "LMPOP 1 K LEFT COUNT 1 COUNT 2",
    "LMPOP 1 K LEFT FOO 1",
    "BLMPOP x 1 K LEFT",
    "BLMPOP -1 1 K LEFT",
    "BLMPOP 1 0 K LEFT",
    "LMOVE K K UP LEFT",
    "LMOVE K K LEFT UP",
    "LMOVE K K LEFT",
    "BLMOVE K K LEFT LEFT x",
    "BLMOVE K K x LEFT 1",
    "BRPOPLPUSH K K x",
    "BRPOPLPUSH K K -1",
    "RPOPLPUSH K",
    "BLPOP K nan",
    "BLPOP K \"\"",
};

/* Numbers are taken and refused in the same way. */
static const char *const odd_forms[] = {
    "LRANGE K X 1",
    "LRANGE K 0 X",
    "LINDEX K X",
    "LREM K X V",
    "LSET K X V",
    "LTRIM K X X",
    "LTRIM K 0 X",
    "LPOP K X",
    "RPOP K X",
    "LMPOP X K LEFT",
    "LMPOP 1 K LEFT COUNT X",
    "LPOS K V RANK X",
    "LPOS K V COUNT X",
    "LPOS K V MAXLEN X",
    "BLPOP K T",
    "BRPOP K T",
    "BLMPOP T 1 K LEFT",
    "BLMPOP 0.001 X K LEFT",
    "BLMPOP 0.001 1 K LEFT COUNT X",
    "BLMOVE K K LEFT LEFT T",
    "BRPOPLPUSH K K T",
    "EXPIRE K X",
    "PEXPIREAT K X",
    "SCAN 0 COUNT X",
    "CLIENT KILL ID X TYPE normal",
    "CLIENT PAUSE X",
    "CLIENT LIST ID X",
    "SELECT X",
    "SLOWLOG GET X",
    "MEMORY USAGE none SAMPLES X",
    "HELLO X",
};

/* @: a NUL. */
static const char *const odd_numbers[] = {
    "\"\"", "+1", "01", "-0", "00", "1@", "@", "1@0", "0x1", "1e0", "1.0", "9223372036854775808", "--1", "1-",
};
static const char *const odd_seconds[] = { "\"\"",   "0.001@", "@",  "nan", "1e-5000",
                                           "1e5000", "1,5",    "1s", "--1", "-1" };

/* About the whole list. */
static const char *const keys[] = {
    "DEL K K", "UNLINK K", "RENAME K K", "RENAME K K", "RENAMENX K K", "TTL K", "PERSIST K", "PEXPIREAT K 1",
};

/* Commands that end lists. The test pushes nothing to these lists, because in Redis a pushed element has the end of its
 * list. */
static const char *const ends[] = {
    "EXPIREAT K S",  "EXPIREAT K S C", "EXPIREAT K S C", "PEXPIREAT K M C", "PEXPIREAT K 1000",
    "EXPIRE K -5 C", "EXPIRETIME K",   "EXPIRETIME K",   "PEXPIRETIME K",   "PERSIST K",
    "LPOP K",        "LSET K 0 V",     "DEL K",          "RENAME K K",      "RENAMENX K K",
    "LRANGE K 0 -1",
};

/* These wait in several lists, or wait to move an element, but not both. The order of service decides whether a moved
 * element goes to a client of that list, or to one that also waits for another list. */
static const char *const waits_for_many[] = {
    "BLPOP K 0", "BRPOP K 0", "BLPOP K K 0", "BRPOP K K K 0", "BLMPOP 0 2 K K E COUNT N", "BLMPOP 0 1 K E",
};
static const char *const waits_to_move[] = {
    "BLPOP K 0", "BRPOP K 0", "BLMPOP 0 1 K E", "BRPOPLPUSH K K 0", "BLMOVE K K E E 0",
};

static struct server redis; /* only its port, pid and log */

/* A connection to each, which are told the same. */
struct pair {
    struct wire ours, theirs;
    bool waiting;
    char command[256];
};

static struct pair talk;
static struct pair waiters[WAITERS];

static const char *word_for(const char *word) {
    static const char *const conditions[] = { "NX", "xx", "GT", "Lt" };
    static char numbers[MAX_WORDS][16];
    static unsigned at;
    char *number = numbers[at++ % MAX_WORDS];

    switch (word[1] == '\0' ? word[0] : '\0') {
    case 'K':
        return text_of("k%d", (int)random_below(4));
    case 'V':
        return text_of("v%d", (int)random_below(6));
    case 'E':
        return random_below(2) ? "LEFT" : "right";
    case 'O':
        return "0.001";
    case 'N':
        snprintf(number, 16, "%d", 1 + (int)random_below(4));
        return number;
    case 'I':
        snprintf(number, 16, "%d", (int)random_below(13) - 6);
        return number;
    case 'R':
        snprintf(number, 16, "%d", (random_below(2) ? 1 : -1) * (1 + (int)random_below(3)));
        return number;
    case 'S':
        snprintf(number, 16, "2%c00000000", "789"[random_below(3)]);
        return number;
    case 'M':
        snprintf(number, 16, "2%c00000000123", "789"[random_below(3)]);
        return number;
    case 'C':
        return conditions[random_below(4)];
    case 'X':
        return odd_numbers[random_below(COUNT(odd_numbers))];
    case 'T':
        return odd_seconds[random_below(COUNT(odd_seconds))];
    default:
        return word;
    }
}

/* The last commands, which the test prints with a difference. */
#define SHOWN 40
static char history[SHOWN][300];
static unsigned told;

static void remember(const struct pair *p) {
    snprintf(history[told++ % SHOWN], sizeof history[0], "%td:%s", p == &talk ? 0 : p - waiters + 1,
             p->command);
}

static void show_history(void) {
    for (unsigned i = told > SHOWN ? told - SHOWN : 0; i < told; i++)
        printf("# %s\n", history[i % SHOWN]);
}

/* A copy of the bytes that the word stands for; *len is their number. */
static const char *bytes_of(const char *word, size_t *len) {
    char *bytes = strdup(strcmp(word, "\"\"") == 0 ? "" : word);

    *len = strlen(bytes);
    for (char *at = bytes; (at = strchr(at, '@')) != NULL; at++)
        *at = '\0';
    return bytes;
}

/* Sends the command to both servers and records it. */
static void tell(struct pair *p, const char *form) {
    const char *words[MAX_WORDS];
    size_t lens[MAX_WORDS];
    char text[256];
    int count = 0;

    snprintf(text, sizeof text, "%s", form);
    p->command[0] = '\0';
    for (char *word = strtok(text, " "); word != NULL; word = strtok(NULL, " ")) {
        size_t len = strlen(p->command);

        word = (char *)word_for(word);
        snprintf(p->command + len, sizeof p->command - len, " %s", word);
        words[count] = bytes_of(word, &lens[count]);
        count++;
    }
    remember(p);
    wire_command(&p->ours, count, words, lens);
    wire_command(&p->theirs, count, words, lens);
    for (int i = 0; i < count; i++)
        free((char *)words[i]);
}

/* Our errors begin with the text of Redis, and go on with the synopsis. */
static bool is_same(const struct value *ours, const char *got, const struct value *theirs, const char *want) {
    if (ours == NULL || theirs == NULL || ours->type != theirs->type)
        return false;
    return ours->type == '-' ? strncmp(got, want, strlen(want)) == 0 : strcmp(got, want) == 0;
}

static void compare(struct pair *p) {
    struct value *ours = wire_reply(&p->ours, 5000), *theirs = wire_reply(&p->theirs, 5000);
    char *got = ours == NULL ? strdup("nothing") : value_text(ours);
    char *want = theirs == NULL ? strdup("nothing") : value_text(theirs);

    if (!is_same(ours, got, theirs, want)) {
        show_history();
        fail_msg("%s\n     ours: %c %s\n    Redis: %c %s", p->command, ours == NULL ? ' ' : ours->type, got,
                 theirs == NULL ? ' ' : theirs->type, want);
    }
    value_free(ours);
    value_free(theirs);
    free(got);
    free(want);
}

static void both(const char *form) {
    tell(&talk, form);
    compare(&talk);
}

/* Redis has served them before it has answered the command that did. */
static void compare_waiters(void) {
    for (int i = 0; i < WAITERS; i++) {
        if (waiters[i].waiting && wire_pending(&waiters[i].theirs) > 0) {
            compare(&waiters[i]);
            waiters[i].waiting = false;
        }
    }
}

static void start_waiter(struct pair *w, const char *form) {
    long long blocked = blocked_clients();

    tell(w, form);
    w->waiting = true;
    EVENTUALLY(wire_pending(&w->ours) > 0 || blocked_clients() > blocked);
    /* A second command is answered when the first has been executed. */
    both("PING");
    compare_waiters();
}

static void compare_all(void) {
    for (int k = 0; k < 4; k++)
        both(text_of("LRANGE k%d 0 -1", k));
}

static void empty(void) {
    for (int k = 0; k < 4; k++)
        both(text_of("LPOP k%d 1000", k));
    compare_waiters();
}

static void pick(const char *const *list, size_t count) {
    both(list[random_below(count)]);
    compare_waiters();
}

#define PICK(list) pick(list, COUNT(list))

/* Sends the commands as one transaction. A blocking command does not wait in a transaction. Clients that wait outside
 * get the remaining elements. */
static void transaction(const char *const *list, size_t count, const char *const *some, size_t some_count) {
    both("MULTI");
    for (unsigned n = 1 + (unsigned)random_below(9); n > 0; n--) {
        if (random_below(8) == 0)
            both(some[random_below(some_count)]);
        else
            both(list[random_below(count)]);
    }
    both("EXEC");
    compare_waiters();
}

static void test_one_client(void **state) {
    (void)state;
    for (int i = 0; i < ROUNDS; i++) {
        if (random_below(20) == 0)
            PICK(wrong);
        else if (random_below(8) == 0)
            PICK(keys);
        else
            PICK(forms);
        if (i % 100 == 99)
            compare_all();
    }
    empty();
}

#define BURST 40

/* Sends all pushes in one write. The server executes them in few transactions. */
static void push_burst(unsigned count) {
    char text[BURST * 64] = "";

    for (unsigned i = 0; i < count; i++) {
        char form[64];

        snprintf(form, sizeof form, "%s", pushes[random_below(COUNT(pushes))]);
        for (char *word = strtok(form, " "); word != NULL; word = strtok(NULL, " "))
            snprintf(text + strlen(text), sizeof text - strlen(text), "%s ", word_for(word));
        strcat(text, "\r\n");
    }
    snprintf(talk.command, sizeof talk.command, "a burst that ends with %.200s",
             strlen(text) > 200 ? text + strlen(text) - 200 : text);
    assert_true(wire_send_text(&talk.ours, text));
    assert_true(wire_send_text(&talk.theirs, text));
    for (unsigned i = 0; i < count; i++)
        compare(&talk);
}

static void test_bursts_of_pushes(void **state) {
    (void)state;
    for (int i = 0; i < ROUNDS / 40; i++) {
        push_burst(2 + (unsigned)random_below(BURST - 1));
        compare_all();
        for (int n = 0; n < 4; n++)
            PICK(forms);
    }
    empty();
}

static void test_odd_numbers(void **state) {
    (void)state;
    both("RPUSH k0 a b c");
    for (size_t i = 0; i < COUNT(odd_forms); i++)
        for (unsigned n = 0; n < 4 * COUNT(odd_numbers); n++)
            both(odd_forms[i]);
    compare_all();
    empty();
}

static void test_ends(void **state) {
    (void)state;
    for (int i = 0; i < ROUNDS / 8; i++) {
        int k = (int)random_below(4);

        both(text_of("DEL k%d", k));
        both(text_of("%s k%d 1 2 3", random_below(2) ? "LPUSH" : "RPUSH", k));
        for (int n = 0; n < 8; n++)
            PICK(ends);
        transaction(ends, COUNT(ends), keys, COUNT(keys));
        compare_all();
    }
    empty();
}

/* Pushes until no client waits. */
static void serve_all(void) {
    for (int i = 0; i < WAITERS; i++)
        while (waiters[i].waiting)
            both("RPUSH K V"), compare_waiters();
    empty();
}

static void wait_and_talk(const char *const *waits, size_t count) {
    for (int i = 0; i < ROUNDS / 4; i++) {
        struct pair *w = &waiters[random_below(WAITERS)];

        if (!w->waiting && random_below(4) == 0)
            start_waiter(w, waits[random_below(count)]);
        else if (random_below(8) == 0)
            PICK(keys);
        else
            PICK(forms);
    }
    serve_all();
}

static void test_clients_that_wait(void **state) {
    (void)state;
    wait_and_talk(waits_for_many, COUNT(waits_for_many));
    wait_and_talk(waits_to_move, COUNT(waits_to_move));
}

static void test_transactions(void **state) {
    (void)state;
    for (int i = 0; i < ROUNDS / 8; i++) {
        transaction(forms, COUNT(forms), keys, COUNT(keys));
        if (random_below(4) == 0)
            PICK(forms);
        if (i % 20 == 19)
            compare_all();
    }
    empty();
}

static void test_transactions_and_waiting_clients(void **state) {
    (void)state;
    for (int i = 0; i < ROUNDS / 8; i++) {
        struct pair *w = &waiters[random_below(WAITERS)];

        if (!w->waiting && random_below(2) == 0)
            start_waiter(w, "BLPOP K 0");
        else
            transaction(forms, COUNT(forms), keys, COUNT(keys));
    }
    serve_all();
}

/* ---- two servers ---- */

static void open_pair(struct pair *p) {
    wire_open(&p->ours, "127.0.0.1", server.port);
    wire_open(&p->theirs, "127.0.0.1", redis.port);
}

static int start(void **state) {
    char port[16];
    const char *argv[] = { "redis-server", "--port", port,     "--save",    "",
                           "--hz",         "500",    "--bind", "127.0.0.1", NULL };

    (void)state;
    random_start(20261121);
    redis.port = server_free_port();
    snprintf(port, sizeof port, "%d", redis.port);
    path_join(redis.log, "%s/redis.log", scratch_dir());
    redis.pid = spawn(&(struct spawn){ .argv = argv, .log = redis.log, .death_signal = SIGKILL });
    if (!WAIT_UNTIL(strcmp(server_ping(&redis), "+PONG") == 0, 10000))
        die("redis-server does not answer, see %s", redis.log);
    open_pair(&talk);
    for (int i = 0; i < WAITERS; i++)
        open_pair(&waiters[i]);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_client),
        cmocka_unit_test(test_odd_numbers),
        cmocka_unit_test(test_ends),
        cmocka_unit_test(test_clients_that_wait),
        cmocka_unit_test(test_transactions),
        cmocka_unit_test(test_transactions_and_waiting_clients),
        cmocka_unit_test(test_bursts_of_pushes),
    };

    return RUN_SUITE_WITH("lists against Redis", tests, start, NULL);
}
