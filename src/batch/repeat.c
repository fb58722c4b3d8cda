/* Tasks that are sent again after their transaction failed or was lost. */
#include "batch/repeat.h"

#include <string.h>

#include "batch/task_queue.h"

/* How often a task is tried that fails for a transient reason, such as a deadlock or a cancelled statement. */
#define MAX_TRANSIENT_FAILURES 5

bool repeat_prepare(struct task *t, bool unknown) {
    t->state = TASK_IDLE;
    return t->op->again == NULL || t->op->again(t, unknown);
}

void repeat_send(struct task *t, bool unknown) {
    if (repeat_prepare(t, unknown))
        task_queue_push_front(t);
}

/* Classes 40 (rolled back), 55 (object not in the needed state), 57 (cancelled by an operator). */
bool repeat_is_transient(const char *sqlstate) {
    return strncmp(sqlstate, "40", 2) == 0 || strncmp(sqlstate, "55", 2) == 0 ||
           strncmp(sqlstate, "57", 2) == 0;
}

void repeat_or_fail(struct task *t, size_t group_size, const struct op_error *error) {
    bool transient = repeat_is_transient(error->sqlstate) && ++t->failures < MAX_TRANSIENT_FAILURES;

    t->state = TASK_IDLE;
    if (!transient && (group_size <= 1 || strcmp(error->sqlstate, OP_DISK_FULL) == 0)) {
        task_give_up(t, error);
        return;
    }
    if (!transient)
        t->group_size = (uint32_t)(group_size / 2 > 0 ? group_size / 2 : 1);
    repeat_send(t, false);
}
