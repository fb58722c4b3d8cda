/* A binary min-heap ordered by time. */
#include "base/heap.h"

#include <stdlib.h>
#include "base/util.h"

/* Places are 1-based in the items and 0-based in the array. */
static void put(struct heap *h, size_t index, struct heap_item *item) {
    h->items[index] = item;
    item->place = index + 1;
}

static void heap_sift_up(struct heap *h, size_t index, struct heap_item *item) {
    while (index > 0) {
        size_t parent = (index - 1) / 2;

        if (h->items[parent]->due <= item->due)
            break;
        put(h, index, h->items[parent]);
        index = parent;
    }
    put(h, index, item);
}

static void heap_sift_down(struct heap *h, size_t index, struct heap_item *item) {
    for (;;) {
        size_t child = 2 * index + 1;

        if (child + 1 < h->count && h->items[child + 1]->due < h->items[child]->due)
            child++;
        if (child >= h->count || item->due <= h->items[child]->due)
            break;
        put(h, index, h->items[child]);
        index = child;
    }
    put(h, index, item);
}

/* Moves item from index up or down to the position of its time. */
static void heap_settle(struct heap *h, size_t index, struct heap_item *item) {
    if (index > 0 && item->due < h->items[(index - 1) / 2]->due)
        heap_sift_up(h, index, item);
    else
        heap_sift_down(h, index, item);
}

void heap_set(struct heap *h, struct heap_item *item, int64_t due) {
    item->due = due;
    if (heap_has(item)) {
        heap_settle(h, item->place - 1, item);
        return;
    }
    if (h->count == h->cap) {
        h->cap = h->cap == 0 ? 64 : h->cap * 2;
        h->items = xrealloc(h->items, h->cap * sizeof(*h->items));
    }
    h->count++;
    heap_sift_up(h, h->count - 1, item);
}

void heap_remove(struct heap *h, struct heap_item *item) {
    size_t index = item->place - 1;
    struct heap_item *last;

    if (!heap_has(item))
        return;
    item->place = 0;
    last = h->items[--h->count];
    if (last != item)
        heap_settle(h, index, last);
}

struct heap_item *heap_first(const struct heap *h) {
    return h->count == 0 ? NULL : h->items[0];
}

void heap_free(struct heap *h) {
    for (size_t i = 0; i < h->count; i++)
        h->items[i]->place = 0;
    free(h->items);
    *h = (struct heap){ 0 };
}
