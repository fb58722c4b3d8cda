/* Streams of a Redis: moves the entries that a consumer group has not acknowledged. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "tools/import_shapes.h"
#include "tools/import_stream.h"
#include "tools/redis_reply.h"

/* The name of the consumer that reads new entries. The script deletes it at its end. */
#define CONSUMER "pgdisque-import"

#define STREAM_PAGE 1000
/* The count of entries stops at this number. */
#define COUNT_MOST 1000000000

/*
 * Takes the entries that consumers have held longer than the idle time. If there are none, takes new entries. An entry
 * in the batch is: the number of its deliveries, the number of its strings, the strings. The script deletes an entry
 * from the stream if the stream has no other group. It is a script, so that no consumer can claim a pending entry
 * between the check and the move.
 */
static const char take_script[] =
    "local stream, side, mark = KEYS[1], KEYS[2], KEYS[3]\n"
    "local group, me, idle, count, id = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]\n"
    "if redis.call('EXISTS', mark) == 1 then return 1 end\n"
    "local entries, tried = {}, {}\n"
    "for _, p in ipairs(redis.call('XPENDING', stream, group, 'IDLE', idle, '-', '+', count)) do\n"
    "  entries[#entries + 1] = redis.call('XRANGE', stream, p[1], p[1])[1] or {p[1], false}\n"
    "  tried[#entries] = p[4]\n"
    "end\n"
    "if #entries == 0 then\n"
    "  local new = redis.call('XREADGROUP', 'GROUP', group, me, 'COUNT', count, 'STREAMS', stream, '>')\n"
    "  entries = new and new[1][2] or {}\n"
    "end\n"
    "local alone = #redis.call('XINFO', 'GROUPS', stream) == 1\n"
    "for i, e in ipairs(entries) do\n"
    "  if e[2] then\n"
    "    redis.call('RPUSH', side, tried[i] or 0, #e[2])\n"
    "    for _, text in ipairs(e[2]) do redis.call('RPUSH', side, text) end\n"
    "    redis.call('SET', mark, id)\n"
    "  end\n"
    "  redis.call('XACK', stream, group, e[1])\n"
    "  if alone then redis.call('XDEL', stream, e[1]) end\n"
    "end\n"
    "redis.call('XGROUP', 'DELCONSUMER', stream, group, me)\n"
    "return #entries > 0 and 1 or 0\n";

static bool stream_take(struct import *im, const struct import_source *s, const struct import_keys *k) {
    char *mark = import_new_mark(im);
    int64_t some;

    redis_pipe_put(&im->from, "EVAL %s 3 %s %s %s %s %s %lld %lld %s", take_script, s->key, k->side, k->mark,
                   im->stream.group, CONSUMER, (long long)im->stream.idle_s * 1000, (long long)im->batch,
                   mark);
    some = import_take_length(im, s, "EVAL");
    free(mark);
    return some > 0;
}

/* ---- count ---- */

static int64_t count_pending(struct import *im, const struct import_source *s) {
    redisReply *r;
    int64_t count;

    redis_pipe_put(&im->from, "XPENDING %s %s IDLE %lld - + %d", s->key, im->stream.group,
                   (long long)im->stream.idle_s * 1000, INT32_MAX);
    r = redis_pipe_take(&im->from, "XPENDING", "[a*]");
    if (r == NULL) {
        snprintf(im->err, sizeof im->err, "Redis: %s: %s", s->key, im->from.err);
        return -1;
    }
    count = (int64_t)r->elements;
    freeReplyObject(r);
    return count;
}

/* Counts the entries behind *id, at most a page, and sets *id to the last of them. -1 with an error in im->from. */
static int64_t count_page(struct import *im, const struct import_source *s, char **id) {
    redisReply *page;
    int64_t count;

    redis_pipe_put(&im->from, "XRANGE %s (%s + COUNT %d", s->key, *id, STREAM_PAGE);
    page = redis_pipe_take(&im->from, "XRANGE", "[[sa]*]");
    if (page == NULL)
        return -1;
    count = (int64_t)page->elements;
    if (count > 0) {
        free(*id);
        *id = xstrdup(page->element[count - 1]->element[0]->str);
    }
    freeReplyObject(page);
    return count;
}

/* Counts by reading all entries behind id. Redis before 7 has no lag, and a newer Redis has none after deleted
 * entries. */
static int64_t count_behind(struct import *im, const struct import_source *s, const char *id) {
    char *from = xstrdup(id);
    int64_t count = 0, here;

    while ((here = count_page(im, s, &from)) > 0 && count < COUNT_MOST)
        count += here;
    free(from);
    return here < 0 ? -1 : count;
}

static const redisReply *find_group(const struct import *im, const redisReply *groups) {
    for (size_t i = 0; i < groups->elements; i++) {
        const char *name = redis_reply_text(groups->element[i], "name");

        if (name != NULL && strcmp(name, im->stream.group) == 0)
            return groups->element[i];
    }
    return NULL;
}

static int64_t count_of_group(struct import *im, const struct import_source *s, const redisReply *group) {
    const redisReply *lag = redis_reply_field(group, "lag");
    const char *last = redis_reply_text(group, "last-delivered-id");

    if (lag != NULL && redis_reply_fits(lag, "i") && lag->integer >= 0 && lag->integer < COUNT_MOST)
        return lag->integer;
    return last == NULL ? 0 : count_behind(im, s, last);
}

static int64_t count_new(struct import *im, const struct import_source *s) {
    const redisReply *group;
    redisReply *groups;
    int64_t count = -1;

    redis_pipe_put(&im->from, "XINFO %s %s", "GROUPS", s->key);
    groups = redis_pipe_take(&im->from, "XINFO", "[[(sa)*]*]");
    if (groups != NULL) {
        group = find_group(im, groups);
        count = group == NULL ? 0 : count_of_group(im, s, group);
        freeReplyObject(groups);
    }
    if (count < 0)
        snprintf(im->err, sizeof im->err, "Redis: %s: %s", s->key, im->from.err);
    return count;
}

static int64_t stream_length(struct import *im, const struct import_source *s) {
    int64_t pending = count_pending(im, s), new = pending < 0 ? -1 : count_new(im, s);

    return new < 0 ? -1 : pending + new;
}

/* ---- entries ---- */

static size_t stream_unpack(redisReply **strings, size_t count, struct import_element *e) {
    int64_t fields;

    if (count < 2 || !parse_int_strict(import_slice(strings[0]), &e->tried) || e->tried < 0 ||
        !parse_int_strict(import_slice(strings[1]), &fields) || fields < 2 || fields % 2 != 0 ||
        (size_t)fields > count - 2)
        return 0;
    e->fields = strings + 2;
    e->strings = (size_t)fields;
    return 2 + e->strings;
}

static void stream_refuse(struct import *im, const struct import_keys *k, const struct import_element *e) {
    struct slice *words = xcalloc(e->strings + 3, sizeof *words);

    words[0] = SLICE("XADD");
    words[1] = slice_str(k->refused);
    words[2] = SLICE("*");
    for (size_t i = 0; i < e->strings; i++)
        words[i + 3] = import_slice(e->fields[i]);
    redis_pipe_put_slices(&im->from, words, e->strings + 3);
    free(words);
}

static const struct import_shape stream_shape = { stream_length, stream_take, stream_unpack, stream_refuse };

static bool stream_find(struct import *im, char **names, size_t count, struct import_source **out,
                        size_t *found) {
    (void)im;
    for (size_t i = 0; i < count; i++) {
        struct import_source *s = import_source_add(out, found);

        s->key = xstrdup(names[i]);
        s->queue = xstrdup(names[i]);
        s->shape = &stream_shape;
    }
    return true;
}

static bool import_stream_is_name(const struct import_element *e, size_t i, struct slice name) {
    return slice_equal(import_slice(e->fields[i]), name);
}

static bool one_field(const struct import_element *e, struct slice name, struct slice *body) {
    for (size_t i = 0; i + 1 < e->strings; i += 2) {
        if (import_stream_is_name(e, i, name)) {
            *body = import_slice(e->fields[i + 1]);
            return true;
        }
    }
    return false;
}

/* Makes a JSON object of all fields. False if two fields have the same name, because JSON readers keep only one. */
static bool all_fields(const struct import_element *e, struct import_task *task) {
    json_begin(&task->made);
    for (size_t i = 0; i + 1 < e->strings; i += 2) {
        struct slice name = import_slice(e->fields[i]);

        for (size_t j = 0; j < i; j += 2) {
            if (import_stream_is_name(e, j, name))
                return false;
        }
        if (!json_add_text(&task->made, name, import_slice(e->fields[i + 1])))
            return false;
    }
    json_end(&task->made);
    task->body = (struct slice){ buf_ptr(&task->made), buf_len(&task->made) };
    return true;
}

static bool stream_read(const struct import *im, const struct import_element *e, struct import_task *task) {
    int64_t attempts = im->stream.attempts;

    if (attempts > 0)
        task->attempts = e->tried < attempts ? attempts - e->tried : 1;
    if (im->stream.field != NULL)
        return one_field(e, slice_str(im->stream.field), &task->body);
    if (e->strings > 2)
        return all_fields(e, task);
    task->body = import_slice(e->fields[1]);
    return true;
}

const struct import_kind import_streams = { "stream", true, stream_find, stream_read, NULL };
