#ifndef QUEUE_H
#define QUEUE_H

#include <stdbool.h>
#include <stdint.h>
#include "base/hash.h"
#include "base/heap.h"
#include "base/jobid.h"
#include "base/list.h"
#include "base/util.h"

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
struct pop_claim;
struct trimming;
struct queue_settings;

/* Claims that take jobs away; pop.c. */
#define POP_KINDS 4

/* What one server has done to a queue in its run: committed, and counted by nobody else. Told as they
 * are, the latest numbers say everything, whatever was told before. */
struct queue_share {
    int64_t len;
    int64_t total;
    int64_t jobs_in;
    int64_t jobs_out;
    int64_t dead;
};

struct peer_share {
    uint16_t node;
    struct queue_share share;
};

/* A claim by walk that is under way, and what was known when it was sent. What others told of meanwhile it may
 * have passed by. */
struct queue_walk {
    struct list node;
    struct job_key heard; /* the first of that */
    struct job_key start; /* the frontier */
    uint64_t rewinds;
    int64_t horizon; /* last id made; all ids in the walk are older or equal */
};

/* The ends of a queue as a list; list_front.h. */
enum list_end { END_NONE, END_LEFT, END_RIGHT };

/* HEALTH's: neither listed nor matched by patterns; who names it finds it. */
#define QUEUE_HIDDEN "__health__"

struct queue {
    UT_hash_handle by_name;
    UT_hash_handle by_id;
    struct slice name;
    int32_t id;             /* 0: has no row in the database yet */
    uint32_t slot;          /* place in the table that QSCAN walks */
    unsigned pause;         /* enum queue_pause */
    struct list in_paused;  /* queues that are paused in */
    struct list in_rowless; /* queues without a row */
    int pausing;            /* PAUSE OUT statements under way; claims sent after them find the queue paused */
    struct queue_settings *settings; /* NULL: none; settings.h */
    bool hidden;                     /* QUEUE_HIDDEN */
    bool met;                        /* patterns are compared with its name */
    bool shown; /* clients see it, queue_show(); not while all its jobs are delayed and never were queued */

    /* Counters, of all servers together; queue_count_*() change them. */
    int64_t len;          /* queued: could be delivered now (QLEN) */
    int64_t total;        /* all jobs that live, in any state */
    int64_t dead;         /* jobs that have had their attempts in vain */
    int64_t jobs_in;      /* times a job entered the queue, and was delivered: */
    int64_t jobs_out;     /* since this object was made, or as loaded */
    int64_t adding;       /* jobs accepted here that will be queued by their commit, */
    int64_t inserting;    /* and those of them that are under way, and for no waiting client */
    int64_t pushes_sent;  /* elements of pushes that were sent, again or not, */
    int64_t pushes_ended; /* and those of them that have landed since */
    int64_t saved_in;     /* what the database knows of own.jobs_in */
    int64_t saved_out;

    /* Several servers. */
    struct queue_share own;   /* what of the counters is this server's doing, */
    struct peer_share *peers; /* and what the others told of theirs */
    size_t peer_count;
    bool doubtful;         /* the counters may not add up: to be counted again in a quiet moment */
    uint64_t changes;      /* of the counters, */
    uint64_t counted;      /* and how many of them when it was counted in the database */
    int64_t changed_us;    /* clock_mono(): the last change, */
    int64_t counted_us;    /* and the last count */
    struct list in_news;   /* queues whose own share has changed since it was told */
    struct list in_untold; /* queues with ready jobs that the others do not know: */
    struct job_key untold; /* the first one, */
    int64_t untold_count;  /* and how many */
    int64_t created_us;    /* clock_db() */
    int64_t used_us;       /* clock_mono(): a job last queued or fetched */
    int64_t named_us;      /* clock_mono(): last named by a command; unused ones are forgotten */
    struct list in_dirty;  /* queues whose counters differ from the database */

    /* Claiming. */
    struct job_key frontier;
    bool behind;              /* ready jobs may lie behind the frontier */
    uint64_t rewinds;         /* how often claims were told to look again behind some key */
    struct job_key *returned; /* binary heap by job_key_before() */
    size_t returned_count;
    size_t returned_cap;
    bool ranked;                       /* jobs with a priority were seen */
    int64_t claiming;                  /* rows asked for by claims under way */
    size_t largest_body;               /* of those seen since it was empty; 0: none was seen */
    struct list walks;                 /* struct queue_walk: those under way */
    struct claim *plan;                /* of the flight being built; claim.c */
    struct claim *keys_claim;          /* the last one by key that is under way, and the one */
    struct claim *landing;             /* whose rows are being read; claim.c */
    struct pop_claim *pops[POP_KINDS]; /* those that still take part in the next flight */
    size_t popping_last; /* rows asked for at the end, where nobody looks for returned jobs first */

    /* Limits; queue_limits.h. */
    bool limited;          /* so many of its jobs may run, or be delivered a second */
    bool full;             /* max-active is reached: do not claim */
    bool paced;            /* do not claim before the next token, even if a slot becomes free */
    uint64_t rooms;        /* how often there may have been room for more, */
    struct heap_item look; /* and when there may be again, though nobody says so: clock_mono() */
    int64_t look_wait_us;  /* the last wait of that kind */
    struct list in_room;   /* queues with room that the others do not know */

    /* Waiting. */
    struct list waiters; /* struct wait, in order of arrival */
    int64_t waiter_count;
    uint64_t *globs;      /* patterns into which the name fits; globs.h */
    uint64_t served;      /* its last turn among several queues, if it had more; claim.c */
    uint64_t joined_by;   /* the get that joined last, which may name the queue twice */
    struct list in_ready; /* queues whose waiters may be served by the next flight */

    /* Requests under way that point here; the object stays while there are any. */
    int64_t users;

    /* As a list; list_front.h. */
    enum list_end front;
    bool asking_front;
    struct trimming *trim;    /* not sent yet: who wants the same joins it; cmd_trim.c */
    struct list front_parked; /* struct parked */

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
/* From now on clients see it. */
void queue_show(struct queue *q);
/* How many queues clients see, QUEUE_HIDDEN left out. */
size_t queue_shown(void);
/* It has no jobs, and nobody holds it. */
bool queue_is_unused(const struct queue *q);
/* What it takes here. */
size_t queue_memory(const struct queue *q);
/* Any name that a command waits for makes an object. Forgets the oldest of those that have no row and are unused,
 * when all that have no row take more than 8 MB. To be called where nobody holds a queue without being counted in
 * its users. Takes a bounded time; queues_tick() lets it look at more. */
void queues_forget_rowless(void);
void queues_tick(void);
/* The queue in a slot, or NULL; slots lie in [0, queue_slots()). */
struct queue *queue_at(uint32_t slot);
uint32_t queue_slots(void);
#define QUEUE_EACH(q)                                        \
    for (uint32_t slot_ = 0; slot_ < queue_slots(); slot_++) \
        for (struct queue *q = queue_at(slot_); q != NULL; q = NULL)
/* Jobs that live, in any state, over all queues; and dead ones. */
int64_t queue_jobs_total(void);
int64_t queue_jobs_dead(void);
/* How many have queued jobs, QUEUE_HIDDEN left out. */
size_t queue_keys(void);

/* How many jobs a claim could bring: returned ones, and about how many lie
 * behind the frontier. 0 when it is shut. */
int64_t queue_budget(const struct queue *q);
/* What clients are told: what several servers count may come in an order in which it is less than nothing. */
static inline int64_t queue_len(const struct queue *q) {
    return q->len > 0 ? q->len : 0;
}
/* Counting what happened by this server's doing. */
void queue_count_len(struct queue *q, int64_t change);
void queue_count_total(struct queue *q, int64_t change);
void queue_count_dead(struct queue *q, int64_t change);
/* The row had this lease, or was queued since then, before our statement changed it. False when we do
 * not hold that lease. */
bool queue_end_lease(struct job_key key, int64_t row_until);
/* The job is gone, for good. It was ready since then, unless a lease of ours says otherwise.
 * TIME_BEGINNING: it had had its last attempt, and was not queued. */
void queue_count_gone(struct job_key key, int64_t queued_since);

/* A job was committed as ready at key, outside of the returned set if possible. When nothing was
 * ready behind the frontier, that moves up to it. */
void queue_job_ready(struct queue *q, struct job_key key);
/* So many were committed as ready, the first of them at key, all of them by the order of their keys. */
void queue_jobs_arrived(struct queue *q, struct job_key first, int64_t count);
/* A ready job at key came back; claims take it by its key. */
void queue_job_returned(struct queue *q, struct job_key key);
/* A ready job has another key now: it was counted before. */
void queue_job_moved(struct queue *q, struct job_key from, struct job_key to);
/* Takes the first returned key; false when there is none, or when a walk comes to others before it. */
bool queue_take_returned(struct queue *q, struct job_key *key);
/* A walk has taken that one: forgets it when it is the first returned key. */
void queue_forget_returned(struct queue *q, struct job_key key);
/* That job is gone, wherever it stands in the returned set. */
void queue_remove_returned(struct queue *q, struct job_key key);
/* The same of many, which are sorted by that. */
void queue_remove_all_returned(struct queue *q, struct job_key *keys, size_t count);
/* From its sending to its end others' news are noted in w. */
void queue_begin_walk(struct queue *q, struct queue_walk *w);
void queue_end_walk(struct queue_walk *w);
/* The same two, of what another server has done and counted. */
void queue_heard_ready(struct queue *q, struct job_key key);
void queue_heard_returned(struct queue *q, struct job_key key);
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
/* Does a client wait for its jobs, by its name or by a pattern? */
bool queue_is_awaited(struct queue *q);
/* Takes the next signalled queue, or NULL. */
struct queue *queue_next_signalled(void);

/* A body of that length was added or read. */
void queue_note_body(struct queue *q, size_t len);
/* How many bytes a job is to be expected to have, when results are bounded. */
size_t queue_job_bytes(const struct queue *q);
/* So many jobs of it at most are one result, which is to be no larger than batch-max-bytes. */
int64_t queue_result_rows(const struct queue *q);

/* Changes q->pause, which is not to be set otherwise. */
void queue_set_pause(struct queue *q, unsigned pause);
/* May no job be sent for: it is paused out, or about to be. */
static inline bool queue_is_shut(const struct queue *q) {
    return (q->pause & PAUSE_OUT) != 0 || q->pausing > 0;
}
/* The queues that are paused in: struct queue by in_paused. */
struct list *queue_paused_in(void);

/* What node told of its share. base: it, or what is new in it, may have been counted already. */
void queue_heard_share(struct queue *q, uint16_t node, struct queue_share share, bool base);
/* What it tells next is the first we hear. */
void queue_forget_share(struct queue *q, uint16_t node);
/* The node has begun anew: its shares start from zero. */
void queue_forget_shares(uint16_t node);
/* The counters of all queues may not add up. */
void queue_doubt_all(void);
/* They were counted in the database. */
void queue_set_counts(struct queue *q, int64_t len, int64_t total);
void queue_set_dead(struct queue *q, int64_t dead);

/* Counts jobs entering and leaving; the difference is saved about once a second. */
void queue_count_in(struct queue *q, int64_t jobs);
void queue_count_out(struct queue *q, int64_t jobs);
/* Takes a queue whose counters are to be saved, or NULL. */
struct queue *queue_next_dirty(void);

#endif
