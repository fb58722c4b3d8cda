#ifndef ADD_H
#define ADD_H

#include <stdbool.h>
#include <stdint.h>
#include "base/job_key.h"
#include "base/timer.h"
#include "base/util.h"
#include "batch/op.h"
#include "jobs/add_options.h"
#include "net/request.h"
#include "queue/queue.h"
#include "queue/queue_store.h"

/* A running ADDJOB: state shared by cmd_addjob.c and the operations for unique and grouped jobs. */

struct add {
    struct req *req;
    struct row_waiter row_waiter; /* while the queue has no row, or the key has contention */
    struct timer timeout;
    struct queue *q;
    struct add_options opt;
    struct job_key key;
    struct job_times at;
    struct get *to;    /* inserted with a lease for this waiting client, or NULL */
    int64_t until;     /* end of that lease */
    bool unhanded;     /* counted in q->inserting: no waiting client gets the job */
    bool again;        /* the transaction was lost once: the job may exist */
    bool settled;      /* it was committed and its result lost: do not add the job again */
    bool given_up;     /* the client got an error: an inserted job is removed */
    int64_t unseen_us; /* clock_mono(): start of the contention for the key; 0: none */
    int64_t resume_us; /* clock_mono(): the next try to take the key */
};

static inline bool add_is_unique(const struct add *a) {
    return a->opt.unique.ptr != NULL;
}

/* Parameters of add_jobs.sql. Other statements have the same first parameters. */
#define ADD_PARAMS 14
void add_encode(struct params *p, struct task *t);
/* Three of these columns: attempts, backoff, deadqueue. */
void add_encode_attempts(struct params *p, int col, const struct add_options *o);
/* The statement has ended: q->inserting no longer counts the job. */
void add_completed(struct add *a);
/* The command has ended, except for its reply. */
void add_left(struct add *a);
/* The job was inserted and committed. */
void add_committed(struct add *a);
void add_reply_id(struct add *a, struct job_key key, int64_t expires_at, int32_t retry);
/* op.fail. */
void add_fail(struct task *t, const struct op_error *err);
/* op.answer_lost: bootstrap.c has counted the job. */
void add_answer_lost(struct task *t);

/* Deletes expired keys whose jobs are gone. */
void add_unique_prune(void);

#endif
