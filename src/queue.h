/* layer 3 */
#ifndef QUEUE_H
#define QUEUE_H

#include <stdbool.h>
#include <stdint.h>
#include <uthash.h>
#include "jobid.h"
#include "list.h"
#include "util.h"

/*
 * What this server knows of a queue. The jobs are in the database; here are the
 * counters clients see, who waits, and where the next claim has to look:
 *
 * Nothing ready lies at or before the frontier except what is in the returned
 * set (jobs whose lease ended, that were NACKed, became due, ...). A claim takes
 * the returned jobs by key and then walks the index from the frontier, so it
 * never visits what is dead, however long a foreign snapshot holds back vacuum.
 */
enum queue_pause { PAUSE_IN = 1, PAUSE_OUT = 2 };

struct claim;

struct queue {
    UT_hash_handle by_name;
    UT_hash_handle by_id;
    struct slice name;
    int32_t id;     /* 0: has no row in the database yet */
    uint32_t slot;  /* place in the table that QSCAN walks */
    unsigned pause; /* enum queue_pause */
    int pausing;    /* under way to be paused out: what is sent behind that takes no job */
    bool shown;     /* clients see it; not while all its jobs are delayed and never were queued */

    /* Counters. */
    int64_t len;       /* queued: could be delivered now (QLEN) */
    int64_t total;     /* all jobs in any state */
    int64_t adding;    /* jobs accepted that will be queued by their commit, */
    int64_t inserting; /* and those of them that are under way, and for no waiting client */
    int64_t jobs_in;   /* times a job entered the queue, and was delivered: */
    int64_t jobs_out;  /* since this object was made, or as loaded */
    int64_t saved_in;  /* what of these the database knows */
    int64_t saved_out;
    int64_t created_us;   /* clock_db() */
    int64_t used_us;      /* clock_mono(): a job last queued or fetched */
    int64_t named_us;     /* clock_mono(): last named by a command; unused ones are forgotten */
    struct list in_dirty; /* queues whose counters differ from the database */

    /* Claiming. */
    struct job_key frontier;
    bool behind;              /* ready jobs may lie behind the frontier */
    uint64_t rewinds;         /* how often claims were told to look again behind some key */
    struct job_key *returned; /* binary heap by job_key_before() */
    size_t returned_count;
    size_t returned_cap;
    int64_t claiming;         /* rows asked for by claims under way */
    struct claim *plan;       /* of the flight being built; claim.c */
    struct claim *keys_claim; /* the last one by key that is under way, and the one */
    struct claim *landing;    /* whose rows are being read; claim.c */

    /* Waiting. */
    struct list waiters; /* struct wait, in order of arrival */
    int64_t waiter_count;
    uint64_t joined_by;   /* the get that joined last, which may name the queue twice */
    struct list in_ready; /* queues whose waiters may be served by the next flight */

    /* Requests under way that point here; the object stays while there are any. */
    int64_t users;

    /* Its row in the database. */
    struct list parked; /* struct parked: who waits for the id */
    bool opening;       /* the row is being made, or removed */

    int64_t swept_id; /* jobs with the default TTL before it have been expired */
};

void queue_init(void);
/* NULL when this server has no such queue object. */
struct queue *queue_find(struct slice name);
struct queue *queue_find_id(int32_t id);
/* Finds or makes the object; it has no row in the database before it needs one. */
struct queue *queue_get(struct slice name);
void queue_set_id(struct queue *q, int32_t id);
/* Forgets the object; nobody may wait on it. */
void queue_drop(struct queue *q);
/* All jobs are gone: queues are as new, and hidden unless somebody waits. */
void queue_clear(void);
size_t queue_count(void);
/* The queue in a slot, or NULL; slots lie in [0, queue_slots()). */
struct queue *queue_at(uint32_t slot);
uint32_t queue_slots(void);
#define QUEUE_EACH(q)                                        \
    for (uint32_t slot_ = 0; slot_ < queue_slots(); slot_++) \
        for (struct queue *q = queue_at(slot_); q != NULL; q = NULL)
/* Jobs in any state over all queues. */
int64_t queue_jobs_total(void);

/* How many jobs a claim could bring: returned ones, and about how many lie
 * behind the frontier. 0 when it is shut. */
int64_t queue_budget(const struct queue *q);
/* A job was committed as ready at key, outside of the returned set if possible. When nothing was
 * ready behind the frontier, that moves up to it. */
void queue_job_ready(struct queue *q, struct job_key key);
/* A ready job at key came back; claims take it by its key. */
void queue_job_returned(struct queue *q, struct job_key key);
/* Takes the first returned key; false when there is none. */
bool queue_take_returned(struct queue *q, struct job_key *key);
/* Puts a key back that a claim took in vain. Counts nothing. */
void queue_return_key(struct queue *q, struct job_key key);
/* There may be ready jobs behind this key. */
void queue_walk_from(struct queue *q, struct job_key key);
/* Nothing is known: the next claim walks from the beginning. */
void queue_rewind(struct queue *q);
/* Nothing that is ready lies at or before this key, and nothing has returned; len says whether
 * there is something behind it. */
void queue_walk_after(struct queue *q, struct job_key key);
/* Jobs are counted as queued, but there is none where claims look. */
bool queue_misses_jobs(const struct queue *q);
/* After this key a reader has to look for ready jobs: the frontier or before. */
struct job_key queue_first_key(const struct queue *q);
/* Somebody waits and there may be something: look before the next flight. */
void queue_signal(struct queue *q);
/* Takes the next signalled queue, or NULL. */
struct queue *queue_next_signalled(void);

/* Changes q->pause, which is not to be set otherwise. */
void queue_set_pause(struct queue *q, unsigned pause);
/* May no job be sent for: it is paused out, or about to be. */
static inline bool queue_is_shut(const struct queue *q) {
    return (q->pause & PAUSE_OUT) != 0 || q->pausing > 0;
}
/* How many queues are paused in. */
size_t queue_paused_in(void);

/* Counts jobs entering and leaving; the difference is saved about once a second. */
void queue_count_in(struct queue *q);
void queue_count_out(struct queue *q, int64_t jobs);
/* Takes a queue whose counters are to be saved, or NULL. */
struct queue *queue_next_dirty(void);

#endif
