/* layer 4 */
#ifndef CMD_SCHEDULE_H
#define CMD_SCHEDULE_H

#include "op.h"

extern struct op op_put_schedule;
extern struct op op_drop_schedule;
extern struct op op_list_schedules;

#endif
