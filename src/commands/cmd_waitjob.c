/* WAITJOB: parses the ID of the job and the timeout. */
#include "commands/dispatch.h"
#include "jobs/id_list.h"
#include "jobs/waitjob.h"
#include "net/args.h"

void cmd_waitjob(struct req *r) {
    int64_t timeout_ms = 0;

    if (r->argc > 2 && !slice_is(r->argv[2], "TIMEOUT")) {
        usage_unexpected(r, 2);
        return;
    }
    if (r->argc == 3 || r->argc > 4) {
        usage_error(r, SYNTAX_ERROR ": TIMEOUT takes one value");
        return;
    }
    if (r->argc == 4 && !args_timeout_or_reply(r, 3, &timeout_ms))
        return;
    if (!job_ids_or_reply(r, 1, 2))
        return;
    if (job_ids(r)->count == 0)
        req_error(r, "NOJOB Job not known: it never existed, or it has ended and is not retained.");
    else
        waitjob_start(r, limited_timeout(timeout_ms));
}
