/* The leases this server watches: jobs that come back when their time is over. */
#include "lease.h"

#include <stdlib.h>
#include <uthash.h>

#include "heap.h"
#include "util.h"

struct lease {
    UT_hash_handle hh;
    struct job_key key;
    struct heap_item end;
    int64_t until_us;
    unsigned holds;
    uint64_t told; /* the last review, or the one to come, that it passes */
};

static struct lease *leases;
static struct heap ends;
static uint64_t review;

static struct lease *find(int64_t id) {
    struct lease *l;

    HASH_FIND(hh, leases, &id, sizeof id, l);
    return l;
}

void lease_add(struct job_key key, int64_t until_us) {
    struct lease *l = find(key.id);

    if (until_us == INT64_MAX) {
        lease_remove(key.id);
        return;
    }
    if (l == NULL) {
        l = xcalloc(1, sizeof *l);
        l->key = key;
        HASH_ADD(hh, leases, key.id, sizeof l->key.id, l);
    }
    l->until_us = until_us;
    l->told = review;
    if (l->holds == 0)
        heap_set(&ends, &l->end, until_us);
}

static void drop(struct lease *l) {
    heap_remove(&ends, &l->end);
    HASH_DEL(leases, l);
    free(l);
}

bool lease_remove(int64_t id) {
    struct lease *l = find(id);

    if (l == NULL)
        return false;
    drop(l);
    return true;
}

bool lease_known(int64_t id) {
    return find(id) != NULL;
}

void lease_hold(int64_t id) {
    struct lease *l = find(id);

    if (l == NULL)
        return;
    l->holds++;
    heap_remove(&ends, &l->end);
}

void lease_unhold(int64_t id) {
    struct lease *l = find(id);

    if (l != NULL && l->holds > 0 && --l->holds == 0)
        heap_set(&ends, &l->end, l->until_us);
}

bool lease_take_ended(int64_t now_us, struct job_key *key) {
    struct heap_item *first = heap_first(&ends);
    struct lease *l;

    if (first == NULL || first->due > now_us)
        return false;
    l = CONTAINER_OF(first, struct lease, end);
    *key = l->key;
    drop(l);
    return true;
}

int64_t lease_next_end(void) {
    struct heap_item *first = heap_first(&ends);

    return first == NULL ? INT64_MAX : first->due;
}

void lease_review_begin(void) {
    review++;
}

void lease_review_end(void) {
    struct lease *l, *next;

    HASH_ITER(hh, leases, l, next) {
        if (l->told != review)
            drop(l);
    }
}

size_t lease_count(void) {
    return HASH_COUNT(leases);
}

void lease_clear(void) {
    struct lease *l, *next;

    HASH_ITER(hh, leases, l, next)
        drop(l);
}
