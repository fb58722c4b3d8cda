#ifndef PEERS_H
#define PEERS_H

#include <stdbool.h>
#include <stdint.h>
#include <event2/event.h>

/*
 * The other servers of this database. Each server sends its outbox (outbox.h) over the channel (notify_bus.h): jobs that
 * became ready, its counters, leases that ended early. The database always has the true state. The messages save
 * queries. Text of a notification:
 *
 *     1 <seal, hex> <node number> <run, hex> <message number> <clients wait: 0 or 1> <items>
 *
 * The seal covers everything after it. Its key comes from the secret of job IDs, which only servers of this
 * database can read.
 *
 * A peer has failed if it is silent for five seconds, or if it says that it leaves. The live server with the lowest
 * number is the leader and adopts the leases of failed servers. A missed message makes the counters of queues
 * suspect, as does any other reason to assume a missed message. Suspect counters are audited when the queue is
 * quiet (counter_audit.h), and claims scan from further back once.
 */

void peers_start(struct event_base *base);
/* This server is registered and loaded: it takes part from now on. */
void peers_loaded(void);
/* The write connection is a new one. */
void peers_reconnected(void);
/* Call ten times a second. */
void peers_tick(void);
/* Call at the end of a turn: sends the messages that are due. */
void peers_turn(void);
/* Time of the next work for peers_turn(), clock_mono(). */
int64_t peers_next_due(void);
/* The snapshot of a recount (jobs/recount.h) is taken. It may include changes of SQL functions whose messages arrive
 * later. */
void peers_note_snapshot(void);
/* Call this after a lost connection. Our recent changes are unknown, so peers must read the affected queues again. */
void peers_announce_unknown(void);
/* Does this server adopt the leases of that node? */
bool peers_adopts(uint16_t node);
/* Signs off. Call it once, when no task is left. */
void peers_leave(void);
/* Is the outbox empty? */
bool peers_idle(void);
void peers_stop(void);
/* How this server receives messages, for INFO: "alone", "listening", or "polling". */
const char *peers_state(void);

#endif
