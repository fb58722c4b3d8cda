#ifndef MOVING_H
#define MOVING_H

#include "fixture.h"

/* A Redis beside the server, and tasks that pgdisque import and export move between the two. */

#define MOVING_RUN_MS 60000

/* Starts the Redis, once for the program, and connects to it and to the server. For a suite's group. */
int moving_open(redisContext **r, redisContext **q);
int moving_close(redisContext *r, redisContext *q);

/* pgdisque <subcommand> redis://... --to ... and these words, the last of which is NULL. */
pid_t moving_spawn(const char *subcommand, const char *const *words);
/* Runs it; fails the test unless it exits so and says that. */
void moving_must(const char *subcommand, int status, const char *says, const char *const *words);
#define IMPORT(status, says, ...) \
    moving_must("import", status, says, (const char *const[]){ __VA_ARGS__, NULL })
#define EXPORT(status, says, ...) \
    moving_must("export", status, says, (const char *const[]){ __VA_ARGS__, NULL })
/* The output of the last import or export. */
const char *moving_log(void);
/* Kills a run after so many microseconds: its exit status, 0 when it was faster. */
int moving_kill(const char *subcommand, const char *const *words, unsigned after_us);

/* Two runs that follow are told to end, which they do well. */
void moving_end_two(const pid_t pids[2]);

/* Runs a command in Redis for each number, with the body "task <number>". */
void moving_fill(redisContext *r, const char *key, const char *command, int from, int to);
/* Takes and acknowledges all that can be had, and counts by the number with which each body ends. */
int moving_take_all(redisContext *q, const char *queue, int *seen, int size);
/* The bodies are "task 0", "task 1" and so on, and no others. */
void moving_in_order(redisContext *q, const char *queue, int count);
void moving_once(const int *seen, int size);

#endif
