#ifndef SCAN_CURSORS_H
#define SCAN_CURSORS_H

#include <stddef.h>
#include <stdint.h>
#include "acl/user.h"

/*
 * The places at which scans of JSCAN continue. A place has more bits than the numbers that clients accept as cursors. A
 * cursor is therefore a number under which the place is kept for a while.
 *
 * Each user has places of its own, so that one user's scans do not end those of another. The places of the users that
 * have not scanned for the longest time are forgotten first.
 */
#define CURSORS_OF_USER 4096
#define CURSOR_USERS_MAX 64
/* The largest place. */
#define CURSOR_PLACE_MAX 48

/* Keeps a copy of the place. Returns its cursor, a positive number. u: NULL is a user of its own. */
int64_t scan_cursor_new(struct user *u, const void *place, size_t size);
/* The place of a cursor of the user. NULL: the cursor is unknown, too old, or one of another user. */
const void *scan_cursor_find(const struct user *u, int64_t cursor);

#endif
