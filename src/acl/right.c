/* The rights to run commands: names and categories. */
#include "acl/right.h"

#include <assert.h>

static const char *const category_names[] = {
#define X(id, name) name,
    ACL_CATEGORIES(X)
#undef X
};

static const struct right *rights;
static size_t right_total;

void rights_register(const struct right *all, size_t count) {
    assert(count <= RIGHTS_MAX);
    rights = all;
    right_total = count;
}

size_t rights_count(void) {
    return right_total;
}

const struct right *right_at(unsigned right) {
    return &rights[right];
}

int right_find(struct slice name) {
    for (size_t i = 0; i < right_total; i++) {
        if (slice_is(name, rights[i].name))
            return (int)i;
    }
    return -1;
}

int category_find(struct slice name) {
    for (size_t i = 0; i < LENGTH(category_names); i++) {
        if (slice_is(name, category_names[i]))
            return (int)i;
    }
    return -1;
}

const char *category_name(enum acl_category category) {
    return category_names[category];
}
