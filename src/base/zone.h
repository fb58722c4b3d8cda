#ifndef ZONE_H
#define ZONE_H

#include <stdbool.h>
#include <stdint.h>
#include "base/util.h"

/*
 * Time zones by the system's database, which libc reads. It knows one zone at a time, that of the
 * process: between zone_enter() and zone_leave() nothing else may ask for local time.
 */

/* The empty name is UTC. */
bool zone_exists(const char *name);
/* name must be a valid time zone; see zone_exists(). */
void zone_enter(const char *name);
void zone_leave(void);
/* By how many seconds the clocks of the zone are ahead of UTC at a moment, seconds since 1970. */
int32_t zone_offset_at(int64_t at);

#endif
