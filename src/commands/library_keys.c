/* Keys of known client libraries: their kinds, and the commands that accept them. */
#include "commands/library_keys.h"

#include <string.h>

#include "base/glob.h"
#include "commands/command_keys.h"
#include "commands/dispatch.h"
#include "commands/laravel.h"
#include "commands/refused.h"
#include "jobs/library_values.h"
#include "net/usage.h"

/* Each key of a command is compared with the patterns of all libraries. */
#define LIBRARY_ARGS_MAX 4000

#define LIBRARY_KEY(library, pattern, kind) { { pattern, sizeof(pattern) - 1 }, kind },
static const struct library_key library_table[] = {
#include "commands/library_keys.def"
};
#undef LIBRARY_KEY

const struct library_key *library_key_find(struct slice key) {
    if (key.len > LIBRARY_NAME_MAX)
        return NULL;
    for (size_t i = 0; i < LENGTH(library_table); i++)
        if (glob_match(library_table[i].pattern, key, false))
            return &library_table[i];
    return NULL;
}

/* ---- families of commands ---- */

/* The commands of a group accept the kinds from first to last. */
static const struct family {
    const char *group;
    enum library_kind first;
    enum library_kind last;
    const char *why; /* completes "pgdisque is a queue server" */
} families[] = {
    { "string", KIND_STRING, KIND_STRING, "and stores no strings" },
    { "hash", KIND_HASH, KIND_HASH, "and stores no hashes" },
    { "bitmap", KIND_COUNTERS, KIND_COUNTERS, "and stores no bit fields" },
    { "set", KIND_SET, KIND_SET, "and stores no sets" },
    { "set", KIND_QUEUE_NAMES, KIND_QUEUE_NAMES, "and stores no sets" },
    { "sorted-set", KIND_DELAYED_JOBS, KIND_DEAD_JOBS,
      "and stores no sorted sets; ADDJOB with DELAY adds a job for later" },
    { "sorted-set", KIND_QUEUE_DELAYED, KIND_QUEUE_RESERVED, "and stores no sorted sets" },
};

static const struct family *library_family(const struct command *cmd) {
    for (size_t i = 0; i < LENGTH(families); i++)
        if (strcmp(cmd->group, families[i].group) == 0)
            return &families[i];
    return NULL;
}

static bool family_accepts(const struct command *cmd, struct slice key) {
    const struct library_key *k = library_key_find(key);

    for (size_t i = 0; k != NULL && i < LENGTH(families); i++)
        if (strcmp(cmd->group, families[i].group) == 0 && k->kind >= families[i].first &&
            k->kind <= families[i].last)
            return k->kind < KIND_QUEUE_DELAYED || laravel_has(cmd, k->kind == KIND_QUEUE_DELAYED);
    return false;
}

bool library_keys_fit_or_reply(struct req *r) {
    const struct family *f = library_family(r->cmd);
    struct key_range keys;
    struct refused refused;

    if (f == NULL)
        return true;
    if (r->argc > LIBRARY_ARGS_MAX) {
        reply_error(r, "LIMIT a command about a key of a library must have at most %d arguments",
                    LIBRARY_ARGS_MAX);
        return false;
    }
    keys = command_key_range(r->cmd);
    for (int at = 0; (at = key_range_next(&keys, r->argc, at)) > 0;) {
        if (!family_accepts(r->cmd, r->argv[at])) {
            refused = (struct refused){ usage_name(r->cmd), f->why };
            reply_refused(r, &refused);
            return false;
        }
    }
    return true;
}

bool library_keys_or_end(struct req *r) {
    bool fits = library_keys_fit_or_reply(r);

    if (!fits)
        req_end(r);
    return fits;
}

bool library_scan_or_end(struct req *r, const struct arg_spec *spec, void *options, int64_t *cursor) {
    int end;

    if (!library_keys_or_end(r))
        return false;
    if (!parse_int_strict(r->argv[2], cursor) || *cursor < 0) {
        usage_invalid(r, 2, "ERR invalid cursor");
        return false;
    }
    return args_parse_or_reply(r, 3, spec, options, &end);
}
