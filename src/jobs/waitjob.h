#ifndef WAITJOB_H
#define WAITJOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/job_key.h"
#include "base/util.h"
#include "jobs/job.h"
#include "net/client.h"

/*
 * WAITJOB: clients that wait for the ends of jobs. The state of a job is in the database. Each waiter reads it
 * first, and then polls at intervals. Between the polls, commands of this server report the ends. Other servers
 * report them too, while a client here waits.
 */
enum wait_form { WAIT_FOR_ONE, WAIT_FOR_ALL, WAIT_FOR_ANY };

/* Lets r wait for the ends of its keys, see job_ids(). WAIT_FOR_ONE: there is one key, and the reply is its state and
 * its result. The other forms reply a state for each of the named IDs, argv[1] to argv[named]. An ID without a key is
 * an unknown job. timeout_ms: 0 is no timeout. */
void waitjob_start(struct req *r, enum wait_form form, size_t named, int64_t timeout_ms);
#define WAITJOB_UNKNOWN "NOJOB Job not known: it never existed, or it has ended and is not retained."

/* Does a client wait for the end of a job, here or at a peer? */
bool waitjob_is_asked(void);
/* This server ended the job, and the transaction is committed. result: of JOB_KEPT; ptr NULL: none. */
void waitjob_ended(struct job_key key, enum job_exit how, struct slice result);

/* A peer or an SQL function reports the end of a job. number: enum job_exit. */
void waitjob_receive_end(struct job_key key, int64_t number);
/* Clients of a peer wait. */
void waitjob_receive_awaits(void);

bool waitjob_has(const struct client *c);
/* False if the client waits for a job whose queue its user may not read any more. */
bool waitjob_may_go_on(const struct client *c);
void waitjob_client_gone(struct client *c);
/* CLIENT UNBLOCK: as waiters_unblock(). */
bool waitjob_unblock(struct client *c, bool error);
/* The server stops: ends all waiters as if their time were over. */
void waitjob_end_all(void);
/* All waiters poll now. */
void waitjob_look_all(void);
/* Number of clients that wait and whose job was found. */
size_t waitjob_count(void);

#endif
