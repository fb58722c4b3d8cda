/* layer 4 */
#ifndef CMD_QUEUE_H
#define CMD_QUEUE_H

#include <stdint.h>
#include "op.h"

extern struct op op_pause_queues;
extern struct op op_running_jobs;
extern struct op op_set_settings;
extern struct op op_reset_settings;
extern struct op op_show_jobs;
extern struct op op_peek_first;
extern struct op op_peek_last;
extern struct op op_scan_jobs;
extern struct op op_scan_queue;
extern struct op op_scan_dead;
extern struct op op_scan_dead_queue;
extern struct op op_scan_finished;

/* How long a command may wait that was told so many milliseconds (0: for ever) by its client. One beyond some
 * centuries is none. */
int64_t limited_timeout(int64_t ms);

#endif
