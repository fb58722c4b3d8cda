#ifndef PUSH_H
#define PUSH_H

#include <stdint.h>

/* An element of a list without a limit lives this long, in seconds: the most that the column holds. */
#define LIST_TTL INT32_MAX

#endif
