#ifndef TIMEZONE_H
#define TIMEZONE_H

#include <stdbool.h>
#include <stdint.h>
#include "base/util.h"

/*
 * Time zones from the system's database, through libc. libc knows one zone at a time, the zone of the process. Between
 * timezone_enter() and timezone_leave() no other code may compute a local time.
 */

/* The empty name is UTC. */
bool timezone_exists(const char *name);
/* name must be a valid time zone; see timezone_exists(). */
void timezone_enter(const char *name);
void timezone_leave(void);
/* The seconds by which the zone is ahead of UTC at a time in seconds since 1970. Call it after timezone_enter(). */
int32_t timezone_offset_at(int64_t at);

#endif
