/* WAITJOB: parses the IDs of the jobs and the options. */
#include "commands/dispatch.h"
#include "jobs/id_list.h"
#include "jobs/waitjob.h"
#include "net/args.h"

#define WAITJOB_IDS_MOST 1000

static bool looks_like_id(struct slice arg) {
    return arg.len >= 2 && arg.ptr[0] == 'D' && arg.ptr[1] == '-';
}

/* The first argument is an ID in any case. */
static int find_ids_end(const struct req *r) {
    int end = 2;

    while (end < r->argc && looks_like_id(r->argv[end]))
        end++;
    return end;
}

/* ALL or ANY. */
static bool parse_form(struct slice arg, enum wait_form *form) {
    enum wait_form found = slice_is(arg, "ALL")   ? WAIT_FOR_ALL
                           : slice_is(arg, "ANY") ? WAIT_FOR_ANY
                                                  : WAIT_FOR_ONE;

    if (found == WAIT_FOR_ONE || *form != WAIT_FOR_ONE)
        return false;
    *form = found;
    return true;
}

static bool parse_wait_options_or_reply(struct req *r, int from, enum wait_form *form, int64_t *timeout_ms) {
    bool has_timeout = false;

    for (int i = from; i < r->argc; i++) {
        if (parse_form(r->argv[i], form))
            continue;
        if (!slice_is(r->argv[i], "TIMEOUT") || has_timeout) {
            usage_unexpected(r, i);
            return false;
        }
        if (++i == r->argc) {
            usage_error(r, SYNTAX_ERROR ": TIMEOUT takes one value");
            return false;
        }
        if (!args_timeout_or_reply(r, i, timeout_ms))
            return false;
        has_timeout = true;
    }
    return true;
}

void cmd_waitjob(struct req *r) {
    enum wait_form form = WAIT_FOR_ONE;
    int64_t timeout_ms = 0;
    int end = find_ids_end(r);

    if (end - 1 > WAITJOB_IDS_MOST) {
        req_error(r, "LIMIT no more than %d job IDs at once", WAITJOB_IDS_MOST);
        return;
    }
    if (!parse_wait_options_or_reply(r, end, &form, &timeout_ms) || !job_ids_or_reply(r, 1, end))
        return;
    if (form == WAIT_FOR_ONE && end > 2)
        form = WAIT_FOR_ALL;
    if (form == WAIT_FOR_ONE && job_ids(r)->count == 0)
        req_error(r, WAITJOB_UNKNOWN);
    else
        waitjob_start(r, form, (size_t)end - 1, limited_timeout(timeout_ms));
}
