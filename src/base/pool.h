#ifndef POOL_H
#define POOL_H

#include <stddef.h>

/*
 * A pool of small blocks, for objects that are allocated thousands of times a second. pool_give() keeps up to 512
 * blocks of each size class for later pool_take() calls. malloc() caches only seven blocks of a size, and a batch frees
 * hundreds. Blocks of more than 1,016 bytes, and all blocks under a sanitizer, are freed at once.
 */
void *pool_take(size_t size);
void *pool_take_zeroed(size_t size);
/* size must be that of pool_take(). */
void pool_give(void *block, size_t size);

#endif
