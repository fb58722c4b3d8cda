#ifndef DATADIR_H
#define DATADIR_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include "base/util.h"
#include "pg/embedded/pg_binaries.h"

/*
 * The directory of the embedded Postgres: the lock that gives it to one server, the data directory, and the log.
 * postmaster.h lists the files.
 */
struct datadir {
    char *base;  /* absolute path of config.dir */
    char *path;  /* absolute path of the data directory */
    char *log;   /* absolute path of the log */
    int base_fd; /* config.dir. -1 in each of the four: not open */
    int fd;      /* the data directory, O_PATH: short paths by /proc/self/fd need it */
    int lock_fd;
    int log_fd;
};

#define PGDIR_CLOSED ((struct datadir){ .base_fd = -1, .fd = -1, .lock_fd = -1, .log_fd = -1 })

/* Makes config.dir if it is missing, and holds its lock until datadir_close(). Gives the lock and the log to p's user. Call
 * datadir_close() after false, too. */
bool datadir_open(struct datadir *d, const struct pg_binaries *p, char *err, size_t err_size) MUST_CHECK;

/* The process that holds the lock of config.dir; 0 if no process holds it, or its ID is not known. */
pid_t datadir_holder(void);

/* A note in config.dir that the jobs were moved to another database. datadir_open() refuses the directory from then on, so
 * that no server delivers the jobs again. False with a sentence in err. */
bool datadir_note_moved(const struct datadir *d, const char *to, char *err, size_t err_size) MUST_CHECK;

/* Sets *major to the version of Postgres that made the data directory; 0 if there is none yet. */
bool datadir_major(const struct datadir *d, int *major, char *err, size_t err_size) MUST_CHECK;

/*
 * Prepares the data directory for a start. Runs initdb if there is no complete one. Waits for the end of a Postgres
 * that still runs in it. Sets its owner, writes postgresql.conf, and makes the roles (pg_roles.h).
 */
bool datadir_prepare(struct datadir *d, const struct pg_binaries *p, char *err, size_t err_size) MUST_CHECK;

/* Writes a file of the data directory, which must not exist yet, for Postgres' user. False with errno. */
bool datadir_write_new(const struct datadir *d, const struct pg_binaries *p, const char *name,
                       const char *text) MUST_CHECK;

/* The current size of Postgres' log in bytes. */
off_t datadir_log_size(const struct datadir *d);
/* Moves the content of a large log to postgres.log.1 and empties the log. Postgres continues to write to the same file.
 * True if the log is empty now. If the server may not write postgres.log.1, the content is lost. */
bool datadir_rotate_log(const struct datadir *d);
/* Copies the last lines of Postgres' log to the server's log, only lines behind byte `since`. */
void datadir_show_log(const struct datadir *d, off_t since);
/* Copies to out the last line behind byte `since` in which Postgres says why it ends. False if there is none. */
bool datadir_last_words(const struct datadir *d, off_t since, char *out, size_t size);

/* Releases the lock and closes all files. The caller must have ended the Postgres in the directory. */
void datadir_close(struct datadir *d);

#endif
