/* Checks rights on queues that commands find in IDs, options and rows. */
#include "queue/queue_rights.h"

#include "queue/queue.h"

#define NO_RIGHT_ON_QUEUE "NOPERM No permissions to access a key"

static void (*note_refusal)(const struct req *r, struct slice queue);

void queue_rights_init(void (*note)(const struct req *r, struct slice queue)) {
    note_refusal = note;
}

/* Names and patterns may be long, and most lists of IDs have few queues. */
bool queue_rights_cover_id(struct req *r, int32_t queue_id) {
    const struct queue *q;

    if (queue_rights_are_all(r))
        return true;
    if (r->last_cover.queue_id == queue_id && r->last_cover.rights == r->user->rights)
        return r->last_cover.covers;
    q = queue_find_id(queue_id);
    if (q == NULL)
        return false;
    r->last_cover.queue_id = queue_id;
    r->last_cover.rights = r->user->rights;
    r->last_cover.covers = req_may_queue(r, ACL_READ, q->name);
    return r->last_cover.covers;
}

bool queue_rights_allow_or_reply(struct req *r, unsigned access, struct slice queue) {
    if (req_may_queue(r, access, queue))
        return true;
    if (note_refusal != NULL)
        note_refusal(r, queue);
    req_error(r, NO_RIGHT_ON_QUEUE);
    return false;
}
