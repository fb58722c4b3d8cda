/* Find the member of a command family that a request names, and run it. */
#include "subcommand.h"

static bool fits(const struct subcommand *sub, const struct req *r) {
    int args = r->argc - 2;

    return args >= sub->min_args && (sub->max_args < 0 || args <= sub->max_args) &&
           slice_is(r->argv[1], sub->name);
}

bool subcommand_run(struct req *r, const struct subcommand *table, size_t count) {
    if (r->argc < 2)
        return false;
    for (size_t i = 0; i < count; i++) {
        if (fits(&table[i], r)) {
            table[i].handler(r);
            return true;
        }
    }
    return false;
}
