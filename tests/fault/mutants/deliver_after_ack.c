/* A server that answers one acknowledgement in a thousand and keeps the job. wraps: batch_add */
#include "batch/batch.h"
#include "batch/operations.h"

void __real_batch_add(struct task *t);
void __wrap_batch_add(struct task *t);

void __wrap_batch_add(struct task *t) {
    static unsigned count;
    PGresult *nothing;

    if (t->op != &op_ack_jobs || ++count % 1000 != 0) {
        __real_batch_add(t);
        return;
    }
    nothing = PQmakeEmptyPGresult(NULL, PGRES_TUPLES_OK);
    t->op->on_end(t, nothing);
    PQclear(nothing);
}
