#ifndef LIBRARY_KEYS_H
#define LIBRARY_KEYS_H

#include <stdbool.h>
#include <stdint.h>
#include "net/args.h"
#include "net/request.h"

/*
 * Keys of known client libraries (library_keys.def). The commands for strings, hashes, sets and sorted sets accept only
 * these keys. A queue with jobs wins if it has the name of such a key.
 */
enum library_kind {
    KIND_STRING,
    KIND_HASH,
    KIND_SET,
    KIND_COUNTERS,       /* counters of 16 bits for BITFIELD: a hash */
    KIND_QUEUE_NAMES,    /* a set that is not stored: the names of the queues that exist */
    KIND_DELAYED_JOBS,   /* a sorted set: jobs/sorted_set.h */
    KIND_DEAD_JOBS,      /* the same for dead jobs */
    KIND_QUEUE_DELAYED,  /* the delayed jobs of a queue of Laravel, and */
    KIND_QUEUE_RESERVED, /* its leased jobs: commands/laravel.h */
};

struct library_key {
    struct slice pattern;
    enum library_kind kind;
};

/* NULL if no known library has such a key. */
const struct library_key *library_key_find(struct slice key);
/* For a command for strings, hashes, sets or sorted sets: true if it has at most LIBRARY_ARGS_MAX arguments, and its
 * keys are keys of a library, and of its kind. If not, replies an error; the caller ends r. True for each other command. */
bool library_keys_fit_or_reply(struct req *r) MUST_CHECK;
/* The same, and ends r. */
bool library_keys_or_end(struct req *r) MUST_CHECK;
/* SSCAN and ZSCAN: the same, and reads the cursor, and the options behind it into `options`. */
bool library_scan_or_end(struct req *r, const struct arg_spec *spec, void *options,
                         int64_t *cursor) MUST_CHECK;

#endif
