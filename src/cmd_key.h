/* layer 4 */
#ifndef CMD_KEY_H
#define CMD_KEY_H

#include "op.h"

extern struct op op_list_life;
extern struct op op_rename_list;

#endif
