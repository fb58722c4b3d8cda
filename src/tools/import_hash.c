/* Tasks that are hashes, with their IDs in lists and sorted sets: RQ, Bull, BullMQ. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sodium.h>

#include "base/json.h"
#include "tools/import_hash.h"
#include "tools/import_kinds.h"
#include "tools/import_shapes.h"

static struct slice import_hash_field_of(const struct import_element *e, const char *name) {
    for (size_t i = 0; i + 1 < e->strings; i += 2) {
        if (slice_equal(import_slice(e->fields[i]), slice_str(name)))
            return import_slice(e->fields[i + 1]);
    }
    return (struct slice){ NULL, 0 };
}

static int64_t import_hash_number_of(struct slice text, int64_t otherwise) {
    int64_t number;

    return text.ptr != NULL && parse_int_strict(text, &number) && number >= 0 ? number : otherwise;
}

static void body_is_made(struct import_task *task) {
    json_end(&task->made);
    task->body = (struct slice){ buf_ptr(&task->made), buf_len(&task->made) };
}

static struct import_source *add_key(const char *queue, char *key, struct import_source **out,
                                     size_t *found) {
    struct import_source *s = import_source_add(out, found);

    s->key = key;
    s->queue = xstrdup(queue);
    return s;
}

/* ---- read hashes ---- */

static void ask_for(struct import *im, const struct import_source *s, struct slice id) {
    const struct import_hashes *hashes = im->kind->hashes;
    char *key = hashes->key(im, s, id);

    redis_pipe_put(&im->from, "HGETALL %s", key);
    redis_pipe_put(&im->from, "EXISTS %s:%s", key, hashes->beside);
    free(key);
}

/* Takes the reply of HGETALL. NULL and e->odd if the key is not a hash. */
static redisReply *take_hash(struct import *im, struct import_element *e) {
    redisReply *r = redis_pipe_take_or_error(&im->from, "HGETALL", "[(ss)*]");

    e->odd = false;
    if (r == NULL || r->type != REDIS_REPLY_ERROR)
        return r;
    if (strncmp(r->str, "WRONGTYPE ", 10) == 0)
        e->odd = true;
    else
        redis_pipe_fail(&im->from, r->str);
    freeReplyObject(r);
    return NULL;
}

static redisReply *take_fields(struct import *im, struct import_element *e) {
    redisReply *fields = take_hash(im, e);

    if (fields != NULL) {
        e->fields = fields->element;
        e->strings = fields->elements;
    }
    e->gone = e->strings == 0 && !e->odd;
    e->hangs = redis_pipe_take_size(&im->from, "EXISTS") > 0;
    return fields;
}

/* RQ 2 appends the ID of the run to the ID of the job. The hash is first searched with the whole text, because an ID of
 * an older RQ may contain a colon. */
static redisReply *fetch_without_run(struct import *im, const struct import_source *s,
                                     struct import_element *e, redisReply *fields) {
    const char *colon = memrchr(e->text.ptr, ':', e->text.len);

    if (!e->gone || s->shape != &import_due || colon == NULL || im->from.err[0] != '\0')
        return fields;
    if (fields != NULL)
        freeReplyObject(fields);
    e->text.len = (size_t)(colon - e->text.ptr);
    ask_for(im, s, e->text);
    return take_fields(im, e);
}

void import_fetch(struct import *im, const struct import_source *s, struct import_element *elements,
                  size_t count, redisReply **fields) {
    for (size_t i = 0; i < count; i++)
        ask_for(im, s, elements[i].text);
    for (size_t i = 0; i < count; i++)
        fields[i] = take_fields(im, &elements[i]);
    for (size_t i = 0; i < count; i++)
        fields[i] = fetch_without_run(im, s, &elements[i], fields[i]);
}

/* ---- RQ ---- */

static char *rq_key(const struct import *im, const struct import_source *s, struct slice id) {
    (void)im;
    (void)s;
    return xasprintf("rq:job:%.*s", (int)id.len, id.ptr);
}

static size_t rq_forget(struct import *im, const struct import_source *s, const struct import_element *e) {
    (void)s;
    redis_pipe_put(&im->from, "DEL rq:job:%b", e->text.ptr, e->text.len);
    return 1;
}

static const struct import_hashes rq_hashes = { rq_key, "dependents", rq_forget };

/* The sources in the order of age: tasks of dead workers are the oldest. The score of a started task (wip) is the time
 * until which it may run. */
static void add_rq(const char *name, struct import_source **out, size_t *found) {
    if (strncmp(name, "rq:queue:", 9) == 0)
        name += 9;
    add_key(name, xasprintf("rq:wip:%s", name), out, found)->shape = &import_due;
    add_key(name, xasprintf("rq:queue:%s:intermediate", name), out, found)->shape = &import_held;
    add_key(name, xasprintf("rq:queue:%s", name), out, found)->left = true;
    add_key(name, xasprintf("rq:scheduled:%s", name), out, found)->shape = &import_set;
}

static bool find_rq(struct import *im, char **names, size_t count, struct import_source **out,
                    size_t *found) {
    for (size_t i = 0; i < count; i++)
        add_rq(names[i], out, found);
    return count > 0 || import_add_members(im, "rq:queues", add_rq, out, found);
}

static bool add_base64(struct buf *b, struct slice name, struct slice bytes) {
    size_t size = sodium_base64_encoded_len(bytes.len, sodium_base64_VARIANT_ORIGINAL);
    char *text = xmalloc(size);
    bool good;

    sodium_bin2base64(text, size, (const unsigned char *)bytes.ptr, bytes.len,
                      sodium_base64_VARIANT_ORIGINAL);
    good = json_add_text(b, name, slice_str(text));
    free(text);
    return good;
}

/* Does the field hold bytes that Python has pickled or compressed? */
static bool is_binary(struct slice name) {
    static const char *const names[] = { "data", "meta", "exc_info", "result" };

    for (size_t i = 0; i < LENGTH(names); i++) {
        if (slice_equal(name, slice_str(names[i])))
            return true;
    }
    return false;
}

static bool read_rq(const struct import *im, const struct import_element *e, struct import_task *task) {
    int64_t retries = import_hash_number_of(import_hash_field_of(e, "retries_left"), -1);

    (void)im;
    if (import_hash_field_of(e, "data").ptr == NULL)
        return false;
    json_begin(&task->made);
    if (!json_add_text(&task->made, SLICE("id"), e->text))
        return false;
    for (size_t i = 0; i + 1 < e->strings; i += 2) {
        struct slice name = import_slice(e->fields[i]), value = import_slice(e->fields[i + 1]);

        if (!(is_binary(name) ? add_base64 : json_add_text)(&task->made, name, value))
            return false;
    }
    body_is_made(task);
    task->attempts = retries >= 0 && retries < 1000000 ? retries + 1 : 0;
    return true;
}

const struct import_kind import_rq = { "rq", false, find_rq, read_rq, &rq_hashes };

/* ---- Bull and BullMQ ---- */

#define PRIORITY_MAX 255

static char *bull_text(const struct import *im, const char *queue, const char *what) {
    return xasprintf("%s:%s:%s", *im->key_prefix != '\0' ? im->key_prefix : "bull", queue, what);
}

static char *bull_key(const struct import *im, const struct import_source *s, struct slice id) {
    char *prefix = bull_text(im, s->queue, ""), *key = xasprintf("%s%.*s", prefix, (int)id.len, id.ptr);

    free(prefix);
    return key;
}

static size_t bull_forget(struct import *im, const struct import_source *s, const struct import_element *e) {
    char *key = bull_key(im, s, e->text), *priority = bull_text(im, s->queue, "priority"),
         *stalled = bull_text(im, s->queue, "stalled");

    redis_pipe_put(&im->from, "DEL %s %s:logs", key, key);
    redis_pipe_put(&im->from, "ZREM %s %b", priority, e->text.ptr, e->text.len);
    redis_pipe_put(&im->from, "SREM %s %b", stalled, e->text.ptr, e->text.len);
    free(key);
    free(priority);
    free(stalled);
    return 3;
}

/* A job with the key "processed" is a parent, which needs the results of its children. */
static const struct import_hashes bull_hashes = { bull_key, "processed", bull_forget };

/* The sources in the order of age: tasks of dead workers are the oldest. The next task of each list is at its right
 * end. */
static bool find_bull(struct import *im, char **names, size_t count, struct import_source **out,
                      size_t *found) {
    for (size_t i = 0; i < count; i++) {
        struct import_source *active = add_key(names[i], bull_text(im, names[i], "active"), out, found);

        active->shape = &import_held;
        active->locks = bull_text(im, names[i], "");
        add_key(names[i], bull_text(im, names[i], "wait"), out, found);
        add_key(names[i], bull_text(im, names[i], "paused"), out, found);
        add_key(names[i], bull_text(im, names[i], "prioritized"), out, found)->shape = &import_ranked;
        add_key(names[i], bull_text(im, names[i], "delayed"), out, found)->shape = &import_ticks;
    }
    return true;
}

static bool add_raw(const struct import_element *e, struct import_task *task, const char *name) {
    struct slice value = import_hash_field_of(e, name);

    return json_add_value(&task->made, slice_str(name), value.ptr == NULL ? SLICE("null") : value);
}

/* The remaining attempts; 0 if the job has no limit. The option attempts counts all attempts. */
static int64_t bull_attempts(const struct import_element *e, struct slice opts) {
    struct slice field, made = import_hash_field_of(e, "atm");
    int64_t attempts, done;

    if (json_field(opts, "attempts", &field) != JSON_FOUND)
        return 0;
    attempts = import_hash_number_of(field, 0);
    done = import_hash_number_of(made.ptr != NULL ? made : import_hash_field_of(e, "attemptsMade"), 0);
    if (attempts < 1 || attempts > 1000000)
        return 0;
    return done < attempts ? attempts - done : 1;
}

/* Is the timestamp valid? Jobs of Bull before version 3 have none. */
static bool has_time(const struct import_element *e) {
    struct slice time = import_hash_field_of(e, "timestamp");

    return time.ptr == NULL || json_kind_of(time) == JSON_NUMBER;
}

/* In Bull a job without priority comes before priority 1, and 1 before 2. Repeated jobs are refused, because each run
 * adds the next one. Children are refused, because their parents wait for them. */
static bool read_bull(const struct import *im, const struct import_element *e, struct import_task *task) {
    int64_t priority = import_hash_number_of(import_hash_field_of(e, "priority"), 0);
    struct slice opts = import_hash_field_of(e, "opts");

    (void)im;
    if (import_hash_field_of(e, "data").ptr == NULL || json_kind_of(opts) != JSON_OBJECT || !has_time(e) ||
        import_hash_field_of(e, "parentKey").ptr != NULL ||
        (e->text.len > 7 && memcmp(e->text.ptr, "repeat:", 7) == 0))
        return false;
    json_begin(&task->made);
    if (!json_add_text(&task->made, SLICE("id"), e->text) ||
        !json_add_text(&task->made, SLICE("name"), import_hash_field_of(e, "name")) ||
        !add_raw(e, task, "data") || !add_raw(e, task, "opts") || !add_raw(e, task, "timestamp"))
        return false;
    body_is_made(task);
    task->attempts = bull_attempts(e, opts);
    task->priority = priority < PRIORITY_MAX ? PRIORITY_MAX - priority : 0;
    return true;
}

const struct import_kind import_bull = { "bull", true, find_bull, read_bull, &bull_hashes };
const struct import_kind import_bullmq = { "bullmq", true, find_bull, read_bull, &bull_hashes };
