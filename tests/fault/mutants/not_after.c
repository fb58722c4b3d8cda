/* A server that lets one job in five run at once that waits for others. wraps: args_parse_or_reply */
#include "spoil_addjob.h"

static void spoil_addjob(struct add_options *o) {
    if (o->flow.after.count > 0 && one_in(5))
        o->flow.after.count = o->flow.on.count = 0;
}
