/* Iterating over the queues in steps, for QSCAN, SCAN and whoever counts keys. */
#include "scan.h"

#include <stdio.h>

size_t scan_queues(uint32_t *slot, int64_t count, int64_t effort,
                   bool (*wanted)(const struct queue *q, const void *how), const void *how,
                   struct slice *names) {
    size_t found = 0;

    for (; *slot < queue_slots() && (int64_t)found < count && effort-- > 0; (*slot)++) {
        const struct queue *q = queue_at(*slot);

        if (q != NULL && wanted(q, how))
            names[found++] = q->name;
    }
    return found;
}

size_t scan_room(int64_t count) {
    return count > queue_slots() ? queue_slots() : count > 0 ? (size_t)count : 1;
}

uint32_t scan_slot(int64_t cursor) {
    return cursor == 0 || (cursor > 0 && cursor < queue_slots()) ? (uint32_t)cursor : queue_slots();
}

void scan_reply(struct req *r, uint32_t slot, const struct slice *names, size_t count) {
    char cursor[16];

    snprintf(cursor, sizeof cursor, "%u", slot < queue_slots() ? slot : 0);
    reply_array(r, 2);
    reply_bulk_str(r, cursor);
    reply_array(r, count);
    for (size_t i = 0; i < count; i++)
        reply_bulk(r, names[i]);
    req_end(r);
}

size_t keys_count(void) {
    size_t count = 0;

    QUEUE_EACH(q)
    count += queue_is_key(q);
    return count;
}
