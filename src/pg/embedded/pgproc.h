#ifndef PGPROC_H
#define PGPROC_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include "base/util.h"

/*
 * Postgres' own programs: where they are, as whom they run, and how they are
 * started such that they never outlive this process. For the embedded Postgres.
 */
#define PGPROC_OLDEST_MAJOR 14 /* the settings and statements need it */

struct pgproc {
    char *bin_dir;    /* holds initdb and postgres */
    int major;        /* their version, such as 15 */
    bool change_user; /* we are root, as whom Postgres refuses to run */
    uid_t uid;        /* whom it runs as, and whom its data belongs to */
    gid_t gid;
    char user[64]; /* the name for uid, set when change_user is */
};

/* Decides whom Postgres runs as, by config.embedded_user. */
bool pgproc_choose_user(struct pgproc *p, char *err, size_t err_size) MUST_CHECK;

/*
 * Finds the programs: in config.postgres_bin only, if that is set; else by
 * pg_config, PATH, and Debian's packages, newest first. major: the version that
 * the data needs; 0 takes the first that is new enough.
 */
bool pgproc_find(struct pgproc *p, int major, char *err, size_t err_size) MUST_CHECK;

/* Does the system know a name for the user that Postgres runs as? initdb needs one. */
bool pgproc_has_name(const struct pgproc *p);

struct pgproc_start {
    const char *program;     /* "initdb" or "postgres" */
    const char *const *args; /* those after -D and the directory; NULL at the end */
    const char *dir;         /* the data directory, and the same open (O_PATH) */
    int dir_fd;
    int log_fd;       /* its stdout and stderr */
    int death_signal; /* sent to it by the kernel when the calling thread ends */
};

/* The child's process id; -1 with errno when there can be none. */
pid_t pgproc_start(const struct pgproc *p, const struct pgproc_start *s);

/* Waits at most ms for the child's end; true with its wait status. */
bool pgproc_wait(pid_t pid, int ms, int *status);

/* "was killed by signal 9 (Killed)", "ended with status 1". */
const char *pgproc_status_text(int status, char *out, size_t size);

void pgproc_free(struct pgproc *p);

/* Writes the sentence to err; always false, to be returned. */
bool pgproc_fail(char *err, size_t err_size, const char *fmt, ...) PRINTF_LIKE(3, 4);

#endif
