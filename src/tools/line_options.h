#ifndef LINE_OPTIONS_H
#define LINE_OPTIONS_H

#include <hiredis/hiredis.h>
#include "base/util.h"

/*
 * The words behind a subcommand that is an own program, such as import: --options with and without values,
 * and names. What is wrong is said on stderr, with the subcommand before it.
 */
struct line_option {
    const char *name;
    char **text; /* one of the four is set: where the value goes */
    int64_t *number;
    bool *flag;
    char **list; /* of an option that may be repeated: room for argc values */
    size_t *listed;
    int64_t min, max; /* of a number */
};

/* names has room for argc of them. False when something is wrong, which was said. */
bool line_options_read(int argc, char **argv, const struct line_option *options, size_t count, char **names,
                       size_t *named) MUST_CHECK;

/* Says "pgdisque <subcommand>: why: what" and returns false. */
bool line_refuse(const char *subcommand, const char *why, const char *what);

/* NULL when it is no address, or nobody answers there, which was said. */
redisContext *line_connect(const char *subcommand, const char *address, int default_port) MUST_CHECK;

#endif
