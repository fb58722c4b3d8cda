/* Servers that speak RESP: Disque's commands, and Redis used as a queue, as lists and as streams. */
#include <stdio.h>
#include <string.h>

#include "conn.h"
#include "options.h"
#include "target.h"
#include "worker.h"

static bool is_error(const char *reply) {
    return *reply == '-';
}

static int add_auth(struct wire *out) {
    if (!options.auth)
        return 0;
    wire_command(out, (const char *[]){ "AUTH", options.auth, NULL });
    return 1;
}

/* "$len\r\n", the body itself, and the line end that begins what follows. */
static void split_at_body(struct wire *before, struct wire *after) {
    wire_printf(before, "$%lld\r\n", (long long)options.body);
    wire_text(after, "\r\n");
}

/* An ack that is answered with the number of jobs it removed. */
static int64_t read_count(const struct conn *c, const char *reply) {
    (void)c;
    return resp_integer(&reply);
}

/* --- disque: ADDJOB, GETJOB, ACKJOB -------------------------------------- */

static int disque_setup(const struct conn *c, struct wire *out) {
    (void)c;
    return add_auth(out);
}

static void add_option(struct wire *out, const char *name, int64_t value) {
    char text[24];
    snprintf(text, sizeof(text), "%lld", (long long)value);
    wire_bulk_text(out, name);
    wire_bulk_text(out, text);
}

static void disque_add(const char *queue, struct wire *before, struct wire *after) {
    wire_array(before, 4 + (options.retry >= 0 ? 2 : 0) + (options.delay > 0 ? 2 : 0));
    wire_bulk_text(before, "ADDJOB");
    wire_bulk_text(before, queue);
    split_at_body(before, after);
    wire_bulk_text(after, "0");
    if (options.retry >= 0)
        add_option(after, "RETRY", options.retry);
    if (options.delay > 0)
        add_option(after, "DELAY", options.delay);
}

static int disque_get(const struct conn *c, struct wire *out) {
    char count[24];
    bool many = c->role == ROLE_CONSUMER && options.count > 1;
    snprintf(count, sizeof(count), "%lld", (long long)options.count);
    wire_array(out, 2 + (many ? 2 : 0) + c->queue_count);
    wire_bulk_text(out, "GETJOB");
    if (many) {
        wire_bulk_text(out, "COUNT");
        wire_bulk_text(out, count);
    }
    wire_bulk_text(out, "FROM");
    for (int i = 0; i < c->queue_count; i++)
        wire_bulk_text(out, queue_name(c->queues[i]));
    return 1;
}

static int disque_ack(const struct conn *c, struct wire *out) {
    wire_array(out, 1 + c->held_count);
    wire_bulk_text(out, "ACKJOB");
    for (int i = 0; i < c->held_count; i++)
        wire_bulk(out, conn_token(c, i), c->held[i].token_len);
    return 1;
}

/* A status reply from the original, a bulk from Disque as a Redis module. */
static enum add_reply disque_read_add(const char *reply) {
    return *reply == '+' || *reply == '$' ? ADD_OK : ADD_FAILED;
}

static void disque_read_get(struct conn *c, const char *reply) {
    for (int64_t jobs = resp_array(&reply); jobs > 0; jobs--) {
        if (resp_array(&reply) != 3)
            die("GETJOB: a job that is not queue, ID and body");
        (void)resp_bulk(&reply);
        struct slice id = resp_bulk(&reply);
        worker_delivered(c, id, resp_bulk(&reply));
    }
}

const struct target target_disque = {
    .name = "disque",
    .port = 7711,
    .default_lease = 300,
    .make_setup = disque_setup,
    .make_add = disque_add,
    .make_get = disque_get,
    .format_ack = disque_ack,
    .reply_length = resp_length,
    .is_error = is_error,
    .read_add = disque_read_add,
    .read_get = disque_read_get,
    .read_ack = read_count,
};

/* --- redis-list: LPUSH, BRPOPLPUSH to a list of the consumer's own, LREM --- */

/* The list of jobs a consumer works on. */
static const char *work_list(const struct conn *c) {
    static char name[160];
    snprintf(name, sizeof(name), "%s.work.%d", queue_name(c->queues[0]), c->index);
    return name;
}

/* The jobs that a consumer had when its last connection broke go back to the queue: at most the jobs of a get, and
 * those of the next get that came during the acknowledgement. */
static int list_setup(const struct conn *c, struct wire *out) {
    int replies = add_auth(out);
    int moves = c->role == ROLE_CONSUMER ? 2 * (int)options.count : 0;
    for (int i = 0; i < moves; i++)
        wire_command(out, (const char *[]){ "RPOPLPUSH", work_list(c), queue_name(c->queues[0]), NULL });
    return replies + moves;
}

static void list_add(const char *queue, struct wire *before, struct wire *after) {
    wire_array(before, 3);
    wire_bulk_text(before, "LPUSH");
    wire_bulk_text(before, queue);
    split_at_body(before, after);
}

/* Redis has no blocking pop of several elements. The first pop blocks, and further pops in the same pipeline take the
 * other elements. */
static int list_get(const struct conn *c, struct wire *out) {
    const char *queue = queue_name(c->queues[0]);
    if (c->role == ROLE_IDLE) {
        wire_command(out, (const char *[]){ "BRPOP", queue, "0", NULL });
        return 1;
    }
    wire_command(out, (const char *[]){ "BRPOPLPUSH", queue, work_list(c), "0", NULL });
    for (int64_t i = 1; i < options.count; i++)
        wire_command(out, (const char *[]){ "RPOPLPUSH", queue, work_list(c), NULL });
    return (int)options.count;
}

static int list_ack(const struct conn *c, struct wire *out) {
    const char *list = work_list(c);
    for (int i = 0; i < c->held_count; i++) {
        wire_array(out, 4);
        wire_bulk_text(out, "LREM");
        wire_bulk_text(out, list);
        wire_bulk_text(out, "1");
        wire_bulk(out, conn_token(c, i), c->held[i].token_len);
    }
    return c->held_count;
}

static enum add_reply list_read_add(const char *reply) {
    return *reply == ':' ? ADD_OK : ADD_FAILED;
}

static void list_read_get(struct conn *c, const char *reply) {
    if (*reply == '*')
        return;
    struct slice body = resp_bulk(&reply);
    if (body.ptr)
        worker_delivered(c, body, body);
}

const struct target target_redis_list = {
    .name = "redis-list",
    .port = 6379,
    .one_queue_get = true,
    .releases_on_close = true,
    .make_setup = list_setup,
    .make_add = list_add,
    .make_get = list_get,
    .format_ack = list_ack,
    .reply_length = resp_length,
    .is_error = is_error,
    .read_add = list_read_add,
    .read_get = list_read_get,
    .read_ack = read_count,
};

/* --- redis-stream: XADD, XREADGROUP, XACK and XDEL ------------------------- */

#define GROUP "load"

/* The jobs that a consumer had when its last connection broke are added again. The group gives an entry to another
 * consumer only by its ID. */
static const char stream_return[] =
    "for _, e in ipairs(redis.call('XPENDING', KEYS[1], ARGV[1], '-', '+', 100000, ARGV[2])) do "
    "  local found = redis.call('XRANGE', KEYS[1], e[1], e[1]) "
    "  if found[1] then redis.call('XADD', KEYS[1], '*', unpack(found[1][2])) end "
    "  redis.call('XACK', KEYS[1], ARGV[1], e[1]) "
    "  redis.call('XDEL', KEYS[1], e[1]) "
    "end return 1";

static const char *stream_consumer(const struct conn *c) {
    static char name[24];
    snprintf(name, sizeof(name), "%s%d", c->role == ROLE_IDLE ? "idle" : "c", c->index);
    return name;
}

static int stream_setup(const struct conn *c, struct wire *out) {
    int replies = add_auth(out);
    if (c->role == ROLE_PRODUCER)
        return replies;
    const char *queue = queue_name(c->queues[0]);
    wire_command(out, (const char *[]){ "XGROUP", "CREATE", queue, GROUP, "0", "MKSTREAM", NULL });
    wire_command(out, (const char *[]){ "EVAL", stream_return, "1", queue, GROUP, stream_consumer(c), NULL });
    return replies + 2;
}

static void stream_add(const char *queue, struct wire *before, struct wire *after) {
    wire_array(before, 5);
    wire_bulk_text(before, "XADD");
    wire_bulk_text(before, queue);
    wire_bulk_text(before, "*");
    wire_bulk_text(before, "job");
    split_at_body(before, after);
}

/* COUNT is per stream. It is the number of jobs only with a single stream. */
static int stream_get(const struct conn *c, struct wire *out) {
    char count[24];
    snprintf(count, sizeof(count), "%lld", (long long)options.count);
    wire_command(out, (const char *[]){ "XREADGROUP", "GROUP", GROUP, stream_consumer(c), "COUNT", count,
                                        "BLOCK", "0", "STREAMS", queue_name(c->queues[0]), ">", NULL });
    return 1;
}

static void stream_command(const struct conn *c, struct wire *out, const char *const *words) {
    int count = 0;
    while (words[count])
        count++;
    wire_array(out, count + c->held_count);
    for (int i = 0; i < count; i++)
        wire_bulk_text(out, words[i]);
    for (int i = 0; i < c->held_count; i++)
        wire_bulk(out, conn_token(c, i), c->held[i].token_len);
}

/* The group forgets the entries, then the stream does: both, or it grows. */
static int stream_ack(const struct conn *c, struct wire *out) {
    const char *queue = queue_name(c->queues[0]);
    stream_command(c, out, (const char *[]){ "XACK", queue, GROUP, NULL });
    stream_command(c, out, (const char *[]){ "XDEL", queue, NULL });
    return 2;
}

static enum add_reply stream_read_add(const char *reply) {
    return *reply == '$' ? ADD_OK : ADD_FAILED;
}

static void stream_read_entry(struct conn *c, const char **reply) {
    if (resp_array(reply) != 2)
        die("XREADGROUP: an entry that is not ID and fields");
    struct slice id = resp_bulk(reply);
    if (resp_array(reply) != 2)
        die("XREADGROUP: an entry with other fields than ours");
    (void)resp_bulk(reply);
    worker_delivered(c, id, resp_bulk(reply));
}

static void stream_read_get(struct conn *c, const char *reply) {
    for (int64_t streams = resp_array(&reply); streams > 0; streams--) {
        (void)resp_array(&reply);
        (void)resp_bulk(&reply);
        for (int64_t entries = resp_array(&reply); entries > 0; entries--)
            stream_read_entry(c, &reply);
    }
}

/* Two replies come: XACK's counts, XDEL's repeats it. */
static int64_t stream_read_ack(const struct conn *c, const char *reply) {
    return c->ack_due == 2 ? resp_integer(&reply) : 0;
}

const struct target target_redis_stream = {
    .name = "redis-stream",
    .port = 6379,
    .one_queue_get = true,
    .releases_on_close = true,
    .make_setup = stream_setup,
    .make_add = stream_add,
    .make_get = stream_get,
    .format_ack = stream_ack,
    .reply_length = resp_length,
    .is_error = is_error,
    .read_add = stream_read_add,
    .read_get = stream_read_get,
    .read_ack = stream_read_ack,
};
