/* A server that puts one in three running jobs back into its queue at CANCEL. wraps: batch_add */
#include "batch/batch.h"
#include "batch/operations.h"

void __real_batch_add(struct task *t);
void __wrap_batch_add(struct task *t);

void __wrap_batch_add(struct task *t) {
    static unsigned count;

    if (t->op == &op_cancel_jobs && ++count % 3 == 0)
        t->op = &op_requeue_jobs;
    __real_batch_add(t);
}
