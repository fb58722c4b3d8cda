/* layer 4 */
#ifndef CMD_QUEUE_H
#define CMD_QUEUE_H

#include "op.h"

extern struct op op_pause_queues;
extern struct op op_show_jobs;
extern struct op op_peek_first;
extern struct op op_peek_last;
extern struct op op_scan_jobs;
extern struct op op_scan_queue;

#endif
