/* ADDJOB ADDJOBS: parse the options, and reply the IDs of the jobs. */
#include "commands/cmd_addjob.h"

#include "base/clock.h"
#include "commands/dispatch.h"
#include "commands/flow_args.h"
#include "jobs/add.h"
#include "net/args.h"
#include "net/client.h"
#include "net/headers.h"
#include "queue/delivery.h"

#define ADDJOBS_MAX 20000

/* c may be NULL. */
static bool addjob_wants_bulk_id(const struct client *c) {
    int wish = c == NULL ? JOB_ID_AS_SET : c->job_id_reply;

    return (wish == JOB_ID_AS_SET ? config.job_id_reply : wish) == JOB_ID_BULK;
}

static void addjob_reply_id(struct req *r, struct job_key key, int64_t expires_at, int32_t retry) {
    char id[JOBID_LEN + 1];

    job_format_id(id, key, expires_at, retry);
    id[JOBID_LEN] = '\0';
    if (addjob_wants_bulk_id(r->client))
        reply_bulk_str(r, id);
    else
        reply_status(r, id);
}

void addjob_reply(struct req *r, const struct added *job) {
    const struct add *a = r->data;

    if (a->opt.with_outcome)
        reply_array(r, 2);
    addjob_reply_id(r, job->key, job->expires_at, job->retry);
    if (a->opt.with_outcome)
        reply_bulk_str(r, job->outcome);
}

static void addjobs_reply(struct req *r, const struct added *first) {
    const struct add *a = r->data;

    reply_array(r, a->count);
    for (size_t i = 0; i < a->count; i++) {
        struct job_key key = add_job_key(a, i);

        addjob_reply_id(r, key, job_created_us(key.id) + a->opt.ttl * US_PER_S, first->retry);
    }
}

static struct add *addjob_new(struct req *r) {
    struct add *a = req_alloc(r, sizeof *a);

    a->req = r;
    a->opt = (struct add_options)ADD_OPTIONS_UNSAID;
    a->opt.delay = -1;
    return a;
}

/* The bodies after JOBS and their number, which are the last arguments. */
static bool addjobs_take_bodies_or_reply(struct add *a, int at) {
    struct req *r = a->req;
    int64_t count;

    if (at + 1 >= r->argc) {
        usage_error(r, SYNTAX_ERROR ": JOBS, the number of jobs, and the jobs are missing");
        return false;
    }
    if (!parse_int_strict(r->argv[at + 1], &count) || count < 1 || count > ADDJOBS_MAX) {
        usage_invalid(r, at + 1, "ERR JOBS takes a number of jobs from 1 to 20000");
        return false;
    }
    if (count != r->argc - at - 2) {
        usage_error(r, SYNTAX_ERROR ": JOBS takes as many jobs as its number tells");
        return false;
    }
    if (a->opt.unique.ptr != NULL) {
        req_error(r, "ERR UNIQUE is for one job: ADDJOBS takes no UNIQUE");
        return false;
    }
    if (a->opt.flow.after.count > 0) {
        req_error(r, "ERR AFTER is for one job: ADDJOBS takes no AFTER");
        return false;
    }
    if (a->opt.with_outcome) {
        req_error(r, "ERR WITHOUTCOME is for one job: ADDJOBS adds all its jobs");
        return false;
    }
    a->bodies = &r->argv[at + 2];
    a->count = (size_t)count;
    return true;
}

/* The options in argv[from ..). *end: the index after them. */
static bool addjob_options_or_reply(struct add *a, int from, const struct arg_spec *spec, int *end) {
    if (!args_parse_or_reply(a->req, from, spec, &a->opt, end))
        return false;
    a->opt.has_delay = a->opt.delay >= 0;
    a->opt.delay = a->opt.has_delay ? a->opt.delay : 0;
    return headers_or_reply(a->req, &a->opt.header_pairs, &a->opt.headers) &&
           (!addjob_in_flow(&a->opt) || flow_args_or_reply(a->req, &a->opt));
}

void cmd_addjobs(struct req *r) {
    struct arg_spec spec = addjob_spec;
    struct add *a = addjob_new(r);
    int end;

    spec.stop = "JOBS";
    a->several = true;
    a->reply = addjobs_reply;
    if (addjob_options_or_reply(a, 3, &spec, &end) && args_timeout_or_reply(r, 2, &a->timeout_ms) &&
        addjobs_take_bodies_or_reply(a, end) && addjob_allow_or_reply(r, &a->opt, r->argv[1]))
        add_start(a);
}

void cmd_addjob(struct req *r) {
    struct add *a = addjob_new(r);
    int end;

    a->bodies = &r->argv[2];
    a->count = 1;
    a->reply = addjob_reply;
    if (args_is_option(&addjob_spec, r->argv[3])) {
        usage_error(r, SYNTAX_ERROR ": ms-timeout is missing before %.*s", (int)r->argv[3].len,
                    r->argv[3].ptr);
        return;
    }
    if (addjob_options_or_reply(a, 4, &addjob_spec, &end) && args_timeout_or_reply(r, 3, &a->timeout_ms) &&
        addjob_allow_or_reply(r, &a->opt, r->argv[1]))
        add_start(a);
}
