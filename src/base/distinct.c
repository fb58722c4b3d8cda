/* Finds equal byte strings among many. */
#include "base/distinct.h"

#include <stdlib.h>

#include "base/hash.h"

struct distinct_slice {
    size_t number;
    UT_hash_handle hh;
};

size_t distinct_number(const struct slice *all, size_t count, size_t *places) {
    struct distinct_slice *slices = xcalloc(count, sizeof *slices), *table = NULL, *known;
    size_t number = 0;

    for (size_t i = 0; i < count; i++) {
        unsigned hash = hash_bytes(all[i].ptr, all[i].len);

        HASH_FIND_BYHASHVALUE(hh, table, all[i].ptr, all[i].len, hash, known);
        if (known == NULL) {
            known = &slices[number];
            known->number = number++;
            HASH_ADD_KEYPTR_BYHASHVALUE(hh, table, all[i].ptr, all[i].len, hash, known);
        }
        places[i] = known->number;
    }
    HASH_CLEAR(hh, table);
    free(slices);
    return number;
}
