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
 * GETJOB requests (struct get): which request waits for which queue, in order of arrival, and how jobs reach
 * it. List pops are such requests, too (struct get_kind).
 *
 * A request is fresh until the next transaction is built. If one of its queues may have jobs, it claims then;
 * otherwise it waits. A waiting request is served one job, by the first of its queues that has one, after all
 * requests that waited longer. A request whose claim found nothing returns to its old place.
 *
 * When its client disconnects, a waiting request ends. A claiming request goes on without a client, and the
 * jobs that are claimed for it are put back (undelivered.h).
 */
#define GET_STATES(X)                                                           \
    X(GET_FRESH, "fresh")                                                       \
    X(GET_WAITING, "waiting")                                                   \
    X(GET_CLAIMING, "claiming") /* jobs for it are being claimed or inserted */ \
    X(GET_DONE, "done")

/* The order in which a request over several queues takes jobs from them. */
enum get_order { GET_IN_TURN, GET_STRICT, GET_BY_WEIGHT };

enum get_state {
#define X(id, name) id,
    GET_STATES(X)
#undef X
};

struct get;

/* The callbacks of commands other than GETJOB that take jobs, and wait for them in the same way. */
struct get_kind {
    bool leases;  /* it leases jobs as GETJOB does; false: it removes them, and get.own is a struct pop */
    bool watches; /* it takes no job: deliver() is called without jobs as soon as a job is ready */
    bool goes_on; /* ended() ends the request, now or later */
    /* Replies the jobs. */
    void (*deliver)(struct get *g, const struct job *jobs, size_t count);
    /* Replies that there is no job. */
    void (*reply_nothing)(struct get *g);
    /* The take ends. Unless goes_on is set, the reply is complete, and the request ends, too. */
    void (*ended)(struct get *g);
};

/* A request that leases jobs. */
#define GET_LEASES(g) ((g)->kind == NULL || (g)->kind->leases)

/* The source of a request: a queue, or the queues that match a pattern. */
struct get_source {
    struct queue *q;               /* NULL: the source is a pattern */
    struct queue_pattern *pattern; /* kept until the request ends */
};

/* A waiting request in the list of one of its sources. */
struct wait {
    struct list node;
    struct get_source from;
    struct get *get;
    uint32_t weight; /* GET_BY_WEIGHT: at least 1 */
};

struct get {
    const struct get_kind *kind; /* NULL: GETJOB */
    void *own;                   /* data of the kind */
    struct req *req;
    struct client *client; /* NULL after it has disconnected */
    enum get_state state;
    enum get_order order;
    bool nohang;
    bool moves;    /* it moves elements to another list; they stay there, so the client must get the reply */
    unsigned form; /* of the reply of GETJOB: JOBS_WITH_COUNTERS ... */
    bool has_waited; /* it has waited, so it is served one job, whatever `count` is */
    bool unblocked;  /* CLIENT UNBLOCK came during a move: it ends if that moves nothing */
    bool with_error; /* the end after `unblocked` is an error */
    int64_t count;
    uint64_t arrival;    /* order of arrival */
    int64_t deadline_us; /* clock_mono(); 0: no timeout */
    struct timer timeout;
    struct list in_fresh;
    /* Claiming: the places in the reply. A claimed row fills one place, and a place can stay empty. */
    struct job *jobs;
    size_t places;
    char *refusal;  /* error of a claim that the database refused, or NULL */
    size_t pending; /* places whose claim has not ended */
    unsigned tries; /* successive claims that found nothing */
    size_t wait_count;
    struct wait waits[]; /* in the order of the command */
};

void waiters_init(void);

/* Creates a request over sources[count]. r->client must be connected. The caller sets the other fields. */
struct get *get_new(struct req *r, const struct get_source *sources, size_t count);
/* Puts the request back at the head of the list of unplanned requests. */
void get_put_back(struct get *g);
/* STRICT: a queue that accept() accepts and that g names before q. NULL: there is none, or g is not STRICT. */
struct queue *get_find_before(const struct get *g, const struct queue *q, bool (*accept)(struct queue *q));
/* True if one of its queues may have a ready job. */
bool get_has_budget(const struct get *g);
/* Starts a request whose fields are set: it claims if there may be jobs, else it waits. */
void get_begin(struct get *g);
/* Makes it fresh: the next transaction may claim for it. */
void get_start(struct get *g);
/* Removes and returns the oldest fresh request, or NULL. */
struct get *get_next_fresh(void);
/* Lets it wait at its old place. It ends if it must not wait, its timeout is over, or the server is leaving. */
void get_wait(struct get *g);
/* The waiter of q that has waited longest and whose client is connected, or NULL. */
struct get *get_first_waiting(struct queue *q);
/* The waiter of q that takes a job in place of g, because it has waited longer; NULL: none. When g was chosen, the
 * waiter was claiming from another queue, and that claim found nothing. */
struct get *get_find_older(const struct get *g, struct queue *q);
/* The same, if a new job may be handed off to it without a claim: no other job is ready, or about to be,
 * before the new one, and q has no limits. The caller checks the kind of the request, and the options of the
 * job. */
struct get *get_find_taker(struct queue *q);
/* Removes it from the lists of its sources and makes it claiming. */
void get_claim(struct get *g);
/* Adds a place to the reply, and returns its index. */
size_t get_add_place(struct get *g);
/* A claim for it was refused. If its other claims bring no job, it ends with that error. */
void get_refuse(struct get *g, const struct op_error *err);
/* Its claims have ended: replies the jobs, or waits again. */
void get_finish(struct get *g);
/* Replies jobs[count] and ends the request. */
void get_deliver(struct get *g, const struct job *jobs, size_t count);
/* Ends the request with the reply that there is no job. */
void get_end_empty(struct get *g);

/* True if c has a GETJOB or a list pop that may wait. False for NOHANG, which does not wait. */
bool waiters_has(const struct client *c);
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

#endif
