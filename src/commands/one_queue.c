/* Refuses patterns as the names of queues that a command changes. */
#include "commands/one_queue.h"

#include "base/log.h"
#include "net/usage.h"
#include "queue/pattern_index.h"
#include "queue/queue.h"

/* Maximum bytes of the name that the error quotes. */
#define PATTERN_SHOWN 64

bool one_queue_or_reply(struct req *r) {
    const struct queue *q = queue_find(r->argv[1]);

    if (!glob_is_special(r->argv[1]) || (q != NULL && (q->id != 0 || q->shown)))
        return true;
    req_error(r, "ERR %s takes the name of one queue: %s is a pattern, and no queue has this name",
              usage_name(r->cmd), log_escape(r->argv[1], PATTERN_SHOWN));
    return false;
}
