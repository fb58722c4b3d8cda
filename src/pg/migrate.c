/* Brings the schema to this binary's version, or refuses a newer schema. */
#include "pg/migrate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sodium.h>

#include "base/log.h"
#include "sql_gen.h"

enum {
    STEP_OPEN,
    STEP_OPENED,
    STEP_TRUSTED,
    STEP_LOCAL,
    STEP_VERSIONS,
    STEP_APPLY,
    STEP_RECORD,
    STEP_API,
    STEP_API_RECORD,
    STEP_FOREIGN,
    STEP_CLOSE,
    STEP_DONE
};

static enum migrate_status migrate_ask(struct migrate *m, const char *text, int step) {
    m->text = text;
    m->may_be_slow = step == STEP_RECORD || step == STEP_API_RECORD;
    m->count = 0;
    m->step = step;
    return MIGRATE_SEND;
}

/* findings: one row for each problem, with a description and an advice. */
static bool is_trusted(struct migrate *m, const PGresult *findings) {
    if (PQntuples(findings) == 0)
        return true;
    snprintf(
        m->error, sizeof m->error,
        "schema pgdisque is not trusted, because code in it would run with the rights of this server: %s. "
        "%d such findings in all. To do: %s",
        PQgetvalue(findings, 0, 0), PQntuples(findings), PQgetvalue(findings, 0, 1));
    return false;
}

/* findings: no row, or one row as those of is_trusted(). */
static bool is_local(struct migrate *m, const PGresult *findings) {
    if (PQntuples(findings) == 0)
        return true;
    snprintf(m->error, sizeof m->error, "%s, and the server needs local tables. To do: %s",
             PQgetvalue(findings, 0, 0), PQgetvalue(findings, 0, 1));
    return false;
}

/* applied: the applied migrations as text, (version, breaking) in ascending order. */
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
        return migrate_ask(m, sql_migrations[m->next].text, STEP_RECORD);
    return migrate_ask(m, sql_migrate_api, STEP_API);
}

void migrate_api_digest(char digest[MIGRATE_DIGEST_SIZE]) {
    unsigned char hash[crypto_generichash_BYTES_MIN];

    crypto_generichash(hash, sizeof hash, (const unsigned char *)sql_api, strlen(sql_api), NULL, 0);
    hex_encode(hash, sizeof hash, digest);
}

/* known: digest and version of the functions in the database, or no row. */
static bool is_newest(const struct migrate *m, const PGresult *known) {
    int version;

    if (PQntuples(known) != 1)
        return false;
    version = atoi(PQgetvalue(known, 0, 1));
    if (version > sql_api_version)
        log_notice("migrate", "the database has version %d of the SQL functions, this server %d: they stay",
                   version, sql_api_version);
    return version > sql_api_version || strcmp(PQgetvalue(known, 0, 0), m->digest) == 0;
}

/* Replaces the SQL functions only if their text has changed or a migration was applied. Each replacement makes all
 * sessions of applications plan their statements again. */
static enum migrate_status make_api(struct migrate *m, const PGresult *known) {
    migrate_api_digest(m->digest);
    if (m->next == m->first && is_newest(m, known))
        return migrate_ask(m, sql_migrate_foreign, STEP_CLOSE);
    return migrate_ask(m, sql_api, STEP_API_RECORD);
}

static enum migrate_status record_api(struct migrate *m) {
    migrate_ask(m, sql_migrate_api_record, STEP_FOREIGN);
    snprintf(m->version, sizeof m->version, "%d", sql_api_version);
    m->values[0] = m->digest;
    m->values[1] = m->version;
    m->count = 2;
    return MIGRATE_SEND;
}

static enum migrate_status record(struct migrate *m) {
    const struct sql_migration *applied = &sql_migrations[m->next++];

    log_notice("migrate", "applied migration %s%s", applied->name,
               applied->breaking ? ": older servers cannot run on it" : "");
    migrate_ask(m, sql_migrate_record, STEP_APPLY);
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
        return migrate_ask(m, sql_migrate_open, STEP_OPENED);
    case STEP_OPENED:
        return migrate_ask(m, sql_migrate_trust, STEP_TRUSTED);
    case STEP_TRUSTED:
        if (!is_trusted(m, last))
            return MIGRATE_DISTRUST;
        return migrate_ask(m, sql_migrate_citus, STEP_LOCAL);
    case STEP_LOCAL:
        if (!is_local(m, last))
            return MIGRATE_DISTRUST;
        return migrate_ask(m, sql_migrate_versions, STEP_VERSIONS);
    case STEP_VERSIONS:
        if (!read_versions(m, last))
            return MIGRATE_REFUSE;
        m->first = m->next;
        return apply_or_finish(m);
    case STEP_APPLY:
        return apply_or_finish(m);
    case STEP_RECORD:
        return record(m);
    case STEP_API:
        return make_api(m, last);
    case STEP_API_RECORD:
        return record_api(m);
    case STEP_FOREIGN:
        return migrate_ask(m, sql_migrate_foreign, STEP_CLOSE);
    case STEP_CLOSE:
        if (!is_trusted(m, last))
            return MIGRATE_DISTRUST;
        return migrate_ask(m, sql_migrate_close, STEP_DONE);
    default:
        return MIGRATE_DONE;
    }
}
