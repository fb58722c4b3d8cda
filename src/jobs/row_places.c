/* The places of the rows of jobs that this server has delivered lately. */
#include "jobs/row_places.h"

#include <stddef.h>

#include "base/hash.h"

#define BUCKETS 16384
#define WAYS 4

static struct row_place {
    int64_t id;
    uint64_t place; /* ROW_PLACE_NONE: the entry is free */
} places[BUCKETS][WAYS];

static struct row_place *places_bucket(int64_t id) {
    return places[hash_key(&id, sizeof id) % BUCKETS];
}

/* NULL: the place is unknown. */
static struct row_place *row_place_find(struct row_place *bucket, int64_t id) {
    for (int i = 0; i < WAYS; i++)
        if (bucket[i].id == id && bucket[i].place != ROW_PLACE_NONE)
            return &bucket[i];
    return NULL;
}

/* A free entry. If there is none, each call returns the next entry. */
static struct row_place *row_place_room(struct row_place *bucket) {
    static unsigned replaced;

    for (int i = 0; i < WAYS; i++)
        if (bucket[i].place == ROW_PLACE_NONE)
            return &bucket[i];
    return &bucket[replaced++ % WAYS];
}

void row_places_note(int64_t id, uint64_t place) {
    struct row_place *bucket = places_bucket(id), *known = row_place_find(bucket, id);

    *(known != NULL ? known : row_place_room(bucket)) = (struct row_place){ id, place };
}

uint64_t row_places_take(int64_t id) {
    struct row_place *p = row_place_find(places_bucket(id), id);
    uint64_t place = ROW_PLACE_NONE;

    if (p != NULL) {
        place = p->place;
        p->place = ROW_PLACE_NONE;
    }
    return place;
}

void row_places_forget(int64_t id) {
    (void)row_places_take(id);
}
