#ifndef REFUSED_H
#define REFUSED_H

#include <stdbool.h>
#include "base/util.h"
#include "net/request.h"

/*
 * Commands of Redis that pgdisque does not have (refused.def). Their error has the code NOTSUPPORTED, because
 * some clients ignore ERR and would lose a write without notice. Between MULTI and EXEC the code is ERR. EXEC
 * then fails. A client that stops at NOTSUPPORTED would stay in the transaction.
 */
struct refused {
    const char *name; /* upper case */
    const char *why;  /* completes "pgdisque is a queue server" */
};

/* NULL if name is not in the table. */
const struct refused *refused_find(struct slice name);
/* For tests: all rows in the order of refused.def. Sets count to their number. */
const struct refused *refused_table(size_t *count);

/* Replies the text with the code NOTSUPPORTED, or ERR in a transaction. */
void reply_unsupported(struct req *r, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Replies that the command is refused, and the reason. */
void reply_refused(struct req *r, const struct refused *refused);

#endif
