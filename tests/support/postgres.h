#ifndef POSTGRES_H
#define POSTGRES_H

#include <stdbool.h>
#include <sys/types.h>
#include <libpq-fe.h>

#include "process.h"

/*
 * A throwaway Postgres: a copy of a cluster that is made once per test run,
 * reachable by a unix socket only, without fsync.
 */
struct postgres {
    pid_t pid; /* 0: not running */
    char dir[PATH_SIZE];
    char log[PATH_SIZE];
    int databases; /* how many have been made, for their names */
};

/* Makes the cluster and starts it; returns when it takes connections. */
void postgres_start(struct postgres *pg);
/* A cluster that is no copy of one that others have. */
void postgres_start_new(struct postgres *pg);
/* The same in two steps: lines for postgresql.conf may come in between, and postgres_resume() starts it. */
void postgres_make(struct postgres *pg);
void postgres_set(struct postgres *pg, const char *lines);
/* A base backup of one that is running, with a log of its own; not started. */
void postgres_back_up(const struct postgres *pg, struct postgres *copy);
/* Starts it again after postgres_stop(). */
void postgres_resume(struct postgres *pg);
/* Fast shutdown; or, when at_once, the immediate one that needs recovery. */
void postgres_stop(struct postgres *pg, bool at_once);

/* The path of one of its programs, which lives until the process ends; and how a program of our own gets
 * at its files: as its user. */
const char *postgres_program(const char *name);
void postgres_run(const struct postgres *pg, const char *const *argv);

/* libpq's connection string for a database of it; made new when name is NULL.
 * The value lives until the process ends. */
const char *postgres_conninfo(struct postgres *pg, const char *name);

/* A connection, or the test ends. */
PGconn *postgres_connect(const char *conninfo);
/* Runs statements; the first column of the last one's first row, which the caller
 * frees, or NULL. An error ends the test. */
char *postgres_query(const char *conninfo, const char *sql);
/* The same for whole numbers. */
long long postgres_number(const char *conninfo, const char *sql);

#endif
