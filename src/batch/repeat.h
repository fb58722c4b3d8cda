#ifndef REPEAT_H
#define REPEAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "batch/op.h"

/* Tasks that are sent again, because their transaction failed or was lost. For the modules of this folder. */

/* Makes t idle and prepares it for another try by op.again. unknown: as for op.again. False if op.again has ended it. */
bool repeat_prepare(struct task *t, bool unknown);
/* The same, and queues t in front: call it for the last task first, so that the order of the tasks is kept. */
void repeat_send(struct task *t, bool unknown);
/* t was in a statement of group_size tasks that failed: it is sent again with half as many others, or it fails. */
void repeat_or_fail(struct task *t, size_t group_size, const struct op_error *error);
/* True if a repetition may succeed: errors of classes 40, 55 and 57. */
bool repeat_is_transient(const char *sqlstate);

#endif
