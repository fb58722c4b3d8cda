/* HISTORY: the figures of the server or of a queue in the last minutes, hours or days. */
#include "base/clock.h"
#include "commands/dispatch.h"
#include "commands/rights.h"
#include "net/args.h"
#include "net/usage.h"
#include "queue/queue_history.h"
#include "queue/queue_rights.h"

static const char *const range_names[HISTORY_RANGES] = {
#define X(id, name) [id] = name,
    HISTORY_RANGE_NAMES(X)
#undef X
};

static const char *const series_names[HISTORY_SERIES] = {
#define X(id, name, counts) [id] = name,
    HISTORY_SERIES_NAMES(X)
#undef X
};

static bool find_range(struct slice word, enum history_range *range) {
    for (size_t i = 0; i < HISTORY_RANGES; i++) {
        if (slice_is(word, range_names[i])) {
            *range = (enum history_range)i;
            return true;
        }
    }
    return false;
}

static void reply_series(struct req *r, const struct history *h, enum history_range range,
                         enum history_series series) {
    size_t count = h == NULL ? 0 : history_count(h, range);

    reply_bulk_str(r, series_names[series]);
    reply_array(r, count);
    for (size_t i = 0; i < count; i++) {
        uint32_t value = history_at(h, range, series, i);

        if (value == HISTORY_UNKNOWN)
            reply_null_bulk(r);
        else
            reply_int(r, value);
    }
}

/* The beginning of the first step in milliseconds since 1970. */
static int64_t history_since_ms(const struct history *h, int64_t now_ms, int64_t step_ms,
                                enum history_range range) {
    return now_ms - (int64_t)history_count(h, range) * step_ms;
}

/* h NULL: there is no history. shapes gives the step then. */
static void reply_history(struct req *r, const struct history *h, const struct history_shape *shapes,
                          enum history_range range) {
    int64_t age_us = h == NULL ? 0 : clock_mono() - history_end_us(h, range);
    int64_t now_ms = (clock_unix() - age_us) / US_PER_MS, step_ms = shapes[range].step_us / US_PER_MS;

    reply_map(r, 3 + HISTORY_SERIES);
    reply_pair_int(r, "step", step_ms);
    reply_pair_int(r, "now", now_ms);
    reply_bulk_str(r, "since");
    if (h == NULL)
        reply_null_bulk(r);
    else
        reply_int(r, history_since_ms(h, now_ms, step_ms, range));
    for (int series = 0; series < HISTORY_SERIES; series++)
        reply_series(r, h, range, (enum history_series)series);
    req_end(r);
}

/* The figures of the server are as secret as those of METRICS. */
static void history_of_server(struct req *r, enum history_range range) {
    if (rights_allow_or_reply(r, command_lookup(SLICE("metrics"))))
        reply_history(r, queue_history_of_server(), server_history_shapes, range);
    else
        req_end(r);
}

static void history_of_queue(struct req *r, struct slice name, enum history_range range) {
    struct queue *q = queue_find(name);

    if (!queue_rights_allow_or_reply(r, ACL_READ, name))
        return;
    if (q != NULL)
        queue_history_ask(q);
    reply_history(r, q == NULL ? NULL : q->history, queue_history_shapes, range);
}

/* A single argument that is the name of a range means the server. */
void cmd_history(struct req *r) {
    enum history_range range = HISTORY_MINUTES;
    bool has_range = r->argc > 1 && find_range(r->argv[r->argc - 1], &range);

    if (r->argc > 3 || (r->argc == 3 && !has_range))
        usage_error(r, SYNTAX_ERROR ": expected MINUTES, HOURS or DAYS after the queue");
    else if (r->argc - has_range == 1)
        history_of_server(r, range);
    else
        history_of_queue(r, r->argv[1], range);
}
