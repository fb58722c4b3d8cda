#ifndef ACL_LOG_H
#define ACL_LOG_H

#include <stddef.h>
#include <stdint.h>
#include "acl/selector.h"
#include "base/list.h"
#include "base/util.h"

/*
 * ACL LOG: refused commands and logins, the latest first. Alike refusals within a minute are one entry. The option
 * acllog-max-len bounds the entries, and texts are cut, so that refusals take little memory.
 */
#define ACL_LOG_REASONS(X)        \
    X(ACL_LOG_COMMAND, "command") \
    X(ACL_LOG_KEY, "key")         \
    X(ACL_LOG_CHANNEL, "channel") \
    X(ACL_LOG_AUTH, "auth")

enum acl_log_reason {
#define X(id, name) id,
    ACL_LOG_REASONS(X)
#undef X
};

#define ACL_LOG_CONTEXTS(X)         \
    X(ACL_LOG_TOPLEVEL, "toplevel") \
    X(ACL_LOG_MULTI, "multi")       \
    X(ACL_LOG_SCRIPT, "lua")

enum acl_log_context {
#define X(id, name) id,
    ACL_LOG_CONTEXTS(X)
#undef X
};

struct acl_log_entry {
    struct list node;
    uint64_t id;
    uint64_t count;
    enum acl_log_reason reason;
    enum acl_log_context context;
    char *object; /* the command, key, channel or command of the login */
    size_t object_len;
    char *user;
    size_t user_len;
    char *client;       /* as CLIENT INFO shows it */
    int64_t created_us; /* clock_unix() */
    int64_t updated_us;
};

const char *acl_log_reason_name(enum acl_log_reason reason);
const char *acl_log_context_name(enum acl_log_context context);
/* Adds a refusal. client is the text of CLIENT INFO. */
void acl_log_add(enum acl_log_reason reason, enum acl_log_context context, struct slice object,
                 struct slice user, struct slice client);
void acl_log_reset(void);
size_t acl_log_len(void);
/* The entries, the latest first. */
const struct list *acl_log_entries(void);

#endif
