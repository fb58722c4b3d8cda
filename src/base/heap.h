#ifndef HEAP_H
#define HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A binary min-heap ordered by time. The item is a member of the struct that it schedules. All zero is a valid empty
 * heap and a valid unscheduled item.
 */
struct heap_item {
    int64_t due;  /* microseconds; which clock is the owner's choice */
    size_t place; /* 1-based position in the heap; 0: not in it */
};

struct heap {
    struct heap_item **items;
    size_t count;
    size_t cap;
};

/* Adds item, or moves it if it is in the heap already. */
void heap_set(struct heap *h, struct heap_item *item, int64_t due);
/* Does nothing when item is not in the heap. */
void heap_remove(struct heap *h, struct heap_item *item);
/* The earliest item, or NULL. */
struct heap_item *heap_first(const struct heap *h);
/* For tests. */
void heap_free(struct heap *h);

static inline bool heap_has(const struct heap_item *item) {
    return item->place != 0;
}

#endif
