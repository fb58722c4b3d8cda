#ifndef WAITERS_H
#define WAITERS_H

#include <stdbool.h>
#include <stdint.h>
#include <libpq-fe.h>
#include "base/heap.h"
#include "base/jobid.h"
#include "base/list.h"
#include "net/client.h"
#include "net/req.h"
#include "queue/globs.h"
#include "queue/queue.h"

/*
 * GETJOB requests on their way: who waits for which queue, in order of arrival,
 * and how jobs reach them.
 *
 * A get is fresh until the next flight is built, which looks whether there may
 * be jobs for it; then it is claiming, or it waits. A waiting get is served one
 * job, by the first of its queues that has one, after all that waited longer. A
 * get that claimed in vain goes back to its old place.
 *
 * When its client goes, a waiting get ends. One that is claiming goes on as an
 * orphan, and what is claimed for it is put back (claim.h).
 */
#define GET_STATES(X)                                                           \
    X(GET_FRESH, "fresh")                                                       \
    X(GET_WAITING, "waiting")                                                   \
    X(GET_CLAIMING, "claiming") /* jobs for it are being claimed or inserted */ \
    X(GET_DONE, "done")

enum get_state {
#define X(id, name) id,
    GET_STATES(X)
#undef X
};

/* A job on its way to a client. */
struct job {
    struct queue *q;
    struct job_key key;
    int64_t ready_at; /* the lease's end in the row */
    int64_t lease_us; /* how long it lasts */
    bool last;        /* attempt */
    int64_t expires_at;
    int32_t retry;
    int32_t nacks;
    int32_t extras;
    struct slice body;
    /* Only of one that was taken away; popped.h. */
    struct slice group; /* ptr NULL: none */
    int32_t deliveries;
    int row; /* in rows, where there is more about it; NULL: it never was a row */
    const PGresult *rows;
};

struct get;

/* Commands other than GETJOB that take jobs, and wait for them as it does. */
struct get_kind {
    /* Plans what the next flight is to take for g: from q, or, when that is NULL, from the first of its queues
     * that may have something. How many rows; get_claim() was called when there are any. */
    size_t (*plan)(struct get *g, struct queue *q);
    /* Replies the jobs. */
    void (*deliver)(struct get *g, const struct job *jobs, size_t count);
    /* Replies that there is none. */
    void (*reply_nothing)(struct get *g);
    /* It ends; its reply is complete. */
    void (*ended)(struct get *g);
};

/* What a get takes from: a queue, or those that fit a pattern. */
struct get_source {
    struct queue *q;   /* NULL: */
    struct glob *glob; /* used until the get's end */
};

/* A get in the list of one of its sources. */
struct wait {
    struct list node;
    struct get_source from;
    struct get *get;
};

struct get {
    const struct get_kind *kind; /* NULL: GETJOB */
    void *own;                   /* of the kind */
    struct req *req;
    struct client *client; /* NULL once it has gone */
    enum get_state state;
    bool nohang;
    bool moves; /* to another list: what is being moved stays there, so the client is told of it */
    bool with_counters;
    bool with_tokens;
    bool has_waited; /* is served one job, whatever count says */
    bool unblocked;  /* by CLIENT UNBLOCK during a move: ends when that brings nothing, */
    bool with_error; /* and so */
    int64_t count;
    uint64_t arrival;          /* order of arrival */
    struct heap_item deadline; /* clock_mono(); not set: waits for ever */
    struct list in_fresh;
    /* Claiming: places of the reply, each filled by one claimed row, or not. */
    struct job *jobs;
    size_t places;
    char *refusal;  /* the error of a claim that the database refused */
    size_t pending; /* places whose claim is under way */
    unsigned tries; /* claims in vain, one after the other */
    size_t wait_count;
    struct wait waits[]; /* in the order of the command */
};

/* A delivery whose reply has not reached the socket; client.h keeps them. */
struct delivery {
    struct job_key key;
    int64_t until;       /* the lease's end */
    struct popped *copy; /* of one that was taken away; popped.h */
    uint64_t offset;     /* of the client's output at which the reply begins, or earlier */
};

void waiters_init(void);

/* A get over sources[count]; r->client must be there. Its fields are set by the caller. */
struct get *get_new(struct req *r, const struct get_source *sources, size_t count);
/* Puts the request back at the head of the list of unplanned requests. */
void get_put_back(struct get *g);
/* The first of its queues that is accepted, or NULL. */
struct queue *get_find_queue(const struct get *g, bool (*accept)(struct queue *q));
/* May one of its queues have a ready job? */
bool get_has_budget(const struct get *g);
/* Its fields are set: takes what there may be, or waits. */
void get_begin(struct get *g);
/* Takes part in the next flight. */
void get_start(struct get *g);
/* Takes the oldest fresh get, or NULL. */
struct get *get_next_fresh(void);
/* Nothing for it: waits at its place. Ends when it may not wait, its time is over, or the server is leaving. */
void get_wait(struct get *g);
/* The longest waiting get of q whose client is still there, or NULL. */
struct get *get_first_waiting(struct queue *q);
/* The same, if a job that is added now may go to it without a claim: nothing is ready, or about to be, before that job, and no
 * limit has to be asked. For the caller to check: the kind of the get, and what the job itself rules out. */
struct get *get_find_taker(struct queue *q);
/* Leaves all queues' lists; a job for it is under way. */
void get_claim(struct get *g);
/* Another place in the reply. */
size_t get_add_place(struct get *g);
/* A claim for it was refused: with no job from others it ends with that error. */
void get_refuse(struct get *g, const struct op_error *err);
/* Claims for it have ended: replies what came, or waits again. */
void get_finish(struct get *g);
/* Replies count jobs to r of c: leased from now on, and put back when c goes before it has them. */
enum { JOBS_WITH_COUNTERS = 1, JOBS_WITH_TOKENS = 2 };
void jobs_deliver(struct req *r, struct client *c, const struct job *jobs, size_t count, unsigned form);
/* Of a delivery whose reply comes next. */
void get_note_unsent(struct client *c, struct delivery d);
/* Delivers count jobs and ends the get. */
void get_deliver(struct get *g, const struct job *jobs, size_t count);
/* Ends with a reply of nothing. */
void get_end_empty(struct get *g);
void get_end_error(struct get *g, const char *error);
/* Ends it; its reply is complete. */
void get_end(struct get *g);

/* Has c a GETJOB, or the like, under way that may wait? (NOHANG is answered in any case.) */
bool waiters_has(const struct client *c);
/* The client has gone: ends or orphans its get. */
void waiters_client_gone(struct client *c);
/* CLIENT UNBLOCK: ends a get that may wait with nothing or -UNBLOCKED, also while a claim for it is under way. A move under way
 * goes on: the get ends with what is moved, or else as told. False if there is none, or it was told so before. */
bool waiters_unblock(struct client *c, bool error);
#define WAITERS_UNBLOCKED "UNBLOCKED client unblocked via CLIENT UNBLOCK"
/* What those get who would wait at a server that is leaving. */
#define WAITERS_LEAVING "LEAVING This node is leaving the cluster, please connect to a different one"
/* Ends all waiting gets: with error, or with nothing when it is NULL. */
void waiters_end_all(const char *error);
/* Ends those whose time is over. */
void waiters_expire(int64_t mono_us);
/* When the next one's time is over (clock_mono()), INT64_MAX if none's. */
int64_t waiters_next_deadline(void);
size_t waiters_blocked(void);

/* The ID of a job as clients see it. */
void job_format_id(char out[JOBID_LEN], struct job_key key, int64_t expires_at, int32_t retry);

#endif
