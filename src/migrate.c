/* Bring the schema to this binary's version, or refuse to run on a newer one. */
#include "migrate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sql_gen.h"

enum { STEP_OPEN, STEP_APPLY, STEP_RECORD, STEP_CLOSE, STEP_DONE };

static enum migrate_status ask(struct migrate *m, const char *text, int step) {
    m->text = text;
    m->count = 0;
    m->step = step;
    return MIGRATE_SEND;
}

/* What was applied comes as text: (version, breaking) in ascending order. */
static bool read_versions(struct migrate *m, const PGresult *applied) {
    int newest = sql_migration_count > 0 ? sql_migrations[sql_migration_count - 1].version : 0;

    for (int i = 0; i < PQntuples(applied); i++) {
        int version = atoi(PQgetvalue(applied, i, 0));

        if (version > newest && PQgetvalue(applied, i, 1)[0] == 't') {
            snprintf(m->error, sizeof m->error,
                     "the schema in the database has version %d and this server understands up to %d: "
                     "use a newer pgdisque",
                     version, newest);
            return false;
        }
        while (m->next < sql_migration_count && sql_migrations[m->next].version <= version)
            m->next++;
    }
    return true;
}

static enum migrate_status apply_or_finish(struct migrate *m) {
    if (m->next < sql_migration_count)
        return ask(m, sql_migrations[m->next].text, STEP_RECORD);
    if (sql_api[0] != '\0')
        return ask(m, sql_api, STEP_CLOSE);
    return ask(m, sql_migrate_close, STEP_DONE);
}

static enum migrate_status record(struct migrate *m) {
    const struct sql_migration *applied = &sql_migrations[m->next++];

    ask(m, sql_migrate_record, STEP_APPLY);
    snprintf(m->version, sizeof m->version, "%d", applied->version);
    m->values[0] = m->version;
    m->values[1] = applied->name;
    m->values[2] = applied->breaking ? "true" : "false";
    m->count = 3;
    return MIGRATE_SEND;
}

enum migrate_status migrate_next(struct migrate *m, const PGresult *last) {
    switch (m->step) {
    case STEP_OPEN:
        if (last == NULL)
            return ask(m, sql_migrate_open, STEP_OPEN);
        return read_versions(m, last) ? apply_or_finish(m) : MIGRATE_REFUSE;
    case STEP_APPLY:
        return apply_or_finish(m);
    case STEP_RECORD:
        return record(m);
    case STEP_CLOSE:
        return ask(m, sql_migrate_close, STEP_DONE);
    default:
        return MIGRATE_DONE;
    }
}
