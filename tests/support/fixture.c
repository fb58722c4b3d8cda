/* Shared parts of the integration suites: set-up, commands, comparisons. */
#include "fixture.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#define TEXTS 256
#define REPLY_SECONDS 20

struct postgres pg;
struct server server;

/* Texts handed out live until TEXTS more have been. */
static char *keep(char *text) {
    static char *texts[TEXTS];
    static unsigned next;
    char **place = &texts[next++ % TEXTS];

    free(*place);
    return *place = text;
}

const char *text_of(const char *fmt, ...) {
    char *text = NULL;
    va_list ap;

    va_start(ap, fmt);
    if (vasprintf(&text, fmt, ap) < 0)
        die("out of memory");
    va_end(ap);
    return keep(text);
}

static void set_up(void) {
    signal(SIGPIPE, SIG_IGN);
    postgres_start(&pg);
    server_start(&server, postgres_migrated(&pg), NULL);
}

int run_suite(const char *name, const struct CMUnitTest *tests, size_t count, CMFixtureFunction start,
              CMFixtureFunction stop) {
    const char *filter = getenv("PGDISQUE_TEST_FILTER");
    int failed;

    setvbuf(stdout, NULL, _IOLBF, 0);
    if (filter && *filter)
        cmocka_set_test_filter(filter);
    set_up();
    failed = _cmocka_run_group_tests(name, tests, count, start, stop);
    if (server_stop(&server) != 0)
        fprintf(stderr, "# the server did not end with status 0\n");
    postgres_stop(&pg, true);
    if (failed || servers_complained())
        servers_show_logs();
    return failed || servers_complained() ? 1 : 0;
}

bool server_refuses(struct server *s, const char *reason) {
    int status = -1;
    bool refused =
        WAIT_UNTIL(has_ended(s->pid, &status), EVENTUALLY_MS) && status == 1 && file_contains(s->log, reason);

    if (refused)
        s->pid = 0;
    return refused;
}

redisContext *client_open_on(const struct server *s) {
    struct timeval limit = { .tv_sec = patience(REPLY_SECONDS * 1000) / 1000 };
    redisContext *c = redisConnectWithTimeout("127.0.0.1", s->port, limit);

    if (!c || c->err)
        fail_msg("cannot connect: %s", c ? c->errstr : "out of memory");
    redisSetTimeout(c, limit);
    return c;
}

redisContext *client_open(void) {
    return client_open_on(&server);
}

static void print_bulk(FILE *f, const redisReply *r) {
    fputc('"', f);
    for (size_t i = 0; i < r->len; i++) {
        unsigned char ch = (unsigned char)r->str[i];

        if (isprint(ch) && ch != '"' && ch != '\\')
            fputc(ch, f);
        else
            fprintf(f, "\\x%02x", ch);
    }
    fputc('"', f);
}

static void print_reply(FILE *f, const redisReply *r) {
    switch (r->type) {
    case REDIS_REPLY_STATUS:
        fprintf(f, "+%s", r->str);
        break;
    case REDIS_REPLY_ERROR:
        fprintf(f, "-%s", r->str);
        break;
    case REDIS_REPLY_INTEGER:
        fprintf(f, ":%lld", r->integer);
        break;
    case REDIS_REPLY_STRING:
        print_bulk(f, r);
        break;
    case REDIS_REPLY_ARRAY:
        fputc('[', f);
        for (size_t i = 0; i < r->elements; i++) {
            fputs(i ? " " : "", f);
            print_reply(f, r->element[i]);
        }
        fputc(']', f);
        break;
    default:
        fputs("nil", f);
    }
}

static const char *reply_text(redisReply *r) {
    char *text = NULL;
    size_t size = 0;
    FILE *f;

    if (!r)
        return "closed";
    f = open_memstream(&text, &size);
    print_reply(f, r);
    fclose(f);
    freeReplyObject(r);
    return keep(text);
}

static const char *vask(redisContext *c, const char *fmt, va_list ap) {
    return reply_text(redisvCommand(c, fmt, ap));
}

const char *ask(redisContext *c, const char *fmt, ...) {
    const char *text;
    va_list ap;

    va_start(ap, fmt);
    text = vask(c, fmt, ap);
    va_end(ap);
    return text;
}

const char *next_reply(redisContext *c) {
    void *reply = NULL;

    return redisGetReply(c, &reply) == REDIS_OK ? reply_text(reply) : "closed";
}

void later(redisContext *c, const char *fmt, ...) {
    va_list ap;

    va_start(ap, fmt);
    if (redisvAppendCommand(c, fmt, ap) != REDIS_OK)
        fail_msg("append: %s", c->errstr);
    va_end(ap);
}

void expect(redisContext *c, const char *want, const char *fmt, ...) {
    const char *got;
    va_list ap;

    va_start(ap, fmt);
    got = vask(c, fmt, ap);
    va_end(ap);
    if (strcmp(got, want) != 0)
        fail_msg("%s: got %s, want %s", fmt, got, want);
}

void expect_start(redisContext *c, const char *want, const char *fmt, ...) {
    const char *got;
    va_list ap;

    va_start(ap, fmt);
    got = vask(c, fmt, ap);
    va_end(ap);
    if (strncmp(got, want, strlen(want)) != 0)
        fail_msg("%s: got %s, want %s...", fmt, got, want);
}

void expect_next(redisContext *c, const char *want) {
    const char *got = next_reply(c);

    if (strcmp(got, want) != 0)
        fail_msg("got %s, want %s", got, want);
}

long long number(redisContext *c, const char *fmt, ...) {
    const char *got;
    va_list ap;

    va_start(ap, fmt);
    got = vask(c, fmt, ap);
    va_end(ap);
    if (got[0] != ':')
        fail_msg("%s: got %s, want an integer", fmt, got);
    return atoll(got + 1);
}

const char *add_job(redisContext *c, const char *queue, const char *body, const char *options) {
    char *fmt;
    const char *got;

    if (asprintf(&fmt, "ADDJOB %%s %%s 0 %s", options) < 0)
        die("out of memory");
    got = ask(c, fmt, queue, body);
    free(fmt);
    if (strncmp(got, "+D-", 3) != 0)
        fail_msg("ADDJOB %s %s: got %s", queue, options, got);
    return forever(got + 1);
}

const char *get_job(redisContext *c, const char *queue, const char *body) {
    redisReply *r = redisCommand(c, "GETJOB NOHANG FROM %s", queue);
    redisReply *job = r && r->type == REDIS_REPLY_ARRAY && r->elements == 1 ? r->element[0] : NULL;
    const char *id;

    if (!job || job->elements != 3 || strcmp(job->element[2]->str, body) != 0)
        fail_msg("GETJOB FROM %s: got %s, want the job %s", queue, reply_text(r), body);
    id = forever(job->element[1]->str);
    freeReplyObject(r);
    return id;
}

bool queue_is_empty(redisContext *c, const char *queue) {
    return strcmp(ask(c, "GETJOB NOHANG FROM %s", queue), "nil") == 0;
}

/* The value behind a key of a flat key-value array. */
static const char *pick(redisReply *r, const char *field) {
    const char *text = "gone";

    if (!r || r->type != REDIS_REPLY_ARRAY) {
        if (r)
            freeReplyObject(r);
        return text;
    }
    for (size_t i = 0; i + 1 < r->elements; i += 2) {
        redisReply *v = r->element[i + 1];

        if (strcmp(r->element[i]->str, field) == 0)
            text = v->type == REDIS_REPLY_INTEGER ? text_of("%lld", v->integer)
                                                  : text_of("%s", v->str ? v->str : "nil");
    }
    freeReplyObject(r);
    return text;
}

const char *job_field(redisContext *c, const char *id, const char *field) {
    return pick(redisCommand(c, "SHOW %s", id), field);
}

const char *queue_field(redisContext *c, const char *queue, const char *field) {
    return pick(redisCommand(c, "QSTAT %s", queue), field);
}

long long info_number(redisContext *c, const char *name) {
    redisReply *r = redisCommand(c, "INFO ALL");
    long long found = -1;
    char *key, *at;

    if (!r || r->type != REDIS_REPLY_STRING)
        fail_msg("INFO: got %s", reply_text(r));
    if (asprintf(&key, "\n%s:", name) < 0)
        die("out of memory");
    at = strstr(r->str, key);
    if (at)
        found = atoll(at + strlen(key));
    free(key);
    freeReplyObject(r);
    return found;
}

long long jobs_where(const char *queue, const char *condition) {
    return postgres_number(server.database,
                           text_of("select count(*) from pgdisque.job as j join pgdisque.queue as q "
                                   "on q.id = j.queue_id where q.name = '%s' and %s",
                                   queue, condition));
}

long long blocked_clients(void) {
    redisContext *c = client_open();
    long long n = info_number(c, "blocked_clients");

    redisFree(c);
    return n;
}

void database_run(const char *statements) {
    free(postgres_query(server.database, statements));
}

long command_figure(redisContext *c, const char *command, const char *figure) {
    const char *line = strstr(ask(c, "INFO commandstats"), text_of("cmdstat_%s:", command));
    const char *at = line == NULL ? NULL : strstr(line, text_of("%s=", figure));

    return at == NULL ? 0 : atol(at + strlen(figure) + 1);
}

void raw_open_on(struct wire *w, const struct server *s) {
    if (!wire_try_open(w, s->port))
        fail_msg("cannot connect");
}

void raw_open(struct wire *w) {
    raw_open_on(w, &server);
}

/* The address as CLIENT LIST writes it. */
static const char *raw_address(const struct wire *w) {
    struct sockaddr_in addr;
    socklen_t size = sizeof(addr);

    if (getsockname(w->fd, (struct sockaddr *)&addr, &size) != 0)
        return "closed";
    return text_of(" addr=127.0.0.1:%d ", (int)ntohs(addr.sin_port));
}

/* The field of that client in CLIENT LIST, from its value on, or NULL if the server has no such client. */
static const char *client_field(redisContext *c, const char *address, const char *field) {
    const char *line = strstr(ask(c, "CLIENT LIST"), address);
    const char *found = line != NULL ? strstr(line, text_of(" %s=", field)) : NULL;

    return found != NULL ? found + strlen(field) + 2 : NULL;
}

/* By the line of its address in CLIENT LIST: others come and go when the server hears of it. */
bool raw_waits(const struct wire *w, redisContext *c) {
    const char *flags = client_field(c, raw_address(w), "flags");

    return flags != NULL && memchr(flags, 'b', strcspn(flags, " ")) != NULL;
}

bool raw_has_request(const struct wire *w, redisContext *c) {
    const char *requests = client_field(c, raw_address(w), "reqs");

    return requests != NULL && atoi(requests) > 0;
}

static struct {
    pid_t pids[16];
    int count;
} writers;

static int signal_writers(int number) {
    int sent = 0;

    for (int i = 0; i < writers.count; i++)
        sent += kill(writers.pids[i], number) == 0;
    return sent;
}

static int find_writers(pid_t *pids, int most) {
    char *text = postgres_query(
        server.database, "select string_agg(pid::text, ' ') from pg_stat_activity where application_name "
                         "like 'pgdisque % write' and datname = current_database()");
    int count = 0;

    for (char *p = text; p != NULL && *p != '\0' && count < most; p += *p == ' ')
        pids[count++] = (pid_t)strtol(p, &p, 10);
    free(text);
    return count;
}

long long sessions_end(const char *kind) {
    return postgres_number(
        server.database,
        text_of("select count(pg_terminate_backend(pid)) from pg_stat_activity where datname = "
                "current_database() and application_name like 'pgdisque %%%s'",
                kind));
}

void writers_stop(void) {
    writers.count = find_writers(writers.pids, 16);
    if (writers.count == 0 || signal_writers(SIGSTOP) != writers.count)
        fail_msg("the sessions that write cannot be stopped");
}

void writers_go_on(void) {
    signal_writers(SIGCONT);
}

void raw_leave_during(struct wire *w, redisContext *c, const char *command) {
    const char *address = forever(raw_address(w));
    bool started, closed;

    writers_stop();
    wire_words(w, command, NULL);
    started = WAIT_UNTIL(raw_has_request(w, c), EVENTUALLY_MS);
    wire_reset(w);
    closed = WAIT_UNTIL(strstr(ask(c, "CLIENT LIST"), address) == NULL, EVENTUALLY_MS);
    writers_go_on();
    if (!started || !closed)
        fail_msg("%s: the server did not %s", command, started ? "close the client" : "receive it");
}

void raw_stop_reading(struct wire *w) {
    enum { BYTES = 1024 * 1024 };
    int small = 4096;
    char *body = calloc(1, BYTES);
    const char *const echo[] = { "ECHO", body };
    const size_t lens[] = { 4, BYTES };

    setsockopt(w->fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
    for (int i = 0; i < 12; i++)
        wire_command(w, 2, echo, lens);
    free(body);
}

void raw_expect(struct wire *w, const char *want) {
    struct value *v = wire_reply(w, 10000);
    char *got = value_text(v);

    value_free(v);
    if (strcmp(got, want) != 0)
        fail_msg("got %s, want %s", keep(got), want);
    free(got);
}
