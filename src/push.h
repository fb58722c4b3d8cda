/* layer 4 */
#ifndef PUSH_H
#define PUSH_H

#include "op.h"

/* Elements on their way into a list: jobs with the queue's settings, that live until they are taken. */
extern struct op op_push;
extern struct op op_push_again;
/* In a transaction, to lists that have elements. */
extern struct op op_push_if_any;

/* What nobody limits lives this long: what 32 bits of seconds hold. */
#define LIST_TTL INT32_MAX

#endif
