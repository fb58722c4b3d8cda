#ifndef LEASE_H
#define LEASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/job_key.h"
#include "net/worker.h"

/*
 * The leases that this server watches. When a lease ends, its job is ready again. The row (ready_at, owner)
 * decides; the lease here only tells when to check the row. A lease without an end (RETRY 0) is not kept,
 * because nothing follows it.
 *
 * While a statement changes the job, its lease is held: it does not end before the result is known.
 */

struct lease_end {
    struct job_key key;
    int64_t row_until_us;
    uint16_t owner; /* number of the server that gave it, 0: this server */
    bool last;      /* set by lease_set_last() */
    bool failed;    /* set by lease_set_failed() */
};

/* row_until_us is ready_at of the row, in clock_db(). It identifies one lease among those of a job. */

/* Adds a lease, and replaces an older one of the job. until_us: clock_db(), and the end in the row. */
void lease_add(struct job_key key, int64_t until_us);
/* Like lease_add(), for a job that this server keeps for the next request (claim_ahead.h). Until the
 * lease is given, removed, or has another end in the row, the job counts as queued. */
void lease_add_ahead(struct job_key key, int64_t until_us);
/* Like lease_add(), if the row has another end: the lease begins when the client gets the job. */
void lease_add_row(struct job_key key, int64_t until_us, int64_t row_until_us);
/* Like lease_add_row(), and notes the worker that gets the job now. */
void lease_give(struct job_key key, int64_t until_us, int64_t row_until_us, struct worker *to);
/* Like lease_add(), for a lease that the server with number `owner` gave. This server watches it while that
 * server does not. */
void lease_add_foreign(struct job_key key, int64_t until_us, uint16_t owner);
/* The worker of a lease, and since when it has the job, in clock_db(). It outlives the lease while WORKING replaces that. */
struct lease_holder {
    struct worker_label *label; /* NULL: unknown */
    int64_t since_us;           /* 0: unknown */
};
/* Removes the holder from the lease. The caller owns its label. Unknown: there is no lease, its holder is unknown, or the
 * row does not have the name yet. */
struct lease_holder lease_take_holder(int64_t id);
/* Sets the holder of a lease that has none, and takes over the label. */
void lease_set_holder(int64_t id, struct lease_holder holder);
/* The name of the worker of the job; NULL: unknown. */
const char *lease_worker(int64_t id);
struct worker_lease {
    struct job_key key;
    int64_t since_us; /* 0: unknown */
    uint16_t owner;   /* number of another server, or 0 */
};
/* Calls take() for leases of the workers with that name, in the order in which the leases began, until it has returned
 * true `most` times or was called LEASE_LOOKS times. */
void lease_each_of_worker(struct slice name, size_t most,
                          bool (*take)(void *arg, const struct worker_lease *held), void *arg);
#define LEASE_LOOKS 20000
/* Notes that this delivery is the last attempt: when the lease ends, the job is exhausted and is not queued
 * again. The next lease of the job clears this. */
void lease_set_last(int64_t id);
/* The same, for a lease that only delays the death of the job. Its failure was counted. */
void lease_set_failed(int64_t id);
/* Removes the lease. False if there was none. */
bool lease_remove(int64_t id);
/* The same, but true only if this server watched the lease, and the lease expected row_until_us in the row. Otherwise a
 * peer must be told, because it watches the lease, too; or another server has changed the row, and its notification has
 * not arrived yet. *other_us: row_until_us of the removed lease if it differs from the given one, else 0. */
bool lease_remove_row(int64_t id, int64_t row_until_us, int64_t *other_us);
/* True if the job has a lease in memory. */
bool lease_known(int64_t id);
/* Is there a lease with that end in the row? */
bool lease_has_end(int64_t id, int64_t row_until_us);
/* True if this server watches the lease with that end in the row. False for a lease of lease_add_foreign(), and if a peer
 * has given the job another lease since. */
bool lease_is_own(int64_t id, int64_t row_until_us);
/* Is this lease of lease_add_ahead() still there, and was it not given? */
bool lease_is_ahead(struct job_key key, int64_t row_until_us);
/* Is there a lease whose end in the row is later than at_us? A lease that is held may have ended. */
bool lease_runs_at(int64_t id, int64_t at_us);
/* Called when a claim returned a job whose lease is still here: a peer requeued the job, and its
 * notification has not arrived yet. Removes and remembers that lease. False if there was none. */
bool lease_replace(int64_t id);
/* A peer notifies that it ended this lease. Returns what this server did before it got the notification: */
enum lease_past {
    LEASE_UNKNOWN,  /* nothing that is remembered */
    LEASE_RUNNING,  /* the lease was still here; lease_revoke() has removed it */
    LEASE_ENDED,    /* the lease ended here by time, and the job was counted as queued */
    LEASE_REPLACED, /* lease_replace() */
};
enum lease_past lease_revoke(int64_t id, int64_t row_until_us);
/* Has the lease ended here by time, lately? */
bool lease_has_ended(int64_t id, int64_t row_until_us);
/* The names of workers that are not written to the rows yet (worker.h). Called once a second. */
void lease_second(void);
typedef void lease_see(void *arg, struct job_key key, int64_t row_until_us, const char *name);
/* Calls see() for the leases whose names are to be written now, at most `most`. They count as written.
 * Returns their number. */
size_t lease_write_names(size_t most, lease_see *see, void *arg);
/* Calls see() for the leases of a worker whose names are not written. name NULL: of all workers. see()
 * changes no lease. */
void lease_each_unwritten(const char *name, lease_see *see, void *arg);
/* A statement changes the job. The lease does not end before lease_unhold(), once for each call. No effect if this server
 * has no such lease. */
void lease_hold(int64_t id);
void lease_unhold(int64_t id);
bool lease_is_held(int64_t id);
/* Removes a lease that ends at or before now_us. False if there is none. */
bool lease_take_ended(int64_t now_us, struct lease_end *end);
/* Notes that the job of an ended lease was counted as queued. */
void lease_end_counted(const struct lease_end *end);
/* While on is true, leases that earlier runs of this server gave are not known yet. */
void lease_set_incomplete(bool on);
bool lease_is_incomplete(void);
/* A review of all leases. Leases that are added from now on are seen. */
void lease_review_begin(void);
/* The lease is seen, too. False if there is none with that end in the row. */
bool lease_review_see(int64_t id, int64_t row_until_us);
/* Calls fn() for each lease that was not seen since the begin. fn() changes no lease. */
void lease_review_each_unseen(void (*fn)(struct job_key key, int64_t row_until_us));
/* Calls fn() for each lease whose end in the row has passed, except the last one of a job. fn() changes no lease. */
void lease_each_overdue(int64_t now_us, void (*fn)(struct job_key key));
/* clock_db() of the next end, INT64_MAX if there is none. */
int64_t lease_next_end(void);
size_t lease_count(void);
void lease_clear(void);

#endif
