/* The places of the rows of jobs that this server has delivered lately. */
#include "jobs/row_places.h"

#define PLACES_BITS 16

static struct row_place {
    int64_t id;
    uint64_t place;
} places[1 << PLACES_BITS];

/* Fibonacci hashing: the numbers of successive jobs differ in their low bits only. */
static struct row_place *slot_of(int64_t id) {
    return &places[((uint64_t)id * UINT64_C(0x9E3779B97F4A7C15)) >> (64 - PLACES_BITS)];
}

void row_places_note(int64_t id, uint64_t place) {
    *slot_of(id) = (struct row_place){ id, place };
}

uint64_t row_places_take(int64_t id) {
    struct row_place *p = slot_of(id);
    uint64_t place = p->id == id ? p->place : ROW_PLACE_NONE;

    row_places_forget(id);
    return place;
}

void row_places_forget(int64_t id) {
    struct row_place *p = slot_of(id);

    if (p->id == id)
        p->place = ROW_PLACE_NONE;
}
