#ifndef BENCH_LEDGER_H
#define BENCH_LEDGER_H

#include "common.h"

/* Counts for each job how often the server has confirmed its add, delivered it and removed it. These counts decide if a
 * job was lost or doubled. Its producer and the sequence number there name a job. */

enum delivery {
    DELIVERY_FIRST,
    DELIVERY_AGAIN,   /* a second time, as the promise allows: its lease was over */
    DELIVERY_DOUBLED, /* a second time without a reason, or after its ack was confirmed */
};

struct ledger {
    uint64_t added;       /* adds the server confirmed */
    uint64_t unknown;     /* adds with an error, or without a reply */
    uint64_t delivered;   /* jobs delivered at least once */
    uint64_t acked;       /* jobs whose ack the server confirmed */
    uint64_t redelivered; /* deliveries of kind DELIVERY_AGAIN */
    uint64_t doubled;     /* deliveries of kind DELIVERY_DOUBLED */
    uint64_t open;        /* confirmed adds without a confirmed ack */
    uint64_t unseen;      /* unknown adds that have not been delivered */
    uint64_t settled;     /* jobs out of the system: acked, or unknown */
};

extern struct ledger ledger;

/* lease: so many milliseconds after a delivery a job may be delivered again; 0
 * when it never may. release: the server puts a job back when the connection
 * that had it closes. */
void ledger_init(int64_t lease, bool release);

/* The server confirmed the add. May come after the job's delivery. */
void ledger_added(uint32_t producer, uint64_t seq);
/* The add was sent, and whether it worked cannot be said. */
void ledger_unknown(uint32_t producer, uint64_t seq);
/* ms: the time of the delivery, from now_ns(). */
enum delivery ledger_delivered(uint32_t producer, uint64_t seq, int64_t ms);
void ledger_acked(uint32_t producer, uint64_t seq);
/* The connection that had the job is gone, its ack is not confirmed. */
void ledger_dropped(uint32_t producer, uint64_t seq);
/* Every job delivered and not acknowledged counts as dropped. */
void ledger_drop_all(void);

/* Calls found() for each confirmed add that was never delivered. Returns their number. gaps is for a drain, which knows
 * no adds: then a job also counts as lost if an earlier and a later job of its producer were delivered, and it was not.
 */
uint64_t ledger_lost(bool gaps, void (*found)(uint32_t producer, uint64_t seq));

#endif
