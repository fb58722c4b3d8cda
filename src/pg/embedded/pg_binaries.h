#ifndef PG_BINARIES_H
#define PG_BINARIES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>
#include "base/util.h"

/*
 * Finds and starts the programs initdb and postgres for the embedded Postgres. Selects the system user that runs them.
 * The programs never outlive this process.
 */
#define PGPROC_OLDEST_MAJOR 14 /* the oldest version that knows all settings and statements of the server */

struct pg_binaries {
    char *bin_dir;    /* the directory of initdb and postgres */
    int major;        /* their version, such as 15 */
    bool change_user; /* root has started this process, and Postgres refuses to run as root */
    uid_t uid;        /* the user that runs Postgres and owns its data */
    gid_t gid;
    char user[64]; /* the name of uid; only set if change_user is */
};

/* Selects the user that runs Postgres, by config.user. False with a sentence in err. */
bool pg_binary_choose_user(struct pg_binaries *p, char *err, size_t err_size) MUST_CHECK;

/* stat() with the rights of that user. Returns 0 or the error. */
int pg_binary_stat(const struct pg_binaries *p, const char *path, struct stat *st);

/*
 * Finds the programs. If config.postgres_bin is set, only this directory is searched; otherwise pg_config, PATH, and
 * the directories of Debian's packages, the newest first. major: the version that the data directory needs; 0: the
 * first version that is new enough.
 */
bool pg_binary_find(struct pg_binaries *p, int major, char *err, size_t err_size) MUST_CHECK;

/* The path of a client program such as pg_dump, of version `major` or newer; NULL if none is found. It searches the same
 * places. The caller frees the path. */
char *pg_binary_find_client(const char *program, int major);

/* Does the user that runs Postgres have a name in the system? initdb and the single-user mode need a name. */
bool pg_binary_has_name(const struct pg_binaries *p);

struct pg_binary_start {
    const char *program;     /* "initdb" or "postgres" */
    const char *mode;        /* the first argument, before -D; NULL: none */
    const char *const *args; /* the arguments after -D and the directory; NULL at the end */
    const char *dir;         /* the data directory */
    int dir_fd;              /* the data directory, opened with O_PATH */
    int log_fd;              /* becomes stdout and stderr of the program */
    int script_fd;           /* becomes stdin, and the replies on stdout are dropped; 0: stdin is empty */
    bool needs_name;         /* the program fails if its user has no name */
    int death_signal;        /* the kernel sends it to the program when the calling thread ends */
};

/* The child's process ID; -1 with errno if the child cannot be made. */
pid_t pg_binary_start(const struct pg_binaries *p, const struct pg_binary_start *s);

/* Waits at most ms milliseconds for the child's end. True with its wait status; false if it still runs. */
bool pg_binary_wait(pid_t pid, int ms, int *status);

/* "was killed by signal 9 (Killed)", "ended with status 1". */
const char *pg_binary_status_text(int status, char *out, size_t size);

void pg_binary_free(struct pg_binaries *p);

/* Writes the sentence to err. Always returns false, so that the caller can return the result. */
bool pg_binary_fail(char *err, size_t err_size, const char *fmt, ...) PRINTF_LIKE(3, 4);

#endif
