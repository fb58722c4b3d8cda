#ifndef CMD_QUEUE_H
#define CMD_QUEUE_H

#include <stdint.h>
#include "batch/op.h"

/* How long a command may wait that was told so many milliseconds (0: for ever) by its client. One beyond some
 * centuries is none. */
int64_t limited_timeout(int64_t ms);

#endif
