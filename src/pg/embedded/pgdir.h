#ifndef PGDIR_H
#define PGDIR_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include "base/util.h"
#include "pg/embedded/pgproc.h"

/*
 * The directory of the embedded Postgres: the lock that keeps it to one server,
 * the data directory in it, and the log. See embedded.h for what lies there.
 */
struct pgdir {
    char *base;  /* absolute path of config.dir */
    char *path;  /* absolute path of the data directory */
    char *log;   /* absolute path of the log */
    int base_fd; /* -1: not open; so the others */
    int fd;      /* the data directory, O_PATH: names it however long its path is */
    int lock_fd;
    int log_fd;
};

#define PGDIR_CLOSED ((struct pgdir){ .base_fd = -1, .fd = -1, .lock_fd = -1, .log_fd = -1 })

/* Makes config.dir when it is missing, and takes its lock until pgdir_close().
 * After false, too, pgdir_close() must be called. */
bool pgdir_open(struct pgdir *d, char *err, size_t err_size) MUST_CHECK;

/* The version of Postgres that made the data directory; 0 when there is none yet. */
bool pgdir_major(const struct pgdir *d, int *major, char *err, size_t err_size) MUST_CHECK;

/*
 * Makes the data directory ready for a start: initdb when there is none yet
 * (or only half of one), waiting for the end of a Postgres that still runs in
 * it, its owner, and postgresql.conf.
 */
bool pgdir_prepare(struct pgdir *d, const struct pgproc *p, char *err, size_t err_size) MUST_CHECK;

/* How long the log is now. */
off_t pgdir_log_size(const struct pgdir *d);
/* Moves a log that has grown large to postgres.log.1, whose place it takes. Postgres goes on writing to the same
 * file. True when it was moved. */
bool pgdir_rotate_log(const struct pgdir *d);
/* Repeats in our log the last lines of Postgres' log, none from before since. */
void pgdir_show_log(const struct pgdir *d, off_t since);
/* The last line of the log since then in which Postgres says why it ends; false: there is none. */
bool pgdir_last_words(const struct pgdir *d, off_t since, char *out, size_t size);

/* Gives up the lock. The caller sees to it that nothing runs there any more. */
void pgdir_close(struct pgdir *d);

#endif
