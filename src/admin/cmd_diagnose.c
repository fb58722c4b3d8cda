/* SLOWLOG and LATENCY: slow commands, and latency events. */
#include "base/clock.h"
#include "base/latency.h"
#include "base/slowlog.h"
#include "commands/dispatch.h"
#include "commands/subcommand.h"
#include "config/config.h"
#include "net/usage.h"

#define SLOWLOG_SHOWN 10

/* Six elements for clients that did Redis' handshake, as in Redis since 4.0. Other clients get Disque's four. */
static void reply_slow_entry(struct req *r, const struct slowlog_entry *e) {
    bool long_form = r->client->redis_handshake;

    reply_array(r, long_form ? 6 : 4);
    reply_int(r, e->id);
    reply_int(r, e->unix_s);
    reply_int(r, e->usec);
    reply_array(r, (size_t)e->argc);
    for (int i = 0; i < e->argc; i++)
        reply_bulk(r, e->argv[i]);
    if (!long_form)
        return;
    reply_bulk_str(r, e->addr);
    reply_bulk_str(r, e->name);
}

static void slowlog_get(struct req *r) {
    int64_t limit = SLOWLOG_SHOWN;
    int64_t count = (int64_t)slowlog_len();
    const struct slowlog_entry *e = slowlog_newest();

    if (r->argc == 3 && (!parse_int_strict(r->argv[2], &limit) || limit < -1)) {
        usage_invalid(r, 2, "ERR count should be greater than or equal to -1");
        return;
    }
    if (limit >= 0 && limit < count)
        count = limit;
    reply_array(r, (size_t)count);
    for (; count > 0; count--, e = slowlog_older(e))
        reply_slow_entry(r, e);
    req_end(r);
}

static void slowlog_length(struct req *r) {
    req_int(r, (int64_t)slowlog_len());
}

static void slowlog_clear(struct req *r) {
    slowlog_reset();
    req_ok(r);
}

void cmd_slowlog(struct req *r) {
    static const struct subcommand members[] = {
        { "GET", 0, 1, slowlog_get },
        { "LEN", 0, 0, slowlog_length },
        { "RESET", 0, 0, slowlog_clear },
    };

    subcommand_run(r, members, LENGTH(members));
}

static void reply_event(struct req *r, const struct latency_event *e) {
    struct latency_sample last = latency_latest(e);

    reply_array(r, 4);
    reply_bulk_str(r, e->name);
    reply_int(r, last.unix_s);
    reply_int(r, last.ms);
    reply_int(r, e->max_ms);
}

static void latency_events(struct req *r) {
    size_t count = 0;

    for (const struct latency_event *e = latency_first(); e != NULL; e = latency_next(e))
        count++;
    reply_array(r, count);
    for (const struct latency_event *e = latency_first(); e != NULL; e = latency_next(e))
        reply_event(r, e);
    req_end(r);
}

static void latency_history(struct req *r) {
    const struct latency_event *e = latency_find(r->argv[2]);
    size_t count = e == NULL ? 0 : latency_count(e);

    reply_array(r, count);
    for (size_t i = 0; i < count; i++) {
        struct latency_sample s = latency_at(e, i);

        reply_array(r, 2);
        reply_int(r, s.unix_s);
        reply_int(r, s.ms);
    }
    req_end(r);
}

static void latency_draw(struct req *r) {
    const struct latency_event *e = latency_find(r->argv[2]);
    struct buf text = { 0 };

    if (e == NULL) {
        req_error(r, "ERR No samples available for event '%.*s'", (int)r->argv[2].len, r->argv[2].ptr);
        return;
    }
    latency_graph(e, clock_unix() / US_PER_S, &text);
    req_text(r, &text);
}

static void latency_clear(struct req *r) {
    int64_t count = 0;

    for (int i = 2; i < r->argc; i++)
        count += latency_reset(r->argv[i]);
    req_int(r, r->argc == 2 ? (int64_t)latency_reset_all() : count);
}

static void latency_advise(struct req *r) {
    struct buf text = { 0 };

    latency_doctor(clock_unix() / US_PER_S, config.latency_monitor_threshold, &text);
    req_text(r, &text);
}

void cmd_latency(struct req *r) {
    static const struct subcommand members[] = {
        { "LATEST", 0, 0, latency_events }, { "HISTORY", 1, 1, latency_history },
        { "GRAPH", 1, 1, latency_draw },    { "RESET", 0, -1, latency_clear },
        { "DOCTOR", 0, 0, latency_advise },
    };

    subcommand_run(r, members, LENGTH(members));
}
