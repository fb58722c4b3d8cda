/* Clients that die: at every byte of every command, while they wait, while they are woken. */
#include "fixture.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

/* $PGDISQUE_TEST_KILLS times as much as always. */
static int scale(void) {
    const char *env = getenv("PGDISQUE_TEST_KILLS");

    return env != NULL && atoi(env) > 0 ? atoi(env) : 1;
}

static unsigned seed = 4711;

static unsigned rnd(unsigned n) {
    seed = seed * 1664525 + 1013904223;
    return (seed >> 8) % n;
}

/* ---- the commands of the table, in the form of their transcripts ---- */

static const char *const commands[] = {
#define CMD(id, name, ...) name,
#include "commands/commands.def"
#undef CMD
};

#define COMMANDS (sizeof commands / sizeof commands[0])
#define FORMS 100
#define FORMS_PICKED 4
#define WORDS 40

/* They end the server or other clients, or make all wait: their last byte is not sent. */
static const char *const harmful[] = { "SHUTDOWN", "CLIENT PAUSE", "CLIENT KILL",
                                       "DEBUG",    "CONFIG SET",   "ACL SETUSER default" };

struct form {
    char line[512];
    char *bytes;
    size_t len; /* that may be sent */
};

static struct form forms[FORMS];
static int form_count;

static bool is_harmful(const char *line) {
    for (size_t i = 0; i < sizeof harmful / sizeof harmful[0]; i++)
        if (strncasecmp(line, harmful[i], strlen(harmful[i])) == 0)
            return true;
    return false;
}

/* Replaces the names of the transcript by the ID of a job. */
static void form_finish(struct form *form, const char *id) {
    char copy[512], *words[WORDS], *save = NULL;
    size_t size = 0;
    int count = 0;
    FILE *f = open_memstream(&form->bytes, &size);

    strcpy(copy, form->line);
    for (char *w = strtok_r(copy, " \n", &save); w && count < WORDS; w = strtok_r(NULL, " \n", &save))
        words[count++] = *w == '{' ? (char *)id : w;
    fprintf(f, "*%d\r\n", count);
    for (int i = 0; i < count; i++)
        fprintf(f, "$%zu\r\n%s\r\n", strlen(words[i]), words[i]);
    fclose(f);
    form->len = size - is_harmful(form->line);
}

static bool is_known(const char *line) {
    for (int i = 0; i < form_count; i++)
        if (strcmp(forms[i].line, line) == 0)
            return true;
    return false;
}

/* "> NAME ..." and "[a]> NAME ...": without quotes, which only the player understands. */
static void note_form(const char *name, const char *line) {
    const char *form = strncmp(line, "> ", 2) == 0 ? line + 2 : NULL;
    size_t len = strlen(name);

    if (line[0] == '[' && strstr(line, "]> ") != NULL)
        form = strstr(line, "]> ") + 3;
    if (form == NULL || strncasecmp(form, name, len) != 0 || strchr(" \n", form[len]) == NULL)
        return;
    if (strchr(form, '"') == NULL && form_count < FORMS && !is_known(form))
        snprintf(forms[form_count++].line, sizeof forms[0].line, "%s", form);
}

static void read_forms(const char *name) {
    char path[PATH_SIZE], line[512];
    FILE *f;

    path_join(path, "tests/conformance/%s.txt", name);
    f = fopen(path, "r");
    if (f == NULL)
        fail_msg("no %s here; run it from the repository's root", path);
    form_count = 0;
    while (fgets(line, sizeof line, f) != NULL)
        note_form(name, line);
    fclose(f);
    if (form_count == 0)
        fail_msg("%s has no form of %s without quotes", path, name);
}

/* ---- dying ---- */

#define AT_ONCE 100

static struct wire exhausted[AT_ONCE];
static int exhausted_count;
static long died;

static void die_one(struct wire *w, bool reset) {
    if (reset)
        wire_reset(w);
    else
        wire_close(w);
    died++;
}

/* They end in the same turns of the server in which it reads them. */
static void die_all(void) {
    for (int i = 0; i < exhausted_count; i++)
        die_one(&exhausted[i], rnd(2) == 0);
    exhausted_count = 0;
}

/* Its last words are the first len bytes of the form; something else may be under way before them. */
static void speak(const struct form *form, size_t len, bool busy) {
    struct wire *w = &exhausted[exhausted_count++];

    raw_open(w);
    if (busy)
        wire_words(w, "ADDJOB", "last-words", "x", "0", "RETRY", "3600", NULL);
    wire_send(w, form->bytes, len);
    if (exhausted_count == AT_ONCE)
        die_all();
}

static void die_at_each_byte(struct form *form, const char *id) {
    form_finish(form, id);
    for (size_t len = 1; len <= form->len; len++) {
        speak(form, len, false);
        speak(form, len, true);
    }
    free(form->bytes);
}

static bool all_is_quiet(redisContext *c) {
    return info_number(c, "connected_clients") == 1 && info_number(c, "blocked_clients") == 0 &&
           postgres_number(server.database, "select count(*) from pgdisque.job") ==
               info_number(c, "registered_jobs");
}

static void die_in_each_command(const char *id) {
    int picked = FORMS_PICKED * scale();

    for (size_t i = 0; i < COMMANDS; i++) {
        int step;

        read_forms(commands[i]);
        step = form_count > picked ? form_count / picked : 1;
        for (int k = (int)rnd((unsigned)step); k < form_count; k += step)
            die_at_each_byte(&forms[k], id);
    }
    die_all();
}

/* How much memory the server has more after thousands have died, and all is over. */
static long growth(redisContext *c, const char *id) {
    long before = server_memory(&server);

    die_in_each_command(id);
    EVENTUALLY(all_is_quiet(c));
    /* A form of the command table may have sent CLUSTER LEAVING yes. */
    expect(c, "+OK", "CLUSTER LEAVING no");
    return server_memory(&server) - before;
}

/* In the first passes buffers grow and memory becomes fragmented. Later passes use no more memory, unless memory leaks.
 * The sanitizers find small leaks. */
#define PASSES 8
#define GROWTH (512 * 1024)

static void test_at_every_byte(void **state) {
    redisContext *c = client_open();
    const char *id = add_job(c, "known", "x", "RETRY 3600");
    bool sanitized = is_slow(); /* the sanitizers keep freed memory */
    int passes = 0;

    (void)state;
    for (int i = 0; i < scale(); i++)
        growth(c, id);
    while (passes < PASSES && growth(c, id) > GROWTH && !sanitized)
        passes++;
    expect(c, "+PONG", "PING");
    expect_start(c, "+OK", "DEBUG FLUSHALL");
    redisFree(c);
    print_message("# %ld clients died\n", died);
    assert_true(passes < PASSES);
}

/* ---- while they wait ---- */

#define WAITERS 60

static struct wire waiters[WAITERS];

static void open_waiters(const char *queue) {
    for (int i = 0; i < WAITERS; i++) {
        raw_open(&waiters[i]);
        wire_words(&waiters[i], "GETJOB", "FROM", queue, NULL);
    }
    EVENTUALLY(blocked_clients() == WAITERS);
}

/* Acknowledges the job that a living client got: 0 or 1. */
static int ack_one(redisContext *c, struct wire *w) {
    struct value *v = wire_pending(w) > 0 ? wire_reply(w, 5000) : NULL;

    if (v == NULL)
        return 0;
    expect(c, ":1", "ACKJOB %s", v->items[0]->items[1]->text);
    value_free(v);
    return 1;
}

/* Takes all jobs of the queue out of it; how many there were. */
static int drain(redisContext *c, const char *queue) {
    int count = 0;

    for (;; count++) {
        redisReply *r = redisCommand(c, "GETJOB NOHANG FROM %s", queue);

        if (r == NULL || r->type != REDIS_REPLY_ARRAY) {
            freeReplyObject(r);
            return count;
        }
        expect(c, ":1", "ACKJOB %s", r->element[0]->element[1]->str);
        freeReplyObject(r);
    }
}

/* All clients get jobs while every second client dies. Returns the number of jobs of the living clients. */
static int jobs_and_deaths(redisContext *c, const char *queue) {
    int acked = 0, ignored;

    open_waiters(queue);
    for (int i = 0; i < WAITERS; i++)
        later(c, "ADDJOB %s %d 0 RETRY 2", queue, i);
    if (rnd(2) == 0)
        redisBufferWrite(c, &ignored);
    for (int i = 0; i < WAITERS; i += 2)
        die_one(&waiters[i], rnd(2) == 0);
    for (int i = 0; i < WAITERS; i++)
        assert_int_equal(next_reply(c)[0], '+');
    for (int i = 1; i < WAITERS; i += 2) {
        int before = acked;

        EVENTUALLY((acked += ack_one(c, &waiters[i])) > before);
        die_one(&waiters[i], rnd(2) == 0);
    }
    return acked;
}

#define MAX_ROUNDS 1000

/* The jobs of dead clients come back: at once if the server saw the disconnect before it wrote the job, else after
 * their retry time. */
static void test_while_jobs_come(void **state) {
    redisContext *c = client_open();
    int rounds = 10 * scale() < MAX_ROUNDS ? 10 * scale() : MAX_ROUNDS, acked[MAX_ROUNDS];

    (void)state;
    for (int i = 0; i < rounds; i++)
        acked[i] = jobs_and_deaths(c, text_of("mortal%d", i));
    for (int i = 0; i < rounds; i++) {
        const char *queue = forever(text_of("mortal%d", i));

        EVENTUALLY(number(c, "QLEN %s", queue) == WAITERS - acked[i]);
        assert_int_equal(drain(c, queue), WAITERS - acked[i]);
    }
    EVENTUALLY(all_is_quiet(c));
    assert_int_equal(info_number(c, "registered_jobs"), 0);
    redisFree(c);
}

/* ---- while they are woken ---- */

static long long client_id(struct wire *w) {
    struct value *v;
    long long id;

    wire_words(w, "CLIENT", "ID", NULL);
    v = wire_reply(w, 5000);
    assert_non_null(v);
    id = v->number;
    value_free(v);
    return id;
}

/* The client is killed when its job comes: before the server sends the job to the database, during the statement, or
 * after the reply. A job that was not written to the client comes back at once. */
static void test_killed_while_woken(void **state) {
    redisContext *c = client_open(), *killer = client_open();
    int ignored;

    (void)state;
    for (int i = 0; i < 200 * scale(); i++) {
        redisContext *by = rnd(2) == 0 ? c : killer;
        struct wire w;
        long long id;
        int left;

        raw_open(&w);
        id = client_id(&w);
        wire_words(&w, "GETJOB", "FROM", "woken", NULL);
        EVENTUALLY(info_number(c, "blocked_clients") == 1);
        later(c, "ADDJOB woken x 0 RETRY 3600");
        later(by, "CLIENT KILL ID %lld", id);
        redisBufferWrite(c, &ignored);
        redisBufferWrite(by, &ignored);
        assert_int_equal(next_reply(c)[0], '+');
        expect_next(by, ":1");
        EVENTUALLY(w.eof || wire_pending(&w) > 0);
        left = 1 - ack_one(c, &w);
        wire_close(&w);
        EVENTUALLY(number(c, "QLEN woken") == left);
        assert_int_equal(drain(c, "woken"), left);
    }
    redisFree(killer);
    EVENTUALLY(all_is_quiet(c));
    redisFree(c);
}

#define MB (1024 * 1024)
#define EVICTED 5

/* The job itself makes the output of its client too long: evicted, and the job is back at once. */
static void test_evicted_while_woken(void **state) {
    redisContext *c = client_open();
    char *body = calloc(1, 8 * MB);
    struct wire w[EVICTED];
    long long kills;

    (void)state;
    kills = info_number(c, "output_limit_kills");
    for (int round = 0; round < 2 * scale(); round++) {
        expect(c, "+OK", "CONFIG SET client-output-buffer-limit %s", "normal 0 13mb 1");
        for (int i = 0; i < EVICTED; i++) {
            raw_open(&w[i]);
            raw_stop_reading(&w[i]);
            wire_words(&w[i], "GETJOB", "FROM", "evicted", NULL);
        }
        EVENTUALLY(info_number(c, "blocked_clients") == EVICTED);
        assert_int_equal(info_number(c, "output_limit_kills"), kills);
        for (int i = 0; i < EVICTED; i++) {
            redisAppendCommand(c, "ADDJOB evicted %b 0 RETRY 3600", body, (size_t)8 * MB);
            assert_int_equal(next_reply(c)[0], '+');
            if (rnd(3) == 0)
                wire_reset(&w[i]);
        }
        EVENTUALLY(info_number(c, "connected_clients") == 1);
        EVENTUALLY(number(c, "QLEN evicted") == EVICTED);
        kills = info_number(c, "output_limit_kills");
        assert_true(kills > 0);
        for (int i = 0; i < EVICTED; i++)
            wire_close(&w[i]);
        expect(c, "+OK", "CONFIG SET client-output-buffer-limit %s", "normal 256mb 64mb 60");
        assert_int_equal(drain(c, "evicted"), EVICTED);
    }
    free(body);
    EVENTUALLY(all_is_quiet(c));
    redisFree(c);
}

/* The client does not read, or closes its end. SIGPIPE does not end the server. */
static void test_a_broken_pipe_is_no_signal(void **state) {
    char path[PATH_SIZE], line[256];
    unsigned long long ignored = 0;
    FILE *f;

    (void)state;
    path_join(path, "/proc/%d/status", (int)server.pid);
    f = fopen(path, "r");
    assert_non_null(f);
    while (fgets(line, sizeof line, f) != NULL)
        sscanf(line, "SigIgn: %llx", &ignored);
    fclose(f);
    assert_true(ignored & (1ULL << (SIGPIPE - 1)));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_at_every_byte),
        cmocka_unit_test(test_while_jobs_come),
        cmocka_unit_test(test_killed_while_woken),
        cmocka_unit_test(test_evicted_while_woken),
        cmocka_unit_test(test_a_broken_pipe_is_no_signal),
    };

    return RUN_SUITE("killed", tests);
}
