/* The tool schema: prints the SQL that makes the schema. */
#include <stdio.h>
#include <stdlib.h>

#include <sodium.h>

#include "pg/migrate.h"
#include "sql_gen.h"
#include "tools/tool.h"
#include "version.h"

struct schema_line_words {
    int64_t after;
    struct line_list names;
};

static const struct line_option schema_options[] = {
    { "--after", LINE_NUMBER, "version", offsetof(struct schema_line_words, after), 0, 1000000,
      "print only the migrations after this version, which the schema has (0)" },
};

/* A database with a newer version needs the tool of that version. */
static bool schema_is_known(const struct tool *tool, int64_t version) {
    int newest = sql_migrations[sql_migration_count - 1].version;
    char *what;

    if (version <= newest)
        return true;
    what = xasprintf("the newest version of this program is %d", newest);
    line_refuse(tool->name, what, "--after");
    free(what);
    return false;
}

/* Prints a statement of the server with literals in place of its parameters. */
static void print_filled(const char *statement, const char *const *literals) {
    for (; *statement != '\0'; statement++) {
        if (*statement == '$' && statement[1] >= '1' && statement[1] <= '9')
            fputs(literals[*++statement - '1'], stdout);
        else
            putchar(*statement);
    }
    puts(";");
}

static void print_migration(const struct sql_migration *m) {
    char version[16], name[200];
    const char *literals[] = { version, name, m->breaking ? "true" : "false" };

    snprintf(version, sizeof version, "%d", m->version);
    snprintf(name, sizeof name, "'%s'", m->name);
    printf("\n-- Migration %s%s\n\n%s;\n", m->name, m->breaking ? ": older servers cannot run on it" : "",
           m->text);
    print_filled(sql_migrate_record, literals);
}

static void print_schema(int64_t after) {
    char digest[MIGRATE_DIGEST_SIZE], quoted[MIGRATE_DIGEST_SIZE + 2], version[16];
    const char *literals[] = { quoted, version };

    migrate_api_digest(digest);
    snprintf(quoted, sizeof quoted, "'%s'", digest);
    snprintf(version, sizeof version, "%d", sql_api_version);
    printf(
        "-- The schema of pgdisque %s. The server runs these statements at its start if they are missing. "
        "They\n"
        "-- can be run by hand before: psql -v ON_ERROR_STOP=1 -f <this file>, as the role of the server.\n\n"
        "%s\n%s\n",
        PGDISQUE_VERSION, sql_migrate_open, sql_migrate_versions);
    for (int i = 0; i < sql_migration_count; i++) {
        if (sql_migrations[i].version > after)
            print_migration(&sql_migrations[i]);
    }
    printf("\n-- Functions and views for applications\n\n%s;\n", sql_api);
    print_filled(sql_migrate_api_record, literals);
    printf("%s;\n", sql_migrate_close);
}

static int schema_line(const struct tool *tool, int argc, char **argv) {
    struct schema_line_words w = { 0 };
    bool good = line_options_read(tool, argc, argv, &w, &w.names);

    if (good && w.names.count > 0)
        good = line_refuse(tool->name, "there are too many arguments", w.names.items[0]);
    good = good && schema_is_known(tool, w.after);
    if (good && sodium_init() < 0)
        good = line_refuse(tool->name, "no random numbers", "");
    if (good) {
        print_schema(w.after);
        good = fflush(stdout) == 0 || line_refuse(tool->name, "cannot write the output", "");
    }
    line_list_free(&w.names);
    return good ? 0 : tool->error;
}

const struct tool tool_schema = {
    .name = "schema",
    .arguments = "[--after version]",
    .summary = "Prints the SQL that makes the schema.",
    .text =
        "An administrator of the database can review it, and can run it with psql before the server starts. "
        "The server then finds nothing to change.",
    .example = "pgdisque schema",
    TOOL_OPTIONS(schema_options),
    .error = 1,
    TOOL_STATUSES({ 0, "the SQL is printed" },
                  { 1, "an argument is wrong, or the output cannot be written" }),
    .run = schema_line,
};
