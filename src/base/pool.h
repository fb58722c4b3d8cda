#ifndef POOL_H
#define POOL_H

#include <stddef.h>

/*
 * Memory for small blocks of which thousands come and go every second. What is
 * given back is kept for the next block of about that size, up to a bound;
 * malloc() keeps seven blocks of a size in the same way, and a batch frees
 * hundreds. Large blocks are malloc's. Under a sanitizer all are.
 */
void *pool_take(size_t size);
void *pool_take_zeroed(size_t size);
/* size: as it was taken. */
void pool_give(void *block, size_t size);

#endif
