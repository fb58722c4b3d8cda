#ifndef OUTBOX_H
#define OUTBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The outbox: changes that peers are notified of after the commit, and the text of the notification. While the
 * server has no peers, only items without numbers are added. The items are hints. Everything that must not be
 * lost is in the database, and a peer that missed a notification finds it there (peers.c).
 *
 * The text consists of items, separated by blanks: a letter of this list, then numbers separated by commas.
 */
#define OUTBOX_ITEMS(X)                                                                                      \
    X(OUTBOX_SHARE, 'q', "queue,len,total,in,out,dead: the counter share of this server, since its start")   \
    X(OUTBOX_STATES, 'j',                                                                                    \
      "queue,delayed,waiting,due: more of the share, and when the last delivered job became due; from SQL: " \
      "queue,delayed,waiting: changes of one transaction")                                                   \
    X(OUTBOX_READY, 'a', "queue,rank,id,count: that many jobs became ready from this key on")                \
    X(OUTBOX_RETURNED, 'k', "queue,rank,id: this job became ready again")                                    \
    X(OUTBOX_GONE, 'x', "queue,rank,id,until: deleted, while a peer watched this lease")                     \
    X(OUTBOX_MOVED, 'l', "queue,rank,id,until: changed, while a peer watched this lease")                    \
    X(OUTBOX_UNCOUNTED, 'd', "queue: changed by a server that does not know it yet")                         \
    X(OUTBOX_ROOM, 'r', "queue: it is limited, and a concurrency slot became free")                          \
    X(OUTBOX_ROW, 'p', "queue: its row is new, or has changed")                                              \
    X(OUTBOX_NODES, 'n', "the rows of the servers have changed")                                             \
    X(OUTBOX_SCHEDULES, 's', "schedules have changed")                                                       \
    X(OUTBOX_FLUSHED, 'f', "all jobs were deleted")                                                          \
    X(OUTBOX_SUSPECT, 'z', "notifications may be wrong or missing: read the database again")                 \
    X(OUTBOX_ENDED, 'y', "queue,rank,id,how: the job ended, as enum job_exit says")                          \
    X(OUTBOX_AWAITS, 'i', "clients wait for the ends of jobs: send OUTBOX_ENDED for a while")                \
    X(OUTBOX_JOIN, 'h', "this server has just started: its counter shares begin at zero")                    \
    X(OUTBOX_REQUEST, 'w', "all peers are asked for all their counter shares")                               \
    X(OUTBOX_SENT_ALL, 'e', "all counter shares were sent")                                                  \
    X(OUTBOX_LEAVE, 'b', "this server has left")                                                             \
    X(OUTBOX_COUNTED, 'c', "from SQL: queue,len,total,in,out: changes of one transaction")                   \
    X(OUTBOX_LEASED, 'g',                                                                                    \
      "from SQL: queue,rank,id,until,last: leased, for the last attempt if 1; a server must watch it")       \
    X(OUTBOX_WAKE, 't', "from SQL: queue,time: check the queue at that time")                                \
    X(OUTBOX_POLL, 'v', "from SQL: queue: jobs were added, and the message does not name them")              \
    X(OUTBOX_CLOCK, 'o', "time: the database's clock as the sender knows it; first in each message")         \
    X(OUTBOX_GROUP, 'm', "from SQL: queue,rank,id: the next job of its group may become ready")              \
    X(OUTBOX_CANCELLED, 'u', "from SQL: queue,rank,id,expires,retry: this running job was cancelled")

enum outbox_item {
#define X(id, letter, doc) id = letter,
    OUTBOX_ITEMS(X)
#undef X
};

/* Each item has its own letter. */
#define X(id, letter, doc) | 1U << (letter - 'a')
enum { OUTBOX_LETTERS = 0 OUTBOX_ITEMS(X) };
#undef X
#define X(id, letter, doc) +1
_Static_assert(__builtin_popcount(OUTBOX_LETTERS) == OUTBOX_ITEMS(X),
               "two items of OUTBOX_ITEMS have the same letter");
#undef X

#define OUTBOX_NUMBERS 6
/* Parses the numbers, separated by commas, at the start of an item's text. Returns how many there are. */
int outbox_numbers(const char *text, int64_t numbers[OUTBOX_NUMBERS]);

/* Sets whether there are peers. The outbox observes changes (observer.h) only if there are. When the first peer appears,
 * the counter shares of all queues are put into the outbox. */
void outbox_set_shared(bool shared);

/* Adds an item without numbers. Each of these is in the outbox once. They are also added before the first peer is
 * known, because OUTBOX_JOIN must be sent. */
void outbox_note(enum outbox_item item);
/* Adds the counter shares of all queues, and OUTBOX_SENT_ALL after them. */
void outbox_send_all(void);

/* True if the outbox is not empty. *urgent: a waiter of a peer may need an item. */
bool outbox_has(bool *urgent);
/* Writes items to out, each after a blank, as many as fit into size bytes with the NUL, and removes them.
 * Returns the length. */
size_t outbox_take(char *out, size_t size);

#endif
