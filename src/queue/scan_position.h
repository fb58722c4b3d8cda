#ifndef SCAN_POSITION_H
#define SCAN_POSITION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/job_key.h"
#include "base/list.h"

/*
 * Where the claims of a queue find its ready jobs. No job at or before the position is ready, except the redelivery
 * keys: jobs whose lease ended, that were NACKed, that became due, and so on. A claim first takes the redelivery
 * keys, and then scans the index from the position. So it never visits dead rows before the position, however long
 * a snapshot holds back vacuum.
 *
 * If may_have_more is false, no job after the position is ready either, except the redelivery keys.
 * Written by scan_position.c.
 */
struct scan_position {
    struct job_key position;
    uint64_t resets;      /* how often the position was set; scans sent before that do not move it */
    struct job_key *keys; /* redelivery keys, a binary heap by job_key_before() */
    uint32_t key_count;
    uint32_t key_cap;
    struct list sent;   /* struct queue_scan of scans that have not ended */
    uint32_t apart;     /* the number of those after position_note_apart() */
    bool may_have_more; /* there may be ready jobs after the position */
    bool ranked;        /* the queue had jobs with a priority */
};

/* A scan that was sent and has not ended, and the state when it was sent. The scan may have missed jobs that
 * peers notified since then, and a scan over CONN_LARGE also jobs of this server. */
struct queue_scan {
    struct list node;
    struct job_key received;        /* smallest key of these jobs */
    struct job_key start;           /* position when it was sent */
    uint64_t resets;                /* `resets` when it was sent */
    int64_t snapshot_end;           /* last job number made when it was sent; the scan sees no greater one */
    struct scan_position *apart_of; /* the position of its queue after position_note_apart(), else NULL */
};

/* With this many redelivery keys, the keys are dropped, and a scan from the first of them finds the jobs. */
#define REDELIVERY_KEYS_MAX 65536

/* At the beginning, without jobs. */
void position_init(struct scan_position *s);
void position_free(struct scan_position *s);

/* ---- ready jobs ---- */

/* The job at key is ready. It becomes a redelivery key only if it is not after the position. If no job was ready
 * after the position, that moves to just before key. */
void position_add(struct scan_position *s, struct job_key key);
/* Adds a redelivery key, before or after the position. */
void position_add_key(struct scan_position *s, struct job_key key);
/* A peer has committed a ready job at key. Sent scans may have missed it. */
void position_receive(struct scan_position *s, struct job_key key);
/* There may be ready jobs after the position. */
void position_expect(struct scan_position *s);
/* The same after this key: the position moves back to it. */
void position_set_back(struct scan_position *s, struct job_key key);
/* Nothing is known about the ready jobs: the next scan starts at the beginning. */
void position_reset(struct scan_position *s);
/* True if neither a scan nor a redelivery key is expected to find a ready job. */
static inline bool position_is_exhausted(const struct scan_position *s) {
    return !s->may_have_more && s->key_count == 0;
}
/* True if nothing is known about the jobs from the first key on. */
bool position_is_at_beginning(const struct scan_position *s);
/* All jobs were deleted. */
void position_clear(struct scan_position *s);

/* ---- claims ---- */

/* Removes the first redelivery key. False if there is none, or if a scan must come first because it may find
 * smaller keys. */
bool position_take_key(struct scan_position *s, struct job_key *key);
/* Removes the redelivery key of a job that a scan has taken, if it is the first one. */
void position_forget_key(struct scan_position *s, struct job_key key);
/* Removes the redelivery keys of jobs that are no longer ready, wherever they are in the heap. Linear in the number of
 * redelivery keys. Sorts keys. */
void position_remove_keys(struct scan_position *s, struct job_key *keys, size_t count);
/* A scan from the position is sent. Until position_end(), position_receive() is noted in it. */
void position_begin(struct scan_position *s, struct queue_scan *scan);
/* The scan is not sent over CONN_WRITE, so it has no order with the adds of this server. Call it after position_begin(). */
void position_note_apart(struct scan_position *s, struct queue_scan *scan);
/* The scan took all ready jobs up to *last. last NULL: it took none. to_the_end: there were no more. */
void position_advance(struct scan_position *s, const struct queue_scan *scan, const struct job_key *last,
                      bool to_the_end);
void position_end(struct queue_scan *scan);

#endif
