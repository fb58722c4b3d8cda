/* The places of the rows of jobs that this server has delivered lately. */
#include "jobs/row_places.h"

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
static struct row_place *row_place_find(int64_t id) {
    struct row_place *bucket = places_bucket(id);

    for (int i = 0; i < WAYS; i++)
        if (bucket[i].id == id && bucket[i].place != ROW_PLACE_NONE)
            return &bucket[i];
    return NULL;
}

/* The entry for a new place: that of the job, or a free one, or else one after the other. */
static struct row_place *places_entry(int64_t id) {
    static unsigned replaced;
    struct row_place *bucket = places_bucket(id), *known = row_place_find(id);

    for (int i = 0; known == NULL && i < WAYS; i++)
        if (bucket[i].place == ROW_PLACE_NONE)
            return &bucket[i];
    return known != NULL ? known : &bucket[replaced++ % WAYS];
}

void row_places_note(int64_t id, uint64_t place) {
    *places_entry(id) = (struct row_place){ id, place };
}

uint64_t row_places_take(int64_t id) {
    struct row_place *p = row_place_find(id);
    uint64_t place = p != NULL ? p->place : ROW_PLACE_NONE;

    row_places_forget(id);
    return place;
}

void row_places_forget(int64_t id) {
    struct row_place *p = row_place_find(id);

    if (p != NULL)
        p->place = ROW_PLACE_NONE;
}
