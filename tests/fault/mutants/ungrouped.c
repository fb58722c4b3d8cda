/* A server that forgets the group of one job in five. wraps: args_parse_or_reply */
#include "spoil_addjob.h"

static void spoil_addjob(struct add_options *o) {
    if (addjob_has_group(o) && one_in(5))
        o->group = (struct slice){ NULL, 0 };
}
