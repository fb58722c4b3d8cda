/* A server that keeps one in two keys with UNTIL START until the end of the job. wraps: args_parse_or_reply */
#include "spoil_addjob.h"

static void spoil_addjob(struct add_options *o) {
    if (o->until.ptr != NULL && one_in(2))
        o->until.ptr = NULL;
}
