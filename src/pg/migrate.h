#ifndef MIGRATE_H
#define MIGRATE_H

#include <stdbool.h>
#include <libpq-fe.h>
#include "base/util.h"

/*
 * Brings the schema to this binary's version, or refuses. Does no I/O: the owner of the connection sends the statements
 * that migrate_next() returns, and passes the results back. All statements run in one transaction under one lock, so
 * that several servers may start at the same time on an empty database. Rules for migrations: sql/README.md.
 */
enum migrate_status {
    MIGRATE_SEND, /* send text, with values if count > 0, and call again */
    MIGRATE_DONE,
    MIGRATE_REFUSE, /* the schema is newer and this server cannot run on it; see error */
    /* Code of another role would run with the rights of this server, or Citus manages the tables; see error. */
    MIGRATE_DISTRUST,
};

struct migrate {
    int step;        /* private */
    int next;        /* private: index of the next migration */
    int first;       /* private: index of the first migration that was missing */
    char digest[40]; /* private: migrate_api_digest() */
    const char *text;
    bool may_be_slow; /* the statement changes the schema */
    int count;
    const char *values[3];
    char version[16];
    char error[768];
};

/* last: the result of the last statement; NULL at the first call. It must not be an error: after an error close the
 * connection, which rolls back, and begin with a new struct migrate. */
enum migrate_status migrate_next(struct migrate *m, const PGresult *last) MUST_CHECK;

/* The digest of sql/api/ that the table api has. sodium_init() must have been called. */
#define MIGRATE_DIGEST_SIZE 40
void migrate_api_digest(char digest[MIGRATE_DIGEST_SIZE]);

#endif
