#ifndef GLOBS_H
#define GLOBS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/hash.h"
#include "base/list.h"
#include "base/util.h"
#include "queue/queue.h"

/*
 * Patterns of queues' names, as GETJOB takes them: which queues fit, which of these may have jobs, and
 * whose turn it is.
 *
 * A name is compared with each pattern once: when its queue has a job for the first time, or when the pattern
 * appears. With very many queues that takes several turns; until then the pattern is not settled, and gets wait
 * for it. What fits is a bit, of the queue and of the pattern. So ten thousand queues and a thousand patterns are some
 * megabytes at worst, a job of a queue finds the patterns that wait for it with a few words of both, and
 * a pattern the next queue in turn likewise. A pattern that nobody uses is kept for a while, for the
 * client's next GETJOB.
 */
#define GLOBS_MAX 2048

struct glob {
    UT_hash_handle by_text;
    struct slice text;
    struct list unsettled; /* patterns that are not compared with all queues yet, the oldest first */
    uint32_t compared;     /* it is with those whose slots are less */
    uint32_t slot;         /* its bit in the queues' sets */
    uint32_t cursor;       /* slot of the queue whose turn it is */
    uint64_t *queues;      /* the slots of those that fit, */
    uint32_t words;        /* and how many words that is */
    size_t users;          /* gets that name it */
    int64_t used_us;       /* clock_mono(): the last one left */
    struct list idle;      /* patterns without users, the longest unused first */
    /* Waiting; waiters.h. */
    struct list waiters; /* struct wait, in order of arrival */
    int64_t waiter_count;
    uint64_t joined_by;
    uint64_t served; /* as of a queue */
};

void globs_init(void);
/* Calls fn after a pattern has been settled. */
void globs_on_settled(void (*fn)(void));

/* Has the name a * or ? at all? Others are what they are, with all their \. */
bool glob_is_special(struct slice name);
/* Has it one without a \ before it: is it a pattern? */
bool glob_is_pattern(struct slice name);
/* What a special name means that is no pattern: the \ before each byte taken away. Written to out, which
 * is as long; its length. */
size_t glob_unescape(struct slice name, char *out);

/* Finds or makes the pattern, and uses it until glob_leave(). NULL: too many are used. */
struct glob *glob_use(struct slice text);
void glob_leave(struct glob *g);
/* Does it know all queues that fit and may have jobs? Before that glob_find() misses some. */
static inline bool glob_is_settled(const struct glob *g) {
    return list_empty(&g->unsettled);
}
/* Forgets patterns that nobody has used for a minute. */
void globs_forget_unused(void);
size_t globs_count(void);

/* A queue is about to lose its slot. */
void globs_part(struct queue *q);
/* The queue may have ready jobs. */
void globs_note(struct queue *q);

/* From the one whose turn it is on, the first queue that fits the pattern, may have jobs or is being claimed
 * from, and is accepted; NULL: none. */
struct queue *glob_find(const struct glob *g, bool (*accept)(struct queue *q));
/* It was served: the next one's turn comes. */
void glob_served(struct glob *g, const struct queue *q);

/* Somebody waits for the pattern, or nobody does any more. */
void glob_set_waiting(struct glob *g, bool waiting);
/* Is a pattern waited for into which the queue fits? */
bool globs_wait_for(struct queue *q);
/* The next such pattern whose slot is not below *from, which is moved behind it; NULL: no more. */
struct glob *globs_next_waiting(struct queue *q, uint32_t *from);
/* How many gets wait for the queue by a pattern. */
int64_t globs_waiters(struct queue *q);

#endif
