/* A server that confirms one job in a thousand without adding it. wraps: batch_add */
#include "batch/batch.h"
#include "batch/operations.h"

void __real_batch_add(struct task *t);
void __wrap_batch_add(struct task *t);

void __wrap_batch_add(struct task *t) {
    static unsigned count;

    if (t->op == &op_add_jobs && ++count % 1000 == 0)
        t->op->done(&t, 1, NULL);
    else
        __real_batch_add(t);
}
