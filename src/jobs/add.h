#ifndef ADD_H
#define ADD_H

#include <stdbool.h>
#include <stdint.h>
#include "base/heap.h"
#include "base/jobid.h"
#include "base/util.h"
#include "batch/flight_mark.h"
#include "batch/op.h"
#include "jobs/add_options.h"
#include "net/req.h"
#include "queue/queue.h"
#include "queue/queue_row.h"

/* One ADDJOB on its way: what cmd_addjob.c and the operations of special kinds of jobs share. */

struct add {
    struct req *req;
    struct parked parked;      /* while the queue has no row yet, or its key is being taken */
    struct heap_item deadline; /* clock_mono() */
    struct queue *q;
    struct add_options opt;
    struct job_key key;
    struct job_times at;
    struct get *to;        /* inserted for this waiting client, */
    int64_t until;         /* leased until then */
    bool unhanded;         /* under way to the queue, for whoever comes; counted there */
    bool again;            /* it has been lost once, so that the job may be there already */
    bool settled;          /* it was committed, and its answer lost: it must not be added again */
    bool given_up;         /* the client was told so; what was inserted is removed */
    int64_t unseen_us;     /* clock_mono() since which it waits for who is taking its key; 0: it does not */
    int64_t resume_us;     /* clock_mono() before which it does not ask for its key again */
    struct lost_task lost; /* its flight was, and whether that was committed is being asked */
};

static inline bool add_is_unique(const struct add *a) {
    return a->opt.unique.ptr != NULL;
}

/* Parameters of add_jobs.sql, which other statements begin with as well. */
#define ADD_PARAMS 14
void add_encode(struct params *p, struct task *t);
/* Three columns of it: attempts, backoff, deadqueue. */
void add_encode_attempts(struct params *p, int col, const struct add_options *o);
/* No longer under way: the statement has ended, */
void add_landed(struct add *a);
/* and so has the command, but for its reply. */
void add_left(struct add *a);
/* The job is there, inserted just now. */
void add_committed(struct add *a);
void add_reply_id(struct add *a, struct job_key key, int64_t expires_at, int32_t retry);
/* op.fail. */
void add_fail(struct task *t, const struct op_error *err);
/* op.answer_lost: load.c has counted the job. */
void add_answer_lost(struct task *t);

/* Ends ADDJOBs whose ms-timeout is over, with -NOREPL. */
void addjob_expire(int64_t mono_us);
/* Forgets keys that outlived their jobs and whose time is over. */
void add_unique_prune(void);
/* Those that wait for a key which another session is taking: asks for it again; and when that is due (clock_mono()). */
void add_unique_turn(int64_t mono_us);
int64_t add_unique_next_turn(void);
/* When the next one's is over (clock_mono()), INT64_MAX if none's. */
int64_t addjob_next_deadline(void);

#endif
