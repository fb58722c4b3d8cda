#ifndef PATTERN_INDEX_H
#define PATTERN_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "acl/user.h"
#include "base/hash.h"
#include "base/list.h"
#include "base/util.h"
#include "queue/queue.h"

/*
 * Patterns of queue names, as GETJOB takes them. A pattern knows which queues match it, which of these may have
 * jobs, and which queue is next in its rotation.
 *
 * A name is compared with a pattern once: when its queue has a job for the first time, or when the pattern is
 * created. With very many queues that takes several turns. Until then the pattern is not settled, and its
 * requests wait. A long name is compared with many patterns in several turns, too. Until then no pattern may find its
 * queue. Users take turns, so the patterns of a user do not wait for all patterns of another user. A
 * match is one bit in a set of the queue and one bit in a set of the pattern. So ten thousand queues and a
 * thousand patterns need a few megabytes at most. A queue finds the patterns with waiters by a few words of
 * both sets, and a pattern finds its next queue in the same way. An unused pattern is kept for a minute, for
 * the client's next GETJOB.
 */
#define PATTERNS_MAX 2048
/* The patterns of a user with limited rights. */
#define PATTERNS_EACH 128

struct queue_pattern {
    UT_hash_handle by_text;
    char *key; /* the pointer `user`, and then the text */
    struct slice text;
    struct user *user;     /* the queues must also be readable by this user; NULL: all queues */
    unsigned right;        /* the right of the user's command; acl/right.h */
    unsigned rights;       /* user->rights when it was last compared */
    bool stale;            /* the rights of the user have changed: no queue matches until it is settled */
    struct list unsettled; /* in the list of patterns that are not settled, the oldest first */
    uint32_t compared;     /* it has been compared with the queues of smaller index */
    uint32_t slot;         /* its bit in the sets of queues */
    uint32_t cursor;       /* index of the next queue in its rotation */
    uint64_t *queues;      /* set of the indexes of the queues that match */
    uint32_t words;        /* length of `queues` */
    size_t users;          /* requests that use it */
    int64_t used_us;       /* clock_mono() when `users` became 0 */
    struct list idle;      /* in the list of patterns without users, the longest unused first */
    /* Used by waiters.c. */
    struct list waiters; /* struct wait of its waiters, in order of arrival */
    int64_t waiter_count;
    uint64_t joined_by;
    uint64_t served;  /* as in struct queue */
    uint64_t weighed; /* as in struct queue */
};

void patterns_init(void);
/* Registers a function that is called after a pattern has been settled. */
void patterns_on_settled(void (*fn)(struct queue_pattern *p));

/* True if the name contains * or ?. Other names are taken literally, with every backslash. */
bool glob_is_special(struct slice name);
/* True if a * or ? has no backslash before it: the name is a pattern. */
bool glob_is_pattern(struct slice name);
/* For a special name that is no pattern: removes the backslash before each byte. out has room for name.len
 * bytes. Returns the length. */
size_t glob_unescape(struct slice name, char *out);

/* Finds or creates the pattern of at most PATTERN_MAX bytes, and keeps it until pattern_leave(). For a user with limited
 * rights the pattern matches only queues that the user may read by a command with that right. user NULL: a user with all
 * rights. NULL if PATTERNS_MAX patterns are in use, or PATTERNS_EACH of the user. */
struct queue_pattern *pattern_use(struct slice text, struct user *user, unsigned right);
/* The rights of users may have changed: compares the patterns of those users with all queues again. */
void patterns_rights_changed(void);
void pattern_leave(struct queue_pattern *p);
/* True if the pattern has been compared with all queues. Before that, pattern_find() may miss some. */
static inline bool pattern_is_settled(const struct queue_pattern *p) {
    return list_empty(&p->unsettled);
}
/* Frees patterns that have been unused for a minute. */
void patterns_forget_unused(void);
size_t patterns_count(void);

/* Removes a queue that is about to be freed from all sets. */
void patterns_drop_queue(struct queue *q);
/* Notes that the queue may have ready jobs. */
void patterns_note_queue(struct queue *q);

/* The first queue in the order of the rotation that matches the pattern and that accept() accepts. It may
 * have jobs, or claims of it have not ended. NULL if there is none. */
struct queue *pattern_find(const struct queue_pattern *p, bool (*accept)(struct queue *q));
/* Called after a job of q was given to a request of p. The rotation goes on after q. */
void pattern_served(struct queue_pattern *p, const struct queue *q);

/* Does the queue match the pattern? */
bool pattern_has(const struct queue_pattern *p, const struct queue *q);

/* Sets whether the pattern has waiters. */
void pattern_set_waiting(struct queue_pattern *p, bool waiting);
/* True if a pattern that the queue matches has waiters. */
bool patterns_wait_for(struct queue *q);
/* The next such pattern whose index is at least *from; then *from is moved after it. NULL if there is none. */
struct queue_pattern *patterns_next_waiting(struct queue *q, uint32_t *from);
/* The number of requests that wait for the queue by a pattern. */
int64_t patterns_waiters(struct queue *q);

#endif
