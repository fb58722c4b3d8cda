#ifndef QUEUE_LIMITS_H
#define QUEUE_LIMITS_H

#include <stdbool.h>
#include <stdint.h>
#include "queue/queue.h"

/*
 * Queues of which so many jobs may run at once, or be delivered a second, over all servers: QCONFIG
 * max-active and rate. Slots and tokens are in the database, and the statement that claims decides
 * (claim_limited.sql). Here is whether it is worth asking: a claim that found none makes the queue full,
 * and then it takes somebody who has freed a slot, here or at another server, or time.
 */

/* Does QCONFIG per-group say that each group has them for itself? Claims know nothing of that: see job_group.h. */
bool limits_are_per_group(const struct queue *q);
/* The settings of q have changed. */
void limits_set(struct queue *q);
/* A job of q has stopped running, by this server's doing: the others are told. */
void limits_room(struct queue *q);
/* There may be room, and whoever knew better has been told. */
void limits_heard_room(struct queue *q);
/* A claim found no room. rooms: q->rooms when the claim was sent. wait_ms: until the next tokens; 0: it is not for tokens.
 * soon: another session was about to change that. */
void limits_no_room(struct queue *q, uint64_t rooms, int32_t wait_ms, bool soon);
/* A claim took what it wanted. */
void limits_not_full(struct queue *q);
/* The queue's object goes. */
void limits_drop(struct queue *q);

/* Looks at those for which it is time. */
void limits_turn(void);
/* When that is (clock_mono()), INT64_MAX if never. */
int64_t limits_next_turn(void);

#endif
