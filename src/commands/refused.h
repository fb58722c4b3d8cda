#ifndef REFUSED_H
#define REFUSED_H

#include <stdbool.h>
#include "base/util.h"
#include "net/req.h"

/*
 * Commands of Redis that pgdisque does not have (refused.def). Their error has the code NOTSUPPORTED, because
 * some clients swallow ERR, and a write would be lost in silence. Between MULTI and EXEC the code is ERR: EXEC
 * fails then, and a client that raised earlier would stay in the transaction.
 */
struct refused {
    const char *name; /* upper case */
    const char *why;  /* completes "pgdisque is a queue server" */
};

/* NULL when name is not one of them. */
const struct refused *refused_find(struct slice name);
/* The table in its order; count commands. */
const struct refused *refused_table(size_t *count);

/* Replies the text with the code of a refusal. */
void reply_unsupported(struct req *r, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Replies that one of the table is refused. */
void reply_refused(struct req *r, const struct refused *refused);

/* SADD is refused, too, unless its key is a set that names queues: Sidekiq and Resque add to it before a push. */
bool refused_sadd(const struct req *r);
void reply_refused_sadd(struct req *r);

#endif
