#ifndef DEAD_QUEUE_H
#define DEAD_QUEUE_H

#include <stdint.h>
#include "jobs/job_filter.h"
#include "net/request.h"
#include "queue/queue.h"

/*
 * The dead jobs of a queue: REVIVE and DELDEAD. The server works in pages. Each page is one transaction, so after an
 * error the pages before it are done, and the same command continues the work.
 */

/* The jobs that a command selects, in the order of the queue. A negative age: not given. */
struct dead_filter {
    int64_t count;
    struct job_filter match;
    int64_t older; /* seconds since the death, at least */
    int64_t newer; /* at most */
};

#define DEAD_FILTER_ALL \
    { .count = INT64_MAX, .older = -1, .newer = -1 }

struct dead_revive {
    struct dead_filter filter;
    int64_t rate;     /* jobs per second; 0: all at once */
    struct queue *to; /* NULL: the same queue */
};

/* Revives dead jobs of q. Replies their number, and ends r. */
void dead_revive_queue(struct req *r, struct queue *q, const struct dead_revive *how);
/* Deletes dead jobs of q. Replies their number, and ends r. */
void dead_delete_queue(struct req *r, struct queue *q, const struct dead_filter *filter);
/* Deletes dead jobs that their queues no longer keep: QCONFIG dead-retention. Called once a second. */
void dead_retention_tick(void);

#endif
