#ifndef SORTED_SET_H
#define SORTED_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <libpq-fe.h>
#include "jobs/add_options.h"
#include "net/request.h"
#include "queue/queue.h"
#include "queue/queue_store.h"

/*
 * The sorted sets in which client libraries keep jobs. A member is a job, and its score is a time: at that time a
 * delayed job enters its queue and leaves the set. The members of a set of dead jobs are dead jobs.
 */
#define SET_MEMBERS_MAX 1000                        /* members of one ZADD or ZREM */
#define SET_RANGE_MAX 10000                         /* members of one reply */
#define SET_RANGE_BYTES (INT64_C(64) * 1024 * 1024) /* and their bytes */

/* A part of a set in its order, or from its end backwards. */
struct set_range {
    int64_t from; /* times, included */
    int64_t to;
    int64_t offset;
    int64_t limit; /* less than 0: none */
    int64_t drop;  /* more than 0, in place of the limit: the members to leave off at the end */
    bool backwards;
};

#define SET_RANGE_ALL \
    { .from = TIME_BEGINNING, .to = TIME_NEVER, .limit = -1 }

/* A statement about a set. It is in the memory of its request. */
struct sorted_set {
    /* Set by the command. */
    struct req *req;
    struct slice name;
    const struct slice *bodies;
    size_t count;
    struct set_range range;
    bool goes_on; /* reply() of a read ends the request itself, then or later */
    /* Writes the reply. The request ends after it. changed: the number of new, or of removed members. */
    void (*reply)(struct sorted_set *s, const PGresult *rows, int64_t changed);
    /* Only of sorted_set_add(). */
    const int64_t *times;
    struct queue *q; /* in which the jobs are due, or were dead */
    bool dead;
    bool adds; /* the times are added to those of the members */
    /* Private. */
    struct add_options opt;
    struct row_waiter row_waiter;
    int64_t removed;
};

/* Adds members, or moves them to another time. */
void sorted_set_add(struct sorted_set *s);
/* Removes the members with these bodies. */
void sorted_set_remove(struct sorted_set *s);
/* Removes a range. Outside of MULTI a large range takes several transactions. */
void sorted_set_remove_range(struct sorted_set *s);
void sorted_set_read(struct sorted_set *s);
void sorted_set_count(struct sorted_set *s);

#endif
