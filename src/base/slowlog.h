#ifndef SLOWLOG_H
#define SLOWLOG_H

#include <stddef.h>
#include <stdint.h>
#include "base/list.h"
#include "base/util.h"

/*
 * The most recent slow commands, in memory only. An entry takes at most some kilobytes. The caller decides which
 * commands are slow, and leaves out commands with passwords.
 */
#define SLOWLOG_MAX_ARGS 32
#define SLOWLOG_MAX_ARG_BYTES 128

struct slowlog_entry {
    struct list link;
    int64_t id; /* counts from 0, also across slowlog_reset() */
    int64_t unix_s;
    int64_t usec;
    int argc; /* at most SLOWLOG_MAX_ARGS; the last argument may give the number of further ones */
    struct slice argv[SLOWLOG_MAX_ARGS];
    char *addr; /* the client's address, "127.0.0.1:4711" */
    char *name; /* the client's name, at most SLOWLOG_MAX_ARG_BYTES; "" if it has none */
};

/* Adds an entry with copies of all arguments, cut to the lengths that SLOWLOG GET shows. */
void slowlog_add(int argc, const struct slice *argv, int64_t usec, int64_t unix_us, const char *addr,
                 const char *name);
/* Sets the number of entries to keep, 128 at first. The oldest entries are removed. */
void slowlog_set_max_len(size_t max_len);
size_t slowlog_len(void);
void slowlog_reset(void);

/* The newest entry, and the entry before another; NULL if there is none. Valid until the log changes. */
const struct slowlog_entry *slowlog_newest(void);
const struct slowlog_entry *slowlog_older(const struct slowlog_entry *than);

#endif
