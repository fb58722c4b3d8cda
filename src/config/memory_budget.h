#ifndef MEMORY_BUDGET_H
#define MEMORY_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include "base/buf.h"

/*
 * The memory that clients cause, counted where it grows and shrinks. Each byte is counted once, in the total of
 * its kind, and in the share of its client as long as it has one. All sums are kept up to date: nothing is scanned.
 *
 * The budget is maxmemory. With less than a quarter of it left memory is short: clients that hold much and have
 * something under way are not read. Above the budget the largest clients are disconnected (client_memory.h).
 */
#define MEMORY_KINDS(X)                                                                                \
    X(MEMORY_CLIENTS, "clients")             /* connections and what commands keep for them */         \
    X(MEMORY_INPUT, "input")                 /* bytes read, not yet a command */                       \
    X(MEMORY_OUTPUT, "output")               /* replies and messages not yet written */                \
    X(MEMORY_REQUESTS, "requests")           /* commands under way, with their arguments and tasks */  \
    X(MEMORY_MULTI, "multi")                 /* commands between MULTI and the end of EXEC */          \
    X(MEMORY_SUBSCRIPTIONS, "subscriptions") /* channels and patterns */                               \
    X(MEMORY_UNSENT, "unsent")               /* copies of list elements whose replies are unwritten */ \
    X(MEMORY_DATABASE, "database")           /* parameters and results, and libpq's copies of them */

enum memory_kind {
#define X(id, name) id,
    MEMORY_KINDS(X)
#undef X
        MEMORY_KIND_COUNT
};

/* Of one client, or of all. */
struct memory_share {
    size_t kinds[MEMORY_KIND_COUNT];
    size_t total;
};

/* Of all, including what has no client, or none any more. */
extern struct memory_share memory_all;
/* Totals above which memory is short, and the budget itself; SIZE_MAX: there is none. */
extern size_t memory_short_at;
extern size_t memory_budget;
extern size_t memory_clients_budget; /* without MEMORY_DATABASE */

/* Bytes counted as `before` are `now` so many. share may be NULL. */
static inline void memory_change(struct memory_share *share, enum memory_kind kind, size_t before,
                                 size_t now) {
    size_t change = now - before; /* may wrap: sums wrap back */

    memory_all.kinds[kind] += change;
    memory_all.total += change;
    if (share != NULL) {
        share->kinds[kind] += change;
        share->total += change;
    }
}

/* Bytes that are counted already belong to a share from now on, or no more. */
static inline void memory_join(struct memory_share *share, enum memory_kind kind, size_t bytes) {
    share->kinds[kind] += bytes;
    share->total += bytes;
}

static inline void memory_leave(struct memory_share *share, enum memory_kind kind, size_t bytes) {
    share->kinds[kind] -= bytes;
    share->total -= bytes;
}

/* Commands under way count twice: on their way to the database they are copied. */
static inline bool memory_is_short(void) {
    return memory_all.total + memory_all.kinds[MEMORY_REQUESTS] > memory_short_at;
}

/* By how many bytes the budget is exceeded, or the part of it that is for clients themselves. */
static inline size_t memory_excess(void) {
    size_t held = memory_all.total - memory_all.kinds[MEMORY_DATABASE];
    size_t all = memory_all.total > memory_budget ? memory_all.total - memory_budget : 0;
    size_t own = held > memory_clients_budget ? held - memory_clients_budget : 0;

    return all > own ? all : own;
}

/* Reads the options; again whenever one of them has changed. */
void memory_budget_set(void);
const char *memory_kind_name(enum memory_kind kind);
/* Lines "mem_NAME:bytes" for INFO. */
void memory_info(struct buf *out);

#endif
