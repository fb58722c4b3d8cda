/* The subcommand import: options, run, report. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sodium.h>

#include "base/clock.h"
#include "tools/import.h"
#include "tools/import_kinds.h"
#include "tools/import_stream.h"
#include "tools/line_access.h"
#include "tools/line_progress.h"
#include "tools/line_report.h"
#include "tools/tool.h"

#define DEFAULT_TTL_S (365 * 24 * 3600)
#define DEFAULT_BATCH 500
#define FOLLOW_PAUSE_US (200 * US_PER_MS)
/* An entry that a consumer has held for this time counts as abandoned. */
#define DEFAULT_IDLE_S 60

struct import_line_words {
    char *from, *to, *user, *kind, *prefix, *key_prefix, *pop, *group, *field;
    int64_t ttl, batch, idle, attempts;
    bool follow, dry_run;
    struct line_form form;
    struct line_tls tls;
    struct line_list names;
};

#define FIELD(member) offsetof(struct import_line_words, member)

static const struct line_option import_options[] = {
    { "--to", LINE_TEXT, "address", FIELD(to), 0, 0,
      "the address of the pgdisque (that of PGDISQUE_SERVER, or 127.0.0.1:7711)" },
    { "--user", LINE_TEXT, "name", FIELD(user), 0, 0,
      "the user at the pgdisque; the password comes from the address, PGDISQUE_PASSWORD or the terminal" },
    { "--kind", LINE_WORD, "list|sidekiq|resque|laravel|celery|rq|bull|bullmq|stream", FIELD(kind), 0, 0,
      "the format of the tasks (list)" },
    { "--queue-prefix", LINE_TEXT, "text", FIELD(prefix), 0, 0, "prefix of the queues' names in pgdisque" },
    { "--key-prefix", LINE_TEXT, "text", FIELD(key_prefix), 0, 0,
      "prefix of Laravel's and Celery's keys, such as laravel_database_; for Bull it replaces bull" },
    { "--pop", LINE_WORD, "right|left", FIELD(pop), 0, 0,
      "the end of the lists from which workers took tasks (right)" },
    { "--group", LINE_TEXT, "name", FIELD(group), 0, 0, "the streams' consumer group" },
    { "--field", LINE_TEXT, "name", FIELD(field), 0, 0,
      "the field of a stream's entries that is the task (the only field, or a JSON object of all fields)" },
    { "--idle", LINE_NUMBER, "seconds", FIELD(idle), 0, 1000000000,
      "an entry that a consumer got less than this time ago stays in the stream (60)" },
    { "--attempts", LINE_NUMBER, "count", FIELD(attempts), 1, INT32_MAX,
      "the ATTEMPTS of a stream's tasks, less their deliveries so far (none)" },
    { "--ttl", LINE_NUMBER, "seconds", FIELD(ttl), 1, 1000000000,
      "the time to live of the jobs, from now or from the end of their delay (a year)" },
    { "--batch", LINE_NUMBER, "count", FIELD(batch), 1, 10000, "elements moved at a time, 1 to 10000 (500)" },
    { "--follow", LINE_FLAG, NULL, FIELD(follow), 0, 0, "continue with new tasks until SIGINT or SIGTERM" },
    { "--dry-run", LINE_FLAG, NULL, FIELD(dry_run), 0, 0, "only count the tasks" },
    LINE_FORM_OPTIONS(struct import_line_words, form),
    LINE_TLS_OPTIONS(struct import_line_words, tls),
};

struct import_run {
    const struct import_line_words *w;
    struct import im;
    struct line_progress progress;
    struct line_report report;
};

static bool import_line_refuse(const char *why, const char *what) {
    return line_refuse("import", why, what);
}

/* ---- options ---- */

static bool import_line_read_words(const struct tool *tool, int argc, char **argv,
                                   struct import_line_words *w) {
    if (!line_options_read(tool, argc, argv, w, &w->names))
        return false;
    if (w->names.count == 0)
        return import_line_refuse("the address redis://host:port/db is missing; see --help", "");
    w->from = w->names.items[0];
    return true;
}

static bool choose_kind(const struct import_line_words *w, struct import *im) {
    im->kind = import_kind(w->kind);
    if (im->kind->needs_names && w->names.count == 1)
        return import_line_refuse("lists or queues must be named, and the names are missing", "");
    if (im->kind == &import_streams && w->group == NULL)
        return import_line_refuse("the option --group is missing; it names the consumer group", "");
    im->stream = (struct import_stream_words){ w->group, w->field, w->idle, w->attempts };
    im->prefix = w->prefix;
    im->key_prefix = w->key_prefix;
    im->batch = w->batch;
    im->ttl_s = w->ttl;
    im->left = strcmp(w->pop, "left") == 0;
    return true;
}

/* ---- report ---- */

static void tell_problems(const struct import *im, struct line_report *out) {
    if (im->large > 0)
        line_report_say(out, xasprintf("%lld tasks are too large for a job", (long long)im->large));
    if (im->refused > im->large)
        line_report_say(out,
                        xasprintf("%lld tasks were not understood", (long long)(im->refused - im->large)));
    if (im->refused > 0)
        line_report_say(out, xasprintf("The refused tasks are in Redis, in pgdisque:import:%s:*:refused",
                                       im->kind->name));
}

static void tell_sum(const struct import *im, struct line_report *out) {
    for (size_t i = 0; i < im->queues; i++)
        line_report_count(out, "queues", im->counts[i].count, im->counts[i].queue);
    line_report_number(out, "moved", im->moved);
    line_report_number(out, "too_large", im->large);
    line_report_number(out, "not_understood", im->refused - im->large);
    line_report_say(out, xasprintf("%lld tasks moved", (long long)im->moved));
    tell_problems(im, out);
}

/* ---- the run ---- */

/* Moves all tasks of the sources. Returns the number of elements, or -1. */
static int64_t move_all(struct import *im, const struct import_source *sources, size_t count,
                        struct line_progress *p) {
    int64_t all = 0, moved;

    for (size_t i = 0; i < count && !line_ended(); i++) {
        do {
            moved = import_batch(im, &sources[i]);
            if (moved < 0)
                return -1;
            all += moved;
            line_progress_tell(p, im->moved + im->refused);
        } while (moved > 0 && !line_ended());
    }
    return all;
}

/* Adds the elements under these names, or all if there are no names, to the total. Returns more than 0 if something was
 * found, or -1. A batch of an earlier run and tasks that workers hold count as found. */
static int64_t count_names(struct import_run *run, char **names, size_t named) {
    struct import *im = &run->im;
    struct import_source *sources = NULL;
    size_t count = 0;
    int64_t found = 0;
    bool good = im->kind->find(im, names, named, &sources, &count);

    for (size_t i = 0; i < count && good; i++) {
        int64_t length = import_length(im, &sources[i]),
                begun = length < 0 ? -1 : import_begun(im, &sources[i]);

        good = begun >= 0;
        if (good && run->w->dry_run)
            line_report_count(&run->report, "sources", length, sources[i].key);
        if (good && run->w->dry_run && begun > 0)
            import_line_refuse("tasks that a worker or an earlier import holds are not counted",
                               sources[i].key);
        run->progress.total += good ? length : 0;
        found += good ? length + begun : 0;
    }
    import_sources_free(sources, count);
    return good ? found : -1;
}

/* Reports names without tasks, because they may be misspelt. With --follow their tasks may come later. */
static bool count_all(struct import_run *run) {
    const struct import_line_words *w = run->w;

    if (w->names.count == 1)
        return count_names(run, NULL, 0) >= 0;
    for (size_t i = 1; i < w->names.count; i++) {
        int64_t found = count_names(run, w->names.items + i, 1);

        if (found < 0)
            return false;
        if (found == 0 && !w->follow) {
            import_line_refuse("nothing was found under this name", w->names.items[i]);
            run->im.missing++;
        }
    }
    return true;
}

/* Moves all tasks once, or with --follow repeatedly. Each round searches for new queues. */
static bool import_line_run(struct import_run *run) {
    const struct import_line_words *w = run->w;
    struct import *im = &run->im;
    int64_t moved = 0;

    if (!count_all(run))
        return false;
    while (!w->dry_run && !line_ended()) {
        struct import_source *sources = NULL;
        size_t count = 0;
        bool good = im->kind->find(im, w->names.items + 1, w->names.count - 1, &sources, &count);

        moved = good ? move_all(im, sources, count, &run->progress) : -1;
        import_sources_free(sources, count);
        if (moved < 0)
            return false;
        if (!w->follow)
            break;
        if (moved == 0 && !line_ended())
            usleep(FOLLOW_PAUSE_US);
    }
    return true;
}

/* The exit status. */
static int import_line_end(const struct import_run *run, bool good) {
    const struct import *im = &run->im;

    if (!good) {
        import_line_refuse(im->err, "");
        if (im->begun)
            fprintf(stderr,
                    "A batch that was taken and not yet added may be in Redis, in pgdisque:import:%s:*. "
                    "Run the import again to add it.\n",
                    im->kind->name);
        return 2;
    }
    if (line_ended() && !run->w->follow) {
        import_line_refuse("it was interrupted; run it again for the rest", "");
        return 2;
    }
    return im->refused > 0 ? 1 : im->missing > 0 ? 3 : 0;
}

static int import_line_work(struct import_run *run) {
    bool good;

    line_report_begin(&run->report, &run->w->form);
    line_report_flag(&run->report, "dry_run", run->w->dry_run);
    line_report_list(&run->report, run->w->dry_run ? "sources" : "queues");
    line_progress_begin(&run->progress, "tasks");
    good = import_line_run(run);
    line_progress_clear(&run->progress);
    if (!run->w->dry_run)
        tell_sum(&run->im, &run->report);
    line_report_end(&run->report, "import");
    return import_line_end(run, good);
}

static int import_with(const struct import_line_words *w) {
    const struct line_server server = { .address = w->to, .user = w->user, .tls = w->tls };
    struct import_run run = { .w = w };
    struct import *im = &run.im;
    int status = 2;

    if (choose_kind(w, im) &&
        line_connect("import", w->from, 6379, &w->tls, LINE_PASSWORD_OF_REDIS, &im->from) &&
        (w->dry_run || line_server_connect("import", &server, &im->to))) {
        if (w->dry_run || import_ask_limits(im))
            status = import_line_work(&run);
        else
            import_line_refuse(im->err, "");
    }
    import_free(im);
    return status;
}

static int import_line(const struct tool *tool, int argc, char **argv) {
    struct import_line_words w = { .kind = "list",
                                   .prefix = "",
                                   .key_prefix = "",
                                   .pop = "right",
                                   .idle = DEFAULT_IDLE_S,
                                   .ttl = DEFAULT_TTL_S,
                                   .batch = DEFAULT_BATCH };
    int status = tool->error;

    line_signals();
    if (sodium_init() < 0)
        import_line_refuse("no random numbers", "");
    else if (import_line_read_words(tool, argc, argv, &w))
        status = import_with(&w);
    line_list_free(&w.names);
    return status;
}

const struct tool tool_import = {
    .name = "import",
    .arguments = "redis[s]://[[user:]password@]host[:port][/db] [option]... [name]...",
    .summary = "Moves tasks from a Redis to queues.",
    .text =
        "The option --kind names the format of the tasks. list: the named lists. sidekiq: the named queues, "
        "or "
        "all queues with schedule and retry. resque: the named queues, or all queues. laravel: the named "
        "queues, with delayed and overdue tasks. celery: the named queues, with their priorities. rq: the "
        "named queues, or all queues, with scheduled and overdue tasks. bull, bullmq: the named queues, with "
        "all waiting and delayed tasks. stream: the named streams, with the entries that the group of "
        "--group "
        "has not acknowledged.\n\n"
        "An interrupted import can be run again: each task becomes one job. The password of the Redis may be "
        "in REDISCLI_AUTH, and that of the pgdisque in PGDISQUE_PASSWORD.\n\n" LINE_ADDRESS_TEXT,
    .example = "pgdisque import redis://127.0.0.1:6379 --kind sidekiq",
    TOOL_OPTIONS(import_options),
    .error = 2,
    TOOL_STATUSES({ 0, "all tasks are moved" }, { 1, "tasks were refused; they stay in Redis" },
                  { 2, "an argument is wrong, or an error stopped the import" },
                  { 3, "nothing was found under a name" }),
    .run = import_line,
};
