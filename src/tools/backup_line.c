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

static int backup_to(const struct tool *tool, const char *dir) {
    struct event_base *base = event_base_new();
    char *database = own_postgres_database(tool->name, base, false);
    struct dump_report report;
    bool good = database != NULL && dump_make(tool->name, database, dir, &report);

    if (good) {
        printf("%lld jobs and %lld rows of %d tables are in ", (long long)report.jobs, (long long)report.rows,
               report.tables);
        puts(dir);
    }
    free(database);
    embedded_stop();
    event_base_free(base);
    return good ? 0 : tool->error;
}

static int backup_line(const struct tool *tool, int argc, char **argv) {
    struct line_list names = { 0 };
    int status = line_config_read(tool, argc, argv, NULL, 1, &names);

    if (status == LINE_RUNS && names.count == 0) {
        line_refuse(tool->name, "the directory for the backup is missing; see --help", "");
        status = tool->error;
    }
    log_set_level(LOG_WARNING_);
    line_signals();
    if (status == LINE_RUNS)
        status = backup_to(tool, names.items[0]);
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
    .has_config = true,
    .error = 1,
    TOOL_STATUSES({ 0, "the backup is complete" }, { 1, "an argument is wrong, or there is no backup" }),
    .run = backup_line,
};
