/* A pool of small blocks of memory, by size class. */
#include "base/pool.h"

#include <stdlib.h>
#include <string.h>

#include "base/util.h"

/* Blocks have 24, 56, 88 ... bytes. With the bytes that malloc() adds, each is a whole size of malloc(). */
#define STEP 32
#define MALLOC_ADDS 8
#define CLASSES 32
/* Under a sanitizer each block is freed at once, so that the sanitizer detects its later use. */
#ifdef __SANITIZE_ADDRESS__
static const unsigned keep_blocks = 0;
#else
static const unsigned keep_blocks = 512;
#endif

struct kept {
    struct kept *next;
};

static struct {
    struct kept *first;
    unsigned count;
} classes[CLASSES];

static size_t class_of(size_t size) {
    return (size - 1 + MALLOC_ADDS) / STEP;
}

void *pool_take(size_t size) {
    size_t class = class_of(size);
    struct kept *block;

    if (class >= CLASSES)
        return xmalloc(size);
    block = classes[class].first;
    if (block == NULL)
        return xmalloc((class + 1) * STEP - MALLOC_ADDS);
    classes[class].first = block->next;
    classes[class].count--;
    return block;
}

void *pool_take_zeroed(size_t size) {
    return class_of(size) < CLASSES ? memset(pool_take(size), 0, size) : xcalloc(1, size);
}

void pool_give(void *block, size_t size) {
    size_t class = class_of(size);
    struct kept *kept = block;

    if (class >= CLASSES || classes[class].count >= keep_blocks) {
        free(block);
        return;
    }
    kept->next = classes[class].first;
    classes[class].first = kept;
    classes[class].count++;
}
