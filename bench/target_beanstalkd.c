/* beanstalkd's text protocol: put, reserve, delete. */
#include <stdio.h>
#include <string.h>

#include "conn.h"
#include "options.h"
#include "target.h"
#include "worker.h"

enum { DEFAULT_TTR = 300 };

static bool starts(const char *reply, const char *word) {
    return strncmp(reply, word, strlen(word)) == 0;
}

/* Every other reply is an error, or the reply to another command. */
static bool is_error(const char *reply) {
    static const char *const good[] = { "INSERTED",  "RESERVED",      "DELETED", "NOT_FOUND",
                                        "TIMED_OUT", "DEADLINE_SOON", "USING",   "WATCHING" };
    for (size_t i = 0; i < LENGTH(good); i++)
        if (starts(reply, good[i]))
            return false;
    return true;
}

static int setup(const struct conn *c, struct wire *out) {
    if (c->role == ROLE_PRODUCER)
        return 0;
    for (int i = 0; i < c->queue_count; i++)
        wire_printf(out, "watch %s\r\n", queue_name(c->queues[i]));
    wire_text(out, "ignore default\r\n");
    return c->queue_count + 1;
}

/* The tube is named before each put, since jobs go round the queues. */
static void make_add(const char *queue, struct wire *before, struct wire *after) {
    long long ttr = options.retry > 0 ? (long long)options.retry : DEFAULT_TTR;
    wire_printf(before, "use %s\r\nput 0 0 %lld %lld\r\n", queue, ttr, (long long)options.body);
    wire_text(after, "\r\n");
}

/* Only the first reserve waits. The others take the jobs that are ready. */
static int make_get(const struct conn *c, struct wire *out) {
    int count = c->role == ROLE_CONSUMER ? (int)options.count : 1;
    wire_text(out, "reserve\r\n");
    for (int i = 1; i < count; i++)
        wire_text(out, "reserve-with-timeout 0\r\n");
    return count;
}

static int format_ack(const struct conn *c, struct wire *out) {
    for (int i = 0; i < c->held_count; i++) {
        wire_text(out, "delete ");
        wire_append(out, conn_token(c, i), c->held[i].token_len);
        wire_text(out, "\r\n");
    }
    return c->held_count;
}

/* "RESERVED <id> <bytes>": the ID, and the bytes as the result. */
static size_t reserved(const char *line, struct slice *id) {
    size_t size = 0;
    const char *p = line + strlen("RESERVED ");
    id->ptr = p;
    while (*p >= '0' && *p <= '9')
        p++;
    id->len = (size_t)(p - id->ptr);
    for (p++; *p >= '0' && *p <= '9'; p++)
        size = size * 10 + (size_t)(*p - '0');
    return size;
}

static size_t reply_length(struct wire *in) {
    struct slice id;
    if (wire_len(in) < in->need)
        return 0;
    const char *line = wire_ptr(in);
    const char *end = memchr(line, '\n', wire_len(in));
    if (!end)
        return 0;
    size_t len = (size_t)(end - line) + 1;
    if (*line == 'R' && starts(line, "RESERVED "))
        len += reserved(line, &id) + 2;
    in->need = len > wire_len(in) ? len : 0;
    return in->need ? 0 : len;
}

static enum add_reply read_add(const char *reply) {
    if (starts(reply, "INSERTED"))
        return ADD_OK;
    return starts(reply, "USING") ? ADD_NOT_A_REPLY : ADD_FAILED;
}

static void read_get(struct conn *c, const char *reply) {
    struct slice id;
    if (!starts(reply, "RESERVED "))
        return;
    size_t size = reserved(reply, &id);
    struct slice body = { reply + line_length(reply) + 2, size };
    worker_delivered(c, id, body);
}

static int64_t read_ack(const struct conn *c, const char *reply) {
    (void)c;
    return starts(reply, "DELETED");
}

const struct target target_beanstalkd = {
    .name = "beanstalkd",
    .port = 11300,
    .releases_on_close = true,
    .default_lease = DEFAULT_TTR,
    .make_setup = setup,
    .make_add = make_add,
    .make_get = make_get,
    .format_ack = format_ack,
    .reply_length = reply_length,
    .is_error = is_error,
    .read_add = read_add,
    .read_get = read_get,
    .read_ack = read_ack,
};
