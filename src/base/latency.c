/* Latency spikes by kind of event, for LATENCY. */
#include "base/latency.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct list latency_events = { &latency_events,
                                      &latency_events }; /* in the order of their first samples */

/* ---- Samples ---- */

static const struct latency_event *event_or_end(const struct list *link) {
    return link == &latency_events ? NULL : LIST_ENTRY(link, const struct latency_event, link);
}

const struct latency_event *latency_first(void) {
    return event_or_end(latency_events.next);
}

const struct latency_event *latency_next(const struct latency_event *after) {
    return event_or_end(after->link.next);
}

static struct latency_event *find(struct slice name) {
    LIST_EACH(link, &latency_events) {
        struct latency_event *e = LIST_ENTRY(link, struct latency_event, link);

        if (slice_equal(name, slice_str(e->name)))
            return e;
    }
    return NULL;
}

const struct latency_event *latency_find(struct slice name) {
    return find(name);
}

static struct latency_event *find_or_add(const char *name) {
    struct latency_event *e = find(slice_str(name));

    if (e == NULL) {
        e = xcalloc(1, sizeof(*e));
        e->name = xstrdup(name);
        list_push_back(&latency_events, &e->link);
    }
    return e;
}

void latency_add(const char *event, int64_t unix_s, int64_t ms) {
    struct latency_event *e = find_or_add(event);
    struct latency_sample *last = &e->samples[(e->taken + LATENCY_SAMPLES - 1) % LATENCY_SAMPLES];

    if (ms > e->max_ms)
        e->max_ms = ms;
    if (e->taken > 0 && last->unix_s == unix_s) {
        if (ms > last->ms)
            last->ms = ms;
        return;
    }
    e->samples[e->taken++ % LATENCY_SAMPLES] = (struct latency_sample){ unix_s, ms };
}

size_t latency_count(const struct latency_event *e) {
    return e->taken < LATENCY_SAMPLES ? e->taken : LATENCY_SAMPLES;
}

struct latency_sample latency_at(const struct latency_event *e, size_t index) {
    return e->samples[(e->taken - latency_count(e) + index) % LATENCY_SAMPLES];
}

struct latency_sample latency_latest(const struct latency_event *e) {
    return latency_at(e, latency_count(e) - 1);
}

static void latency_forget(struct latency_event *e) {
    list_remove(&e->link);
    free(e->name);
    free(e);
}

bool latency_reset(struct slice name) {
    struct latency_event *e = find(name);

    if (e == NULL)
        return false;
    latency_forget(e);
    return true;
}

size_t latency_reset_all(void) {
    size_t count = 0;

    for (; !list_empty(&latency_events); count++)
        latency_forget(LIST_ENTRY(latency_events.next, struct latency_event, link));
    return count;
}

/* ---- The graph ---- */

#define GRAPH_COLUMNS 80
#define GRAPH_ROWS 4
#define LABEL_MAX 24

/* The character of a bar in a row. Each row shows two steps of height. */
static char bar_part(int steps, int row) {
    int left = steps - 2 * row;

    return left >= 2 ? '#' : left == 1 ? '_' : ' ';
}

struct graph {
    const struct latency_event *event;
    size_t first; /* index of the sample in the leftmost column */
    size_t columns;
    int64_t low;
    int64_t high;
};

static struct graph graph_of(const struct latency_event *e) {
    struct graph g = { .event = e, .columns = latency_count(e), .low = INT64_MAX };

    for (size_t i = 0; i < latency_count(e); i++) {
        int64_t ms = latency_at(e, i).ms;

        g.low = ms < g.low ? ms : g.low;
        g.high = ms > g.high ? ms : g.high;
    }
    if (g.columns > GRAPH_COLUMNS)
        g.columns = GRAPH_COLUMNS;
    g.first = latency_count(e) - g.columns;
    return g;
}

/* The height of a bar: one step for the lowest sample, so that it is visible, and all steps for the highest. */
static int steps_of(const struct graph *g, size_t column) {
    int64_t ms = latency_at(g->event, g->first + column).ms;

    if (g->high == g->low)
        return 2 * GRAPH_ROWS;
    return 1 + (int)((double)(ms - g->low) / (double)(g->high - g->low) * (2 * GRAPH_ROWS - 1));
}

/* Appends a row without the blanks at its end. */
static void append_row(struct buf *out, const char *row, size_t len) {
    while (len > 0 && row[len - 1] == ' ')
        len--;
    buf_append(out, row, len);
    buf_append(out, "\n", 1);
}

static void append_bars(const struct graph *g, struct buf *out) {
    char line[GRAPH_COLUMNS];

    for (int row = GRAPH_ROWS - 1; row >= 0; row--) {
        for (size_t i = 0; i < g->columns; i++)
            line[i] = bar_part(steps_of(g, i), row);
        append_row(out, line, g->columns);
    }
}

static const struct age_unit {
    int64_t seconds;
    char letter;
} age_units[] = { { 86400, 'd' }, { 3600, 'h' }, { 60, 'm' }, { 0, 's' } };

static void format_age(char out[LABEL_MAX], int64_t seconds) {
    const struct age_unit *unit = age_units;

    if (seconds < 0)
        seconds = 0;
    while (seconds < unit->seconds)
        unit++;
    snprintf(out, LABEL_MAX, "%" PRId64 "%c", seconds / (unit->seconds == 0 ? 1 : unit->seconds),
             unit->letter);
}

/* Writes the age of each sample downwards below its bar. */
static void append_ages(const struct graph *g, int64_t unix_s, struct buf *out) {
    char labels[GRAPH_COLUMNS][LABEL_MAX], line[GRAPH_COLUMNS];
    size_t depth = 0;

    for (size_t i = 0; i < g->columns; i++) {
        format_age(labels[i], unix_s - latency_at(g->event, g->first + i).unix_s);
        if (strlen(labels[i]) > depth)
            depth = strlen(labels[i]);
    }
    for (size_t row = 0; row < depth; row++) {
        for (size_t i = 0; i < g->columns; i++)
            line[i] = row < strlen(labels[i]) ? labels[i][row] : ' ';
        append_row(out, line, g->columns);
    }
}

void latency_graph(const struct latency_event *e, int64_t unix_s, struct buf *out) {
    struct graph g = graph_of(e);

    buf_printf(out, "%s - high %" PRId64 " ms, low %" PRId64 " ms (all time high %" PRId64 " ms)\n", e->name,
               g.high, g.low, e->max_ms);
    for (int i = 0; i < GRAPH_COLUMNS; i++)
        buf_append(out, "-", 1);
    buf_append(out, "\n", 1);
    append_bars(&g, out);
    buf_append(out, "\n", 1);
    append_ages(&g, unix_s, out);
}

/* ---- The doctor ---- */

static void describe(const struct latency_event *e, int64_t unix_s, struct buf *out) {
    size_t count = latency_count(e);
    char age[LABEL_MAX];
    int64_t sum = 0;

    for (size_t i = 0; i < count; i++)
        sum += latency_at(e, i).ms;
    format_age(age, unix_s - latency_latest(e).unix_s);
    buf_printf(
        out, "%s: %zu slow second%s, %" PRId64 " ms on average, the worst %" PRId64 " ms, the last %s ago.\n",
        e->name, count, count == 1 ? "" : "s", sum / (int64_t)count, e->max_ms, age);
}

void latency_doctor(int64_t unix_s, int64_t threshold_ms, struct buf *out) {
    if (threshold_ms <= 0)
        buf_append_str(out, "Latency is not watched. Switch it on with "
                            "CONFIG SET latency-monitor-threshold <milliseconds>.\n");
    if (list_empty(&latency_events)) {
        if (threshold_ms > 0)
            buf_printf(out, "Nothing took %" PRId64 " ms or longer so far.\n", threshold_ms);
        return;
    }
    LIST_EACH(link, &latency_events)
        describe(LIST_ENTRY(link, struct latency_event, link), unix_s, out);
    buf_append_str(out, "LATENCY HISTORY and LATENCY GRAPH show an event's samples; "
                        "SLOWLOG GET shows the commands.\n");
}
