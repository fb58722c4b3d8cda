#ifndef MEMORY_BUDGET_H
#define MEMORY_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include "base/buf.h"

/*
 * The memory that clients cause. Each module counts its memory where it grows and shrinks. Each byte is counted in the
 * total of its kind. While a client owns the byte, it is also counted in the client's share.
 *
 * The budget is maxmemory. Memory is short when less than a quarter of the budget is left. The server then does not
 * read from clients that hold much memory and have requests that are not answered. Above the budget the largest clients
 * are disconnected (net/client_memory.c).
 */
#define MEMORY_KINDS(X)                                                                                 \
    X(MEMORY_CLIENTS, "clients")             /* connections, and state that commands keep for them */   \
    X(MEMORY_TLS, "tls")                     /* OpenSSL's state and buffers of connections */           \
    X(MEMORY_INPUT, "input")                 /* bytes read, not yet parsed as a command */              \
    X(MEMORY_OUTPUT, "output")               /* replies and messages not yet written */                 \
    X(MEMORY_REQUESTS, "requests")           /* running commands, with their arguments and tasks */     \
    X(MEMORY_MULTI, "multi")                 /* commands between MULTI and the end of EXEC */           \
    X(MEMORY_SUBSCRIPTIONS, "subscriptions") /* channels and patterns */                                \
    X(MEMORY_UNSENT, "unsent")               /* jobs ahead, and popped jobs in unwritten replies */     \
    X(MEMORY_HTTP, "http")                   /* requests of HTTP without a reply, and unread replies */ \
    X(MEMORY_DATABASE, "database")           /* parameters and results, and libpq's copies of them */   \
    X(MEMORY_HISTORY, "history")             /* figures of queues in the past, for HISTORY */

enum memory_kind {
#define X(id, name) id,
    MEMORY_KINDS(X)
#undef X
        MEMORY_KIND_COUNT
};

/* Bytes of one client, or of all clients. */
struct memory_share {
    size_t kinds[MEMORY_KIND_COUNT];
    size_t total;
};

/* All bytes, including those that no client owns (any more). */
extern struct memory_share memory_all;
/* The total above which memory is short, and the budget; SIZE_MAX: no limit. */
extern size_t memory_short_at;
extern size_t memory_budget;
extern size_t memory_clients_budget; /* maxmemory-clients: without MEMORY_DATABASE and MEMORY_HISTORY */

/* Memory that was counted as `before` bytes now takes `now` bytes. share may be NULL. */
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

/* Adds bytes that are in memory_all already to a share, or removes them from it. */
static inline void memory_join(struct memory_share *share, enum memory_kind kind, size_t bytes) {
    share->kinds[kind] += bytes;
    share->total += bytes;
}

static inline void memory_leave(struct memory_share *share, enum memory_kind kind, size_t bytes) {
    share->kinds[kind] -= bytes;
    share->total -= bytes;
}

/* Running commands count twice, because they are copied on their way to the database. */
static inline bool memory_is_short(void) {
    return memory_all.total + memory_all.kinds[MEMORY_REQUESTS] > memory_short_at;
}

/* The number of bytes by which the budget or memory_clients_budget is exceeded, the larger of the two. */
static inline size_t memory_excess(void) {
    size_t held = memory_all.total - memory_all.kinds[MEMORY_DATABASE] - memory_all.kinds[MEMORY_HISTORY];
    size_t all = memory_all.total > memory_budget ? memory_all.total - memory_budget : 0;
    size_t own = held > memory_clients_budget ? held - memory_clients_budget : 0;

    return all > own ? all : own;
}

/* Computes the budgets from the options. Call it again when maxmemory, maxmemory-clients or proto-max-bulk-len
 * change. */
void memory_budget_set(void);
/* Sets how malloc() returns memory to the system. Call it before anything large is allocated. */
void memory_init(void);
/* Called in each turn. After much memory was freed, returns it to the system: malloc() keeps freed blocks, and only
 * those at the end of the heap return by themselves. */
void memory_return_free(void);
/* Appends a line "mem_NAME:bytes\r\n" for each kind, for INFO. */
void memory_info(struct buf *out);

#endif
