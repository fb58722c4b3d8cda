#ifndef LIBRARY_LIFE_H
#define LIBRARY_LIFE_H

#include <stdbool.h>
#include <stdint.h>
#include "commands/library_keys.h"
#include "net/request.h"

/* The key of r, for a command about keys of any kind (EXISTS, TYPE, DEL, EXPIRE, TTL). NULL if r is about queues. */
const struct library_key *library_key_of(const struct req *r);

/* These commands for a key of a library. */
void library_exists(struct req *r);
void library_type(struct req *r, const struct library_key *k);
void library_del(struct req *r, const struct library_key *k);
/* at_us: clock_db(). only_endless: NX. */
void library_expire(struct req *r, const struct library_key *k, int64_t at_us, bool only_endless);
/* unit: of the reply, in microseconds. absolute: a time, not a duration. */
void library_ttl(struct req *r, const struct library_key *k, int64_t unit, bool absolute);

#endif
