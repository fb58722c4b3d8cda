#ifndef JOB_H
#define JOB_H

#include <stdbool.h>
#include <stdint.h>
#include <libpq-fe.h>
#include "base/job_key.h"
#include "base/util.h"
#include "queue/queue.h"

/*
 * The life of a job. After the commit, a path that changes a job calls this module: the job entered its queue, was
 * claimed, was withdrawn by its ID, or left. This updates counters, statistics and redelivery keys, sends the event,
 * tells WAITJOB clients and peers, and starts the next job of the group. Tables in job.c say how the reasons differ.
 *
 * This server may not know the queue of a job. Then peers count the job.
 */

/* Why a job entered its queue. */
enum job_entry {
    JOB_ADDED,     /* as a new job */
    JOB_ARRIVED,   /* from another list, or from the queue in which it used its last attempt */
    JOB_REVIVED,   /* from the dead letters of this or another queue, after jobs_count_dead() */
    JOB_PUT_BACK,  /* its client disconnected before it received the popped job */
    JOB_RELEASED,  /* the same for a delivered job */
    JOB_RETURNED,  /* its lease has ended, or a command has put it back */
    JOB_WOKEN,     /* its delay has ended */
    JOB_UNBLOCKED, /* it is now the first of its group, or has waited for other jobs */
    JOB_ENTRIES,
};

/* Why a job left its queue. The numbers are part of messages between servers. */
enum job_exit {
    JOB_DONE = 1, /* acknowledged, and deleted */
    JOB_KEPT,     /* acknowledged, and retained */
    JOB_DELETED,  /* by its ID */
    JOB_DEAD,     /* a dead letter, or moved to its dead-letter queue */
    JOB_CLEARED,  /* by a command about its list: DEL, LTRIM ... */
    JOB_EXPIRED,
    JOB_TAKEN, /* popped, or moved to another list */
    JOB_CANCELLED,
    JOB_EXITS, /* their number, and 1 */
};

/* A job whose row a statement of this server has changed. */
struct job_row {
    struct queue *q; /* NULL: the queue is found by the key */
    struct job_key key;
    bool delayed;         /* job_entered(): it is not queued yet */
    bool leased;          /* job_entered(): it was inserted with a lease */
    int64_t queued_since; /* job_left(): as in queue_count_gone() */
    int64_t wake_at;      /* job_entered(): of its row; 0 or TIME_NEVER: none */
    int64_t expires_at;   /* 0: unknown, and without `id` there is no event */
    int32_t retry;
    bool in_flow;        /* job_left(): it has a row in pgdisque.flow_job */
    bool is_dead_job;    /* job_left(): it has a row in pgdisque.dead_job now */
    struct slice id;     /* the ID as a client gave it; ptr NULL: made from the other fields */
    struct slice group;  /* ptr NULL: none. In job_entered(): the job waits for its turn in the group. */
    struct slice result; /* JOB_KEPT only; ptr NULL: none */
};

/* The job entered its queue, or will enter it after its delay, or in its turn. */
void job_entered(const struct job_row *job, enum job_entry why);
/* A claim leased a queued job. */
void job_claimed(struct queue *q, struct job_key key);
/* A command about the ID ended the lease or the delay, or took the job out of its queue (was_queued). row_until: the end
 * of the lease in the row before that, or TIME_DELAYED or TIME_WAITING. */
void job_withdrawn(struct job_key key, int64_t row_until, bool was_queued);
/* The job is queued again, as by NACK: job_withdrawn() and JOB_RETURNED. wake_at: the end of a delay; TIME_NEVER: it is
 * queued at once. */
void job_requeued(struct job_key key, int64_t row_until, bool was_queued, int64_t wake_at);
/* The delivery of the job ended by NACK, or by the end of its lease. Its job is queued again, or dies. */
void job_failed(struct job_key key);
/* The job left its queue. */
void job_left(const struct job_row *job, enum job_exit why);
/* Queued jobs left their queue together, as by JOB_TAKEN. They had no group, no workflow and no lease. There are no
 * events of the single jobs. */
void jobs_left(struct queue *q, int64_t count);
/* The same for JOB_ARRIVED. first: no job among them has a lower rank, or a lower ID. */
void jobs_arrived(struct queue *q, struct job_key first, int64_t count);
/* A job that waited for other jobs has ended. It was never in its queue. is_dead_job: it is a dead letter. */
void job_never_ran(const struct job_row *job, enum job_exit why);
/* The dead letters of a queue became more or fewer, apart from jobs that died: job_left() counts those. */
void jobs_count_dead(int32_t queue_id, int64_t change);

#endif
