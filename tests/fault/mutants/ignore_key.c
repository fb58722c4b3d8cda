/* A server that does not look at one UNIQUE key in two hundred. wraps: args_parse_or_reply */
#include "spoil_addjob.h"

static void spoil_addjob(struct add_options *o) {
    if (o->unique.ptr != NULL && one_in(200)) {
        o->unique.ptr = NULL;
        o->unique_for = 0;
    }
}
