/* Moves tasks from a Redis, batch by batch. No task is lost or doubled, wherever the import stops. */
#include "tools/import.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/import_hash.h"
#include "tools/import_shapes.h"
#include "tools/redis_reply.h"
#include "tools/terminal_text.h"

/* The time in which an interrupted import must be run again, so that no task is doubled. */
#define REMEMBER_S (7 * 24 * 3600)
/* The server refuses longer names of queues. */
#define NAME_LEN_MAX ((size_t)64 * 1024)
/* Tries to take a batch, in case other imports take each batch first. */
#define TAKE_TRIES 1000

/* The current batch. */
struct in_hand {
    struct import_keys keys;
    char id[IMPORT_ID_LEN + 1]; /* "": there is no batch */
    char *prefix;      /* the queue prefix with which it was begun, because UNIQUE keys belong to a queue */
    redisReply *reply; /* holds the elements */
    struct import_element *elements;
    redisReply **fields; /* the hashes of elements that are IDs */
    size_t count;
    bool begun; /* elements may have been moved to the separate list */
    bool dry;   /* the source is empty */
    bool *bad;  /* for each element: it is refused */
    int64_t now_s;
};

static bool import_stop(struct import *im, const char *who, const char *what) {
    snprintf(im->err, sizeof im->err, "%s: %s", who, what);
    return false;
}

static bool redis_is_well(struct import *im) {
    return im->from.err[0] == '\0' || import_stop(im, "Redis", im->from.err);
}

static void name_keys(const struct import *im, const struct import_source *s, struct import_keys *k) {
    k->side = xasprintf("pgdisque:import:%s:%s", im->kind->name, s->key);
    k->mark = xasprintf("%s:id", k->side);
    k->refused = xasprintf("%s:refused", k->side);
}

static void import_drop(struct in_hand *h) {
    free(h->keys.side);
    free(h->keys.mark);
    free(h->keys.refused);
    free(h->prefix);
    for (size_t i = 0; h->fields != NULL && i < h->count; i++) {
        if (h->fields[i] != NULL)
            freeReplyObject(h->fields[i]);
    }
    free(h->fields);
    free(h->elements);
    free(h->bad);
    if (h->reply != NULL)
        freeReplyObject(h->reply);
}

/* ---- take a batch ---- */

int64_t import_length(struct import *im, const struct import_source *s) {
    return s->shape->length(im, s);
}

static bool unpack(struct import *im, const struct import_source *s, const redisReply *list,
                   struct in_hand *h) {
    h->elements = xcalloc(list->elements + 1, sizeof *h->elements);
    for (size_t at = 0, step; at < list->elements; at += step) {
        step = s->shape->unpack(list->element + at, list->elements - at, &h->elements[h->count++]);
        if (step == 0)
            return import_stop(im, h->keys.side, "this is not a list that an import has made");
    }
    h->bad = xcalloc(h->count + 1, sizeof *h->bad);
    if (im->kind->hashes != NULL) {
        h->fields = xcalloc(h->count + 1, sizeof *h->fields);
        import_fetch(im, s, h->elements, h->count, h->fields);
    }
    return redis_is_well(im);
}

/* Reads mark and elements in one transaction, so that the elements belong to the ID. Leaves h->id empty if there is no
 * batch. */
static bool import_look(struct import *im, const struct import_source *s, struct in_hand *h) {
    const redisReply *mark, *list;

    redis_pipe_put(&im->from, "UNWATCH");
    redis_pipe_put(&im->from, "MULTI");
    redis_pipe_put(&im->from, "GET %s", h->keys.mark);
    redis_pipe_put(&im->from, "LRANGE %s 0 -1", h->keys.side);
    redis_pipe_put(&im->from, "TIME");
    redis_pipe_put(&im->from, "EXEC");
    redis_pipe_skip(&im->from, 5);
    h->reply = redis_pipe_take(&im->from, "GET, LRANGE and TIME", "[aa[ss]]");
    if (!redis_is_well(im))
        return false;
    mark = h->reply->element[0];
    list = h->reply->element[1];
    if (!redis_reply_fits(list, "[s*]"))
        return import_stop(im, h->keys.side, "this is not a list that an import has made");
    if (redis_reply_fits(mark, "n"))
        return true;
    if (!redis_reply_fits(mark, "s") || mark->len < IMPORT_ID_LEN)
        return import_stop(im, h->keys.mark, "this key was not written by an import");
    memcpy(h->id, mark->str, IMPORT_ID_LEN);
    h->begun = true;
    if (memcmp(h->id, im->ended, IMPORT_ID_LEN) == 0)
        return import_stop(im, h->keys.side, "this batch was removed and is still there");
    h->prefix = xstrdup(mark->str + IMPORT_ID_LEN);
    h->now_s = strtoll(h->reply->element[2]->element[0]->str, NULL, 10);
    return unpack(im, s, list, h);
}

/* Takes a batch that an earlier import has left, or else a new one. If another import takes the source's elements
 * first, the next try reads that batch. */
static bool import_take(struct import *im, const struct import_source *s, struct in_hand *h) {
    for (int i = 0; i < TAKE_TRIES; i++) {
        if (!import_look(im, s, h))
            return false;
        if (h->id[0] != '\0')
            return true;
        freeReplyObject(h->reply);
        h->reply = NULL;
        h->begun = true;
        h->dry = !s->shape->take(im, s, &h->keys);
        if (im->err[0] != '\0' || !redis_is_well(im))
            return false;
        if (h->dry)
            return true;
    }
    return import_stop(im, h->keys.side, "no batch could be put here");
}

/* ---- add jobs ---- */

static void count_one(struct import *im, const char *queue) {
    size_t i = 0;

    while (i < im->queues && strcmp(im->counts[i].queue, queue) != 0)
        i++;
    if (i == im->queues) {
        im->counts = xrealloc(im->counts, (i + 1) * sizeof *im->counts);
        im->counts[im->queues++] = (struct import_count){ xstrdup(queue), 0 };
    }
    im->counts[i].count++;
    im->moved++;
}

static void import_put_job(struct import *im, const struct in_hand *h, size_t i,
                           const struct import_task *task, const char *queue) {
    char key[IMPORT_ID_LEN + 32], ttl[24], delay[24], keep[16], attempts[24], priority[24];
    struct slice words[17] = { SLICE("ADDJOB"), slice_str(queue), task->body, SLICE("0"), SLICE("TTL") };
    size_t n = 13;

    snprintf(key, sizeof key, "import:%s:%zu", h->id, i);
    snprintf(ttl, sizeof ttl, "%lld", (long long)(im->ttl_s + task->delay_s));
    snprintf(delay, sizeof delay, "%lld", (long long)task->delay_s);
    snprintf(keep, sizeof keep, "%d", REMEMBER_S);
    snprintf(attempts, sizeof attempts, "%lld", (long long)task->attempts);
    words[5] = slice_str(ttl);
    words[6] = SLICE("DELAY");
    words[7] = slice_str(delay);
    words[8] = SLICE("UNIQUE");
    words[9] = slice_str(key);
    words[10] = SLICE("FOR");
    words[11] = slice_str(keep);
    n = 12;
    if (task->attempts > 0) {
        words[n++] = SLICE("ATTEMPTS");
        words[n++] = slice_str(attempts);
    }
    snprintf(priority, sizeof priority, "%lld", (long long)task->priority);
    if (task->priority > 0) {
        words[n++] = SLICE("PRIORITY");
        words[n++] = slice_str(priority);
    }
    redis_pipe_put_slices(&im->to, words, n);
}

static int64_t delay_of(const struct in_hand *h, const struct import_element *e) {
    double wait = ceil(e->due_s - (double)h->now_s);

    if (!(wait > 0))
        return 0;
    return wait < 1e9 ? (int64_t)wait : 1000000000;
}

/* The server closes the connection after a larger argument, and refuses a longer name. */
static bool import_fits(const struct import *im, const struct import_task *task, const char *queue) {
    return task->body.len <= (size_t)im->body_max && strlen(queue) <= NAME_LEN_MAX;
}

static char *too_large(struct import *im, const struct import_source *s, const struct import_task *task,
                       char *queue) {
    fputs("A task of ", stderr);
    terminal_print_if(stderr, s->key);
    fprintf(stderr,
            " is too large: its body has %zu bytes, and the name of its queue %zu; proto-max-bulk-len "
            "is %lld\n",
            task->body.len, strlen(queue), (long long)im->body_max);
    im->large++;
    free(queue);
    return NULL;
}

/* Sends the ADDJOB of an element. Returns the queue's name, which the caller frees; NULL if the element is refused. */
static char *add_one(struct import *im, const struct import_source *s, const struct in_hand *h, size_t i) {
    const struct import_element *e = &h->elements[i];
    struct import_task task = { .body = e->text, .delay_s = delay_of(h, e) };
    char *queue = NULL;

    if (s->queue != NULL)
        task.queue = slice_str(s->queue);
    if (!e->hangs && !e->odd && im->kind->read(im, e, &task)) {
        queue = xasprintf("%s%.*s", h->prefix, (int)task.queue.len, task.queue.ptr);
        if (import_fits(im, &task, queue))
            import_put_job(im, h, i, &task, queue);
        else
            queue = too_large(im, s, &task, queue);
    }
    buf_free(&task.made);
    return queue;
}

static bool import_add_all(struct import *im, const struct import_source *s, struct in_hand *h) {
    char **queues = xcalloc(h->count + 1, sizeof *queues);

    for (size_t i = 0; i < h->count; i++) {
        if (h->elements[i].gone)
            continue;
        queues[i] = add_one(im, s, h, i);
        h->bad[i] = queues[i] == NULL;
    }
    for (size_t i = 0; i < h->count; i++) {
        redisReply *job;

        if (queues[i] == NULL)
            continue;
        job = redis_pipe_take(&im->to, "ADDJOB", "s");
        if (job != NULL) {
            count_one(im, queues[i]);
            freeReplyObject(job);
        }
        free(queues[i]);
    }
    free(queues);
    return im->to.err[0] == '\0' || import_stop(im, "pgdisque", im->to.err);
}

/* ---- end of a batch ---- */

/* Does the batch still exist? Another import may have ended it. WATCH keeps the answer valid until EXEC. */
static bool import_still_there(struct import *im, const struct in_hand *h) {
    redisReply *r;
    bool same;

    redis_pipe_put(&im->from, "WATCH %s", h->keys.mark);
    redis_pipe_put(&im->from, "GET %s", h->keys.mark);
    redis_pipe_skip(&im->from, 1);
    r = redis_pipe_take(&im->from, "GET", "s?");
    same = r != NULL && r->type == REDIS_REPLY_STRING && r->len >= IMPORT_ID_LEN &&
           memcmp(r->str, h->id, IMPORT_ID_LEN) == 0;
    if (r != NULL)
        freeReplyObject(r);
    return same;
}

static bool import_end(struct import *im, const struct import_source *s, const struct in_hand *h) {
    size_t queued = 3;

    if (!import_still_there(im, h)) {
        redis_pipe_put(&im->from, "UNWATCH");
        redis_pipe_skip(&im->from, 1);
        return redis_is_well(im);
    }
    redis_pipe_put(&im->from, "MULTI");
    for (size_t i = 0; i < h->count; i++) {
        if (h->bad[i]) {
            s->shape->refuse(im, &h->keys, &h->elements[i]);
            im->refused++;
            queued++;
        } else if (im->kind->hashes != NULL && !h->elements[i].gone) {
            queued += im->kind->hashes->forget(im, s, &h->elements[i]);
        }
    }
    redis_pipe_put(&im->from, "DEL %s %s", h->keys.side, h->keys.mark);
    redis_pipe_put(&im->from, "EXEC");
    redis_pipe_skip(&im->from, queued);
    memcpy(im->ended, h->id, IMPORT_ID_LEN);
    return redis_is_well(im);
}

int64_t import_begun(struct import *im, const struct import_source *s) {
    struct in_hand h = { 0 };
    int64_t begun;

    name_keys(im, s, &h.keys);
    /* In these two shapes the key exists while workers hold tasks, and length() does not count these tasks. */
    if (s->shape == &import_held || s->shape == &import_due)
        redis_pipe_put(&im->from, "EXISTS %s %s", h.keys.mark, s->key);
    else
        redis_pipe_put(&im->from, "EXISTS %s", h.keys.mark);
    begun = import_take_length(im, s, "EXISTS");
    import_drop(&h);
    return begun;
}

/* A Redis does not know the command, and a pgdisque misses its arguments. */
static bool import_finds_pgdisque(struct import *im) {
    redisReply *r;
    bool unknown;

    redis_pipe_put(&im->to, "ADDJOB");
    r = redis_pipe_take_or_error(&im->to, "ADDJOB", "a");
    if (r == NULL)
        return import_stop(im, "pgdisque", im->to.err);
    unknown = r->type == REDIS_REPLY_ERROR && strstr(r->str, "unknown command") != NULL;
    freeReplyObject(r);
    return !unknown || import_stop(im, "--to", "this address has no pgdisque: it does not know ADDJOB");
}

bool import_ask_limits(struct import *im) {
    redisReply *r;
    bool good;

    if (!import_finds_pgdisque(im))
        return false;
    redis_pipe_put(&im->to, "CONFIG GET proto-max-bulk-len");
    r = redis_pipe_take(&im->to, "CONFIG GET", "[ss]");
    if (r == NULL)
        return import_stop(im, "pgdisque", im->to.err);
    good = parse_int_strict(import_slice(r->element[1]), &im->body_max) && im->body_max > 0;
    freeReplyObject(r);
    return good || import_stop(im, "pgdisque", "unexpected reply to CONFIG GET");
}

int64_t import_batch(struct import *im, const struct import_source *s) {
    struct in_hand h = { 0 };
    int64_t moved = -1;

    name_keys(im, s, &h.keys);
    if (import_take(im, s, &h)) {
        if (h.dry)
            moved = 0;
        else if (import_add_all(im, s, &h) && import_end(im, s, &h))
            moved = (int64_t)h.count;
    }
    im->begun = moved < 0 && h.begun;
    import_drop(&h);
    return moved;
}

struct import_source *import_source_add(struct import_source **sources, size_t *count) {
    *sources = xrealloc(*sources, (*count + 1) * sizeof **sources);
    (*sources)[*count] = (struct import_source){ .shape = &import_list };
    return &(*sources)[(*count)++];
}

void import_sources_free(struct import_source *sources, size_t count) {
    for (size_t i = 0; i < count; i++) {
        free(sources[i].key);
        free(sources[i].queue);
        free(sources[i].locks);
    }
    free(sources);
}

void import_free(struct import *im) {
    for (size_t i = 0; i < im->queues; i++)
        free(im->counts[i].queue);
    free(im->counts);
    redis_pipe_close(&im->from);
    redis_pipe_close(&im->to);
}
