#ifndef QUEUE_H
#define QUEUE_H

#include <stdbool.h>
#include <stdint.h>
#include "base/hash.h"
#include "base/job_key.h"
#include "base/list.h"
#include "base/timer.h"
#include "base/util.h"
#include "queue/scan_position.h"

/*
 * A queue in memory. The jobs are in the database. Here are the counters that clients see, the waiters, and the
 * scan position, which tells where the next claim looks (scan_position.h).
 */
enum queue_pause { PAUSE_IN = 1, PAUSE_OUT = 2 };

struct claim_ahead;
struct histogram;
struct quantiles;
struct history;
struct take;
struct trimming;
struct queue_settings;

/* Number of kinds of takes; take.c. */
#define TAKE_KINDS 6

/* The counter share of one server: its committed changes since its start. A share is absolute: it replaces
 * all earlier shares of its server. */
struct queue_share {
    int64_t len;
    int64_t total;
    int64_t jobs_in;
    int64_t jobs_out;
    int64_t dead;
    int64_t delayed;
    int64_t waiting;
};

struct peer_share {
    uint16_t node;
    bool has_states; /* delayed and waiting are known; they come in another item than the rest */
    struct queue_share share;
};

/* The ends of a list; list_orientation.h. */
enum list_end { END_NONE, END_LEFT, END_RIGHT };

/* The queue of HEALTH. It is not listed and no pattern matches it, but commands can name it. */
#define QUEUE_HIDDEN "__health__"

/* Counters over all servers, and the counter share of each server.
 * Written by queue.c. */
struct queue_counters {
    int64_t len;          /* queued jobs, which could be delivered now (QLEN) */
    int64_t ahead;        /* jobs ahead (claim_ahead.h): they count as queued beside len */
    int64_t total;        /* jobs in any state, without dead letters */
    int64_t dead;         /* dead letters */
    int64_t delayed;      /* jobs that are queued after their delay */
    int64_t waiting;      /* jobs that wait for other jobs: the jobs before them in their groups */
    int64_t jobs_in;      /* how often a job entered the queue, since the object was made or as loaded */
    int64_t jobs_out;     /* the same for deliveries */
    int64_t saved_in;     /* the part of own.jobs_in that was saved in the database */
    int64_t saved_out;    /* the same of own.jobs_out */
    int64_t used_us;      /* clock_mono() when a job was last queued or delivered */
    struct list in_dirty; /* in the list of queues whose counters differ from the database */
    size_t largest_body;  /* largest body, with overhead, since the queue was empty; 0: unknown */
    uint64_t own_acked;   /* acknowledgements by this server */
    /* clock_db() when the oldest queued job became due, an estimate: queue_oldest_us() */
    int64_t oldest_due_us;
    bool has_states;          /* this server has changed `delayed` or `waiting` */
    struct queue_share own;   /* the counter share of this server */
    struct peer_share *peers; /* the last known shares of peers */
    size_t peer_count;
    bool suspect;       /* suspect counters: a counter audit is needed */
    bool landed_apart;  /* since the last audit, CONN_LARGE has added or moved jobs */
    uint64_t changes;   /* number of changes of the counters */
    uint64_t counted;   /* `changes` at the last counter audit; another value: an audit is due */
    int64_t changed_us; /* clock_mono() of the last change */
    int64_t counted_us; /* clock_mono() of the last counter audit */
};

enum limit_state {
    LIMIT_OPEN,  /* claims may be sent */
    LIMIT_FULL,  /* max-active is reached: do not claim */
    LIMIT_PACED, /* do not claim before the next token, even if a slot becomes free */
};

/* Limits of a queue; queue_limits.h.
 * Written by queue_limits.c. */
struct queue_limits {
    bool limited;        /* the queue has max-active or rate, over all groups */
    bool is_held_back;   /* it has these, or server_most: claims decide which jobs start */
    int64_t server_most; /* the most jobs that this server may have delivered and that run; 0: no limit */
    enum limit_state state;
    uint64_t rooms;       /* how often a concurrency slot may have become free */
    struct timer look;    /* the next claim without a notification */
    int64_t look_wait_us; /* the last wait until `look` */
};

/* The queue as a list; list_orientation.h.
 * Written by list_orientation.c. */
struct list_ends {
    enum list_end consume_end; /* the consume end */
    bool asking;               /* a statement that reads or sets it has not ended */
    struct list waiters;       /* struct row_waiter: requests that wait for the consume end */
};

/* The row in the database.
 * Written by queue_store.c. */
struct queue_row {
    struct list waiters; /* struct row_waiter: requests that wait for the id */
    bool opening;        /* the row is being inserted or deleted */
};

/* The requests that wait for the queue by its name.
 * Written by waiters.c. */
struct queue_waiters {
    struct list list; /* struct wait, in order of arrival */
    int64_t count;
    uint64_t joined_by; /* arrival of the last waiter: a request may name the queue twice */
};

/* The patterns that match the name of the queue.
 * Written by pattern_index.c. */
struct queue_matches {
    uint64_t *patterns; /* a set of indexes; NULL: none was compared */
    bool met;           /* the name has been compared with all patterns */
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

/* Takes that have not ended.
 * Written by take.c. */
struct queue_claims {
    int64_t rows;      /* rows that they requested */
    int64_t last_rows; /* the part requested from the last end; such takes remove no redelivery keys */
    int64_t planned;   /* rows of takes in the transaction that is being planned */
    int64_t kept;      /* jobs that were taken for requests whose other takes have not ended */
    struct take *latest[TAKE_KINDS]; /* the last take of the kind; NULL: its statement is built */
    struct take *landing;            /* take by redelivery keys whose rows are being read */
};

/* Jobs that are being added.
 * Written by add.c. */
struct queue_adds {
    int64_t accepted;     /* accepted jobs that their commit will queue */
    int64_t sent;         /* the part of them that is sent, and not handed off to a waiter */
    int64_t pushes_sent;  /* elements in sent pushes, repetitions included */
    int64_t pushes_ended; /* the part of pushes_sent whose transaction has ended */
};

/* Its jobs that wait for predecessors; waiting_count() reads it.
 * Written by waiting_count.c. */
struct queue_after {
    int64_t jobs;
    uint64_t pass; /* the pass that counted them */
};

/* A queue. */
struct queue {
    UT_hash_handle by_name;
    UT_hash_handle by_id;
    struct slice name;
    int32_t id;         /* 0: no row in the database yet */
    uint32_t slot;      /* index in the table of all queues, the order of QSCAN */
    int64_t users;      /* number of requests that point to this object; it is not freed before that is 0 */
    int64_t created_us; /* clock_db() */
    uint64_t served;    /* when the queue was last served among several queues */
    uint64_t weighed;   /* its position among queues with weights; turns.c */
    int64_t named_us;   /* clock_mono() when a command last named it; unused queues are forgotten */
    bool hidden;        /* QUEUE_HIDDEN */
    bool shown;         /* clients see it, queue_show(); false while it has had delayed jobs only */
    unsigned pause;     /* enum queue_pause */
    int pausing;        /* PAUSE OUT statements that have not ended; claims sent after them find it paused */
    int moving;         /* RENAMEs over CONN_LARGE from or to the queue; until their end no claims are sent */
    struct list in_paused;           /* in the list of queues that are paused in */
    struct list in_rowless;          /* in the list of queues without a row */
    struct list in_ready;            /* in the list of queues whose waiters the next transaction may serve */
    struct queue_settings *settings; /* NULL: nothing was set; settings.h */
    struct history *history;         /* NULL: none; queue_history.h */
    struct histogram *waits;         /* NULL: none; the waits of its jobs until their first delivery */
    struct quantiles *recent_waits;  /* NULL: none; the last of them */
    int64_t leases;                  /* leases of its jobs that this server watches */
    int64_t own_leases;              /* the part of them that this server gave */
    int64_t swept_id; /* jobs with smaller numbers and the default TTL have been expired; expire.c */
    struct queue_counters counters;
    struct scan_position scan;
    struct queue_claims claims;
    struct claim_ahead *ahead; /* NULL: no jobs are claimed ahead; written by claim_ahead.c */
    struct queue_adds adds;
    struct queue_after after;
    struct queue_waiters waiting;
    struct queue_matches matches;
    struct queue_limits limits;
    struct list_ends list;
    struct trimming *trim; /* LTRIM: the queued task that equal requests join; NULL: none */
    struct queue_row row;
    struct queue_outbox outbox;
};

void queue_init(void);
/* NULL if this server has no such queue. */
struct queue *queue_find(struct slice name);
struct queue *queue_find_id(int32_t id);
/* Finds or creates the queue. A new one has no row in the database until it needs one. */
struct queue *queue_get(struct slice name);
/* The same after queue_find(). found: its result. */
struct queue *queue_use(struct queue *found, struct slice name);
void queue_set_id(struct queue *q, int32_t id);
/* Frees the queue. It must have no waiters and no users. */
void queue_drop(struct queue *q);
/* Called after all jobs were deleted. Resets all queues. Then clients see only queues with waiters by name. */
void queue_clear(void);
size_t queue_count(void);
/* Makes the queue visible to clients. */
void queue_show(struct queue *q);
/* The number of queues that clients see, without QUEUE_HIDDEN. */
size_t queue_shown(void);
/* True if the queue has no jobs, and no request points to it. */
bool queue_is_unused(const struct queue *q);
/* The memory of the queue on this server, in bytes. */
size_t queue_memory(const struct queue *q);
/* A command that waits for a name creates a queue without a row. If these queues take more than 8 MB, this
 * frees the oldest unused ones. Do not call it while a pointer to a queue is not counted in its users. It
 * takes a bounded time; queues_tick() lets it check more queues. False: it has not checked all of them. */
bool queues_forget_rowless(void);
void queues_tick(void);
/* Ends the use of a queue by a request that waited for it. If the queue has no row and no users,
 * queues_forget_rowless() checks it next. */
void queue_unwait(struct queue *q);
/* The queue at an index, or NULL; indexes are less than queue_slots(). */
struct queue *queue_at(uint32_t slot);
uint32_t queue_slots(void);
#define QUEUE_EACH(q)                                        \
    for (uint32_t slot_ = 0; slot_ < queue_slots(); slot_++) \
        for (struct queue *q = queue_at(slot_); q != NULL; q = NULL)
/* Jobs of all queues: in any state but dead, queued ones, dead letters, and those in other states. */
int64_t queue_jobs_total(void);
int64_t queue_jobs_queued(void);
int64_t queue_jobs_dead(void);
int64_t queue_jobs_delayed(void);
int64_t queue_jobs_waiting(void);
int64_t queue_jobs_active(void);
/* The number of queues with queued jobs, without QUEUE_HIDDEN. */
size_t queue_keys(void);

/* How many jobs a claim may get: redelivery keys, and an estimate of the jobs after the scan position. 0 if
 * the queue is paused out or full, or a RENAME moves its jobs. */
int64_t queue_budget(const struct queue *q);
/* The length that clients see: the jobs ahead count as queued. len can be negative for a moment, because changes of
 * several servers arrive in any order. */
static inline int64_t queue_len(const struct queue *q) {
    int64_t len = q->counters.len + q->counters.ahead;

    return len > 0 ? len : 0;
}
/* The same for the other states. */
static inline int64_t queue_delayed(const struct queue *q) {
    return q->counters.delayed > 0 ? q->counters.delayed : 0;
}
static inline int64_t queue_waiting(const struct queue *q) {
    return q->counters.waiting > 0 ? q->counters.waiting : 0;
}
/* Jobs that clients of all servers have: delivered, and neither queued again nor ended. */
static inline int64_t queue_active(const struct queue *q) {
    const struct queue_counters *c = &q->counters;
    int64_t rest = c->total - c->len - c->ahead - c->delayed - c->waiting;

    return rest > 0 ? rest : 0;
}
/* The part of them that this server has delivered and whose leases run. */
static inline int64_t queue_leased(const struct queue *q) {
    return q->leases - q->counters.ahead;
}
/* A lease of the queue's jobs began (1) or ended (-1). own_change: the same for a lease that this server gave. False if
 * this server does not know the queue. */
bool queue_count_leases(int32_t id, int64_t change, int64_t own_change);
/* A job ahead of the queue began (1) or ended (-1). */
void queue_count_ahead(int32_t id, int64_t change);
/* Counts changes of this server. */
void queue_count_len(struct queue *q, int64_t change);
void queue_count_total(struct queue *q, int64_t change);
void queue_count_dead(struct queue *q, int64_t change);
void queue_count_delayed(struct queue *q, int64_t change);
void queue_count_waiting(struct queue *q, int64_t change);
/* Counts jobs that entered or left the state of `since`. False if that is neither TIME_DELAYED nor TIME_WAITING. */
bool queue_count_state(struct queue *q, int64_t since, int64_t change);
/* Removes the lease of a job whose row a statement of this server has changed. row_until: ready_at before
 * that. False if this server did not hold that lease. */
bool queue_end_lease(struct job_key key, int64_t row_until);
/* Counts a deleted job. queued_since: its ready_at, from which on it was queued, unless this server held its
 * lease. TIME_BEGINNING: the job was exhausted and not queued. TIME_DELAYED, TIME_WAITING: it was in that state. */
void queue_count_gone(struct job_key key, int64_t queued_since);

/* Counts a job that was committed as ready at key. It becomes a redelivery key only if it is not after the
 * scan position. If no job was ready after the scan position, that moves to just before key. */
void queue_job_ready(struct queue *q, struct job_key key);
/* Called before jobs are counted that were changed over CONN_LARGE. Its transactions have no order with counter audits.
 * They were sent at sent_us or later (clock_mono()). They have no order with claims either: position_heard(). */
void queue_note_apart(struct queue *q, int64_t sent_us);
/* Counts `count` jobs that were committed as ready. first: the smallest of their keys. The next scan finds
 * them. */
void queue_jobs_arrived(struct queue *q, struct job_key first, int64_t count);
/* Counts a job that became ready again, and adds its redelivery key. */
void queue_job_returned(struct queue *q, struct job_key key);
/* The key of a ready job has changed. The job was counted before. */
void queue_job_moved(struct queue *q, struct job_key from, struct job_key to);
/* Like queue_job_ready() and queue_job_returned(), for jobs that a peer has counted. */
void queue_heard_ready(struct queue *q, struct job_key key);
void queue_heard_returned(struct queue *q, struct job_key key);
/* There may be ready jobs after this key: the scan position moves back to it. */
void queue_scan_from(struct queue *q, struct job_key key);
/* The next claim scans from the beginning, because nothing is known about the ready jobs. */
void queue_reset_scan(struct queue *q);
/* Sets the scan position and removes all redelivery keys: no job at or before key is ready. len tells
 * whether there are jobs after it. */
void queue_scan_after(struct queue *q, struct job_key key);
/* True if jobs are counted as queued, but claims know no place where to look for them. */
bool queue_misses_jobs(const struct queue *q);
/* The key after which a reader finds all ready jobs: the scan position, or just before the first redelivery
 * key. */
struct job_key queue_first_key(const struct queue *q);
/* There may be a job for a waiter: the next transaction tries to serve the queue's waiters. */
void queue_signal(struct queue *q);
/* True if a request waits for the queue by its name or by a pattern. */
bool queue_is_awaited(struct queue *q);
/* Removes and returns the next signalled queue, or NULL. */
struct queue *queue_next_signalled(void);

/* Notes the length of a body that was added or read. */
void queue_note_body(struct queue *q, size_t len);
/* The bytes that a job is expected to have, for the bounds of results. */
size_t queue_job_bytes(const struct queue *q);
/* The most jobs of q that one result may have, so that it is no larger than batch-max-bytes. */
int64_t queue_result_rows(const struct queue *q);

/* Sets q->pause. Do not set the field directly. */
void queue_set_pause(struct queue *q, unsigned pause);
/* True if no claim may be sent, because the queue is paused out or about to be. */
static inline bool queue_is_shut(const struct queue *q) {
    return (q->pause & PAUSE_OUT) != 0 || q->pausing > 0;
}
/* A word for q->pause: none, in, out or all. */
const char *queue_pause_name(unsigned pause);
/* The queues that are paused in: struct queue, linked by in_paused. */
struct list *queue_paused_in(void);

/* Takes the counter share that node has notified. base: the counters may include it, or its changes,
 * already. Then they become suspect, and a first share of that node is not added. */
void queue_heard_share(struct queue *q, uint16_t node, struct queue_share share, bool base);
/* The same for the part of the share that has its delayed and waiting jobs. */
void queue_heard_states(struct queue *q, uint16_t node, int64_t delayed, int64_t waiting, bool base);
/* A peer delivered a job that became due at due_us: no older job is queued. */
void queue_heard_due(struct queue *q, int64_t due_us);
/* Forgets the counter share of node. The next one counts as the first. */
void queue_forget_share(struct queue *q, uint16_t node);
/* The same for all queues, when the node has restarted: its shares begin at zero. */
void queue_forget_shares(uint16_t node);
/* Makes the counters suspect: of one queue, or of all. */
void queue_suspect(struct queue *q);
void queue_suspect_all(void);
/* Sets the counters as they were loaded: the numbers of jobs, of dead letters, of jobs in other states, and of jobs in
 * and out. */
void queue_set_counts(struct queue *q, int64_t len, int64_t total);
void queue_set_dead(struct queue *q, int64_t dead);
void queue_set_states(struct queue *q, int64_t delayed, int64_t waiting);
void queue_set_traffic(struct queue *q, int64_t jobs_in, int64_t jobs_out);
/* Sets all counters to the result of a counter audit, of which jobs_in and jobs_out are those saved in the database.
 * The counters are no longer suspect. If jobs_in or jobs_out has changed, another audit is due. */
void queue_set_audited(struct queue *q, const struct queue_share *counted);
/* A command used the queue now. */
void queue_touch(struct queue *q);

/* Counts jobs that enter the queue, and deliveries. The change is saved in the database about once a second. */
void queue_count_in(struct queue *q, int64_t jobs);
void queue_count_out(struct queue *q, int64_t jobs);
/* Notes the first delivery of a job that became due at due_us (clock_db()). */
void queue_note_wait(struct queue *q, int64_t due_us);
/* The oldest queued job became due at due_us. Called after the queue was loaded. */
void queue_set_oldest(struct queue *q, int64_t due_us);
/* How long the oldest queued job has been due, in microseconds; 0: no job is queued. It is known from the last job
 * that a server delivered, because jobs are delivered in their order. So it is too small if jobs of a lower priority
 * wait. */
int64_t queue_oldest_us(const struct queue *q);
/* Counts an acknowledgement by this server. */
void queue_count_acked(struct queue *q);
/* Removes and returns the next queue whose counters are to be saved, or NULL. Sets the changes to save, which count as
 * saved from now on. */
struct queue *queue_next_dirty(int64_t *jobs_in, int64_t *jobs_out);

#endif
