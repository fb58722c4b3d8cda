#ifndef MEMBER_SCAN_H
#define MEMBER_SCAN_H

#include <stddef.h>
#include <stdint.h>
#include "net/request.h"

/*
 * The reply to SSCAN and ZSCAN: the members of a page that match a pattern. The comparison takes several turns if
 * needed. Everything is in the memory of the request.
 */
struct member_scan;

/* pattern.ptr NULL: all members match. cursor: of the next page. most: the most members that are added. */
struct member_scan *member_scan_new(struct req *r, struct slice pattern, int64_t cursor, size_t most);
/* score: follows the member in the reply, and lives as long as the request; ptr NULL: there is none. The member must live
 * until member_scan_reply(), which copies it if the comparison goes on after that. */
void member_scan_add(struct member_scan *m, struct slice member, struct slice score);
/* Compares, replies and ends the request, then or in a later turn. */
void member_scan_reply(struct member_scan *m);

#endif
