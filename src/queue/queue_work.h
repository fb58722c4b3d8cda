#ifndef QUEUE_WORK_H
#define QUEUE_WORK_H

#include <stdbool.h>
#include <stdint.h>
#include "base/job_key.h"
#include "base/list.h"

/*
 * The parts of a queue that only a queue in use needs: claims, adds, waiting requests, and changes not sent to peers.
 * Most queues of a server with many queues are not in use, and share queue_idle. A queue has its own record from
 * its first use on, until queue_works_tick() finds that nothing uses it.
 *
 * q->work is for reading, and queue_work() for changes. A pointer to a record, or to a part of it, is valid until the end of
 * the turn, and as long as the part is in use.
 */
struct queue;
struct take;
struct trimming;

/* Number of kinds of takes; take.c. */
#define TAKE_KINDS 6

/* Takes that have not ended.
 * Written by take.c. */
struct queue_claims {
    int64_t rows;      /* rows that they requested */
    int64_t last_rows; /* the part requested from the last end; such takes remove no redelivery keys */
    int64_t planned;   /* rows of takes in the transaction that is being planned */
    int64_t kept;      /* jobs that were taken for requests whose other takes have not ended */
    struct take *latest[TAKE_KINDS]; /* the last take of the kind; NULL: its statement is built */
    struct take *reading;            /* take by redelivery keys whose rows are being read */
};

/* Jobs that are being added.
 * Written by add.c. */
struct queue_adds {
    int64_t accepted;     /* accepted jobs that their commit will queue */
    int64_t sent;         /* the part of them that is sent, and not handed off to a waiter */
    int64_t pushes_sent;  /* elements in sent pushes, repetitions included */
    int64_t pushes_ended; /* the part of pushes_sent whose transaction has ended */
    int64_t of_started;   /* requests that depend on whether a job was delivered */
};

/* The accepted jobs that are added ahead or may be added ahead; add_ahead.h.
 * Written by add_ahead.c. */
struct queue_adds_ahead {
    int64_t plain; /* accepted jobs that may be added ahead */
    int64_t held;  /* the part of them that waits for room among the jobs ahead */
    int64_t sent;  /* the part of them that is sent with a lease */
};

/* The requests that wait for the queue by its name.
 * Written by waiters.c. */
struct queue_waiters {
    struct list list; /* struct wait, in order of arrival */
    int64_t count;
    uint64_t joined_by; /* arrival of the last waiter: a request may name the queue twice */
};

/* The row in the database.
 * Written by queue_store.c. */
struct queue_row {
    struct list waiters; /* struct row_waiter: requests that wait for the id */
    bool opening;        /* the row is being inserted or deleted */
};

/* The consume end that is being read; list_orientation.h.
 * Written by list_orientation.c. */
struct queue_ends {
    struct list waiters; /* struct row_waiter: requests that wait for the consume end */
    bool asking;         /* a statement that reads or sets it has not ended */
};

/* Changes that peers are not told yet.
 * Written by outbox.c. */
struct queue_outbox {
    struct list in_changed; /* in the list of queues whose own counter share has changed */
    struct list in_ready;   /* in the list of queues with ready jobs that peers do not know */
    struct list in_room;    /* in the list of queues with a free concurrency slot */
    struct job_key ready;   /* the first key of the ready jobs */
    int64_t ready_count;    /* and their number */
};

struct queue_work {
    struct queue *q;
    struct list node; /* in the list of all records */
    struct queue_claims claims;
    struct queue_adds adds;
    struct queue_adds_ahead adds_ahead;
    struct queue_waiters waiting;
    struct queue_row row;
    struct queue_ends ends;
    struct queue_outbox outbox;
    struct list in_ready;  /* in the list of queues whose waiters the next transaction may serve */
    struct list in_paused; /* in the list of queues that are paused in */
    struct trimming *trim; /* LTRIM: the queued task that equal requests join; NULL: none */
    int pausing; /* PAUSE OUT statements that have not ended; claims sent after them find it paused */
    int moving;  /* RENAMEs over CONN_LARGE from or to the queue; until their end no claims are sent */
};

/* The record of all queues that are not in use. */
extern const struct queue_work queue_idle;

/* The own record of the queue, for changes. */
struct queue_work *queue_work(struct queue *q);
/* Removes the queue, which is about to be freed, from all lists. Its record is freed. */
void queue_work_drop(struct queue *q);
/* Frees the records of queues that are no longer in use. It looks at a bounded number. */
void queue_works_tick(void);

#endif
