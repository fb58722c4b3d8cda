/* Lists and sorted sets of a Redis: how their elements are moved to a batch. */
#include "tools/import_shapes.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include <sodium.h>

#define ID_BYTES (IMPORT_ID_LEN / 2)

struct slice import_slice(const redisReply *r) {
    return (struct slice){ r->str, r->len };
}

char *import_new_mark(const struct import *im) {
    unsigned char random[ID_BYTES];
    char id[IMPORT_ID_LEN + 1];

    randombytes_buf(random, sizeof random);
    hex_encode(random, sizeof random, id);
    return xasprintf("%s%s", id, im->prefix);
}

int64_t import_take_length(struct import *im, const struct import_source *s, const char *command) {
    int64_t length = redis_pipe_take_size(&im->from, command);

    if (length < 0)
        snprintf(im->err, sizeof im->err, "Redis: %s: %s", s->key, im->from.err);
    return length;
}

/* Is there a mark already? WATCH makes EXEC fail if another import sets the mark first. */
static bool marked(struct import *im, const struct import_keys *k) {
    redis_pipe_put(&im->from, "WATCH %s", k->mark);
    redis_pipe_put(&im->from, "EXISTS %s", k->mark);
    redis_pipe_skip(&im->from, 1);
    return redis_pipe_take_size(&im->from, "EXISTS") != 0;
}

static void import_shapes_begin(struct import *im, const struct import_keys *k) {
    char *mark = import_new_mark(im);

    redis_pipe_put(&im->from, "MULTI");
    redis_pipe_put(&im->from, "SET %s %s", k->mark, mark);
    free(mark);
}

/* EXEC replies nil if another import was faster. The caller reads the mark again, so the reply is not checked. */
static void commit(struct import *im, size_t queued) {
    redis_pipe_put(&im->from, "EXEC");
    redis_pipe_skip(&im->from, queued + 3);
}

static size_t unpack_one(redisReply **strings, size_t count, struct import_element *e) {
    (void)count;
    *e = (struct import_element){ .text = import_slice(strings[0]) };
    return 1;
}

static void refuse_text(struct import *im, const struct import_keys *k, const struct import_element *e) {
    redis_pipe_put(&im->from, "RPUSH %s %b", k->refused, e->text.ptr, e->text.len);
}

/* ---- lists ---- */

static int64_t list_length(struct import *im, const struct import_source *s) {
    redis_pipe_put(&im->from, "LLEN %s", s->key);
    return import_take_length(im, s, "LLEN");
}

static bool list_take(struct import *im, const struct import_source *s, const struct import_keys *k) {
    int64_t length;
    size_t count;

    if (marked(im, k))
        return true;
    length = list_length(im, s);
    if (length <= 0)
        return false;
    count = (size_t)(length < im->batch ? length : im->batch);
    import_shapes_begin(im, k);
    for (size_t i = 0; i < count; i++)
        redis_pipe_put(&im->from, "LMOVE %s %s %s RIGHT", s->key, k->side, s->left ? "LEFT" : "RIGHT");
    commit(im, count);
    return true;
}

const struct import_shape import_list = { list_length, list_take, unpack_one, refuse_text };

/* ---- lists of tasks that workers hold ---- */

/* A worker takes a task and its lock in two steps. This is the time between the two checks for a lock. */
#define HELD_PAUSE_US 1000000

/* Takes only the elements that are still in the list and still have no lock. */
static const char held_script[] =
    "local list, side, mark, id, locks = KEYS[1], KEYS[2], KEYS[3], ARGV[1], ARGV[2]\n"
    "if redis.call('EXISTS', mark) == 1 then return 1 end\n"
    "for i = 3, #ARGV do\n"
    "  if locks == '' or redis.call('EXISTS', locks .. ARGV[i] .. ':lock') == 0 then\n"
    "    if redis.call('LREM', list, 1, ARGV[i]) == 1 then\n"
    "      redis.call('RPUSH', side, ARGV[i])\n"
    "      redis.call('SET', mark, id)\n"
    "    end\n"
    "  end\n"
    "end\n"
    "return 1\n";

/* Finds the elements without a lock, the next one first, and returns their number. *list holds their bytes. The caller
 * frees *list and *out. */
static size_t not_held(struct import *im, const struct import_source *s, redisReply **list,
                       struct slice **out) {
    size_t count = 0;

    redis_pipe_put(&im->from, "LRANGE %s 0 -1", s->key);
    *list = redis_pipe_take(&im->from, "LRANGE", "[s*]");
    *out = NULL;
    if (*list == NULL)
        return 0;
    *out = xcalloc((*list)->elements + 1, sizeof **out);
    for (size_t i = (*list)->elements; i-- > 0;) {
        struct slice id = import_slice((*list)->element[i]);

        if (s->locks != NULL) {
            redis_pipe_put(&im->from, "EXISTS %s%b:lock", s->locks, id.ptr, id.len);
            if (import_take_length(im, s, "EXISTS") != 0)
                continue;
        }
        (*out)[count++] = id;
    }
    return count;
}

static int64_t held_length(struct import *im, const struct import_source *s) {
    redisReply *list;
    struct slice *ids;
    size_t count = not_held(im, s, &list, &ids);

    free(ids);
    if (list != NULL)
        freeReplyObject(list);
    if (im->from.err[0] == '\0')
        return (int64_t)count;
    snprintf(im->err, sizeof im->err, "%s: %s", s->key, im->from.err);
    return -1;
}

static void take_ids(struct import *im, const struct import_source *s, const struct import_keys *k,
                     const struct slice *ids, size_t count) {
    char *mark = import_new_mark(im);
    struct slice *words = xcalloc(count + 8, sizeof *words);

    words[0] = SLICE("EVAL");
    words[1] = slice_str(held_script);
    words[2] = SLICE("3");
    words[3] = slice_str(s->key);
    words[4] = slice_str(k->side);
    words[5] = slice_str(k->mark);
    words[6] = slice_str(mark);
    words[7] = slice_str(s->locks != NULL ? s->locks : "");
    for (size_t i = 0; i < count; i++)
        words[i + 8] = ids[i];
    redis_pipe_put_slices(&im->from, words, count + 8);
    redis_pipe_skip(&im->from, 1);
    free(words);
    free(mark);
}

static bool held_take(struct import *im, const struct import_source *s, const struct import_keys *k) {
    redisReply *list;
    struct slice *ids;
    size_t count = not_held(im, s, &list, &ids);

    if (count > (size_t)im->batch)
        count = (size_t)im->batch;
    if (count > 0) {
        usleep(HELD_PAUSE_US);
        take_ids(im, s, k, ids, count);
    }
    free(ids);
    if (list != NULL)
        freeReplyObject(list);
    return count > 0;
}

const struct import_shape import_held = { held_length, held_take, unpack_one, refuse_text };

/* ---- sorted sets ---- */

/* Reads an element of two strings: its score and its member. */
static size_t unpack_two(redisReply **strings, size_t count, struct import_element *e) {
    if (count < 2)
        return 0;
    *e = (struct import_element){ .text = import_slice(strings[1]), .due_s = strtod(strings[0]->str, NULL) };
    return 2;
}

/* Moves the members: RPUSH side score member ..., ZREM key member ... EXEC fails if the set has changed since WATCH. */
static void put_aside(struct import *im, const struct import_source *s, const struct import_keys *k,
                      const redisReply *members) {
    struct slice *push = xcalloc(members->elements + 2, sizeof *push);
    struct slice *rem = xcalloc(members->elements / 2 + 2, sizeof *rem);

    push[0] = SLICE("RPUSH");
    push[1] = slice_str(k->side);
    rem[0] = SLICE("ZREM");
    rem[1] = slice_str(s->key);
    for (size_t i = 0; i < members->elements; i += 2) {
        push[i + 2] = import_slice(members->element[i + 1]);
        push[i + 3] = import_slice(members->element[i]);
        rem[i / 2 + 2] = import_slice(members->element[i]);
    }
    import_shapes_begin(im, k);
    redis_pipe_put_slices(&im->from, push, members->elements + 2);
    redis_pipe_put_slices(&im->from, rem, members->elements / 2 + 2);
    commit(im, 2);
    free(push);
    free(rem);
}

/* Takes the reply of a command that reads members and scores, and moves them to the batch. False if there are none. */
static bool set_take_members(struct import *im, const struct import_source *s, const struct import_keys *k) {
    redisReply *members;
    bool some;

    redis_pipe_skip(&im->from, 1);
    members = redis_pipe_take(&im->from, "ZRANGE", "[(ss)*]");
    if (members == NULL)
        return false;
    some = members->elements > 0;
    if (some)
        put_aside(im, s, k, members);
    freeReplyObject(members);
    return some;
}

static int64_t set_length(struct import *im, const struct import_source *s) {
    redis_pipe_put(&im->from, "ZCARD %s", s->key);
    return import_take_length(im, s, "ZCARD");
}

static bool set_take(struct import *im, const struct import_source *s, const struct import_keys *k) {
    if (marked(im, k))
        return true;
    redis_pipe_put(&im->from, "WATCH %s", s->key);
    redis_pipe_put(&im->from, "ZRANGE %s 0 %lld WITHSCORES", s->key, (long long)im->batch - 1);
    return set_take_members(im, s, k);
}

/* The score is milliseconds * 4096 plus the low bits of the ID. */
static size_t unpack_ticks(redisReply **strings, size_t count, struct import_element *e) {
    size_t step = unpack_two(strings, count, e);

    e->due_s /= 1000 * 4096.0;
    return step;
}

static size_t unpack_ranked(redisReply **strings, size_t count, struct import_element *e) {
    size_t step = unpack_two(strings, count, e);

    e->due_s = 0;
    return step;
}

const struct import_shape import_ticks = { set_length, set_take, unpack_ticks, refuse_text };
const struct import_shape import_ranked = { set_length, set_take, unpack_ranked, refuse_text };
const struct import_shape import_set = { set_length, set_take, unpack_two, refuse_text };

static int64_t due_length(struct import *im, const struct import_source *s) {
    redis_pipe_put(&im->from, "ZCOUNT %s -inf %lld", s->key, (long long)time(NULL));
    return import_take_length(im, s, "ZCOUNT");
}

static bool due_take(struct import *im, const struct import_source *s, const struct import_keys *k) {
    if (marked(im, k))
        return true;
    redis_pipe_put(&im->from, "WATCH %s", s->key);
    redis_pipe_put(&im->from, "ZRANGEBYSCORE %s -inf %lld WITHSCORES LIMIT 0 %lld", s->key,
                   (long long)time(NULL), (long long)im->batch);
    return set_take_members(im, s, k);
}

const struct import_shape import_due = { due_length, due_take, unpack_two, refuse_text };
