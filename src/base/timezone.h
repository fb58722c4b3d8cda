#ifndef TIMEZONE_H
#define TIMEZONE_H

#include <stdbool.h>
#include <stdint.h>
#include "base/util.h"

/*
 * Time zones from the system's database, through libc. libc knows one zone at a time, the zone of the process. Between
 * zone_enter() and zone_leave() no other code may compute a local time.
 */

/* The empty name is UTC. */
bool zone_exists(const char *name);
/* name must be a valid time zone; see zone_exists(). */
void zone_enter(const char *name);
void zone_leave(void);
/* The seconds by which the zone is ahead of UTC at a time in seconds since 1970. Call it after zone_enter(). */
int32_t zone_offset_at(int64_t at);

#endif
