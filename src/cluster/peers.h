#ifndef PEERS_H
#define PEERS_H

#include <stdbool.h>
#include <stdint.h>
#include <event2/event.h>
#include "batch/op.h"

/*
 * The other servers of this database. Each tells over the channel (channel.h) what the others may
 * want to know (news.h): which jobs became ready, what it counted, whose lease has ended early. The
 * truth is in the database all along; what is told saves looking for it. Text of a notification:
 *
 *     1 <seal, hex> <node number> <run, hex> <message number> <clients wait: 0 or 1> <items>
 *
 * The seal is over all that follows, by the secret of job IDs, which only we can read.
 *
 * A server that is silent for five seconds is gone, as is one that says so. The one that lives and
 * has the lowest number, the heir, then looks after the leases it gave. A message that was missed,
 * and any other reason to think that something was, makes the queues' counters doubtful: they are
 * counted again in a quiet moment (recount.h), and claims look further back once.
 */

void peers_start(struct event_base *base);
/* This server is registered, and has loaded: from now on it takes part. */
void peers_loaded(void);
/* The connection that changes jobs is new. */
void peers_reconnected(void);
/* Ten times a second. */
void peers_tick(void);
/* At the turn's end: sends what is due. */
void peers_turn(void);
/* When peers_turn() has something to do (clock_mono()). */
int64_t peers_next_due(void);
/* Call this after a lost connection. Our recent changes are unknown, so peers must read the affected queues again. */
void peers_confess(void);
/* Is this the server to look after what that one leased? */
bool peers_inherits(uint16_t node);
/* Signs off. Once: when nothing is under way any more. */
void peers_leave(void);
/* Has everything been told? */
bool peers_idle(void);
void peers_stop(void);
/* How others are heard, for INFO: "alone", "hearing", or "polling". */
const char *peers_state(void);

#endif
