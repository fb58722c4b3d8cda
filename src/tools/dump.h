#ifndef DUMP_H
#define DUMP_H

#include "base/util.h"
#include "tools/line_report.h"

/*
 * Backups of the schema pgdisque: a directory of pg_dump with the file pgdisque.json, which is written last. This file
 * has the number of rows and a checksum of each table, of the same snapshot as the dump. A restore compares them.
 */
struct dump_report {
    int64_t jobs, rows;
    int tables;
};

/* Writes a backup of the database to the directory, which must not exist. The server may run. False after an error
 * message with the name of the tool; the directory is then no backup. */
bool dump_make(const char *tool, const char *conninfo, const char *dir, struct dump_report *out) MUST_CHECK;

/* Checks that a restore into the database can begin. The database takes changes, no server uses it, and it has no
 * queues or `replace` is set. False after an error message. */
bool dump_check_target(const char *tool, const char *conninfo, bool replace) MUST_CHECK;

/* Restores a backup, and compares it with its rows and checksums. A schema that the database has is deleted at the end,
 * and stays as it was if the restore fails. A server that starts during the restore waits for its end. False after
 * an error message. */
bool dump_load(const char *tool, const char *conninfo, const char *dir, bool replace,
               struct dump_report *out) MUST_CHECK;

/* Sets the fields jobs, rows and tables. */
void dump_report_figures(const struct dump_report *report, struct line_report *to);

/* Removes the files of a backup and its directory. */
void dump_remove(const char *dir);

/* "db.example.org:5432/queues": the database of a connection string without its password. The caller frees it. NULL
 * after an error message. */
char *dump_name_database(const char *tool, const char *conninfo);

#endif
