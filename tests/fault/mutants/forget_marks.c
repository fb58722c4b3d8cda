/* A server that does not ask whether a transaction was committed whose answer got lost. wraps: commit_marker_ask */
#include "batch/commit_marker.h"

void __real_commit_marker_ask(struct lost_task *l);
void __wrap_commit_marker_ask(struct lost_task *l);

void __wrap_commit_marker_ask(struct lost_task *l) {
    list_init(&l->node);
    l->on_known(l, COMMIT_UNKNOWN);
}
