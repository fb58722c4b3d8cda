#ifndef PUSH_H
#define PUSH_H

#include <stdint.h>

/* Time to live in seconds of an element whose list has no limit: the maximum of the column. */
#define LIST_TTL INT32_MAX

#endif
