#ifndef POSTGRES_H
#define POSTGRES_H

#include <stdbool.h>
#include <sys/types.h>
#include <libpq-fe.h>

#include "process.h"

/*
 * A throwaway Postgres: a copy of a cluster that is made once per test run,
 * reachable by a unix socket only, without fsync. With PGDISQUE_TEST_CITUS
 * each database that a test makes has the extension Citus.
 */
struct postgres {
    pid_t pid; /* 0: not running */
    char dir[PATH_SIZE];
    char log[PATH_SIZE];
    int databases; /* how many have been made, for their names */
};

/* Makes the cluster and starts it; returns when it takes connections. */
void postgres_start(struct postgres *pg);
/* Starts a cluster of its own, and no copy of the shared template. */
void postgres_start_new(struct postgres *pg);
/* The same in two steps: lines for postgresql.conf may come in between, and postgres_resume() starts it. */
void postgres_make(struct postgres *pg);
void postgres_set(struct postgres *pg, const char *lines);
/* Makes a base backup of a running cluster, with a log of its own. Does not start it. */
void postgres_back_up(const struct postgres *pg, struct postgres *copy);
/* Starts it again after postgres_stop(). */
void postgres_resume(struct postgres *pg);
/* A fast shutdown. With at_once an immediate shutdown, after which Postgres needs recovery. */
void postgres_stop(struct postgres *pg, bool at_once);

/* Lines for postgresql.conf that Citus needs. Each database with the extension has a worker process. */
extern const char citus_settings[];

/* The path of a program of Postgres, which lives until the process ends. The second function runs our own program as
 * the user of Postgres, so that the program can open the files of Postgres. */
const char *postgres_program(const char *name);
void postgres_run(const struct postgres *pg, const char *const *argv);

/* libpq's connection string for a database of it; made new when name is NULL.
 * The value lives until the process ends. */
const char *postgres_conninfo(struct postgres *pg, const char *name);
/* The same for a new database that has the schema. Not for the cluster of postgres_start_new(). With Citus it is empty. */
const char *postgres_migrated(struct postgres *pg);

/* A connection, or the test ends. */
PGconn *postgres_connect(const char *conninfo);
/* Runs statements in a session that later calls use, too. Returns the first column of the first row of the last result,
 * or NULL. The caller frees it. An error ends the test. */
char *postgres_query(const char *conninfo, const char *sql);
/* The same for whole numbers. */
long long postgres_number(const char *conninfo, const char *sql);

#endif
