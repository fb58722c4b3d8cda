/* Reads the queues of a server with their figures. */
#include "tools/queue_list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/glob.h"
#include "tools/redis_reply.h"

/* Queues of a page, and requests in a pipeline. */
#define PAGE 500
#define CURSOR_SIZE 64

/* ---- reading ---- */

static bool is_wanted(struct slice name, char *const *patterns, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (glob_match(slice_str(patterns[i]), name, false))
            return true;
    }
    return count == 0;
}

static int64_t queue_figure_or(const redisReply *stat, const char *name, int64_t missing) {
    const redisReply *value = redis_reply_field(stat, name);

    return value != NULL && redis_reply_fits(value, "i") ? value->integer : missing;
}

static int64_t queue_figure(const redisReply *stat, const char *name) {
    return queue_figure_or(stat, name, 0);
}

static struct queue_figures *next_queue_row(struct queue_list *list) {
    if (list->count % PAGE == 0)
        list->rows = xrealloc(list->rows, (list->count + PAGE) * sizeof *list->rows);
    return &list->rows[list->count++];
}

static void add_row(struct queue_list *list, const redisReply *name, const redisReply *stat) {
    const char *pause = redis_reply_text(stat, "pause");
    struct queue_figures *row = next_queue_row(list);

    *row = (struct queue_figures){
        .name = { slice_dup((struct slice){ name->str, name->len }), name->len },
        .len = queue_figure(stat, "len"),
        .active = queue_figure(stat, "active"),
        .delayed = queue_figure(stat, "delayed"),
        .waiting = queue_figure(stat, "waiting"),
        .blocked = queue_figure(stat, "blocked"),
        .jobs_in = queue_figure(stat, "jobs-in"),
        .jobs_out = queue_figure(stat, "jobs-out"),
        .dead = queue_figure(stat, "dead"),
        .age_s = queue_figure(stat, "age"),
        .idle_s = queue_figure(stat, "idle"),
        .oldest_ms = -1,
        .latency_p99_ms = queue_figure_or(stat, "latency-p99-ms", -1),
    };
    if (row->len > 0)
        row->oldest_ms = queue_figure_or(stat, "oldest-ms", -1);
    snprintf(row->pause, sizeof row->pause, "%s", pause == NULL ? "" : pause);
}

/* Reads the figures of the names. A queue that is gone is left out. */
static bool read_figures(struct redis_pipe *p, redisReply *const *names, size_t count,
                         struct queue_list *out) {
    for (size_t i = 0; i < count; i++) {
        const struct slice words[] = { SLICE("QSTAT"), { names[i]->str, names[i]->len } };

        redis_pipe_put_slices(p, words, LENGTH(words));
    }
    for (size_t i = 0; i < count; i++) {
        redisReply *stat = redis_pipe_take(p, "QSTAT", "[(sa)*]?");

        if (stat == NULL)
            return false;
        if (stat->type == REDIS_REPLY_ARRAY)
            add_row(out, names[i], stat);
        freeReplyObject(stat);
    }
    return true;
}

/* Reads the page behind the cursor. */
static bool read_page(struct redis_pipe *p, char cursor[CURSOR_SIZE], char *const *patterns, size_t count,
                      size_t most, struct queue_list *out) {
    redisReply *page, **wanted;
    size_t found = 0;
    bool good;

    redis_pipe_put(p, "QSCAN %s COUNT %d", cursor, PAGE);
    page = redis_pipe_take(p, "QSCAN", "[s[s*]]");
    if (page == NULL)
        return false;
    snprintf(cursor, CURSOR_SIZE, "%s", page->element[0]->str);
    wanted = xcalloc(page->element[1]->elements + 1, sizeof *wanted);
    for (size_t i = 0; i < page->element[1]->elements; i++) {
        redisReply *name = page->element[1]->element[i];

        if (!is_wanted((struct slice){ name->str, name->len }, patterns, count))
            continue;
        if (out->count + found < most)
            wanted[found++] = name;
        else
            out->more = true;
    }
    good = read_figures(p, wanted, found, out);
    free(wanted);
    freeReplyObject(page);
    return good;
}

static int rows_by_name(const void *a, const void *b) {
    const struct queue_figures *x = a, *y = b;
    size_t len = x->name.len < y->name.len ? x->name.len : y->name.len;
    int order = memcmp(x->name.ptr, y->name.ptr, len);

    return order != 0 ? order : (x->name.len > y->name.len) - (x->name.len < y->name.len);
}

/* The cursor may return to a queue. */
static void drop_repeated(struct queue_list *list) {
    size_t kept = 0;

    qsort(list->rows, list->count, sizeof *list->rows, rows_by_name);
    for (size_t i = 0; i < list->count; i++) {
        if (kept > 0 && rows_by_name(&list->rows[kept - 1], &list->rows[i]) == 0)
            free((char *)list->rows[i].name.ptr);
        else
            list->rows[kept++] = list->rows[i];
    }
    list->count = kept;
}

bool queue_list_read(struct redis_pipe *p, char *const *patterns, size_t count, size_t most,
                     struct queue_list *out) {
    char cursor[CURSOR_SIZE] = "0";

    *out = (struct queue_list){ .at_us = clock_mono_now() };
    do {
        if (!read_page(p, cursor, patterns, count, most, out))
            return false;
    } while (strcmp(cursor, "0") != 0 && !out->more);
    if (out->count > 0)
        drop_repeated(out);
    return true;
}

void queue_list_free(struct queue_list *list) {
    for (size_t i = 0; i < list->count; i++)
        free((char *)list->rows[i].name.ptr);
    free(list->rows);
    *list = (struct queue_list){ 0 };
}

/* ---- rates and order ---- */

/* A counter of a queue that was deleted and made again may be lower than before. */
static double rate_of(int64_t now, int64_t before, double seconds) {
    return now > before ? (double)(now - before) / seconds : 0;
}

void queue_list_compare(struct queue_list *list, struct queue_list *before) {
    double seconds = (double)(list->at_us - before->at_us) / US_PER_S;
    size_t b = 0;

    queue_list_sort(list, "name");
    queue_list_sort(before, "name");
    for (size_t i = 0; i < list->count && seconds > 0; i++) {
        struct queue_figures *row = &list->rows[i];

        while (b < before->count && rows_by_name(&before->rows[b], row) < 0)
            b++;
        if (b == before->count || rows_by_name(&before->rows[b], row) != 0)
            continue;
        row->in_rate = rate_of(row->jobs_in, before->rows[b].jobs_in, seconds);
        row->out_rate = rate_of(row->jobs_out, before->rows[b].jobs_out, seconds);
    }
}

static int descending(const void *a, const void *b, double x, double y) {
    return x != y ? (x < y ? 1 : -1) : rows_by_name(a, b);
}

#define QUEUE_ORDER(name, expression)                                              \
    static int by_##name(const void *a, const void *b) {                           \
        const struct queue_figures *x = a, *y = b;                                 \
        return descending(a, b, (double)(x->expression), (double)(y->expression)); \
    }

QUEUE_ORDER(len, len)
QUEUE_ORDER(oldest, oldest_ms)
QUEUE_ORDER(in, jobs_in)
QUEUE_ORDER(out, jobs_out)
QUEUE_ORDER(in_rate, in_rate)
QUEUE_ORDER(out_rate, out_rate)
QUEUE_ORDER(dead, dead)
QUEUE_ORDER(idle, idle_s)

void queue_list_sort(struct queue_list *list, const char *order) {
    static const struct {
        const char *name;
        int (*fn)(const void *, const void *);
        int (*rates)(const void *, const void *);
    } orders[] = {
        { "name", rows_by_name, rows_by_name }, { "len", by_len, by_len },
        { "oldest", by_oldest, by_oldest },     { "in", by_in, by_in_rate },
        { "out", by_out, by_out_rate },         { "dead", by_dead, by_dead },
        { "idle", by_idle, by_idle },
    };
    bool rates = false;

    for (size_t i = 0; i < list->count; i++)
        rates = rates || list->rows[i].in_rate > 0 || list->rows[i].out_rate > 0;
    for (size_t i = 0; i < LENGTH(orders) && list->count > 0; i++) {
        if (strcmp(orders[i].name, order) == 0)
            qsort(list->rows, list->count, sizeof *list->rows, rates ? orders[i].rates : orders[i].fn);
    }
}
