/* Move queued jobs to lists of a Redis, batch by batch: none is lost and none doubled, wherever it ends. */
#include "tools/export.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/redis_reply.h"

#include "base/match.h"

#define ASIDE "pgdisque:export:"
#define PAGE "1000"
#define CURSOR_SIZE 32
/* A job of QPEEK: its queue, ID and body come first. */
#define JOB "[sssa*]"

struct place {
    char *list;  /* in Redis */
    char *aside; /* the queue of jobs in hand; in Redis, the set of the IDs of those that were pushed */
};

static bool stop(struct export *x, const char *who, const char *what) {
    snprintf(x->err, sizeof x->err, "%s: %s", who, what);
    return false;
}

static bool is_well(struct export *x) {
    if (x->from.err[0] != '\0')
        return stop(x, "pgdisque", x->from.err);
    return x->to.err[0] == '\0' || stop(x, "Redis", x->to.err);
}

static struct slice text_of(const redisReply *r) {
    return (struct slice){ r->str, r->len };
}

static struct place place_of(const struct export *x, const char *name) {
    return (struct place){ xasprintf("%s%s", x->key_prefix, name), xasprintf(ASIDE "%s", name) };
}

static void place_free(struct place *p) {
    free(p->list);
    free(p->aside);
}

/* NULL with a sentence in err; it has ended what another pipeline has begun, too. */
static redisReply *take_reply(struct export *x, struct redis_pipe *pipe, const char *command,
                              const char *shape) {
    redisReply *r = redis_pipe_take(pipe, command, shape);

    if (is_well(x))
        return r;
    if (r != NULL)
        freeReplyObject(r);
    return NULL;
}

/* ---- taking ---- */

/* Each connection moves as many of the batch as the others; -1 when one could not. */
static int64_t take_moved(struct export *x, struct redis_pipe *mover, int64_t count) {
    int64_t moved = 0;

    for (int64_t i = 0; i < count; i++) {
        redisReply *r = redis_pipe_take(mover, "LMOVE", "s?");

        if (r == NULL)
            break;
        moved += r->type == REDIS_REPLY_STRING;
        freeReplyObject(r);
    }
    return mover->err[0] == '\0' || stop(x, "pgdisque", mover->err) ? moved : -1;
}

/* What is sent off waits for no answer yet. */
static void flush(struct redis_pipe *mover) {
    int done = 0;

    while (!done && redisBufferWrite(mover->c, &done) == REDIS_OK)
        ;
}

/* Who takes from queues by a pattern shall not get what is in hand. How many were moved, or -1. Whichever
 * connection moves them, jobs keep their order. */
static int64_t move_aside(struct export *x, const char *name, const struct place *p) {
    const char *end = x->left ? "LEFT" : "RIGHT", *other = x->left ? "RIGHT" : "LEFT";
    int movers = x->batch < EXPORT_MOVERS ? (int)x->batch : EXPORT_MOVERS;
    int64_t each = x->batch / movers, moved = 0;

    redis_pipe_put(&x->from, "PAUSE %s out", p->aside);
    redis_pipe_skip(&x->from, 1);
    if (!is_well(x))
        return -1;
    for (int i = 0; i < movers; i++) {
        for (int64_t j = 0; j < each; j++)
            redis_pipe_put(&x->movers[i], "LMOVE %s %s %s %s", name, p->aside, end, other);
        flush(&x->movers[i]);
    }
    for (int i = 0; i < movers && moved >= 0; i++) {
        int64_t here = take_moved(x, &x->movers[i], each);

        moved = here < 0 ? -1 : moved + here;
    }
    return moved;
}

/* ---- pushing ---- */

static bool is_noted(const redisReply *notes, const redisReply *job) {
    for (size_t i = 0; i < notes->elements; i++) {
        if (slice_equal(text_of(notes->element[i]), text_of(job->element[1])))
            return true;
    }
    return false;
}

/* In a transaction an element is noted even if it could not be pushed. */
static bool is_list(struct export *x, const char *key) {
    redisReply *r;
    bool good;

    redis_pipe_put(&x->to, "TYPE %s", key);
    r = take_reply(x, &x->to, "TYPE", "s");
    if (r == NULL)
        return false;
    good = strcmp(r->str, "list") == 0 || strcmp(r->str, "none") == 0 ||
           stop(x, key, "this is a key of another type");
    freeReplyObject(r);
    return good;
}

/* EXEC's nil says that the notes have changed. False then, too. */
static bool push(struct export *x, const struct place *p, const redisReply *jobs, const redisReply *notes) {
    int64_t pushed = 0;
    redisReply *r;
    bool done;

    redis_pipe_put(&x->to, "MULTI");
    for (size_t i = 0; i < jobs->elements; i++) {
        const redisReply *job = jobs->element[i], *body = job->element[2];

        if (is_noted(notes, job))
            continue;
        redis_pipe_put(&x->to, "%s %s %b", x->left ? "RPUSH" : "LPUSH", p->list, body->str, body->len);
        redis_pipe_put(&x->to, "SADD %s %s", p->aside, job->element[1]->str);
        pushed++;
    }
    redis_pipe_put(&x->to, "EXEC");
    redis_pipe_skip(&x->to, 1 + 2 * (size_t)pushed);
    r = take_reply(x, &x->to, "EXEC", "[a*]?");
    done = r != NULL && r->type == REDIS_REPLY_ARRAY;
    for (size_t i = 0; done && i < r->elements; i++)
        done = r->element[i]->type != REDIS_REPLY_ERROR || stop(x, p->list, r->element[i]->str);
    if (done)
        x->moved += pushed;
    if (r != NULL)
        freeReplyObject(r);
    return done;
}

static void put_ids(struct redis_pipe *pipe, struct slice command, const struct place *p,
                    const redisReply *jobs) {
    struct slice *words = xcalloc(jobs->elements + 2, sizeof *words);
    size_t count = 0;

    words[count++] = command;
    if (p != NULL)
        words[count++] = slice_str(p->aside);
    for (size_t i = 0; i < jobs->elements; i++)
        words[count++] = text_of(jobs->element[i]->element[1]);
    redis_pipe_put_slices(pipe, words, count);
    redis_pipe_skip(pipe, 1);
    free(words);
}

static bool delete_jobs(struct export *x, const struct place *p, const redisReply *jobs) {
    put_ids(&x->from, SLICE("DELJOB"), NULL, jobs);
    if (is_well(x))
        put_ids(&x->to, SLICE("SREM"), p, jobs);
    return is_well(x);
}

static bool push_noted(struct export *x, const struct place *p, const redisReply *notes, bool *some) {
    redisReply *jobs;
    bool good;

    redis_pipe_put(&x->from, "QPEEK %s %lld", p->aside, (long long)x->batch);
    jobs = take_reply(x, &x->from, "QPEEK", "[" JOB "*]");
    if (jobs == NULL)
        return false;
    *some = jobs->elements > 0;
    if (*some) {
        good = is_list(x, p->list) && push(x, p, jobs, notes) && delete_jobs(x, p, jobs);
    } else {
        /* Unless another export has noted something since. */
        redis_pipe_put(&x->to, "MULTI");
        redis_pipe_put(&x->to, "DEL %s", p->aside);
        redis_pipe_put(&x->to, "EXEC");
        redis_pipe_skip(&x->to, 3);
        good = is_well(x);
    }
    freeReplyObject(jobs);
    return good;
}

/* The notes are watched while the jobs are looked at: what another export has deleted of late is either not
 * there any more, or has changed the notes. Notes of jobs that are not there are of no use. */
static bool push_all(struct export *x, const struct place *p, bool *some) {
    redisReply *notes;
    bool good;

    redis_pipe_put(&x->to, "WATCH %s", p->aside);
    redis_pipe_put(&x->to, "SMEMBERS %s", p->aside);
    redis_pipe_skip(&x->to, 1);
    notes = take_reply(x, &x->to, "SMEMBERS", "[s*]");
    if (notes == NULL)
        return false;
    good = push_noted(x, p, notes, some);
    freeReplyObject(notes);
    return good;
}

bool export_batch(struct export *x, const char *name) {
    struct place p = place_of(x, name);
    int64_t moved = move_aside(x, name, &p);
    bool some = false;

    x->begun = true;
    while (moved >= 0 && !push_all(x, &p, &some)) {
        if (x->err[0] != '\0')
            break;
    }
    place_free(&p);
    x->begun = x->err[0] != '\0';
    return !x->begun && (some || moved > 0);
}

bool export_end(struct export *x) {
    redis_pipe_put(&x->to, "UNWATCH");
    redis_pipe_skip(&x->to, 1);
    return is_well(x);
}

/* ---- which queues ---- */

static void add_name(char ***names, size_t *count, const char *name) {
    for (size_t i = 0; i < *count; i++) {
        if (strcmp((*names)[i], name) == 0)
            return;
    }
    *names = xrealloc(*names, (*count + 1) * sizeof **names);
    (*names)[(*count)++] = xstrdup(name);
}

/* One that is left with begun batches only stands for the queue they are of. */
static void add_fitting(const redisReply *found, const char *pattern, char ***names, size_t *count) {
    const size_t aside = sizeof ASIDE - 1;

    for (size_t i = 0; i < found->elements; i++) {
        const char *name = found->element[i]->str;

        if (strncmp(name, ASIDE, aside) == 0)
            name += aside;
        if (glob_match(slice_str(pattern), slice_str(name), false))
            add_name(names, count, name);
    }
}

bool export_find(struct export *x, const char *pattern, char ***names, size_t *count) {
    char cursor[CURSOR_SIZE] = "0";

    if (strpbrk(pattern, "*?[\\") == NULL) {
        add_name(names, count, pattern);
        return true;
    }
    do {
        redisReply *r;

        redis_pipe_put(&x->from, "QSCAN %s COUNT " PAGE, cursor);
        r = take_reply(x, &x->from, "QSCAN", "[s[s*]]");
        if (r == NULL)
            return false;
        snprintf(cursor, sizeof cursor, "%s", r->element[0]->str);
        add_fitting(r->element[1], pattern, names, count);
        freeReplyObject(r);
    } while (strcmp(cursor, "0") != 0);
    return true;
}

static int64_t take_number(struct export *x) {
    int64_t number = redis_pipe_take_size(&x->from, "LLEN");

    return is_well(x) ? number : -1;
}

int64_t export_length(struct export *x, const char *name) {
    int64_t here, aside;

    redis_pipe_put(&x->from, "LLEN %s", name);
    redis_pipe_put(&x->from, "LLEN " ASIDE "%s", name);
    here = take_number(x);
    aside = take_number(x);
    return here < 0 || aside < 0 ? -1 : here + aside;
}

/* ---- what stays ---- */

/* What is due so soon becomes queued by itself, and must not be taken out of the hands of who gets it. */
#define SOON_MS 5000
/* Times are asked for one after the other, of a machine that may be slow. */
#define TOLERANCE_MS 10000

static double field(const redisReply *job, const char *name) {
    const redisReply *value = redis_reply_field(job, name);

    return value != NULL && redis_reply_fits(value, "i") ? (double)value->integer : -1;
}

/* In its first delay, and not given out for as long. */
static bool is_delayed(const redisReply *job, double now_ms, bool *soon) {
    double due = field(job, "ctime") / 1e6 + field(job, "delay") * 1e3;
    double back = now_ms + field(job, "next-requeue-within");

    *soon = due < now_ms + SOON_MS;
    return field(job, "delay") > 0 && fabs(due - back) < TOLERANCE_MS;
}

static bool look_at(struct export *x, const redisReply *job, double now_ms, bool queue_delayed,
                    struct export_rest *rest) {
    const char *state = redis_reply_text(job, "state"), *id = redis_reply_text(job, "id");
    bool soon;

    if (state == NULL || id == NULL)
        return stop(x, "pgdisque", "unexpected reply to JSCAN");
    if (strcmp(state, "queued") == 0)
        rest->queued++;
    else if (!is_delayed(job, now_ms, &soon))
        rest->given_out++;
    else if (!queue_delayed || soon)
        rest->delayed++;
    else {
        redis_pipe_put(&x->from, "ENQUEUE %s", id);
        redis_pipe_skip(&x->from, 1);
    }
    return is_well(x);
}

static double now_of(struct export *x) {
    redisReply *r;
    double now_ms = 0;

    redis_pipe_put(&x->from, "TIME");
    r = take_reply(x, &x->from, "TIME", "[ss]");
    if (r != NULL) {
        now_ms = strtod(r->element[0]->str, NULL) * 1e3 + strtod(r->element[1]->str, NULL) / 1e3;
        freeReplyObject(r);
    }
    return now_ms;
}

bool export_look(struct export *x, const char *name, bool queue_delayed, struct export_rest *rest) {
    double now_ms = now_of(x);
    char cursor[CURSOR_SIZE] = "0";
    bool good = true;

    *rest = (struct export_rest){ 0 };
    do {
        redisReply *r;

        redis_pipe_put(&x->from, "JSCAN %s COUNT " PAGE " QUEUE %s REPLY ALL", cursor, name);
        r = take_reply(x, &x->from, "JSCAN", "[s[[(sa)*]*]]");
        if (r == NULL)
            return false;
        snprintf(cursor, sizeof cursor, "%s", r->element[0]->str);
        for (size_t i = 0; i < r->element[1]->elements && good; i++)
            good = look_at(x, r->element[1]->element[i], now_ms, queue_delayed, rest);
        freeReplyObject(r);
    } while (good && strcmp(cursor, "0") != 0);
    return good && is_well(x);
}
