#ifndef LOST_TXN_H
#define LOST_TXN_H

#include <stdbool.h>
#include <stddef.h>
#include "batch/txn.h"

void lost_txns_init(void);
/* The number of lost transactions whose commit markers are being read. */
size_t lost_txns_asked(void);
/* Sends the tasks of txn again, or asks for its commit marker first. Callers pass the newest transaction first, so that
 * the tasks of the oldest one stand first in their queues. */
void txn_lost(struct txn *txn);

/* A task or a client transaction is given up after it was alone in this many lost transactions. */
#define LOST_ALONE_MOST 4
/* True if lost_alone has reached LOST_ALONE_MOST; then it logs that `what` is given up. */
bool batch_lost_too_often(const char *what, uint8_t lost_alone);
extern const struct op_error batch_lost_error;
/* Ends t, whose transaction is committed and whose result is lost. */
void batch_answer_lost(struct task *t);

#endif
