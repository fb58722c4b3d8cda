/* A server that gives one job in five an attempt more than was asked for. wraps: args_parse_or_reply */
#include "spoil_addjob.h"

static void spoil_addjob(struct add_options *o) {
    if (o->attempts > 0 && one_in(5))
        o->attempts++;
}
