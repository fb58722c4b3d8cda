#ifndef SELECTOR_H
#define SELECTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "acl/right.h"
#include "base/buf.h"
#include "base/util.h"

/*
 * A selector: a set of commands, queues and channels. A user has one, and may have more in parentheses. A command is
 * allowed if one selector allows the command, all its queues and all its channels.
 */

/* READ is to take, acknowledge and look at jobs; WRITE is to add jobs. */
enum acl_access { ACL_READ = 1 << 0, ACL_WRITE = 1 << 1 };
#define ACL_READ_WRITE (ACL_READ | ACL_WRITE)

/* Limits of one selector. */
#define SELECTOR_PATTERNS_MAX 1000
#define SELECTOR_FIRST_ARGS_MAX 64

struct acl_pattern {
    unsigned access; /* enum acl_access; of a channel: 0 */
    char *text;
    size_t len;
};

struct acl_patterns {
    struct acl_pattern *all;
    size_t count;
};

/* A first argument with which a command is allowed that is not allowed in general: +select|0. */
struct first_arg {
    unsigned right;
    char *text;
};

struct selector {
    bool all_commands;
    bool all_queues;
    bool all_channels;
    bool from_all; /* the rules of commands begin with +@all, otherwise with -@all */
    uint64_t rights[RIGHTS_MAX / 64];
    struct acl_patterns queues;
    struct acl_patterns channels;
    struct first_arg *first_args;
    size_t first_arg_count;
    char **rules; /* the rules of commands after that, such as "-@admin", in their order */
    size_t rule_count;
};

/* Results of rules; rule_error_text() has their texts. */
enum rule_error {
    RULE_OK,
    RULE_SYNTAX,
    RULE_UNKNOWN_COMMAND,
    RULE_AFTER_ALL_QUEUES,
    RULE_AFTER_ALL_CHANNELS,
    RULE_NO_SUCH_PASSWORD,
    RULE_BAD_HASH,
    RULE_DUPLICATE_USER,
    RULE_FIRST_ARG_OF_SUBCOMMAND,
    RULE_TOO_MANY,
};

const char *rule_error_text(enum rule_error error);

/* An access to a queue or a channel by an argument of a command. */
struct acl_use {
    int place;       /* index of the argument */
    unsigned access; /* enum acl_access for a queue */
};

/* A call of a command, as far as rights matter. */
struct acl_call {
    unsigned right;
    bool always; /* the command needs no right: AUTH, HELLO, QUIT, RESET */
    int argc;
    const struct slice *argv;
    const struct acl_use *queues;
    size_t queue_count;
    const struct acl_use *channels;
    size_t channel_count;
    bool channel_patterns; /* the channels are patterns: PSUBSCRIBE */
};

/* The larger value is the more relevant reason if several selectors refuse a call. */
enum acl_denial { ACL_ALLOWED, ACL_DENIED_COMMAND, ACL_DENIED_QUEUE, ACL_DENIED_CHANNEL };

/* An empty selector allows nothing. */
void selector_init(struct selector *s);
void selector_free(struct selector *s);
void selector_copy(struct selector *to, const struct selector *from);
/* Applies a rule such as "~orders:*" or "+@read". On an error, s is unchanged. */
enum rule_error selector_apply(struct selector *s, struct slice rule) MUST_CHECK;
/* Appends the rules that make this selector from an empty one. */
void selector_describe(const struct selector *s, struct buf *out);
void selector_describe_commands(const struct selector *s, struct buf *out);
void selector_describe_queues(const struct selector *s, struct buf *out);
void selector_describe_channels(const struct selector *s, struct buf *out);

bool selector_has_all(const struct selector *s);
bool selector_may_run(const struct selector *s, unsigned right, const struct slice *first_arg);
bool selector_may_queue(const struct selector *s, unsigned access, struct slice queue);
/* A pattern of PSUBSCRIBE must be one of the selector's patterns literally. */
bool selector_may_channel(const struct selector *s, struct slice channel, bool is_pattern);
/* Sets place to the index of the refused argument. */
enum acl_denial selector_check(const struct selector *s, const struct acl_call *call, int *place);

#endif
