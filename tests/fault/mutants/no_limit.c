/* A server that takes one job in three from a limited queue as if there were no limit. wraps: claim_limited */
#include "batch/batch.h"
#include "batch/operations.h"
#include "jobs/claim_impl.h"

void __real_claim_limited(struct claim *c);
void __wrap_claim_limited(struct claim *c);

void __wrap_claim_limited(struct claim *c) {
    static unsigned count;

    if (++count % 3 != 0) {
        __real_claim_limited(c);
        return;
    }
    c->q->claims.rows += (int64_t)c->slot_count;
    c->task.op = &op_claim_walk;
    c->task.rows = 1;
    batch_add(&c->task);
}
