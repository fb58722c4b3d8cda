#ifndef ADD_H
#define ADD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/job_key.h"
#include "base/timer.h"
#include "base/util.h"
#include "batch/commit_marker.h"
#include "jobs/add_options.h"
#include "net/request.h"
#include "queue/queue.h"
#include "queue/queue_store.h"

/*
 * New jobs: those of an ADDJOB or ADDJOBS, or the elements of a push. The task of the request adds all of them, or none. Its
 * operation depends on their options, and so does the client that they are handed off to.
 */

/* A committed request. */
struct added {
    struct job_key key; /* the first job; with UNIQUE, the job that has the key */
    int64_t expires_at; /* of that job */
    int32_t retry;
    const char *outcome; /* added, or with UNIQUE existing or replaced */
    int64_t len;         /* of the list, after a push */
};

struct add {
    /* Set by the command. */
    struct req *req;
    struct add_options opt;
    const struct slice *bodies; /* in the order in which they are added */
    size_t count;
    enum list_end end;  /* a push adds its elements at this end; END_NONE: ADDJOB or ADDJOBS */
    bool several;       /* ADDJOBS */
    bool if_any;        /* a push in a client transaction, if the list has elements */
    int64_t timeout_ms; /* 0: none. It has no effect in a client transaction */
    void (*reply)(struct req *r, const struct added *result);
    /* Private. */
    struct queue *q;
    struct row_waiter row_waiter; /* until the queue is ready for use, or while the key has contention */
    struct timer timeout;
    int64_t *ids;      /* negative if pushed at the consume end */
    int64_t id;        /* memory for a single ID */
    struct slice rare; /* JSON of rare properties; ptr NULL: none */
    int64_t made_us;   /* clock_db() when the IDs were made */
    bool at_front;     /* pushed at the consume end */
    struct taker *to;  /* inserted with a lease for this waiting client, or NULL */
    bool plain;        /* its jobs may be added ahead: counted in q->work->adds_ahead.plain */
    bool waits;        /* it waits, because many jobs are ahead: counted in held_adds of its client */
    bool waited;       /* it has waited, so it does not wait again */
    bool ahead;        /* inserted with a lease as jobs ahead: counted in adds_ahead.sent */
    int64_t until;     /* end of the lease */
    bool sent;         /* counted in q->work->adds.sent: no waiting client gets the jobs */
    int64_t place; /* of a push: index of its last element among all elements that were sent to q; 0: none */
    bool again;    /* the transaction was lost once: the jobs may exist */
    bool settled;  /* it was committed and its result lost: see tried */
    /* The number of the row in commit_marker that the statement inserts for an unseen key; 0: none. */
    int64_t trace;
    /* If settled: keeps the trace of the committed try, which tells whether to add or replace a job again. */
    struct commit_marker tried;
    bool given_up;        /* the client got an error: an inserted job is removed */
    int32_t flow_first;   /* jobs before it in the statement add_in_flow.sql */
    int32_t flow_verdict; /* its result */
    unsigned flow_tries;  /* tries of a job whose predecessor or batch was not found */
    int64_t unseen_us;    /* clock_mono(): start of the contention for the key; 0: none */
    int64_t resume_us;    /* clock_mono(): the next try to take the key */
};

/* Checks the options, and adds the jobs to the queue that the request names. a is in the memory of its request, which
 * ends with an error, or after a->reply(). The reply is not sent before the commit. */
void add_start(struct add *a);
/* Counts jobs that were accepted and are not added yet, or that were added or refused (less than 0). */
void add_count_accepted(struct queue *q, int64_t count);
/* The key of one of its jobs. */
struct job_key add_job_key(const struct add *a, size_t i);

/* The same for a request of a client transaction whose handler was called. */
struct job_ref add_job_ref(const struct add *a, size_t i);

#endif
