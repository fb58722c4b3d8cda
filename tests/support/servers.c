/* Several servers on one database. */
#include "servers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct server two, three;
struct server *const group_size[SERVERS] = { &server, &two, &three };
redisContext *at[SERVERS];

static void bring_up(struct server *s) {
    static const char *const options[] = { "--enable-debug-command", "yes", NULL };

    if (server_running(s))
        return;
    if (s->port != 0)
        server_resume(s);
    else
        server_start(s, server.database, options);
}

int servers_setup(void **state) {
    (void)state;
    if (!pg.pid)
        postgres_resume(&pg);
    for (int i = 0; i < SERVERS; i++) {
        bring_up(group_size[i]);
        at[i] = client_open_on(group_size[i]);
    }
    for (int i = 0; i < SERVERS; i++)
        if (!WAIT_UNTIL(hello_count(at[i]) == SERVERS, EVENTUALLY_MS))
            return -1;
    return 0;
}

int servers_teardown(void **state) {
    (void)state;
    for (int i = 0; i < SERVERS; i++) {
        if (at[i] != NULL)
            redisFree(at[i]);
        at[i] = NULL;
    }
    return 0;
}

/* ---- the nodes ---- */

static redisReply *hello(redisContext *c) {
    redisReply *r = redisCommand(c, "HELLO");

    if (!r || r->type != REDIS_REPLY_ARRAY || r->elements < 3)
        fail_msg("HELLO: no list of nodes");
    return r;
}

/* Its format and its own node stand before the nodes. */
size_t hello_count(redisContext *c) {
    redisReply *r = hello(c);
    size_t count = r->elements - 2;

    freeReplyObject(r);
    return count;
}

const char *hello_priority(redisContext *c, const char *id) {
    redisReply *r = hello(c);
    const char *priority = "none";

    for (size_t i = 2; i < r->elements; i++)
        if (strcmp(r->element[i]->element[0]->str, id) == 0)
            priority = text_of("%s", r->element[i]->element[3]->str);
    freeReplyObject(r);
    return priority;
}

const char *node_id(redisContext *c) {
    const char *quoted = ask(c, "CLUSTER MYID");

    assert_int_equal(strlen(quoted), 42);
    return forever(text_of("%.40s", quoted + 1));
}

const char *node_line(redisContext *c, const char *id) {
    redisReply *r = redisCommand(c, "CLUSTER NODES");
    const char *found = r && r->type == REDIS_REPLY_STRING ? strstr(r->str, id) : NULL;
    const char *line = found ? text_of("%.*s", (int)strcspn(found, "\r\n"), found) : "";

    freeReplyObject(r);
    return line;
}

/* ---- jobs ---- */

void wait_at(int n, struct wire *w, const char *queue) {
    raw_open_on(w, group_size[n]);
    wire_words(w, "GETJOB", "FROM", queue, NULL);
    EVENTUALLY(wire_pending(w) > 0 || raw_waits(w, at[n]));
}

void expect_job_at(int n, const char *queue, const char *id) {
    const char *got = ask(at[n], "GETJOB TIMEOUT %d FROM %s", (int)patience(EVENTUALLY_MS), queue);

    if (strstr(got, id) == NULL)
        fail_msg("server %d, %s: got %s, want %s", n, queue, got, id);
}

/* ---- counters ---- */

static const char *figures(redisContext *c, const char *queue) {
    static const char *const fields[] = { "len",     "jobs-in", "jobs-out", "pause",
                                          "delayed", "active",  "waiting" };
    const char *text = "";

    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
        text = text_of("%s %s=%s", text, fields[i], queue_field(c, queue, fields[i]));
    return text;
}

bool all_agree(const char *queue) {
    const char *first = figures(at[0], queue);

    for (int i = 1; i < SERVERS; i++)
        if (strcmp(figures(at[i], queue), first) != 0)
            return false;
    return true;
}

bool all_have(const char *queue, long long len) {
    for (int i = 0; i < SERVERS; i++)
        if (number(at[i], "QLEN %s", queue) != len)
            return false;
    return true;
}

long long jobs_in_database(const char *queue) {
    return postgres_number(server.database,
                           text_of("select count(*) from pgdisque.job as j join pgdisque.queue as q "
                                   "on q.id = j.queue_id where q.name = '%s'",
                                   queue));
}
