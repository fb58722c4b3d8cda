/* The memory that clients cause: sums by kind, and the budgets. */
#include "config/memory_budget.h"

#include <malloc.h>
#include <stdint.h>

#include "config/config.h"

/* The smallest budget, in jobs of the largest size. One job must fit as input, parameter, result and output. */
#define LARGEST_JOBS 4
/* Blocks of this size are mapped by themselves: they grow without a copy, and return to the system when freed. Without a
 * fixed size, malloc() raises it to that of the largest block that was freed. */
#define MAPPED_BYTES (4 * 1024 * 1024)
/* The free memory that malloc() keeps at the end of its heap. */
#define TOP_BYTES (16 * 1024 * 1024)
/* Free memory is returned to the system when this much less is in use than before. */
#define RETURN_BYTES ((size_t)32 * 1024 * 1024)

struct memory_share memory_all;
size_t memory_short_at = SIZE_MAX;
size_t memory_budget = SIZE_MAX;
size_t memory_clients_budget = SIZE_MAX;

static const char *const memory_kind_names[] = {
#define X(id, name) name,
    MEMORY_KINDS(X)
#undef X
};

static size_t larger(size_t a, size_t b) {
    return a > b ? a : b;
}

static size_t share_of_clients(void) {
    const struct size_share *share = &config.maxmemory_clients;

    if (share->percent > 0 && config.maxmemory > 0)
        return config.maxmemory / 100 * (size_t)share->percent;
    return share->bytes > 0 ? share->bytes : SIZE_MAX;
}

void memory_budget_set(void) {
    size_t least = LARGEST_JOBS * config.proto_max_bulk_len;

    memory_budget = config.maxmemory == 0 ? SIZE_MAX : larger(config.maxmemory, least);
    memory_clients_budget = larger(share_of_clients(), least);
    memory_short_at = memory_budget == SIZE_MAX ? SIZE_MAX : memory_budget - memory_budget / 4;
}

void memory_init(void) {
    mallopt(M_MMAP_THRESHOLD, MAPPED_BYTES);
    mallopt(M_TRIM_THRESHOLD, TOP_BYTES);
}

void memory_return_free(void) {
    static size_t highest;

    if (memory_all.total > highest)
        highest = memory_all.total;
    if (highest - memory_all.total < RETURN_BYTES)
        return;
    highest = memory_all.total;
    malloc_trim(0);
}

void memory_info(struct buf *out) {
    for (int kind = 0; kind < MEMORY_KIND_COUNT; kind++)
        buf_printf(out, "mem_%s:%zu\r\n", memory_kind_names[kind], memory_all.kinds[kind]);
}
