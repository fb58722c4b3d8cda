/* For mutants that change the options of an ADDJOB after the server has read them. Their files say what they wrap:
 * args_parse_or_reply. */
#ifndef SPOIL_ADDJOB_H
#define SPOIL_ADDJOB_H

#include "jobs/add_options.h"
#include "net/args.h"

/* The mutant defines it. It is called for each ADDJOB without an error. */
static void spoil_addjob(struct add_options *o);

static inline bool one_in(unsigned n) {
    static unsigned count;

    return ++count % n == 0;
}

bool __real_args_parse_or_reply(struct req *r, int from, const struct arg_spec *spec, void *opt, int *end);
bool __wrap_args_parse_or_reply(struct req *r, int from, const struct arg_spec *spec, void *opt, int *end);

bool __wrap_args_parse_or_reply(struct req *r, int from, const struct arg_spec *spec, void *opt, int *end) {
    bool good = __real_args_parse_or_reply(r, from, spec, opt, end);

    if (good && spec == &addjob_spec)
        spoil_addjob(opt);
    return good;
}

#endif
