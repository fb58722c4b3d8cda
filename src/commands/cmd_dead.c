/* REVIVE: puts the dead jobs of a queue back into it. */
#include "jobs/dead_jobs.h"

#include "commands/dispatch.h"
#include "net/args.h"

struct revive_options {
    int64_t count;
};

static const struct arg_option revive_words[] = {
    { "COUNT", ARG_INT, offsetof(struct revive_options, count), 1, INT64_MAX,
      "ERR COUNT must be a number greater than zero" },
};

static const struct arg_spec revive_spec = {
    revive_words, LENGTH(revive_words), NULL, NULL, NULL,
};

void cmd_revive(struct req *r) {
    struct revive_options options = { .count = INT64_MAX };
    struct queue *q;
    int end;

    if (!args_parse_or_reply(r, 2, &revive_spec, &options, &end))
        return;
    q = queue_find(r->argv[1]);
    if (q == NULL || q->id == 0)
        req_int(r, 0);
    else
        dead_revive_queue(r, q, options.count);
}
