#ifndef QUEUE_RIGHTS_H
#define QUEUE_RIGHTS_H

#include <stdbool.h>
#include <stdint.h>
#include "net/request.h"

/*
 * Rights on queues that the dispatcher does not find in the arguments: queues of job IDs, second queues in options, and
 * queues in lists. The dispatcher checks the other queues: rights.h.
 */
/* True if the user of r may use every queue. */
static inline bool queue_rights_are_all(const struct req *r) {
    return r->user == NULL || r->user->all;
}
/* True if the user of r may read the queue with this ID. A user with rights on some queues may read no queue that this
 * server does not know. */
bool queue_rights_cover_id(struct req *r, int32_t queue_id);
/* note is called with each refused queue. Call it once at start. */
void queue_rights_init(void (*note)(const struct req *r, struct slice queue));
/* If the user of r lacks the access (enum acl_access) to the queue, replies NOPERM, ends r and returns false. */
bool queue_rights_allow_or_reply(struct req *r, unsigned access, struct slice queue) MUST_CHECK;

#endif
