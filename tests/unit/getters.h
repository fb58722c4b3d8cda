#ifndef GETTERS_H
#define GETTERS_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "base/clock.h"
#include "batch/batch.h"
#include "net/worker.h"
#include "notes.h"
#include "queue/lease.h"
#include "queue/waiters.h"

/* Clients that ask for jobs, without sockets: the functions of client.h that waiters.c, delivery.c and take.c call, for
 * the single file of a test program that includes this. A client has one GETJOB at a time. Its reply goes to the log:
 * "1:nil 2:q=body,r=body 3:-UNBLOCKED". */
#define GETTERS 64

struct getter {
    struct client client;
    struct taker *taker; /* while it is under way */
    bool killed;
    int ends; /* of all its requests */
};

static struct getter getters[GETTERS]; /* from 1 */
static struct list getter_list;
static struct buf getter_log;

static inline struct getter *getter_of(struct client *c) {
    return CONTAINER_OF(c, struct getter, client);
}

static inline int getter_number(const struct getter *g) {
    return (int)(g - getters);
}

/* ---- client.h ---- */

static inline void getter_returns(int number) {
    getters[number].killed = false;
    getters[number].client.state = CLIENT_OPEN;
}

/* Its socket is closed, which it is not asked for before the turn's end. */
static inline void getter_hangs_up(int number) {
    getters[number].killed = true;
    getters[number].client.state = CLIENT_DEAD;
}

struct list *client_list(enum client_state state) {
    assert_int_equal(state, CLIENT_OPEN);
    return &getter_list;
}

/* ---- replies ---- */

static inline const char *getter_line(const char *at, char *text, size_t size) {
    const char *end = strstr(at, "\r\n");

    assert_non_null(end);
    snprintf(text, size, "%.*s", (int)(end - at), at);
    return end + 2;
}

/* A bulk, or the text of a line. An ID is left out. */
static inline const char *getter_value(const char *at) {
    char line[128];
    const char *next = getter_line(at, line, sizeof line);
    int len = atoi(line + 1);

    if (line[0] == ':')
        buf_printf(&getter_log, "/%s", line + 1);
    if (line[0] != '$')
        return next;
    if (len != JOBID_LEN)
        buf_printf(&getter_log, "%.*s", len, next);
    else
        buf_append_str(&getter_log, "=");
    return next + len + 2;
}

static inline void getter_note_jobs(const char *at, int count) {
    char line[128];

    for (int i = 0; i < count; i++) {
        int fields;

        at = getter_line(at, line, sizeof line);
        fields = atoi(line + 1);
        assert_true(fields == 3 || fields == 7);
        buf_append_str(&getter_log, i == 0 ? "" : ",");
        for (int k = 0; k < fields; k++)
            at = getter_value(at);
    }
    assert_int_equal(*at, '\0');
}

static inline void getter_note_reply(int number, const struct buf *reply) {
    char *text = slice_dup((struct slice){ buf_ptr(reply), buf_len(reply) });
    char line[128];
    const char *rest;

    if (buf_len(reply) > 0) {
        rest = getter_line(text, line, sizeof line);
        buf_printf(&getter_log, " %d:", number);
        if (line[0] == '-')
            buf_printf(&getter_log, "%.*s", (int)strcspn(line, " "), line);
        else if (strcmp(line, "*-1") == 0)
            buf_append_str(&getter_log, "nil");
        else
            getter_note_jobs(rest, atoi(line + 1));
    }
    free(text);
}

static inline void getter_on_end(struct req *r) {
    struct getter *g = &getters[*(int *)r->argv[0].ptr];

    assert_true(r->done);
    g->ends++;
    g->taker = NULL;
    if (r->client != NULL && !g->killed)
        getter_note_reply(getter_number(g), &r->own);
    req_free(r);
}

void client_push(struct client *c, const void *bytes, size_t len) {
    (void)c;
    (void)bytes;
    (void)len;
}

void client_push_shared(struct client *c, struct message *m) {
    (void)c;
    (void)m;
}

void client_detach(struct req *r) {
    getter_note_reply(getter_number(getter_of(r->client)), &r->own);
    buf_reset(&r->own, 0);
    r->client = NULL;
}

/* The replies since the last call. */
static inline const char *getter_replies(void) {
    static char text[4096];

    return notes_take(&getter_log, text, sizeof text);
}

#define assert_replies(expected) assert_string_equal(getter_replies(), expected)

/* ---- life ---- */

static inline void getters_start(void) {
    list_init(&getter_list);
    memset(getters, 0, sizeof getters);
    for (int i = 1; i < GETTERS; i++) {
        getters[i].client.id = (uint64_t)i;
        list_init(&getters[i].client.in_state);
        list_push_back(&getter_list, &getters[i].client.in_state);
    }
    queue_init();
    waiters_init();
    buf_reset(&getter_log, SIZE_MAX);
    clock_turn();
}

/* Everything that was begun must have ended. */
static inline void getters_stop(void) {
    for (int i = 1; i < GETTERS; i++) {
        assert_null(getters[i].taker);
        free(getters[i].client.unsent);
        worker_leave(&getters[i].client);
    }
    assert_int_equal(waiters_blocked(), 0);
    assert_true(timers_next() == INT64_MAX);
    QUEUE_EACH(q) {
        assert_true(list_empty(&q->work->waiting.list));
        assert_int_equal(q->users, 0);
        queue_drop(q);
    }
    buf_free(&getter_log);
}

/* Set-up and tear-down of a test whose operations go through the batch. */
static inline int getters_setup(void **state) {
    (void)state;
    getters_start();
    return 0;
}

static inline int getters_teardown(void **state) {
    (void)state;
    assert_true(batch_idle());
    getters_stop();
    lease_clear();
    return 0;
}

/* Whose turns the next requests take. */
static struct fair_user *getters_user;

/* names: of queues, separated by blanks; queue "q3" has the id 3. */
static inline struct taker *new_get(int number, const char *names) {
    struct slice argv = { (const char *)&number, sizeof number };
    struct req *r = req_new(1, &argv, NULL, getter_on_end);
    struct taker_source sources[512] = { 0 };
    size_t count = 0;

    assert_null(getters[number].taker);
    r->client = &getters[number].client;
    r->task.turn.user = getters_user;
    for (; *names != '\0'; names += strcspn(names, " ") + (names[strcspn(names, " ")] == ' ')) {
        struct queue *q = queue_get((struct slice){ names, strcspn(names, " ") });

        if (q->id == 0)
            queue_set_id(q, atoi(names + 1));
        sources[count++].q = q;
    }
    getters[number].taker = taker_new(r, sources, count);
    getters[number].taker->count = 1;
    return getters[number].taker;
}

static inline struct queue *queue_named(const char *name) {
    struct queue *q = queue_get(slice_str(name));

    if (q->id == 0)
        queue_set_id(q, atoi(name + 1));
    return q;
}

/* The clients that wait for the queue: "3 1 2". */
static inline const char *waiting_for(const char *name) {
    static char text[4 * GETTERS];
    size_t len = 0;

    text[0] = '\0';
    LIST_EACH(node, &queue_named(name)->work->waiting.list) {
        struct taker *g = LIST_ENTRY(node, struct wait, node)->taker;

        len += (size_t)snprintf(text + len, sizeof text - len, "%s%d", len > 0 ? " " : "",
                                getter_number(getter_of(g->client)));
    }
    return text;
}

#define assert_waiting(name, expected) assert_string_equal(waiting_for(name), expected)

#endif
