#ifndef DISTINCT_H
#define DISTINCT_H

#include <stddef.h>
#include "base/util.h"

/*
 * Numbers the different byte strings of `all` from 0 on, in the order of their first occurrences. places[i] becomes the
 * number of all[i]. Returns how many are different. The time is that of reading each byte twice at most.
 */
size_t distinct_number(const struct slice *all, size_t count, size_t *places);

#endif
