#ifndef NEWS_H
#define NEWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/jobid.h"
#include "queue/queue.h"

/*
 * The outbox: changes that peers are notified of after the commit, and the text of the notification. While the
 * server has no peers, only items without numbers are added. The items are hints. Everything that must not be
 * lost is in the database, and a peer that missed a notification finds it there (peers.c).
 *
 * The text consists of items, separated by blanks: a letter of this list, then numbers separated by commas.
 */
#define NEWS_ITEMS(X)                                                                                    \
    X(NEWS_SHARE, 'q', "queue,len,total,in,out,dead: the counter share of this server, since its start") \
    X(NEWS_READY, 'a', "queue,rank,id,count: that many jobs became ready from this key on")              \
    X(NEWS_RETURNED, 'k', "queue,rank,id: this job became ready again")                                  \
    X(NEWS_GONE, 'x', "queue,rank,id,until: deleted, while a peer watched this lease")                   \
    X(NEWS_MOVED, 'l', "queue,rank,id,until: changed, while a peer watched this lease")                  \
    X(NEWS_UNCOUNTED, 'd', "queue: changed by a server that does not know it yet")                       \
    X(NEWS_ROOM, 'r', "queue: it is limited, and a concurrency slot became free")                        \
    X(NEWS_ROW, 'p', "queue: its row is new, or has changed")                                            \
    X(NEWS_NODES, 'n', "the rows of the servers have changed")                                           \
    X(NEWS_SCHEDULES, 's', "schedules have changed")                                                     \
    X(NEWS_FLUSHED, 'f', "all jobs were deleted")                                                        \
    X(NEWS_DOUBT, 'z', "notifications may be wrong or missing: read the database again")                 \
    X(NEWS_ENDED, 'y', "queue,rank,id,how: the job ended, as enum job_end_kind says")                    \
    X(NEWS_AWAITS, 'i', "clients wait for the ends of jobs: send NEWS_ENDED for a while")                \
    X(NEWS_HELLO, 'h', "this server has just started: its counter shares begin at zero")                 \
    X(NEWS_ASK, 'w', "all peers are asked for all their counter shares")                                 \
    X(NEWS_TOLD_ALL, 'e', "all counter shares were sent")                                                \
    X(NEWS_BYE, 'b', "this server has signed off")                                                       \
    X(NEWS_COUNTED, 'c', "from SQL: queue,len,total,in,out: changes of one transaction")                 \
    X(NEWS_LEASED, 'g',                                                                                  \
      "from SQL: queue,rank,id,until,last: leased, for the last attempt if 1; a server must watch it")   \
    X(NEWS_WAKE, 't', "from SQL: queue,time: check the queue at that time")                              \
    X(NEWS_LOOK, 'v', "from SQL: queue: jobs were added, and the message does not name them")            \
    X(NEWS_CLOCK, 'o', "time: the database's clock as the sender knows it; first in each message")       \
    X(NEWS_GROUP, 'm', "from SQL: queue,rank,id: the next job of its group may become ready")

enum news_item {
#define X(id, letter, doc) id = letter,
    NEWS_ITEMS(X)
#undef X
};

/* Each item has its own letter. */
#define X(id, letter, doc) | 1U << (letter - 'a')
enum { NEWS_LETTERS = 0 NEWS_ITEMS(X) };
#undef X
#define X(id, letter, doc) +1
_Static_assert(__builtin_popcount(NEWS_LETTERS) == NEWS_ITEMS(X),
               "two items of NEWS_ITEMS have the same letter");
#undef X

#define NEWS_NUMBERS 6
/* Parses the numbers, separated by commas, at the start of an item's text. Returns how many there are. */
int news_numbers(const char *text, int64_t numbers[NEWS_NUMBERS]);

/* Sets whether there are peers. When the first one appears, the counter shares of all queues are put into
 * the outbox. */
void news_set_shared(bool shared);

/* Adds the counter share of the queue, which this server has changed. */
void news_changed(struct queue *q);
/* Adds a job that was committed as ready. Peers are told if no waiter here takes it. */
void news_ready(struct queue *q, struct job_key key);
/* Adds a limited queue that has a free concurrency slot. */
void news_room(struct queue *q);
/* Adds a job that became ready again. */
void news_returned(struct job_key key);
/* Adds NEWS_GONE or NEWS_MOVED. row_until: the end of the lease in the row before the change. */
void news_lease(enum news_item item, struct job_key key, int64_t row_until);
/* Adds NEWS_ENDED. */
void news_ended(struct job_key key, int how);
void news_row(int32_t queue_id);
/* Adds a queue that is not known here: this server changed its jobs and could not count that. */
void news_uncounted(int32_t queue_id);
/* Adds an item without numbers. */
void news_say(enum news_item item);
/* Adds the counter shares of all queues, and NEWS_TOLD_ALL after them. */
void news_tell_all(void);
/* Removes the queue, which is about to be freed. */
void news_drop(struct queue *q);

/* True if the outbox is not empty. *urgent: a waiter of a peer may need an item. */
bool news_has(bool *urgent);
/* Writes items to out, each after a blank, as many as fit into size bytes with the NUL, and removes them.
 * Returns the length. */
size_t news_take(char *out, size_t size);

#endif
