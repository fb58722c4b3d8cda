#ifndef REDIS_REPLY_H
#define REDIS_REPLY_H

#include <stdbool.h>
#include <hiredis/hiredis.h>
#include "base/util.h"

/*
 * Checks the shape of a reply before the reply is used, because a server can send any reply to any command.
 *
 *   s      a text: a bulk or a status
 *   i      an integer
 *   n      a null
 *   a      any reply
 *   [...]  an array of exactly these elements
 *   x?     x or a null
 *   x*     any number of x, at the end of an array; (xy)* any number of such pairs
 *
 * A shape is a constant in the source, never input. It nests arrays to at most 8 levels.
 */
bool redis_reply_fits(const redisReply *r, const char *shape) MUST_CHECK;

/* The value behind a name in an array of the shape [(sa)*]; NULL if the name does not occur. */
const redisReply *redis_reply_field(const redisReply *names_and_values, const char *name);
/* The text behind a name; NULL if the name does not occur, or its value is not a text. */
const char *redis_reply_text(const redisReply *names_and_values, const char *name);

#endif
