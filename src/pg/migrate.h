#ifndef MIGRATE_H
#define MIGRATE_H

#include <stdbool.h>
#include <libpq-fe.h>
#include "base/util.h"

/*
 * Brings the schema to this binary's version, or refuses. Does no I/O: the
 * owner of the connection sends what migrate_next() asks for and hands it the
 * result. Everything happens in one transaction under one lock, so several
 * servers may start at once on an empty database. Rules for migrations:
 * sql/README.md.
 */
enum migrate_status {
    MIGRATE_SEND, /* send text, with values when count > 0, and call again */
    MIGRATE_DONE,
    MIGRATE_REFUSE,   /* the schema is newer and breaks this server: error says so */
    MIGRATE_DISTRUST, /* code of another role would run with the rights of this server: error says so */
};

struct migrate {
    int step;        /* private */
    int next;        /* private: index of the next migration, */
    int first;       /* and of the first one that was missing */
    char digest[40]; /* private: of sql/api/ */
    const char *text;
    int count;
    const char *values[3];
    char version[16];
    char error[768];
};

/* last: the result of what was sent before, NULL at the beginning. It was not
 * an error; for an error roll back by closing the connection and begin anew. */
enum migrate_status migrate_next(struct migrate *m, const PGresult *last) MUST_CHECK;

#endif
