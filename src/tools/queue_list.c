/* Reads the queues of a server with their figures. */
#include "tools/queue_list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/glob.h"
#include "tools/redis_reply.h"

/* Queues of a page, and requests in a pipeline. */
#define QUEUES_PAGE 500
/* QSCAN ORDER replies at most so many queues. */
#define ORDER_MOST 1000
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
    if (list->count % QUEUES_PAGE == 0)
        list->rows = xrealloc(list->rows, (list->count + QUEUES_PAGE) * sizeof *list->rows);
    return &list->rows[list->count++];
}

static void add_row(struct queue_list *list, struct slice name, const redisReply *stat) {
    const char *pause = redis_reply_text(stat, "pause");
    struct queue_figures *row = next_queue_row(list);

    *row = (struct queue_figures){
        .name = { slice_dup(name), name.len },
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
        .in_rate = -1,
        .out_rate = -1,
    };
    if (row->len > 0)
        row->oldest_ms = queue_figure_or(stat, "oldest-ms", -1);
    snprintf(row->pause, sizeof row->pause, "%s", pause == NULL ? "" : pause);
}

/* Reads the figures of a page of names. A queue that is gone is left out. */
static bool read_figures(struct redis_pipe *p, const struct slice *names, size_t count,
                         struct queue_list *out) {
    for (size_t i = 0; i < count; i++) {
        const struct slice words[] = { SLICE("QSTAT"), names[i] };

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

/* ---- names ---- */

struct queue_list_names {
    struct slice *items; /* owned */
    size_t count;
};

static void queue_list_names_free(struct queue_list_names *names) {
    for (size_t i = 0; i < names->count; i++)
        free((char *)names->items[i].ptr);
    free(names->items);
}

/* Appends the names of a reply to QSCAN that match one of the patterns. */
static void add_names(struct queue_list_names *names, const redisReply *page, char *const *patterns,
                      size_t count) {
    names->items = xrealloc(names->items, (names->count + page->elements + 1) * sizeof *names->items);
    for (size_t i = 0; i < page->elements; i++) {
        struct slice name = { page->element[i]->str, page->element[i]->len };

        if (is_wanted(name, patterns, count))
            names->items[names->count++] = (struct slice){ slice_dup(name), name.len };
    }
}

static int compare_names(const void *a, const void *b) {
    const struct slice *x = a, *y = b;
    int order = memcmp(x->ptr, y->ptr, x->len < y->len ? x->len : y->len);

    return order != 0 ? order : (x->len > y->len) - (x->len < y->len);
}

/* Sorts the names. The cursor may return to a queue, so a name may be there twice. */
static void sort_names(struct queue_list_names *names) {
    size_t kept = 0;

    qsort(names->items, names->count, sizeof *names->items, compare_names);
    for (size_t i = 0; i < names->count; i++) {
        if (kept > 0 && compare_names(&names->items[kept - 1], &names->items[i]) == 0)
            free((char *)names->items[i].ptr);
        else
            names->items[kept++] = names->items[i];
    }
    names->count = kept;
}

/* Reads the names of the first queues in an order that the server knows. */
static bool read_names_in_order(struct redis_pipe *p, const char *order, size_t most,
                                struct queue_list_names *names) {
    redisReply *page;

    redis_pipe_put(p, "QSCAN 0 COUNT %lld ORDER %s", (long long)most, order);
    page = redis_pipe_take(p, "QSCAN", "[s[s*]]");
    if (page == NULL)
        return false;
    add_names(names, page->element[1], NULL, 0);
    freeReplyObject(page);
    return true;
}

static bool read_names(struct redis_pipe *p, char *const *patterns, size_t count,
                       struct queue_list_names *names) {
    char cursor[CURSOR_SIZE] = "0";

    do {
        redisReply *page;

        redis_pipe_put(p, "QSCAN %s COUNT %d", cursor, QUEUES_PAGE);
        page = redis_pipe_take(p, "QSCAN", "[s[s*]]");
        if (page == NULL)
            return false;
        snprintf(cursor, CURSOR_SIZE, "%s", page->element[0]->str);
        add_names(names, page->element[1], patterns, count);
        freeReplyObject(page);
    } while (strcmp(cursor, "0") != 0);
    sort_names(names);
    return true;
}

/* The word of QSCAN ORDER; NULL: the server does not know the order, or not so many queues. */
static const char *order_of_server(const char *order, size_t patterns, size_t most) {
    if (patterns > 0 || most > ORDER_MOST)
        return NULL;
    return strcmp(order, "len") == 0 ? "LEN" : strcmp(order, "oldest") == 0 ? "AGE" : NULL;
}

/* Only the order by name is known before the figures. */
bool queue_list_read(struct redis_pipe *p, char *const *patterns, size_t count, const char *order,
                     size_t most, struct queue_list *out) {
    const char *word = order_of_server(order, count, most + 1);
    struct queue_list_names names = { 0 };
    size_t wanted;
    bool good;

    *out = (struct queue_list){ .at_us = clock_mono_now() };
    good = word != NULL ? read_names_in_order(p, word, most + 1, &names)
                        : read_names(p, patterns, count, &names);
    wanted = strcmp(order, "name") == 0 && names.count > most ? most + 1 : names.count;
    for (size_t at = 0; at < wanted && good; at += QUEUES_PAGE)
        good = read_figures(p, names.items + at, wanted - at < QUEUES_PAGE ? wanted - at : QUEUES_PAGE, out);
    queue_list_names_free(&names);
    return good;
}

void queue_list_free(struct queue_list *list) {
    for (size_t i = 0; i < list->count; i++)
        free((char *)list->rows[i].name.ptr);
    free(list->rows);
    *list = (struct queue_list){ 0 };
}

/* ---- rates and order ---- */

static int rows_by_name(const void *a, const void *b) {
    return compare_names(&((const struct queue_figures *)a)->name, &((const struct queue_figures *)b)->name);
}

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
