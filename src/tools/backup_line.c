/* The tool backup: writes the schema to a directory, and counts its rows. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <event2/event.h>

#include "base/log.h"
#include "pg/embedded/postmaster.h"
#include "tools/dump.h"
#include "tools/line_progress.h"
#include "tools/own_postgres.h"
#include "tools/tool.h"

struct backup_line_words {
    struct line_form form;
};

static const struct line_option backup_options[] = { LINE_FORM_OPTIONS(struct backup_line_words, form) };

static void backup_tell(const struct dump_report *report, const char *dir, const struct line_form *form) {
    struct line_report out;

    line_report_begin(&out, form);
    line_report_text(&out, "directory", dir);
    dump_report_figures(report, &out);
    line_report_say(&out, xasprintf("%lld jobs and %lld rows of %d tables are in %s", (long long)report->jobs,
                                    (long long)report->rows, report->tables, dir));
    line_report_end(&out, "backup");
}

static int backup_to(const struct tool *tool, const char *dir, const struct line_form *form) {
    struct event_base *base = event_base_new();
    char *database = own_postgres_database(tool->name, base, false);
    struct dump_report report;
    bool good = database != NULL && dump_make(tool->name, database, dir, &report);

    if (good)
        backup_tell(&report, dir, form);
    free(database);
    postmaster_stop();
    event_base_free(base);
    return good ? 0 : tool->error;
}

static int backup_line(const struct tool *tool, int argc, char **argv) {
    struct backup_line_words w = { 0 };
    struct line_list names = { 0 };
    int status = line_config_read(tool, argc, argv, &w, 1, &names);

    if (status == LINE_RUNS && names.count == 0) {
        line_refuse(tool->name, "the directory for the backup is missing; see --help", "");
        status = tool->error;
    }
    log_set_level(LOG_WARNING_);
    line_signals();
    if (status == LINE_RUNS)
        status = backup_to(tool, names.items[0], &w.form);
    line_list_free(&names);
    return status;
}

const struct tool tool_backup = {
    .name = "backup",
    .arguments = "directory [conf-file] [--option value]...",
    .summary = "Writes a backup of all jobs to a new directory.",
    .text = "The server may run. The backup has the state of one moment: a dump of pg_dump, and a file with "
            "the number of "
            "rows and a checksum of each table. The options are those of the server and name the database. "
            "If the "
            "embedded Postgres does not run, the tool starts it and ends it again.",
    .example = "pgdisque backup monday pgdisque.conf",
    TOOL_OPTIONS(backup_options),
    .has_config = true,
    .error = 1,
    TOOL_STATUSES({ 0, "the backup is complete" }, { 1, "an argument is wrong, or there is no backup" }),
    .run = backup_line,
};
