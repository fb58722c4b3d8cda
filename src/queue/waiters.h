#ifndef WAITERS_H
#define WAITERS_H

#include <stdbool.h>
#include <stdint.h>
#include "base/list.h"
#include "base/timer.h"
#include "net/client.h"
#include "net/request.h"
#include "queue/delivery.h"
#include "queue/pattern_index.h"
#include "queue/queue.h"

/*
 * Takers: GETJOB and the list commands that take elements (struct taker_kind). This module knows which taker waits for
 * which queue, in order of arrival, and how jobs reach it.
 *
 * A request is fresh until the next transaction is built. If one of its queues may have jobs, it claims then;
 * otherwise it waits. A waiting request is served one job, by the first of its queues that has one, after all
 * requests that waited longer. A request whose claim found nothing returns to its old place.
 *
 * When its client disconnects, a waiting request ends. A claiming request goes on without a client, and the
 * jobs that are claimed for it are put back (undelivered.h).
 */
#define TAKER_STATES(X)                                                           \
    X(TAKER_FRESH, "fresh")                                                       \
    X(TAKER_WAITING, "waiting")                                                   \
    X(TAKER_CLAIMING, "claiming") /* jobs for it are being claimed or inserted */ \
    X(TAKER_DONE, "done")

/* The order in which a request over several queues takes jobs from them. */
enum taker_order { TAKER_IN_TURN, TAKER_STRICT, TAKER_BY_WEIGHT };

enum taker_state {
#define X(id, name) id,
    TAKER_STATES(X)
#undef X
};

struct taker;

/* The callbacks of commands other than GETJOB that take jobs, and wait for them in the same way. */
struct taker_kind {
    bool leases;  /* it leases jobs as GETJOB does; false: it removes them, and taker.own is a struct pop */
    bool watches; /* a watch takes no job: deliver() is called without jobs as soon as a job is ready */
    bool goes_on; /* ended() ends the request, now or later */
    /* Replies the jobs. */
    void (*deliver)(struct taker *taker, const struct job *jobs, size_t count);
    /* Replies that there is no job. */
    void (*reply_nothing)(struct taker *taker);
    /* The take ends. Unless goes_on is set, the reply is complete, and the request ends, too. */
    void (*ended)(struct taker *taker);
};

/* A request that leases jobs. */
#define TAKER_LEASES(taker) ((taker)->kind == NULL || (taker)->kind->leases)

/* The source of a request: a queue, or the queues that match a pattern. */
struct taker_source {
    struct queue *q;               /* NULL: the source is a pattern */
    struct queue_pattern *pattern; /* kept until the request ends */
};

/* A waiting request in the list of one of its sources. */
struct wait {
    struct list node;
    struct taker_source from;
    struct taker *taker;
    uint32_t weight; /* TAKER_BY_WEIGHT: at least 1 */
};

struct taker {
    const struct taker_kind *kind; /* NULL: GETJOB */
    void *own;                     /* data of the kind */
    struct req *req;
    struct client *client; /* NULL after it has disconnected */
    enum taker_state state;
    enum taker_order order;
    bool nohang;
    /* With nohang: the number of the last follow-up that it waits for; follow_up.h. */
    uint64_t after_follow_up;
    bool moves;    /* it moves elements to another list; they stay there, so the client must get the reply */
    unsigned form; /* of the reply of GETJOB: JOBS_WITH_COUNTERS ... */
    bool has_waited; /* it has waited, so it is served one job, whatever `count` is */
    bool unblocked;  /* CLIENT UNBLOCK came during a move: it ends if that moves nothing */
    bool with_error; /* the end after `unblocked` is an error */
    int64_t count;
    uint64_t arrival;    /* order of arrival */
    int64_t deadline_us; /* clock_mono(); 0: no timeout */
    struct timer timeout;
    int64_t held_until_us;     /* clock_mono(): the end of its time in waiters.held; 0: it was not held */
    struct fair_node in_fresh; /* in the list of fresh, of held, or of unsettled requests: waiters.c */
    /* Claiming: the places in the reply. A claimed row fills one place, and a place can stay empty. */
    struct job *jobs;
    size_t places;
    char *refusal;  /* error of a claim that the database refused, or NULL */
    size_t pending; /* places whose claim has not ended */
    unsigned tries; /* successive claims that found nothing */
    size_t wait_count;
    struct wait waits[]; /* in the order of the command */
};

static inline bool taker_is_watch(const struct taker *taker) {
    return taker->kind != NULL && taker->kind->watches;
}

void waiters_init(void);

/* Creates a request over sources[count]. r->client must be connected. The caller sets the other fields. */
struct taker *taker_new(struct req *r, const struct taker_source *sources, size_t count);
/* Puts the request that taker_next_fresh() returned back to the front of the fresh requests. */
void taker_put_back(struct taker *taker);
/* STRICT: a queue that accept() accepts and that taker names before q. NULL: there is none, or taker is not STRICT. */
struct queue *taker_find_before(const struct taker *taker, const struct queue *q,
                                bool (*accept)(struct queue *q));
/* True if one of its queues may have a ready job. */
bool taker_has_budget(const struct taker *taker);
/* Starts a request whose fields are set: it claims if there may be jobs, else it waits. */
void taker_begin(struct taker *taker);
/* Makes it fresh: the next transaction may claim for it. */
void taker_start(struct taker *taker);
/* Removes and returns the oldest fresh request, or NULL. */
struct taker *taker_next_fresh(void);
/* Lets it wait at its old place. It ends if it must not wait, its timeout is over, or the server is leaving. */
void taker_wait(struct taker *taker);
/* The waiter of q that has waited longest and whose client is connected, or NULL. */
struct taker *waiters_first(struct queue *q);
/* Like waiters_first(), but passes over watches. */
struct taker *waiters_first_taking(struct queue *q);
/* The waiter of q that takes a job in place of taker, because it has waited longer; NULL: none. When taker was chosen, the
 * waiter was claiming from another queue, and that claim found nothing. */
struct taker *taker_find_older(const struct taker *taker, struct queue *q);
/* Like waiters_first(), but NULL unless a new job may be handed off to the waiter without a claim: no other job is ready
 * before it, or is being added or claimed, and q has no limits. The caller checks the kind of the request, and the
 * options of the job. */
struct taker *waiters_find_taker(struct queue *q);
/* Removes it from the lists of its sources and makes it claiming. */
void taker_claim(struct taker *taker);
/* Adds a place to the reply, and returns its index. */
size_t taker_add_place(struct taker *taker);
/* A claim for it was refused. If its other claims bring no job, it ends with that error. */
void taker_refuse(struct taker *taker, const struct op_error *err);
/* Its claims have ended: replies the jobs, or waits again. */
void taker_finish(struct taker *taker);
/* Replies jobs[count] and ends the request. */
void taker_deliver(struct taker *taker, const struct job *jobs, size_t count);
/* Ends the request with the reply that there is no job. */
void taker_end_empty(struct taker *taker);

/* True if c has a GETJOB or a list pop that may wait. False for NOHANG, which does not wait. */
bool waiters_has(const struct client *c);
/* False if the client takes jobs from a queue that its user may not read any more. A pattern of a user with limited rights
 * matches only queues that the user may read, and the pattern of a user with all rights matches all queues. */
bool waiters_may_go_on(const struct client *c);
/* The client has disconnected: its request ends, or goes on without it if it is claiming. */
void waiters_client_gone(struct client *c);
/* CLIENT UNBLOCK: ends a request that may wait, also a claiming one, with no job or with -UNBLOCKED. A move
 * goes on: its request ends with the moved element. If there is none, it ends like the others. False if the
 * client has no such request, or if CLIENT UNBLOCK has come before. */
bool waiters_unblock(struct client *c, bool error);
#define WAITERS_UNBLOCKED "UNBLOCKED client unblocked via CLIENT UNBLOCK"
/* The error of a request that would wait while the server is leaving. */
#define WAITERS_LEAVING "LEAVING This node is leaving the cluster, please connect to a different one"
/* Ends all waiting requests: with error or, if that is NULL, with no job. */
void waiters_end_all(const char *error);
size_t waiters_blocked(void);
/* While on is true for one of these, there may be jobs that claims do not find yet. A request that does not wait looks for
 * them again at the end, and replies that there is no job after a second. */
enum waiters_expected {
    WAITERS_LEASES = 1, /* leases are not known: jobs of lost claims, and of leases that have ended */
    WAITERS_SCANS =
        2, /* jobs of queues whose scan positions are not known; scans from the beginning would be slow */
};
void waiters_expect(enum waiters_expected what, bool on);
/* True while WAITERS_SCANS are expected: no job may be claimed. All requests wait now, and end after their timeouts. */
bool waiters_hold_for_scans(void);

#endif
