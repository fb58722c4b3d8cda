/* Commands of Redis that pgdisque refuses: their names and the reasons. */
#include "commands/refused.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "net/client.h"

#define TEXT_SIZE 1024

#define REFUSED_KIND(id, why) static const char why_##id[] = why;
#define REFUSED(name, id)
#include "commands/refused.def"
#undef REFUSED_KIND
#undef REFUSED

static const struct refused refused_commands[] = {
#define REFUSED_KIND(id, why)
#define REFUSED(name, id) { #name, why_##id },
#include "commands/refused.def"
#undef REFUSED_KIND
#undef REFUSED
};

const struct refused *refused_find(struct slice name) {
    for (size_t i = 0; i < LENGTH(refused_commands); i++) {
        if (slice_is(name, refused_commands[i].name))
            return &refused_commands[i];
    }
    return NULL;
}

const struct refused *refused_table(size_t *count) {
    *count = LENGTH(refused_commands);
    return refused_commands;
}

void reply_unsupported(struct req *r, const char *fmt, ...) {
    bool in_multi = r->client != NULL && r->client->multi != NULL;
    char text[TEXT_SIZE];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    reply_error(r, "%s %s", in_multi ? "ERR" : "NOTSUPPORTED", text);
}

void reply_refused(struct req *r, const struct refused *refused) {
    /* redis-cli 8 continues only after exactly this text. */
    if (refused->why == why_CLUSTER) {
        reply_error(r, "ERR This instance has cluster support disabled");
        return;
    }
    reply_unsupported(
        r,
        "%s is not supported: pgdisque is a queue server %s. See doc/protocol/README.md, Commands of Redis",
        refused->name, refused->why);
}
