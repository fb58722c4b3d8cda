/* Moves queued jobs to lists of a Redis, batch by batch. No job is lost or doubled, wherever the export stops. */
#include "tools/export.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/redis_reply.h"

#include "base/glob.h"

#define ASIDE "pgdisque:export:"
#define EXPORT_PAGE "1000"
#define CURSOR_SIZE 32
/* The shape of a job in QPEEK's reply: queue, ID and body are the first elements. */
#define JOB "[sssa*]"

struct export_place {
    char *list;  /* the list in Redis */
    char *aside; /* the separate queue in pgdisque, and the notes in Redis: a set of the IDs of pushed jobs */
};

static bool export_stop(struct export *x, const char *who, const char *what) {
    snprintf(x->err, sizeof x->err, "%s: %s", who, what);
    return false;
}

static bool is_well(struct export *x) {
    if (x->from.err[0] != '\0')
        return export_stop(x, "pgdisque", x->from.err);
    return x->to.err[0] == '\0' || export_stop(x, "Redis", x->to.err);
}

static struct slice text_of(const redisReply *r) {
    return (struct slice){ r->str, r->len };
}

static struct export_place export_place_of(const struct export *x, const char *name) {
    return (struct export_place){ xasprintf("%s%s", x->key_prefix, name), xasprintf(ASIDE "%s", name) };
}

static void place_free(struct export_place *p) {
    free(p->list);
    free(p->aside);
}

/* Takes a reply. NULL with a sentence in err if any of the pipelines has an error. */
static redisReply *export_take_reply(struct export *x, struct redis_pipe *pipe, const char *command,
                                     const char *shape) {
    redisReply *r = redis_pipe_take(pipe, command, shape);

    if (is_well(x))
        return r;
    if (r != NULL)
        freeReplyObject(r);
    return NULL;
}

static int64_t export_take_number(struct export *x) {
    int64_t number = redis_pipe_take_size(&x->from, "LLEN");

    return is_well(x) ? number : -1;
}

/* ---- move to the separate queue ---- */

/* Takes the replies of one connection. Returns the number of jobs that it has moved; -1 after an error. */
static int64_t take_moved(struct export *x, struct redis_pipe *mover, int64_t count) {
    int64_t moved = 0;

    for (int64_t i = 0; i < count; i++) {
        redisReply *r = redis_pipe_take(mover, "LMOVE", "s?");

        if (r == NULL)
            break;
        moved += r->type == REDIS_REPLY_STRING;
        freeReplyObject(r);
    }
    return mover->err[0] == '\0' || export_stop(x, "pgdisque", mover->err) ? moved : -1;
}

/* PAUSE refuses a name with * or ? if no queue has it. GETJOB makes a queue of that name, whose special bytes it takes with
 * a backslash. The queue has no jobs yet. */
static void make_aside(struct export *x, const char *aside) {
    char *escaped = xmalloc(2 * strlen(aside) + 1);
    size_t len = 0;

    for (const char *p = aside; *p != '\0'; p++) {
        if (strchr("*?\\", *p) != NULL)
            escaped[len++] = '\\';
        escaped[len++] = *p;
    }
    escaped[len] = '\0';
    if (strpbrk(aside, "*?") != NULL) {
        redis_pipe_put(&x->from, "GETJOB NOHANG FROM %s", escaped);
        redis_pipe_skip(&x->from, 1);
    }
    free(escaped);
}

/* Moves a batch to the separate queue and returns the number of moved jobs, or -1. The separate queue is paused OUT, so
 * that consumers with patterns get no job of the batch. It stays paused, because another export may be moving jobs. If
 * the queue has no jobs, nothing is made. The jobs keep their order, although several connections move
 * them. */
static int64_t move_aside(struct export *x, const char *name, const struct export_place *p) {
    const char *end = x->left ? "LEFT" : "RIGHT", *other = x->left ? "RIGHT" : "LEFT";
    int movers = x->batch < EXPORT_MOVERS ? (int)x->batch : EXPORT_MOVERS;
    int64_t each = x->batch / movers, moved = 0;

    redis_pipe_put(&x->from, "LLEN %s", name);
    moved = export_take_number(x);
    if (moved <= 0)
        return moved;
    moved = 0;
    make_aside(x, p->aside);
    redis_pipe_put(&x->from, "PAUSE %s out", p->aside);
    redis_pipe_skip(&x->from, 1);
    if (!is_well(x))
        return -1;
    for (int i = 0; i < movers; i++) {
        for (int64_t j = 0; j < each; j++)
            redis_pipe_put(&x->movers[i], "LMOVE %s %s %s %s", name, p->aside, end, other);
        redis_pipe_flush(&x->movers[i]);
    }
    for (int i = 0; i < movers && moved >= 0; i++) {
        int64_t here = take_moved(x, &x->movers[i], each);

        moved = here < 0 ? -1 : moved + here;
    }
    return moved;
}

/* ---- push to Redis ---- */

static bool is_noted(const redisReply *notes, const redisReply *job) {
    for (size_t i = 0; i < notes->elements; i++) {
        if (slice_equal(text_of(notes->element[i]), text_of(job->element[1])))
            return true;
    }
    return false;
}

/* The key must be a list or free. EXEC adds the note even if the push before it fails on a key of another type. */
static bool is_list(struct export *x, const char *key) {
    redisReply *r;
    bool good;

    redis_pipe_put(&x->to, "TYPE %s", key);
    r = export_take_reply(x, &x->to, "TYPE", "s");
    if (r == NULL)
        return false;
    good = strcmp(r->str, "list") == 0 || strcmp(r->str, "none") == 0 ||
           export_stop(x, key, "this is a key of another type");
    freeReplyObject(r);
    return good;
}

/* Pushes the jobs that have no note, and adds their notes. False after an error, or if EXEC replies nil because the
 * notes have changed. */
static bool export_push(struct export *x, const struct export_place *p, const redisReply *jobs,
                        const redisReply *notes) {
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
    r = export_take_reply(x, &x->to, "EXEC", "[a*]?");
    done = r != NULL && r->type == REDIS_REPLY_ARRAY;
    for (size_t i = 0; done && i < r->elements; i++)
        done = r->element[i]->type != REDIS_REPLY_ERROR || export_stop(x, p->list, r->element[i]->str);
    if (done)
        x->moved += pushed;
    if (r != NULL)
        freeReplyObject(r);
    return done;
}

static void put_ids(struct redis_pipe *pipe, struct slice command, const struct export_place *p,
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

static bool delete_jobs(struct export *x, const struct export_place *p, const redisReply *jobs) {
    put_ids(&x->from, SLICE("DELJOB"), NULL, jobs);
    if (is_well(x))
        put_ids(&x->to, SLICE("SREM"), p, jobs);
    return is_well(x);
}

static bool push_noted(struct export *x, const struct export_place *p, const redisReply *notes, bool *some) {
    redisReply *jobs;
    bool good;

    redis_pipe_put(&x->from, "QPEEK %s %lld", p->aside, (long long)x->batch);
    jobs = export_take_reply(x, &x->from, "QPEEK", "[" JOB "*]");
    if (jobs == NULL)
        return false;
    *some = jobs->elements > 0;
    if (*some) {
        good = is_list(x, p->list) && export_push(x, p, jobs, notes) && delete_jobs(x, p, jobs);
    } else {
        /* EXEC deletes nothing if another export has changed the notes since WATCH. */
        redis_pipe_put(&x->to, "MULTI");
        redis_pipe_put(&x->to, "DEL %s", p->aside);
        redis_pipe_put(&x->to, "EXEC");
        redis_pipe_skip(&x->to, 3);
        good = is_well(x);
    }
    freeReplyObject(jobs);
    return good;
}

/* Watches the notes while it reads the jobs. If another export deletes jobs at the same time, the jobs are gone or the
 * notes have changed. Notes are deleted when the separate queue is empty. */
static bool push_all(struct export *x, const struct export_place *p, bool *some) {
    redisReply *notes;
    bool good;

    redis_pipe_put(&x->to, "WATCH %s", p->aside);
    redis_pipe_put(&x->to, "SMEMBERS %s", p->aside);
    redis_pipe_skip(&x->to, 1);
    notes = export_take_reply(x, &x->to, "SMEMBERS", "[s*]");
    if (notes == NULL)
        return false;
    good = push_noted(x, p, notes, some);
    freeReplyObject(notes);
    return good;
}

bool export_batch(struct export *x, const char *name) {
    struct export_place p = export_place_of(x, name);
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

/* ---- search for queues ---- */

static void export_add_name(char ***names, size_t *count, const char *name) {
    for (size_t i = 0; i < *count; i++) {
        if (strcmp((*names)[i], name) == 0)
            return;
    }
    *names = xrealloc(*names, (*count + 1) * sizeof **names);
    (*names)[(*count)++] = xstrdup(name);
}

/* Adds the names that match. The separate queue of a begun batch counts as the queue of its jobs. */
static void add_fitting(const redisReply *found, const char *pattern, char ***names, size_t *count) {
    const size_t aside = sizeof ASIDE - 1;

    for (size_t i = 0; i < found->elements; i++) {
        const char *name = found->element[i]->str;

        if (strncmp(name, ASIDE, aside) == 0)
            name += aside;
        if (glob_match(slice_str(pattern), slice_str(name), false))
            export_add_name(names, count, name);
    }
}

bool export_find(struct export *x, const char *pattern, char ***names, size_t *count) {
    char cursor[CURSOR_SIZE] = "0";

    if (strpbrk(pattern, "*?[\\") == NULL) {
        export_add_name(names, count, pattern);
        return true;
    }
    do {
        redisReply *r;

        redis_pipe_put(&x->from, "QSCAN %s COUNT " EXPORT_PAGE, cursor);
        r = export_take_reply(x, &x->from, "QSCAN", "[s[s*]]");
        if (r == NULL)
            return false;
        snprintf(cursor, sizeof cursor, "%s", r->element[0]->str);
        add_fitting(r->element[1], pattern, names, count);
        freeReplyObject(r);
    } while (strcmp(cursor, "0") != 0);
    return true;
}

int64_t export_length(struct export *x, const char *name) {
    int64_t here, aside;

    redis_pipe_put(&x->from, "LLEN %s", name);
    redis_pipe_put(&x->from, "LLEN " ASIDE "%s", name);
    here = export_take_number(x);
    aside = export_take_number(x);
    return here < 0 || aside < 0 ? -1 : here + aside;
}

/* ---- jobs that stay ---- */

/* A job that is due within this time is not queued by the export: a consumer may get it in between. */
#define SOON_MS 5000
/* Tolerance for times that were read one after the other from a slow server. */
#define TOLERANCE_MS 10000

static double field(const redisReply *job, const char *name) {
    const redisReply *value = redis_reply_field(job, name);

    return value != NULL && redis_reply_fits(value, "i") ? (double)value->integer : -1;
}

/* Is the job in its delay? A leased job differs: the end of its lease is not the end of its delay. */
static bool export_is_delayed(const redisReply *job, double now_ms, bool *soon) {
    double due = field(job, "ctime") / 1e6 + field(job, "delay") * 1e3;
    double back = now_ms + field(job, "next-requeue-within");

    *soon = due < now_ms + SOON_MS;
    return field(job, "delay") > 0 && fabs(due - back) < TOLERANCE_MS;
}

static bool export_look_at(struct export *x, const redisReply *job, double now_ms, bool queue_delayed,
                           struct export_rest *rest) {
    const char *state = redis_reply_text(job, "state"), *id = redis_reply_text(job, "id");
    bool soon;

    if (state == NULL || id == NULL)
        return export_stop(x, "pgdisque", "unexpected reply to JSCAN");
    if (strcmp(state, "queued") == 0 || strcmp(state, "waiting") == 0)
        rest->queued++;
    else if (!export_is_delayed(job, now_ms, &soon))
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
    r = export_take_reply(x, &x->from, "TIME", "[ss]");
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

        redis_pipe_put(&x->from, "JSCAN %s COUNT " EXPORT_PAGE " QUEUE %s REPLY ALL", cursor, name);
        r = export_take_reply(x, &x->from, "JSCAN", "[s[[(sa)*]*]]");
        if (r == NULL)
            return false;
        snprintf(cursor, sizeof cursor, "%s", r->element[0]->str);
        for (size_t i = 0; i < r->element[1]->elements && good; i++)
            good = export_look_at(x, r->element[1]->element[i], now_ms, queue_delayed, rest);
        freeReplyObject(r);
    } while (good && strcmp(cursor, "0") != 0);
    return good && is_well(x);
}
