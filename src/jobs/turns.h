#ifndef TURNS_H
#define TURNS_H

#include <stdbool.h>
#include "queue/waiters.h"

/*
 * The order in which a request over several queues takes jobs from them: in turn, STRICT, or by WEIGHTS. A queue
 * counts if this server knows of more ready jobs than it has planned to claim.
 */

/* Has q more ready jobs than there are planned rows? */
bool turn_has_more(struct queue *q);
/* Filter for patterns: the same for queues whose row is not being created or deleted. */
bool turn_is_open(struct queue *q);
/* In turn: index of the source to begin with. */
size_t turn_first(const struct taker *taker);
/* In turn: the source was served. */
void turn_note_served(const struct wait *w);
/* STRICT or WEIGHTS: the source to take the next job from. NULL: none has jobs. */
const struct wait *turn_next(const struct taker *taker);
/* WEIGHTS: a job of the source was planned. */
void turn_note_weight(const struct taker *taker, const struct wait *w);

#endif
