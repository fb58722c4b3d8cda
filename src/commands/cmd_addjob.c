/* ADDJOB: parses the options, and replies the ID of the job. */
#include "commands/dispatch.h"
#include "jobs/add.h"
#include "net/args.h"
#include "net/connection.h"
#include "queue/waiters.h"

static void addjob_reply(struct req *r, const struct added *job) {
    char id[JOBID_LEN + 1];

    job_format_id(id, job->key, job->expires_at, job->retry);
    id[JOBID_LEN] = '\0';
    if (connection_wants_bulk_ids(r->client))
        reply_bulk_str(r, id);
    else
        reply_status(r, id);
}

void cmd_addjob(struct req *r) {
    struct add *a = req_alloc(r, sizeof *a);
    int end;

    a->req = r;
    a->opt = (struct add_options)ADD_OPTIONS_UNSAID;
    a->bodies = &r->argv[2];
    a->count = 1;
    a->reply = addjob_reply;
    if (args_is_option(&addjob_spec, r->argv[3])) {
        usage_error(r, SYNTAX_ERROR ": ms-timeout is missing before %.*s", (int)r->argv[3].len,
                    r->argv[3].ptr);
        return;
    }
    if (args_parse_or_reply(r, 4, &addjob_spec, &a->opt, &end) &&
        args_timeout_or_reply(r, 3, &a->timeout_ms) && addjob_allow_or_reply(r, &a->opt))
        add_start(a);
}
