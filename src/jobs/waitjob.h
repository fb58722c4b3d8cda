#ifndef WAITJOB_H
#define WAITJOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/jobid.h"
#include "base/util.h"
#include "batch/op.h"
#include "net/client.h"

/*
 * WAITJOB: clients that wait for the ends of jobs. What a job has come to is in the database, where
 * each waiter looks at first, and then now and then; in between it is told: by commands at this server, and
 * by other servers, which are asked to tell while somebody waits here.
 */
enum job_end_kind {
    JOB_DONE = 1, /* acknowledged, and nothing of it is kept */
    JOB_KEPT,     /* acknowledged: it is to be found among the finished */
    JOB_DELETED,
    JOB_DEAD, /* it is to be found there, or has gone to another queue */
};

/* Does anybody, here or elsewhere, wait for the end of some job? */
bool waitjob_is_asked(void);
/* By this server's doing, committed. result: of JOB_KEPT; ptr NULL: there is none. */
void waitjob_ended(struct job_key key, enum job_end_kind how, struct slice result);

/* Another server, or SQL, tells of the same; number: enum job_end_kind. */
void waitjob_heard_end(struct job_key key, int64_t number);
/* Clients of another server wait. */
void waitjob_heard_asking(void);

bool waitjob_has(const struct client *c);
void waitjob_client_gone(struct client *c);
/* CLIENT UNBLOCK: as waiters_unblock(). */
bool waitjob_unblock(struct client *c, bool error);
/* The server stops: as if their time were over. */
void waitjob_end_all(void);
/* All of them look at once. */
void waitjob_look_all(void);
/* Clients that wait, and whose job was there. */
size_t waitjob_count(void);
/* Looks, and times that are over. */
void waitjob_turn(int64_t mono_us);
/* When waitjob_turn() has something to do (clock_mono()), INT64_MAX if never. */
int64_t waitjob_next_due(void);

#endif
