/* The tool restore: restores a backup, and compares it with the counts of the backup. */
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

struct restore_line_words {
    bool replace;
    struct line_form form;
};

static const struct line_option restore_options[] = {
    { "--replace", LINE_FLAG, NULL, offsetof(struct restore_line_words, replace), 0, 0,
      "delete the queues and jobs that the database has" },
    LINE_FORM_OPTIONS(struct restore_line_words, form),
};

static void restore_tell(const struct dump_report *report, const char *dir, const struct line_form *form) {
    struct line_report out;

    line_report_begin(&out, form);
    line_report_text(&out, "directory", dir);
    dump_report_figures(report, &out);
    line_report_say(&out, xasprintf("%lld jobs and %lld rows of %d tables are restored, and equal the backup",
                                    (long long)report->jobs, (long long)report->rows, report->tables));
    line_report_end(&out, "restore");
}

static int restore_from(const struct tool *tool, const char *dir, const struct restore_line_words *w) {
    struct event_base *base = event_base_new();
    char *database = own_postgres_database(tool->name, base, true);
    struct dump_report report;
    bool good = database != NULL && dump_load(tool->name, database, dir, w->replace, &report);

    if (good)
        restore_tell(&report, dir, &w->form);
    free(database);
    postmaster_stop();
    event_base_free(base);
    return good ? 0 : tool->error;
}

static int restore_line(const struct tool *tool, int argc, char **argv) {
    struct restore_line_words w = { 0 };
    struct line_list names = { 0 };
    int status = line_config_read(tool, argc, argv, &w, 1, &names);

    if (status == LINE_RUNS && names.count == 0) {
        line_refuse(tool->name, "the directory of the backup is missing; see --help", "");
        status = tool->error;
    }
    log_set_level(LOG_WARNING_);
    line_signals();
    if (status == LINE_RUNS)
        status = restore_from(tool, names.items[0], &w);
    line_list_free(&names);
    return status;
}

const struct tool tool_restore = {
    .name = "restore",
    .arguments = "directory [--replace] [conf-file] [--option value]...",
    .summary = "Restores a backup into an empty database.",
    .text = "Stop the server first. The options are those of the server and name the database; without the "
            "option "
            "database it is the embedded Postgres, which is made if it is missing. The tool refuses a "
            "database that has "
            "queues, unless --replace is given. It compares the number of rows and the checksum of each "
            "table with "
            "the backup. If they differ or the restore fails, the database stays as it was. Jobs that were "
            "acknowledged after the backup are delivered again.",
    .example = "pgdisque restore monday pgdisque.conf",
    TOOL_OPTIONS(restore_options),
    .has_config = true,
    .error = 1,
    TOOL_STATUSES({ 0, "the backup is restored, and equals the backup" },
                  { 1, "an argument is wrong, or the database stays as it was" }),
    .run = restore_line,
};
