#ifndef REDIS_REPLY_H
#define REDIS_REPLY_H

#include <stdbool.h>
#include <hiredis/hiredis.h>
#include "base/util.h"

/*
 * The shape that a reply must have before anything in it is used. A server can send any reply to any command.
 *
 *   s      a text: a bulk or a status
 *   i      an integer
 *   n      a null
 *   a      anything
 *   [...]  an array of exactly these
 *   x?     x or a null
 *   x*     any number of x, as the last of an array; (xy)* any number of such pairs
 *
 * A shape is written in the source, never taken from input. Arrays have at most 8 levels in it.
 */
bool redis_reply_fits(const redisReply *r, const char *shape) MUST_CHECK;

/* The value behind a name in an array of the shape [(sa)*]; NULL: the name is not there. */
const redisReply *redis_reply_field(const redisReply *names_and_values, const char *name);
/* The same, if it is a text. */
const char *redis_reply_text(const redisReply *names_and_values, const char *name);

#endif
