/* The tool move: moves all jobs from the embedded Postgres to another database. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <event2/event.h>

#include "base/clock.h"
#include "base/log.h"
#include "config/config.h"
#include "pg/embedded/datadir.h"
#include "pg/embedded/postmaster.h"
#include "tools/dump.h"
#include "tools/line_progress.h"
#include "tools/own_postgres.h"
#include "tools/tool.h"

/* The time for the server to end. It takes five seconds at most for its clients, and some for Postgres. */
#define STOP_US (60 * US_PER_S)
#define PAUSE_US (50 * US_PER_MS)

struct move_line_words {
    char *to;
    bool replace;
    struct line_form form;
};

static const struct line_option move_options[] = {
    { "--to", LINE_TEXT, "connection-string", offsetof(struct move_line_words, to), 0, 0,
      "the database that gets the jobs, as for the option database" },
    { "--replace", LINE_FLAG, NULL, offsetof(struct move_line_words, replace), 0, 0,
      "delete the queues and jobs that this database has" },
    LINE_FORM_OPTIONS(struct move_line_words, form),
};

/* ---- the server ---- */

/* Ends the server that uses the embedded Postgres, and starts this Postgres without it. A service manager may start the
 * server again; then it is ended again, until this process holds the directory. */
static bool take_over(const struct tool *tool, struct event_base *base) {
    int64_t end = clock_mono_now() + STOP_US;
    char err[512];

    while (!postmaster_start(base, err, sizeof err)) {
        pid_t holder = datadir_holder();

        if (holder > 0 && kill(holder, SIGTERM) != 0 && errno != ESRCH)
            return line_refuse(tool->name,
                               "cannot end the server; run the tool as root or as the user of the server",
                               strerror(errno));
        if (clock_mono_now() > end || line_ended() || (holder == 0 && access(config.dir, F_OK) != 0))
            return line_refuse(tool->name, err, "");
        usleep(PAUSE_US);
    }
    own_postgres_wait(base);
    return true;
}

/* ---- the move ---- */

static void move_tell(const struct dump_report *report, const char *name, const struct line_form *form) {
    struct line_report out;

    line_report_begin(&out, form);
    line_report_text(&out, "database", name);
    line_report_text(&out, "dir", config.dir);
    dump_report_figures(report, &out);
    line_report_say(
        &out, xasprintf("%lld jobs and %lld rows of %d tables are in %s, and equal those of %s/postgres",
                        (long long)report->jobs, (long long)report->rows, report->tables, name, config.dir));
    line_report_say(
        &out, xasprintf("Set the option database in the configuration, and start the server. Keep %s: the "
                        "server stays the same node.",
                        config.dir));
    line_report_end(&out, "move");
}

/* The note is written when the other database has all jobs. So exactly one database can deliver them at any time. */
static bool move_jobs(const struct tool *tool, const struct move_line_words *w, struct dump_report *report) {
    char *copy = xasprintf("%s/moving.%d", config.dir, (int)getpid());
    char *name = dump_name_database(tool->name, w->to), err[512];
    bool good = name != NULL && dump_make(tool->name, postmaster_conninfo(), copy, report) &&
                dump_load(tool->name, w->to, copy, w->replace, report);

    dump_remove(copy);
    if (good && !postmaster_note_moved(name, err, sizeof err))
        good = line_refuse(tool->name, err, "");
    if (good)
        move_tell(report, name, &w->form);
    free(name);
    free(copy);
    return good;
}

static bool move_all_jobs(const struct tool *tool, const struct move_line_words *w) {
    struct event_base *base = event_base_new();
    struct dump_report report;
    bool good = dump_check_target(tool->name, w->to, w->replace) && take_over(tool, base) &&
                move_jobs(tool, w, &report);

    postmaster_stop();
    event_base_free(base);
    return good;
}

static bool move_has_source(const struct tool *tool, const struct move_line_words *w) {
    char *path = xasprintf("%s/postgres", config.dir);
    bool exists = access(path, F_OK) == 0;

    free(path);
    if (w->to == NULL)
        return line_refuse(tool->name, "the option --to is missing; see --help", "");
    if (config.database[0] != '\0')
        return line_refuse(tool->name,
                           "the option database is set, so that there is no embedded Postgres to move", "");
    return exists || line_refuse(tool->name, "there is no embedded Postgres here", config.dir);
}

static int move_line(const struct tool *tool, int argc, char **argv) {
    struct move_line_words w = { 0 };
    int status = line_config_read(tool, argc, argv, &w, 0, NULL);

    if (status != LINE_RUNS)
        return status;
    log_set_level(LOG_WARNING_);
    line_signals();
    return move_has_source(tool, &w) && move_all_jobs(tool, &w) ? 0 : tool->error;
}

const struct tool tool_move = {
    .name = "move",
    .arguments = "--to connection-string [--replace] [conf-file] [--option value]...",
    .summary = "Moves all jobs from the embedded Postgres to another database.",
    .text =
        "The tool ends the server that uses the embedded Postgres, so that no job changes. It copies all "
        "tables, and "
        "compares the number of rows and the checksum of each table. Then it notes the move in the directory "
        "of the "
        "embedded Postgres: no server starts on the old jobs any more. Set the option database, and start "
        "the "
        "server. Clients get no replies from the end of the server until then. If the move fails, the other "
        "database "
        "and the embedded Postgres stay as they were; start the server again. A password may be in "
        "PGPASSWORD "
        "or "
        "~/.pgpass.",
    .example = "pgdisque move --to postgresql://pgdisque@db.example.org/pgdisque pgdisque.conf",
    TOOL_OPTIONS(move_options),
    .has_config = true,
    .error = 1,
    TOOL_STATUSES({ 0, "the other database has all jobs" },
                  { 1, "an argument is wrong, or the jobs stay in the embedded Postgres" }),
    .run = move_line,
};
