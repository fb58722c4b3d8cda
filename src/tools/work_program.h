#ifndef WORK_PROGRAM_H
#define WORK_PROGRAM_H

#include <sys/types.h>
#include "base/buf.h"
#include "base/util.h"

/*
 * A program that the tool work runs for a job: a process group of its own, whose standard output and standard error are
 * read without waiting. If the tool is killed, the kernel kills the program, but not its children.
 */
struct work_program {
    pid_t pid;
    int out, err;      /* descriptors to read from; -1: closed, or not read */
    struct buf result; /* the first bytes of the standard output */
    struct buf errors; /* the last bytes of the standard error */
    size_t result_max;
    int status;      /* of waitpid(), after the end */
    int64_t kill_us; /* SIGKILL at this time; 0: the program may run */
};

/* The most bytes of the standard error that are kept: those that NACK takes. */
#define WORK_ERRORS_MAX ((size_t)8000)

/* Tells whether a command of that name can be executed, as execvp(3) finds it. */
bool work_program_exists(const char *name);

/* Runs argv with the environment envp and the body as standard input. With result_max 0, the standard output is that of
 * the tool. False if the system refuses a process; errno has the reason. */
bool work_program_start(struct work_program *p, char **argv, char **envp, struct slice body,
                        size_t result_max) MUST_CHECK;
/* Reads the output that has arrived. The standard error is copied to that of the tool. */
void work_program_read(struct work_program *p);
/* True from the end of the program on. All its output has been read then. If the program was asked to end, the rest of
 * its process group is killed. */
bool work_program_ended(struct work_program *p);
/* Asks the process group to end by SIGTERM. After grace_us it gets SIGKILL, by work_program_kill_at(). */
void work_program_ask(struct work_program *p, int64_t grace_us);
/* Kills the process group if its time has come. */
void work_program_kill_at(struct work_program *p, int64_t now_us);
/* Frees the memory and closes the descriptors. The program has ended, or was never started. */
void work_program_free(struct work_program *p);

#endif
