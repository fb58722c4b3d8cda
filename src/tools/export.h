#ifndef EXPORT_H
#define EXPORT_H

#include "tools/redis_link.h"

/*
 * Moves the queued jobs of a pgdisque to lists of a Redis, batch by batch. The steps of a batch: the jobs are moved to
 * a separate queue; they are pushed to Redis together with a note of their IDs; they are deleted; the note is deleted.
 * If an export stops in between, the next export finds the jobs in the separate queue. It pushes the jobs that the note
 * does not name, and deletes all of them. So no job is lost or pushed twice.
 */
#define EXPORT_MOVERS 32

struct export {
    struct redis_pipe from, to; /* pgdisque, Redis */
    /* Connections to pgdisque that move jobs. On one connection each move is a transaction of its own. The moves of
     * several connections in one turn share a transaction. */
    struct redis_pipe movers[EXPORT_MOVERS];
    const char *key_prefix; /* prefix of the lists' names */
    int64_t batch;          /* jobs, > 0 */
    bool left;              /* consumers take from the left end, in pgdisque and in Redis */
    int64_t moved, stays;   /* jobs */
    bool begun;             /* jobs may be in the separate queue and not pushed yet */
    char err[600];
};

/* The jobs of one queue that an export leaves in pgdisque. */
struct export_rest {
    int64_t delayed;   /* in their delay */
    int64_t given_out; /* leased by consumers, or waiting for a retry */
    int64_t queued;    /* held back by a pause, a limit or their group; or added after the last batch */
};

/* The names of the queues that match the pattern. Includes queues of which only a begun batch is left. False with a
 * sentence in err. The caller frees each name and the array. */
bool export_find(struct export *x, const char *pattern, char ***names, size_t *count) MUST_CHECK;
/* The number of jobs that can be exported; -1 with a sentence in err. */
int64_t export_length(struct export *x, const char *name);
/* Moves one batch; a batch of an earlier export is completed first. False if there are no more jobs, or with a sentence
 * in err. */
bool export_batch(struct export *x, const char *name) MUST_CHECK;
/* Call it when no batch is begun. The separate queue stays paused, because another export may have jobs in it. */
bool export_end(struct export *x) MUST_CHECK;
/* Counts the jobs that stay. With queue_delayed, jobs in their delay are queued first and are not counted. */
bool export_look(struct export *x, const char *name, bool queue_delayed, struct export_rest *rest) MUST_CHECK;

#endif
