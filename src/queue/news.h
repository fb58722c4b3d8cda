#ifndef NEWS_H
#define NEWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/jobid.h"
#include "queue/queue.h"

/*
 * What this server has to tell the others of the same database, and the text of it. Nothing is noted
 * while it is alone. All of it is hints, told after the commit: what must not get lost is in the
 * database, and who missed something finds it there (peers.c).
 *
 * The text is items, separated by blanks: a letter of this list, then numbers separated by commas.
 */
#define NEWS_ITEMS(X)                                                                                        \
    X(NEWS_SHARE, 'q', "queue,len,total,in,out,dead: what this server has done to it, ever since its start") \
    X(NEWS_READY, 'a', "queue,rank,id,count: so many jobs became ready from this key on")                    \
    X(NEWS_RETURNED, 'k', "queue,rank,id: this job became ready again")                                      \
    X(NEWS_GONE, 'x', "queue,rank,id,until: gone, and somebody else held this lease")                        \
    X(NEWS_MOVED, 'l', "queue,rank,id,until: changed, and somebody else held this lease")                    \
    X(NEWS_UNCOUNTED, 'd', "queue: changed by a server that does not know it yet")                           \
    X(NEWS_ROOM, 'r', "queue: it is limited, and fewer of its jobs run than did")                            \
    X(NEWS_ROW, 'p', "queue: its row is new, or has changed")                                                \
    X(NEWS_NODES, 'n', "the rows of the servers have changed")                                               \
    X(NEWS_SCHEDULES, 's', "schedules have changed")                                                         \
    X(NEWS_FLUSHED, 'f', "all jobs were removed")                                                            \
    X(NEWS_DOUBT, 'z', "what was told may be wrong, or not all: look for yourselves")                        \
    X(NEWS_ENDED, 'y', "queue,rank,id,how: has ended, as enum job_end_kind says")                            \
    X(NEWS_AWAITS, 'i', "clients wait for the ends of jobs: these are to be told for a while")               \
    X(NEWS_HELLO, 'h', "has just started: its shares begin at zero")                                         \
    X(NEWS_ASK, 'w', "all others are asked to tell all of their shares")                                     \
    X(NEWS_TOLD_ALL, 'e', "all shares were told")                                                            \
    X(NEWS_BYE, 'b', "has signed off")                                                                       \
    X(NEWS_COUNTED, 'c', "of SQL: queue,len,total,in,out: what one transaction has changed")                 \
    X(NEWS_LEASED, 'g',                                                                                      \
      "of SQL: queue,rank,id,until,last: taken, the last time if 1, and to be watched by a server")          \
    X(NEWS_WAKE, 't', "of SQL: queue,time: the clock has to look then")                                      \
    X(NEWS_LOOK, 'v', "of SQL: queue: jobs were added to it, and it was not told which")                     \
    X(NEWS_CLOCK, 'o', "time: the database's clock as who tells this sees it; first in each message")        \
    X(NEWS_GROUP, 'm', "of SQL: queue,rank,id: the next one of its group may be let go")

enum news_item {
#define X(id, letter, doc) id = letter,
    NEWS_ITEMS(X)
#undef X
};

/* One letter, one item. */
#define X(id, letter, doc) | 1U << (letter - 'a')
enum { NEWS_LETTERS = 0 NEWS_ITEMS(X) };
#undef X
#define X(id, letter, doc) +1
_Static_assert(__builtin_popcount(NEWS_LETTERS) == NEWS_ITEMS(X),
               "two items of NEWS_ITEMS have the same letter");
#undef X

#define NEWS_NUMBERS 6
/* The numbers that an item's text begins with, separated by commas; how many there are. */
int news_numbers(const char *text, int64_t numbers[NEWS_NUMBERS]);

/* Is there anybody who wants to know? What is shared from then on is told from the beginning. */
void news_set_shared(bool shared);

/* The queue's counters have changed by this server's doing. */
void news_changed(struct queue *q);
/* A job was committed as ready, and who waits here does not need it (yet). */
void news_ready(struct queue *q, struct job_key key);
/* There is room for another running job of a limited queue. */
void news_room(struct queue *q);
/* A job became ready again. */
void news_returned(struct job_key key);
/* NEWS_GONE or NEWS_MOVED, and until when the row had been leased. */
void news_lease(enum news_item item, struct job_key key, int64_t row_until);
/* NEWS_ENDED. */
void news_ended(struct job_key key, int how);
void news_row(int32_t queue_id);
/* This server has changed jobs of a queue that it does not know, so nobody has counted that. */
void news_uncounted(int32_t queue_id);
/* Something without numbers. */
void news_say(enum news_item item);
/* All shares, and then NEWS_TOLD_ALL. */
void news_tell_all(void);
/* The queue's object goes. */
void news_drop(struct queue *q);

/* Is there anything to tell? urgent: somebody may wait for it. */
bool news_has(bool *urgent);
/* Appends items, each with a blank before it, as many as fit into size bytes with the NUL; they are
 * told then. The length. */
size_t news_take(char *out, size_t size);

#endif
