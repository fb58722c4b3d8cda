/* A server that takes one job in three from a limited queue as if there were no limit. wraps: batch_add */
#include "batch/batch.h"
#include "batch/operations.h"

void __real_batch_add(struct task *t);
void __wrap_batch_add(struct task *t);

void __wrap_batch_add(struct task *t) {
    static unsigned count;

    if (t->op == &op_claim_limited && ++count % 3 == 0)
        t->op = &op_claim_scan;
    __real_batch_add(t);
}
