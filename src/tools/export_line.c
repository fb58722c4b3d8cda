/* The subcommand export: options, run, report. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "tools/export.h"
#include "tools/line_access.h"
#include "tools/line_progress.h"
#include "tools/line_report.h"
#include "tools/tool.h"

#define DEFAULT_BATCH 500
#define FOLLOW_PAUSE_US (200 * US_PER_MS)

struct export_line_words {
    char *from, *user, *key_prefix, *pop;
    int64_t batch;
    bool delayed, follow, dry_run;
    struct line_form form;
    struct line_tls tls;
    struct line_list names;  /* the only name is the address of the Redis */
    struct line_list queues; /* names and patterns */
};

#define FIELD(member) offsetof(struct export_line_words, member)

static const struct line_option export_options[] = {
    { "--queue", LINE_LIST, "name", FIELD(queues), 0, 0,
      "move the jobs of this queue to a list of the same name; a pattern as in KEYS selects several queues; "
      "may be "
      "repeated" },
    { "--from", LINE_TEXT, "address", FIELD(from), 0, 0,
      "the address of the pgdisque (that of PGDISQUE_SERVER, or 127.0.0.1:7711)" },
    { "--user", LINE_TEXT, "name", FIELD(user), 0, 0,
      "the user at the pgdisque; the password comes from the address, PGDISQUE_PASSWORD or the terminal" },
    { "--key-prefix", LINE_TEXT, "text", FIELD(key_prefix), 0, 0, "prefix of the lists' names" },
    { "--pop", LINE_WORD, "right|left", FIELD(pop), 0, 0,
      "the end from which consumers take, in pgdisque and in Redis (right)" },
    { "--delayed", LINE_FLAG, NULL, FIELD(delayed), 0, 0,
      "also move jobs in their delay, as if it were over" },
    { "--batch", LINE_NUMBER, "count", FIELD(batch), 1, 10000, "jobs moved at a time, 1 to 10000 (500)" },
    { "--follow", LINE_FLAG, NULL, FIELD(follow), 0, 0, "continue with new jobs until SIGINT or SIGTERM" },
    { "--dry-run", LINE_FLAG, NULL, FIELD(dry_run), 0, 0, "only count the jobs" },
    LINE_FORM_OPTIONS(struct export_line_words, form),
    LINE_TLS_OPTIONS(struct export_line_words, tls),
};

struct export_run {
    const struct export_line_words *w;
    struct export x;
    struct line_progress progress;
    struct line_report report;
    int64_t found;  /* jobs under the name that is looked at */
    size_t missing; /* names without jobs */
};

static bool export_line_refuse(const char *why, const char *what) {
    return line_refuse("export", why, what);
}

static bool export_line_read_words(const struct tool *tool, int argc, char **argv,
                                   struct export_line_words *w) {
    if (!line_options_read(tool, argc, argv, w, &w->names))
        return false;
    if (w->names.count == 0)
        return export_line_refuse("the address redis://host:port/db is missing; see --help", "");
    if (w->names.count > 1)
        return export_line_refuse("queues are named by --queue", w->names.items[1]);
    if (w->queues.count == 0)
        return export_line_refuse("the option --queue is missing", "");
    return true;
}

/* ---- queues ---- */

/* A step for each queue that matches; false after an error. */
typedef bool with_queue(struct export_run *run, const char *name);

static bool export_line_each_of(struct export_run *run, char **wanted, size_t of, with_queue *with) {
    char **names = NULL;
    size_t count = 0;
    bool good = true;

    for (size_t i = 0; i < of && good; i++)
        good = export_find(&run->x, wanted[i], &names, &count);
    for (size_t i = 0; i < count; i++) {
        good = good && with(run, names[i]);
        free(names[i]);
    }
    free(names);
    return good;
}

static bool export_line_each_queue(struct export_run *run, with_queue *with) {
    return export_line_each_of(run, run->w->queues.items, run->w->queues.count, with);
}

static bool count_queue(struct export_run *run, const char *name) {
    int64_t length = export_length(&run->x, name);

    if (run->w->dry_run && length >= 0)
        line_report_count(&run->report, "queues", length, name);
    run->progress.total += length;
    return length >= 0;
}

/* Jobs that stay count as found, too. */
static bool find_jobs(struct export_run *run, const char *name) {
    struct export_rest rest = { 0 };

    if (run->found == 0)
        run->found = export_length(&run->x, name);
    if (run->found == 0 && export_look(&run->x, name, false, &rest))
        run->found = rest.queued + rest.given_out + rest.delayed;
    return run->x.err[0] == '\0';
}

/* Reports names and patterns without jobs, because they may be misspelt. With --follow their jobs may come later. */
static bool find_all_named(struct export_run *run) {
    const struct line_list *queues = &run->w->queues;

    for (size_t i = 0; i < queues->count && !run->w->follow; i++) {
        run->found = 0;
        if (!export_line_each_of(run, &queues->items[i], 1, find_jobs))
            return false;
        if (run->found > 0)
            continue;
        export_line_refuse("nothing was found under this name", queues->items[i]);
        run->missing++;
    }
    return true;
}

static bool move_queue(struct export_run *run, const char *name) {
    struct export *x = &run->x;
    int64_t before = x->moved;
    struct export_rest rest;

    if (run->w->delayed && !export_look(x, name, true, &rest))
        return false;
    while (!line_ended() && export_batch(x, name))
        line_progress_tell(&run->progress, x->moved);
    if (x->err[0] != '\0' || !export_end(x))
        return false;
    if (x->moved > before && !run->w->follow) {
        line_progress_clear(&run->progress);
        line_report_count(&run->report, "queues", x->moved - before, name);
    }
    return true;
}

/* ---- jobs that stay ---- */

/* state is that of the jobs in JSON, what their state in a sentence. */
static void tell_rest(struct export_run *run, const char *name, int64_t count, const char *state,
                      const char *what) {
    run->x.stays += count;
    if (count == 0)
        return;
    line_report_rest(&run->report, "stays", count, name, state);
    line_report_say(&run->report, xasprintf("%lld jobs of %s %s: they are %s", (long long)count, name,
                                            run->w->dry_run ? "would stay" : "stay", what));
}

static bool tell_queue(struct export_run *run, const char *name) {
    const struct export_line_words *w = run->w;
    struct export_rest rest;

    if (!export_look(&run->x, name, false, &rest))
        return false;
    if (!w->dry_run || !w->delayed)
        tell_rest(run, name, rest.delayed, "delayed",
                  w->delayed ? "about to end their delay" : "in their delay, see --delayed");
    tell_rest(run, name, rest.given_out, "active", "leased by consumers, or wait for a retry");
    if (!w->dry_run)
        tell_rest(run, name, rest.queued, "queued",
                  "held back by a pause, a limit or their group, or were added just now");
    return true;
}

/* ---- the run ---- */

static bool export_line_run(struct export_run *run) {
    if (!export_line_each_queue(run, count_queue) || !find_all_named(run))
        return false;
    while (!run->w->dry_run && !line_ended()) {
        int64_t before = run->x.moved;

        if (!export_line_each_queue(run, move_queue))
            return false;
        if (!run->w->follow)
            break;
        if (run->x.moved == before && !line_ended())
            usleep(FOLLOW_PAUSE_US);
    }
    return true;
}

/* The exit status. */
static int export_line_end(const struct export_run *run, bool good) {
    if (!good) {
        export_line_refuse(run->x.err, "");
        if (run->x.begun)
            fprintf(stderr,
                    "Jobs that were taken and not yet pushed may be in queues pgdisque:export:*. Run the "
                    "export again to push them.\n");
        return 2;
    }
    if (line_ended() && !run->w->follow) {
        export_line_refuse("it was interrupted; run it again for the rest", "");
        return 2;
    }
    if (run->x.stays > 0 && !run->w->dry_run)
        return 1;
    return run->missing > 0 ? 3 : 0;
}

static int export_line_work(struct export_run *run) {
    struct line_report *out = &run->report;
    bool good;

    line_report_begin(out, &run->w->form);
    line_report_flag(out, "dry_run", run->w->dry_run);
    line_report_list(out, "queues");
    line_report_list(out, "stays");
    line_progress_begin(&run->progress, "jobs");
    good = export_line_run(run);
    line_progress_clear(&run->progress);
    if (!run->w->dry_run) {
        line_report_number(out, "moved", run->x.moved);
        line_report_say(out, xasprintf("%lld jobs moved", (long long)run->x.moved));
    }
    good = good && export_line_each_queue(run, tell_queue);
    line_report_end(out, "export");
    return export_line_end(run, good);
}

static bool connect_all(struct export *x, const struct export_line_words *w) {
    const struct line_server server = { .address = w->from, .user = w->user, .tls = w->tls };
    bool good = line_connect("export", w->names.items[0], 6379, &w->tls, LINE_PASSWORD_OF_REDIS, &x->to) &&
                line_server_connect("export", &server, &x->from);

    for (size_t i = 0; i < EXPORT_MOVERS && good; i++)
        good = line_server_connect("export", &server, &x->movers[i]);
    return good;
}

static int export_with(const struct export_line_words *w) {
    struct export_run run = {
        .w = w,
        .x = { .key_prefix = w->key_prefix, .batch = w->batch, .left = strcmp(w->pop, "left") == 0 },
    };
    struct export *x = &run.x;
    int status = connect_all(x, w) ? export_line_work(&run) : 2;

    for (size_t i = 0; i < EXPORT_MOVERS; i++)
        redis_pipe_close(&x->movers[i]);
    redis_pipe_close(&x->from);
    redis_pipe_close(&x->to);
    return status;
}

static int export_line(const struct tool *tool, int argc, char **argv) {
    struct export_line_words w = { .key_prefix = "", .pop = "right", .batch = DEFAULT_BATCH };
    int status = tool->error;

    line_signals();
    if (export_line_read_words(tool, argc, argv, &w))
        status = export_with(&w);
    line_list_free(&w.names);
    line_list_free(&w.queues);
    return status;
}

const struct tool tool_export = {
    .name = "export",
    .arguments = "redis[s]://[[user:]password@]host[:port][/db] [option]... --queue name ...",
    .summary = "Moves queued jobs to the lists of a Redis.",
    .text =
        "An interrupted export can be run again: each job is pushed once. The password of the Redis may be "
        "in REDISCLI_AUTH, and that of the pgdisque in PGDISQUE_PASSWORD.\n\n" LINE_ADDRESS_TEXT,
    .example = "pgdisque export redis://127.0.0.1:6379 --queue mail",
    TOOL_OPTIONS(export_options),
    .error = 2,
    TOOL_STATUSES({ 0, "all jobs are moved" }, { 1, "some jobs stay, and are listed" },
                  { 2, "an argument is wrong, or an error stopped the export" },
                  { 3, "nothing was found under a name" }),
    .run = export_line,
};
