/* The subcommand export: options, run, report. */
#include "tools/export_line.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "tools/export.h"
#include "tools/line_options.h"
#include "tools/line_progress.h"

#define DEFAULT_BATCH 500
#define FOLLOW_PAUSE_US (200 * US_PER_MS)

struct export_line_words {
    char *from, *key_prefix, *pop;
    int64_t batch;
    bool delayed, follow, dry_run, help;
    struct line_tls tls;
    char **names; /* the only name is the address of the Redis */
    size_t named;
    char **queues; /* names and patterns */
    size_t count;
};

static bool export_line_refuse(const char *why, const char *what) {
    return line_refuse("export", why, what);
}

static const char usage[] =
    "usage: pgdisque export redis[s]://[[user:]password@]host[:port][/db] [option]... --queue name ...\n"
    "\n"
    "  --queue name           move the jobs of this queue to a list of the same name. A pattern as in KEYS\n"
    "                         selects several queues. May be repeated\n"
    "  --from address         the address of the pgdisque (127.0.0.1:7711)\n"
    "  --key-prefix text      prefix of the lists' names\n"
    "  --pop right|left       the end from which consumers take, in pgdisque and in Redis (right)\n"
    "  --delayed              also move jobs in their delay, as if it were over\n"
    "  --batch count          jobs moved at a time, 1 to 10000 (500)\n"
    "  --follow               continue with new jobs until SIGINT or SIGTERM\n"
    "  --dry-run              only count the jobs\n" LINE_TLS_USAGE;

static bool export_line_read_words(int argc, char **argv, struct export_line_words *w) {
    const struct line_option options[] = {
        { .name = "--from", .text = &w->from },
        { .name = "--queue", .list = w->queues, .listed = &w->count },
        { .name = "--key-prefix", .text = &w->key_prefix },
        { .name = "--pop", .text = &w->pop },
        { .name = "--batch", .number = &w->batch, .min = 1, .max = 10000 },
        { .name = "--delayed", .flag = &w->delayed },
        { .name = "--follow", .flag = &w->follow },
        { .name = "--dry-run", .flag = &w->dry_run },
        { .name = "--help", .flag = &w->help },
        LINE_TLS_OPTIONS(&w->tls),
    };

    if (!line_options_read(argc, argv, options, LENGTH(options), w->names, &w->named))
        return false;
    if (w->help)
        return true;
    if (w->named == 0)
        return export_line_refuse("the address redis://host:port/db is missing; see --help", "");
    if (w->named > 1)
        return export_line_refuse("queues are named by --queue", w->names[1]);
    if (w->count == 0)
        return export_line_refuse("the option --queue is missing", "");
    if (strcmp(w->pop, "right") != 0 && strcmp(w->pop, "left") != 0)
        return export_line_refuse("--pop must be right or left", w->pop);
    return true;
}

/* ---- queues ---- */

/* A step for each queue that matches; false after an error. */
typedef bool with_queue(struct export *x, const struct export_line_words *w, struct line_progress *p,
                        const char *name);

static bool export_line_each_queue(struct export *x, const struct export_line_words *w,
                                   struct line_progress *p, with_queue *with) {
    char **names = NULL;
    size_t count = 0;
    bool good = true;

    for (size_t i = 0; i < w->count && good; i++)
        good = export_find(x, w->queues[i], &names, &count);
    for (size_t i = 0; i < count; i++) {
        good = good && with(x, w, p, names[i]);
        free(names[i]);
    }
    free(names);
    return good;
}

static bool count_queue(struct export *x, const struct export_line_words *w, struct line_progress *p,
                        const char *name) {
    int64_t length = export_length(x, name);

    if (w->dry_run && length >= 0)
        printf("%lld\t%s\n", (long long)length, name);
    p->total += length;
    return length >= 0;
}

static bool move_queue(struct export *x, const struct export_line_words *w, struct line_progress *p,
                       const char *name) {
    int64_t before = x->moved;
    struct export_rest rest;

    if (w->delayed && !export_look(x, name, true, &rest))
        return false;
    while (!line_ended() && export_batch(x, name))
        line_progress_tell(p, x->moved);
    if (x->err[0] != '\0' || !export_end(x))
        return false;
    if (x->moved > before && !w->follow) {
        line_progress_clear(p);
        printf("%lld\t%s\n", (long long)(x->moved - before), name);
    }
    return true;
}

/* ---- jobs that stay ---- */

static void tell_rest(struct export *x, const struct export_line_words *w, const char *name, int64_t count,
                      const char *what) {
    if (count > 0)
        printf("%lld jobs of %s %s: they are %s\n", (long long)count, name,
               w->dry_run ? "would stay" : "stay", what);
    x->stays += count;
}

static bool tell_queue(struct export *x, const struct export_line_words *w, struct line_progress *p,
                       const char *name) {
    struct export_rest rest;

    (void)p;
    if (!export_look(x, name, false, &rest))
        return false;
    if (!w->dry_run || !w->delayed)
        tell_rest(x, w, name, rest.delayed,
                  w->delayed ? "about to end their delay" : "in their delay, see --delayed");
    tell_rest(x, w, name, rest.given_out, "leased by consumers, or wait for a retry");
    if (!w->dry_run)
        tell_rest(x, w, name, rest.queued,
                  "held back by a pause, a limit or their group, or were added just now");
    return true;
}

/* ---- the run ---- */

static bool export_line_run(struct export *x, const struct export_line_words *w, struct line_progress *p) {
    if (!export_line_each_queue(x, w, p, count_queue))
        return false;
    while (!w->dry_run && !line_ended()) {
        int64_t before = x->moved;

        if (!export_line_each_queue(x, w, p, move_queue))
            return false;
        if (!w->follow)
            break;
        if (x->moved == before && !line_ended())
            usleep(FOLLOW_PAUSE_US);
    }
    return true;
}

static int export_line_work(struct export *x, const struct export_line_words *w) {
    struct line_progress p;
    bool good;

    line_progress_begin(&p);
    good = export_line_run(x, w, &p);
    line_progress_clear(&p);
    if (!w->dry_run)
        printf("%lld jobs moved\n", (long long)x->moved);
    good = good && export_line_each_queue(x, w, &p, tell_queue);
    if (!good) {
        export_line_refuse(x->err, "");
        if (x->begun)
            fprintf(stderr,
                    "Jobs that were taken and not yet pushed may be in queues pgdisque:export:*. Run the "
                    "export again to push them.\n");
        return 2;
    }
    if (line_ended() && !w->follow) {
        export_line_refuse("it was interrupted; run it again for the rest", "");
        return 2;
    }
    return x->stays > 0 && !w->dry_run;
}

static bool connect_all(struct export *x, const struct export_line_words *w) {
    bool good = line_connect("export", w->names[0], 6379, &w->tls, &x->to) &&
                line_connect("export", w->from, 7711, &w->tls, &x->from);

    for (size_t i = 0; i < EXPORT_MOVERS && good; i++)
        good = line_connect("export", w->from, 7711, &w->tls, &x->movers[i]);
    return good;
}

static int export_with(const struct export_line_words *w) {
    struct export x = { .key_prefix = w->key_prefix, .batch = w->batch, .left = strcmp(w->pop, "left") == 0 };
    int status = connect_all(&x, w) ? export_line_work(&x, w) : 2;

    for (size_t i = 0; i < EXPORT_MOVERS; i++)
        redis_pipe_close(&x.movers[i]);
    redis_pipe_close(&x.from);
    redis_pipe_close(&x.to);
    return status;
}

bool export_line_asked(int argc, char **argv) {
    return argc > 1 && strcmp(argv[1], "export") == 0;
}

int export_line(int argc, char **argv) {
    struct export_line_words w = {
        .from = "127.0.0.1:7711", .key_prefix = "", .pop = "right", .batch = DEFAULT_BATCH
    };
    int status = 2;

    w.names = xcalloc((size_t)argc, sizeof *w.names);
    w.queues = xcalloc((size_t)argc, sizeof *w.queues);
    line_signals();
    if (export_line_read_words(argc, argv, &w)) {
        if (w.help)
            fputs(usage, stdout);
        status = w.help ? 0 : export_with(&w);
    }
    free(w.names);
    free(w.queues);
    return status;
}
