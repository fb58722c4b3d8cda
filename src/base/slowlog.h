#ifndef SLOWLOG_H
#define SLOWLOG_H

#include <stddef.h>
#include <stdint.h>
#include "base/list.h"
#include "base/util.h"

/*
 * The most recent slow commands, in memory only; an entry has at most some kilobytes. What counts as slow, and that
 * commands with passwords stay out, is the caller's business.
 */
#define SLOWLOG_MAX_ARGS 32
#define SLOWLOG_MAX_ARG_BYTES 128

struct slowlog_entry {
    struct list link;
    int64_t id; /* counts from 0, also across slowlog_reset() */
    int64_t unix_s;
    int64_t usec;
    int argc; /* at most SLOWLOG_MAX_ARGS; the last one may tell how many more there were */
    struct slice argv[SLOWLOG_MAX_ARGS];
    char *addr; /* of the client, "127.0.0.1:4711" */
    char *name; /* of the client, at most SLOWLOG_MAX_ARG_BYTES; "" when it has none */
};

/* Copies all it is given, cut as SLOWLOG GET shows it. */
void slowlog_add(int argc, const struct slice *argv, int64_t usec, int64_t unix_us, const char *addr,
                 const char *name);
/* How many entries are kept, 128 at first; the oldest go. */
void slowlog_set_max_len(size_t max_len);
size_t slowlog_len(void);
void slowlog_reset(void);

/* The newest entry, and the one before another; NULL when there is none. Valid
 * until the next call that changes the log. */
const struct slowlog_entry *slowlog_newest(void);
const struct slowlog_entry *slowlog_older(const struct slowlog_entry *than);

#endif
