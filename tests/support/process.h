#ifndef PROCESS_H
#define PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * Child processes and scratch directories that never outlive the test, however
 * it ends: children are signalled by the kernel when the test dies, and a
 * watcher process removes the directory.
 */
#define PATH_SIZE 256

/* Prints why the test cannot go on, and ends the process with status 1. */
_Noreturn void die(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Like snprintf into a path, but a path that does not fit ends the test. */
void path_join(char out[PATH_SIZE], const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* A copy that lives until the process ends. */
const char *forever(const char *text);

/* This process' own directory under $TMPDIR or /tmp; everybody may pass through it. */
const char *scratch_dir(void);

/* The directory that all processes of a test run share: $PGDISQUE_TEST_DIR, or the scratch directory. */
const char *run_dir(void);

struct spawn {
    const char *const *argv; /* argv[0] is a path or is looked up in PATH; NULL at the end */
    const char *log;         /* stdout and stderr are appended to this file; NULL: inherited */
    int death_signal;        /* sent to the child when this process dies */
    bool unprivileged;       /* as root: run as "postgres" or "nobody" */
    unsigned files;          /* the limit of open files, for good; 0: as ours */
};

pid_t spawn(const struct spawn *s);
/* Waits until the child has ended: its exit status, or 128 + signal. When ms are
 * over before that it is killed, and the value is -1. */
int wait_exit(pid_t pid, int ms);
/* Has the child ended already? Its status is reaped into *status then. */
bool has_ended(pid_t pid, int *status);
/* spawn() and wait_exit() that must succeed. */
void run_command(const struct spawn *s);

/* The user that runs Postgres if the test runs as root, or 0. A server that root starts becomes the same user. */
uid_t unprivileged_uid(gid_t *gid);

/* Prints the last bytes of a file to stderr, each line marked with its name. */
void show_tail(const char *path, const char *name);
/* How often does the file contain the text? 0 if there is no file. */
int file_count(const char *path, const char *text);
/* Does the file contain the text? */
bool file_contains(const char *path, const char *text);

#endif
