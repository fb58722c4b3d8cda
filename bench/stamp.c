/* Bodies that carry their producer, their time, and known bytes that show damage. */
#include "stamp.h"

#include <string.h>

enum { MAGIC = 0x6a714470 };

struct layout {
    uint32_t magic;
    uint32_t producer;
    uint64_t seq;
    int64_t since;
    uint64_t run;
    uint64_t sum;
};

_Static_assert(sizeof(struct layout) == STAMP_SIZE, "the stamp has no padding");

static char *filler;
static size_t filler_len;

/* Every byte value occurs, NUL and line ends included, in an order without a short period. A longer filler begins with
 * the shorter one. */
void stamp_init(size_t len) {
    uint64_t state = 88172645463325252U;
    if (len <= filler_len)
        return;
    filler = xrealloc(filler, len);
    filler_len = len;
    for (size_t i = 0; i < len; i++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        filler[i] = (char)(state >> 32);
    }
}

static uint64_t mix(uint64_t hash, uint64_t word) {
    hash = (hash ^ word) * UINT64_C(0xff51afd7ed558ccd);
    return hash ^ hash >> 32;
}

static uint64_t checksum(const struct layout *layout, size_t len) {
    uint64_t hash = mix(layout->magic, layout->producer);
    hash = mix(hash, layout->seq);
    hash = mix(hash, (uint64_t)layout->since);
    hash = mix(hash, layout->run);
    return mix(hash, len);
}

void stamp_write(char *body, size_t len, const struct stamp *stamp) {
    struct layout layout = { .magic = MAGIC,
                             .producer = stamp->producer,
                             .seq = stamp->seq,
                             .since = stamp->since,
                             .run = stamp->run };
    layout.sum = checksum(&layout, len);
    memcpy(body, &layout, STAMP_SIZE);
    memcpy(body + STAMP_SIZE, filler, len - STAMP_SIZE);
}

bool stamp_read(struct slice body, struct stamp *stamp) {
    struct layout layout;
    if (body.len < STAMP_SIZE)
        return false;
    memcpy(&layout, body.ptr, STAMP_SIZE);
    if (layout.magic != MAGIC || layout.sum != checksum(&layout, body.len))
        return false;
    stamp_init(body.len);
    if (memcmp(body.ptr + STAMP_SIZE, filler, body.len - STAMP_SIZE) != 0)
        return false;
    stamp->run = layout.run;
    stamp->producer = layout.producer;
    stamp->seq = layout.seq;
    stamp->since = layout.since;
    return true;
}
