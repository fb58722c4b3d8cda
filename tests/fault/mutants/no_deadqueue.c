/* A server that forgets the DEADQUEUE of one job in five. wraps: args_parse_or_reply */
#include "spoil_addjob.h"

static void spoil_addjob(struct add_options *o) {
    if (o->deadqueue.ptr != NULL && one_in(5))
        o->deadqueue = (struct slice){ NULL, 0 };
}
