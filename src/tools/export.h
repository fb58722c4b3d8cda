#ifndef EXPORT_H
#define EXPORT_H

#include "tools/redis_link.h"

/*
 * Moves the queued jobs of a pgdisque to lists of a Redis, batch by batch: the way back. Jobs are first moved
 * to a queue of their own; then they are pushed, together with a note of their IDs; then they are deleted;
 * then the note goes. Whoever finds jobs there pushes those of which there is no note, and deletes them.
 */
#define EXPORT_MOVERS 32

struct export {
    struct redis_pipe from, to; /* pgdisque, Redis */
    /* More connections to pgdisque: one after the other commits each job that it moves, but what several ask
     * for at once is one transaction. */
    struct redis_pipe movers[EXPORT_MOVERS];
    const char *key_prefix; /* of the lists' names */
    int64_t batch;          /* jobs, > 0 */
    bool left;              /* consumers take at the left end, here and there */
    int64_t moved, stays;
    bool begun; /* jobs may have been taken and not yet pushed */
    char err[600];
};

/* What stays here, of one queue. */
struct export_rest {
    int64_t delayed;   /* in their delay */
    int64_t given_out; /* in the hands of consumers, or waiting after that */
    int64_t queued;    /* kept by a pause, a limit, or others of their group; or they have just come */
};

/* The names of queues that fit the pattern, also of those of which only begun batches are left. False with
 * a sentence in err. The caller frees each and the array. */
bool export_find(struct export *x, const char *pattern, char ***names, size_t *count) MUST_CHECK;
/* How many jobs can be had; -1 with a sentence in err. */
int64_t export_length(struct export *x, const char *name);
/* Moves one batch, one that was left included: false when there are no more, or with a sentence in err. */
bool export_batch(struct export *x, const char *name) MUST_CHECK;
/* No batch is under way. The queue in which they lay stays paused: another export may have jobs in it. */
bool export_end(struct export *x) MUST_CHECK;
/* Counts what stays; with queue_delayed what is in its delay is queued first, and not counted. */
bool export_look(struct export *x, const char *name, bool queue_delayed, struct export_rest *rest) MUST_CHECK;

#endif
