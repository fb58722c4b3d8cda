/* The formats of tasks in Redis, by the library that added them. */
#include "tools/import.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "tools/import_hash.h"
#include "tools/import_kinds.h"
#include "tools/import_shapes.h"
#include "tools/import_stream.h"

#define SIDEKIQ_RETRIES 25 /* number of retries of a job with "retry": true */

/* ---- lists whose elements are the tasks ---- */

static bool find_lists(struct import *im, char **names, size_t count, struct import_source **out,
                       size_t *found) {
    for (size_t i = 0; i < count; i++) {
        struct import_source *s = import_source_add(out, found);

        s->key = xstrdup(names[i]);
        s->queue = xstrdup(names[i]);
        s->left = im->left;
    }
    return true;
}

static bool read_anything(const struct import *im, const struct import_element *e, struct import_task *task) {
    (void)im;
    (void)e;
    (void)task;
    return true;
}

/* ---- queues that a set names ---- */

bool import_add_members(struct import *im, const char *set, import_add *add, struct import_source **out,
                        size_t *found) {
    redisReply *r;

    redis_pipe_put(&im->from, "SMEMBERS %s", set);
    r = redis_pipe_take(&im->from, "SMEMBERS", "[s*]");
    if (r == NULL)
        snprintf(im->err, sizeof im->err, "Redis: the set %s: %s", set, im->from.err);
    else
        for (size_t i = 0; i < r->elements; i++)
            add(r->element[i]->str, out, found);
    if (r != NULL)
        freeReplyObject(r);
    return im->err[0] == '\0';
}

/* ---- Resque ---- */

static void add_resque_queue(const char *name, struct import_source **out, size_t *found) {
    struct import_source *s = import_source_add(out, found);

    s->key = xasprintf("resque:queue:%s", name);
    s->queue = xstrdup(name);
    s->left = true;
}

/* Finds the named queues, or all queues. */
static bool find_resque(struct import *im, char **names, size_t count, struct import_source **out,
                        size_t *found) {
    for (size_t i = 0; i < count; i++)
        add_resque_queue(names[i], out, found);
    return count > 0 || import_add_members(im, "resque:queues", add_resque_queue, out, found);
}

static bool read_resque(const struct import *im, const struct import_element *e, struct import_task *task) {
    struct slice class;

    (void)im;
    (void)task;
    return json_field(e->text, "class", &class) == JSON_FOUND;
}

/* ---- Laravel ---- */

static struct import_source *add_laravel(const struct import *im, const char *name, const char *end,
                                         struct import_source **out, size_t *found) {
    struct import_source *s = import_source_add(out, found);

    s->key = xasprintf("%squeues:%s%s", im->key_prefix, name, end);
    s->queue = xstrdup(name);
    s->left = true;
    return s;
}

/* A reserved task belongs to a worker until its time. After that Laravel itself gives it to another worker. */
static bool find_laravel(struct import *im, char **names, size_t count, struct import_source **out,
                         size_t *found) {
    for (size_t i = 0; i < count; i++) {
        struct import_source *reserved = add_laravel(im, names[i], ":reserved", out, found);

        reserved->shape = &import_due;
        add_laravel(im, names[i], "", out, found);
        add_laravel(im, names[i], ":delayed", out, found)->shape = &import_set;
    }
    return true;
}

/* maxTries counts the first try, too; 0 means no limit. */
static bool read_laravel(const struct import *im, const struct import_element *e, struct import_task *task) {
    struct slice field;
    int64_t tries, done;

    (void)im;
    if (json_field(e->text, "job", &field) != JSON_FOUND)
        return false;
    if (json_field(e->text, "maxTries", &field) != JSON_FOUND || !parse_int_strict(field, &tries) ||
        tries < 1 || tries > 1000000)
        return true;
    if (json_field(e->text, "attempts", &field) != JSON_FOUND || !parse_int_strict(field, &done) || done < 0)
        done = 0;
    task->attempts = done < tries ? tries - done : 1;
    return true;
}

/* ---- Celery, by kombu ---- */

/* There is one list for each priority step. The first step is the most urgent. */
static bool find_celery(struct import *im, char **names, size_t count, struct import_source **out,
                        size_t *found) {
    static const char *const steps[] = { "",
                                         "\x06\x16"
                                         "3",
                                         "\x06\x16"
                                         "6",
                                         "\x06\x16"
                                         "9" };

    for (size_t i = 0; i < count * LENGTH(steps); i++) {
        struct import_source *s = import_source_add(out, found);
        const char *name = names[i / LENGTH(steps)];

        s->key = xasprintf("%s%s%s", im->key_prefix, name, steps[i % LENGTH(steps)]);
        s->queue = xstrdup(name);
    }
    return true;
}

static bool read_celery(const struct import *im, const struct import_element *e, struct import_task *task) {
    struct slice properties;

    (void)im;
    (void)task;
    return json_field(e->text, "properties", &properties) == JSON_FOUND;
}

/* ---- Sidekiq ---- */

static void add_sidekiq_queue(const char *name, struct import_source **out, size_t *found) {
    struct import_source *s = import_source_add(out, found);

    s->key = xasprintf("queue:%s", name);
    s->queue = xstrdup(name);
}

static void add_sidekiq_sets(struct import_source **out, size_t *found) {
    static const char *const sets[] = { "schedule", "retry" };

    for (size_t i = 0; i < LENGTH(sets); i++) {
        struct import_source *s = import_source_add(out, found);

        s->key = xstrdup(sets[i]);
        s->shape = &import_set;
    }
}

/* Finds the named queues, or all queues and both sorted sets. */
static bool find_sidekiq(struct import *im, char **names, size_t count, struct import_source **out,
                         size_t *found) {
    for (size_t i = 0; i < count; i++)
        add_sidekiq_queue(names[i], out, found);
    if (count > 0)
        return true;
    if (!import_add_members(im, "queues", add_sidekiq_queue, out, found))
        return false;
    add_sidekiq_sets(out, found);
    return true;
}

/* The remaining attempts. The retries do not include the first try. retry_count is 0 after the first failure. */
static int64_t sidekiq_attempts(struct slice job) {
    struct slice retry, done;
    int64_t retries, failed = -1;

    if (json_field(job, "retry", &retry) != JSON_FOUND)
        return 0;
    if (slice_equal(retry, SLICE("true")))
        retries = SIDEKIQ_RETRIES;
    else if (slice_equal(retry, SLICE("false")))
        retries = 0;
    else if (!parse_int_strict(retry, &retries) || retries < 0 || retries > 1000000)
        return 0;
    if (json_field(job, "retry_count", &done) != JSON_FOUND || !parse_int_strict(done, &failed) ||
        failed < -1)
        failed = -1;
    return failed < retries ? retries - failed : 1;
}

static bool read_sidekiq(const struct import *im, const struct import_element *e, struct import_task *task) {
    struct slice class, queue;

    (void)im;
    if (json_field(e->text, "class", &class) != JSON_FOUND)
        return false;
    if (task->queue.ptr == NULL) {
        if (json_field(e->text, "queue", &queue) != JSON_FOUND || !json_plain_string(queue, &task->queue) ||
            task->queue.len == 0)
            return false;
    }
    task->attempts = sidekiq_attempts(e->text);
    return true;
}

/* ---- table of kinds ---- */

static const struct import_kind *const kinds[] = {
    &(const struct import_kind){ "list", true, find_lists, read_anything, NULL },
    &(const struct import_kind){ "celery", true, find_celery, read_celery, NULL },
    &(const struct import_kind){ "laravel", true, find_laravel, read_laravel, NULL },
    &(const struct import_kind){ "resque", false, find_resque, read_resque, NULL },
    &(const struct import_kind){ "sidekiq", false, find_sidekiq, read_sidekiq, NULL },
    &import_streams,
    &import_rq,
    &import_bull,
    &import_bullmq,
};

const struct import_kind *import_kind(const char *name) {
    for (size_t i = 0; i < LENGTH(kinds); i++) {
        if (strcmp(kinds[i]->name, name) == 0)
            return kinds[i];
    }
    return NULL;
}
