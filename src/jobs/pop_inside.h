#ifndef POP_INSIDE_H
#define POP_INSIDE_H

#include "batch/op.h"
#include "jobs/taking.h"

/*
 * List commands that take elements, between MULTI and EXEC: they see what the commands before them have done, and
 * do not wait. Their statements find the elements by themselves, from the beginning of what may be there.
 */

void pop_inside(struct taking *t);

#endif
