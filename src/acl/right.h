#ifndef RIGHT_H
#define RIGHT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/util.h"

/*
 * Rights to run commands. A right is a number: of a command, or of a subcommand such as CLIENT LIST. The table of
 * commands registers all rights at start, because it is above this folder.
 */
#define RIGHTS_MAX 320

/* Categories of commands, with the names of Redis where Redis has the category. */
#define ACL_CATEGORIES(X)                  \
    X(CATEGORY_READ, "read")               \
    X(CATEGORY_WRITE, "write")             \
    X(CATEGORY_FAST, "fast")               \
    X(CATEGORY_SLOW, "slow")               \
    X(CATEGORY_BLOCKING, "blocking")       \
    X(CATEGORY_ADMIN, "admin")             \
    X(CATEGORY_DANGEROUS, "dangerous")     \
    X(CATEGORY_KEYSPACE, "keyspace")       \
    X(CATEGORY_JOB, "job")                 \
    X(CATEGORY_QUEUE, "queue")             \
    X(CATEGORY_LIST, "list")               \
    X(CATEGORY_SCHEDULE, "schedule")       \
    X(CATEGORY_STRING, "string")           \
    X(CATEGORY_BITMAP, "bitmap")           \
    X(CATEGORY_HASH, "hash")               \
    X(CATEGORY_SET, "set")                 \
    X(CATEGORY_SORTED_SET, "sortedset")    \
    X(CATEGORY_PUBSUB, "pubsub")           \
    X(CATEGORY_CONNECTION, "connection")   \
    X(CATEGORY_TRANSACTION, "transaction") \
    X(CATEGORY_SCRIPTING, "scripting")

enum acl_category {
#define X(id, name) id,
    ACL_CATEGORIES(X)
#undef X
        CATEGORY_COUNT
};

struct right {
    const char *name;    /* "client", or "client|list" for a subcommand */
    int command;         /* the right of the command of a subcommand; -1: this is a command */
    bool family;         /* the command has subcommands with rights of their own */
    unsigned categories; /* a bit for each enum acl_category */
};

/* Registers the rights; the index in `all` is the number of the right. The array must stay valid. */
void rights_register(const struct right *all, size_t count);
size_t rights_count(void);
const struct right *right_at(unsigned right);
/* The number of the right with this name, such as "client|list". -1: there is none. */
int right_find(struct slice name);
/* The category with this name, without the @. -1: there is none. */
int category_find(struct slice name);
const char *category_name(enum acl_category category);

#endif
