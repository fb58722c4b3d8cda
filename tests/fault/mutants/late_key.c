/* A server that keeps one in two keys with UNTIL START until the end of the job. wraps: args_parse_or_reply */
#include "jobs/add_options.h"
#include "net/args.h"

bool __real_args_parse_or_reply(struct req *r, int from, const struct arg_spec *spec, void *opt, int *end);
bool __wrap_args_parse_or_reply(struct req *r, int from, const struct arg_spec *spec, void *opt, int *end);

bool __wrap_args_parse_or_reply(struct req *r, int from, const struct arg_spec *spec, void *opt, int *end) {
    static unsigned count;
    struct add_options *o = opt;
    bool good = __real_args_parse_or_reply(r, from, spec, opt, end);

    if (good && spec == &addjob_spec && o->until.ptr != NULL && ++count % 2 == 0)
        o->until.ptr = NULL;
    return good;
}
