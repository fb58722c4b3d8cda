/* A server that does not look at REPLACE for one key in two. wraps: args_parse_or_reply */
#include "spoil_addjob.h"

/* These are always the same keys. Otherwise the next REPLACE of a job would hide the error. */
static void spoil_addjob(struct add_options *o) {
    if (o->replace && o->unique.ptr[o->unique.len - 1] % 2 == 0)
        o->replace = false;
}
