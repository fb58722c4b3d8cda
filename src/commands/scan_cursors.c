/* Cursors of JSCAN: the places at which scans continue. */
#include "commands/scan_cursors.h"

#include <assert.h>
#include <stdlib.h>

#include "base/clock.h"

struct kept_place {
    int64_t cursor;
    _Alignas(8) char place[CURSOR_PLACE_MAX];
};

/* The latest places of a user. The place of a cursor is at the remainder of the cursor. */
struct user_cursors {
    struct user *user;
    int64_t used_us; /* clock_mono() */
    int64_t last;    /* the newest cursor */
    struct kept_place *places;
};

static struct user_cursors all[CURSOR_USERS_MAX];
static size_t user_total;

static struct user_cursors *cursors_of(const struct user *u) {
    for (size_t i = 0; i < user_total; i++) {
        if (all[i].user == u)
            return &all[i];
    }
    return NULL;
}

static struct user_cursors *least_used(void) {
    struct user_cursors *least = &all[0];

    for (size_t i = 1; i < user_total; i++) {
        if (all[i].used_us < least->used_us)
            least = &all[i];
    }
    return least;
}

static void cursors_forget(struct user_cursors *c) {
    free(c->places);
    if (c->user != NULL)
        user_release(c->user);
}

/* The numbers begin with the time, so that cursors from before a restart are not valid. */
static struct user_cursors *cursors_begin(struct user *u) {
    struct user_cursors *c = user_total < CURSOR_USERS_MAX ? &all[user_total++] : least_used();

    if (c->places != NULL)
        cursors_forget(c);
    *c = (struct user_cursors){
        .user = u == NULL ? NULL : user_hold(u),
        .last = clock_unix() / US_PER_MS,
        .places = xcalloc(CURSORS_OF_USER, sizeof *c->places),
    };
    return c;
}

int64_t scan_cursor_new(struct user *u, const void *place, size_t size) {
    struct user_cursors *c = cursors_of(u);
    struct kept_place *kept;

    assert(size <= CURSOR_PLACE_MAX);
    if (c == NULL)
        c = cursors_begin(u);
    c->used_us = clock_mono();
    kept = &c->places[++c->last % CURSORS_OF_USER];
    kept->cursor = c->last;
    memcpy(kept->place, place, size);
    return c->last;
}

const void *scan_cursor_find(const struct user *u, int64_t cursor) {
    const struct user_cursors *c = cursors_of(u);
    const struct kept_place *kept;

    if (c == NULL || cursor <= 0)
        return NULL;
    kept = &c->places[cursor % CURSORS_OF_USER];
    return kept->cursor == cursor ? kept->place : NULL;
}
