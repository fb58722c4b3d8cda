/* layer 4 */
#ifndef CMD_WORKERS_H
#define CMD_WORKERS_H

#include "op.h"

extern struct op op_list_workers;
extern struct op op_find_held;
extern struct op op_release_held;

#endif
