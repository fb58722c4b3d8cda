/* EVAL EVALSHA SCRIPT: run known scripts as commands. */
#include "commands/dispatch.h"
#include "commands/script.h"
#include "commands/subcommand.h"
#include "net/usage.h"

void cmd_eval(struct req *r) {
    script_run(r);
}

void cmd_eval_ro(struct req *r) {
    cmd_eval(r);
}

void cmd_evalsha(struct req *r) {
    cmd_eval(r);
}

void cmd_evalsha_ro(struct req *r) {
    cmd_eval(r);
}

/* ---- SCRIPT ---- */

static void script_load(struct req *r) {
    const char *sha1 = script_sha1_or_reply(r, r->argv[2]);

    if (sha1 != NULL)
        reply_bulk_str(r, sha1);
    req_end(r);
}

static void exists(struct req *r) {
    reply_array(r, (size_t)r->argc - 2);
    for (int i = 2; i < r->argc; i++)
        reply_int(r, script_exists(r->argv[i]));
    req_end(r);
}

/* FLUSH has no effect, because known scripts stay known. */
static void script_flush(struct req *r) {
    if (r->argc == 3 && !slice_is(r->argv[2], "async") && !slice_is(r->argv[2], "sync"))
        usage_error(r, "ERR SCRIPT FLUSH only support SYNC|ASYNC option");
    else
        req_ok(r);
}

static void kill_script(struct req *r) {
    req_error(r, "NOTBUSY No scripts in execution right now.");
}

void cmd_script(struct req *r) {
    static const struct subcommand members[] = {
        { "LOAD", 1, 1, script_load },
        { "EXISTS", 1, -1, exists },
        { "FLUSH", 0, 1, script_flush },
        { "KILL", 0, 0, kill_script },
    };

    subcommand_run(r, members, LENGTH(members));
}
