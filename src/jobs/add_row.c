/* The parameters of the statements that add jobs. */
#include "jobs/add_row.h"

#include "base/clock.h"
#include "base/node.h"
#include "jobs/claim_ahead.h"
#include "net/request.h"

struct job_times add_job_times(const struct add *a, size_t i) {
    return addjob_times(&a->opt, a->ids[i], a->made_us);
}

int64_t add_lease_us(const struct add *a) {
    int64_t backoff = a->opt.attempts == 1 ? 0 : job_backoff_us(a->ids[0], a->opt.backoff, 1);

    return a->opt.retry * US_PER_S + backoff + (a->ahead ? CLAIM_AHEAD_KEEP_US : 0);
}

struct job add_delivered_job(const struct add *a, size_t i) {
    struct job_key key = add_job_key(a, i);

    return (struct job){
        .q = a->q,
        .key = key,
        .ready_at = a->until,
        .lease_us = add_lease_us(a),
        .due_us = job_created_us(key.id),
        .last = a->opt.attempts == 1,
        .expires_at = add_job_times(a, i).expires_at,
        .retry = (int32_t)a->opt.retry,
        .body = a->bodies[i],
        .headers = a->opt.headers,
    };
}

/* The columns of rare properties, which add_jobs.sql and push_if_any.sql do not have. */
enum { RARE_COLUMN = 15, RARE_UNIQUE_COLUMN = 18, TRACE_COLUMN = 20, TRIED_COLUMN = 21 };

void add_write_rare(struct add *a) {
    struct buf text = { 0 };

    addjob_write_rare(&text, &a->opt);
    a->rare = req_take_text(a->req, &text);
}

void add_write_row(struct params *p, const struct add *a, size_t i) {
    const struct add_options *o = &a->opt;
    struct job_times at = add_job_times(a, i);

    params_int8(p, 0, a->ids[i]);
    params_time(p, 1, addjob_has_group(o) ? TIME_NEVER : add_is_leased(a) ? a->until : at.ready_at);
    params_time(p, 2, at.expires_at);
    params_time_or_null(p, 3, at.wake_at);
    params_int4(p, 4, a->q->id);
    params_int4(p, 5, (int32_t)o->retry);
    params_int4(p, 6, (int32_t)o->delay);
    params_int2(p, 7, (int16_t)-o->priority);
    params_int2(p, 8, (int16_t)o->replicate);
    params_int2_or_null(p, 9, add_is_leased(a) ? (int16_t)node_self()->number : 0);
    params_bytea(p, 10, a->bodies[i]);
    params_int4_or_null(p, 11, (int32_t)o->attempts);
    params_int4_or_null(p, 12, (int32_t)o->backoff);
    params_bytea_or_null(p, 13, o->deadqueue);
    params_bytea_or_null(p, 14, o->group);
    if (addjob_is_unique(o)) {
        params_bytea(p, 15, o->unique);
        params_time_or_null(p, 16, o->unique_for > 0 ? clock_db() + o->unique_for * US_PER_S : TIME_NEVER);
        params_jsonb_or_null(p, RARE_UNIQUE_COLUMN, a->rare);
        params_int8(p, TRACE_COLUMN, a->trace);
        params_int8(p, TRIED_COLUMN, a->settled ? a->tried.txn : 0);
    } else if ((addjob_is_rare(o) || addjob_in_flow(o) || a->again) && !a->if_any) {
        params_jsonb_or_null(p, RARE_COLUMN, a->rare);
    }
}

void add_write_common(struct params *p, const struct add *a) {
    params_set_int4(p, 2, a->q->id);
    params_set_int4(p, 3, (int32_t)a->opt.retry);
    params_set_int2(p, 4, (int16_t)-a->opt.priority);
    params_set_int2(p, 5, (int16_t)a->opt.replicate);
    params_set_time(p, 6, add_is_leased(a) ? a->until : a->made_us);
    params_set_time(p, 7, job_created_us(0) + a->opt.ttl * US_PER_S);
    if (add_is_leased(a))
        params_set_int2(p, 8, (int16_t)node_self()->number);
}

void add_write_alike(struct params *p, const struct add *a) {
    for (size_t i = 0; i < a->count; i++) {
        params_int8(p, 0, a->ids[i]);
        params_bytea(p, 1, a->bodies[i]);
    }
}

static void add_write_edges(struct params *p, const struct add *a, int32_t ordinal) {
    const struct add_flow *f = &a->opt.flow;
    static const struct job_key none;

    for (size_t i = 0; i < f->count || i == 0; i++) {
        struct job_key key = f->count > 0 ? job_ref_key(&f->predecessors[i]) : none;

        params_int4(p, 18, ordinal);
        params_key(p, 19, key);
    }
}

void add_write_flow_row(struct params *p, const struct add *a, size_t i) {
    add_write_row(p, a, i);
    params_int8(p, 16, job_ref_key(&a->opt.flow.of_batch).id);
    params_int2(p, 17, (int16_t)a->opt.flow.on_fail);
    add_write_edges(p, a, a->flow_first + (int32_t)i + 1);
}
