#ifndef CMD_QUEUE_H
#define CMD_QUEUE_H

#include <stdint.h>
#include "batch/op.h"

/* Converts a client's timeout in milliseconds (0: no timeout) to the time that the command may wait. Respects
 * the option getjob-max-block. A timeout of some centuries or more counts as no timeout. */
int64_t limited_timeout(int64_t ms);

#endif
