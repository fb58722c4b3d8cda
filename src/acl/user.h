#ifndef USER_H
#define USER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "acl/selector.h"
#include "base/buf.h"
#include "base/fair_list.h"
#include "base/hash.h"
#include "base/util.h"

/*
 * Users, as in Redis' ACL. The users belong to this server. They are not in the database, and other servers of the
 * database have users of their own.
 *
 * A client and its requests point to their user. A change of a user replaces what it may do, and so has an effect on
 * the next check. A removed user lives until nothing points to it, and may do nothing.
 */
#define PASSWORD_HASH_BYTES 32

/* Limits. */
#define USERS_MAX 4096
#define USER_NAME_MAX 255
#define USER_PASSWORDS_MAX 64
#define USER_SELECTORS_MAX 64

/* All that rules set. */
struct grants {
    bool on;             /* the user may log in */
    bool nopass;         /* every password is right */
    bool skips_sanitize; /* shown as Redis shows it, without effect */
    unsigned char (*passwords)[PASSWORD_HASH_BYTES];
    size_t password_count;
    struct selector root;
    struct selector *more; /* the selectors in parentheses */
    size_t more_count;
};

struct user {
    bool all; /* may run every command with every queue and channel: no other check is needed */
    bool removed;
    unsigned refs;
    UT_hash_handle by_name;
    char *name;
    size_t name_len;
    struct grants grants;
    unsigned rights;        /* counts the changes of its selectors */
    struct fair_user turns; /* its tasks and other work */
    /* Its patterns of GETJOB. Written by queue/pattern_index.c. */
    size_t patterns;
    uint64_t settled; /* the number of the last step that compared one of them */
    /* The patterns of PSUBSCRIBE that its clients listened to first, and their bytes. Written by net/pubsub.c. */
    size_t channel_patterns;
    size_t channel_pattern_bytes;
};

/* The user of clients that have not logged in. It always exists. */
extern struct user *default_user;

/* Makes the default user, with all rights and the password of requirepass. */
void users_init(void);
size_t users_count(void);
struct user *user_find(struct slice name);
/* All users in the order of their names. The caller frees the array. */
struct user **users_sorted(void);
struct slice user_name(const struct user *u);

static inline struct user *user_hold(struct user *u) {
    u->refs++;
    return u;
}
/* Frees a removed user that nothing points to. */
void user_free(struct user *u);
static inline void user_release(struct user *u) {
    if (--u->refs == 0)
        user_free(u);
}

/* ---- checks ---- */

/* True if a client needs no login: the default user is on and has no password. */
static inline bool users_need_no_login(void) {
    return default_user->grants.nopass && default_user->grants.on;
}
/* The user if name and password are right and the user is on, else NULL. The time does not depend on the position of
 * a wrong byte, nor on the existence of the user. */
struct user *user_login(struct slice name, struct slice password);
void password_hash(struct slice password, unsigned char hash[PASSWORD_HASH_BYTES]);
/* True if the user may log in by the password that has this hash. */
bool user_accepts(const struct user *u, const unsigned char hash[PASSWORD_HASH_BYTES]);
/* True if one selector allows the call. If not, sets why to the most relevant reason, and place to the argument. */
bool user_may_call(const struct user *u, const struct acl_call *call, enum acl_denial *why, int *place);
/* True if one selector that allows the command allows access to the queue. access is of enum acl_access. */
bool user_may_queue(const struct user *u, unsigned right, unsigned access, struct slice queue);
/* The same for a channel, or for a pattern of PSUBSCRIBE. */
bool user_may_channel(const struct user *u, unsigned right, struct slice channel, bool is_pattern);
/* True if one selector allows the command with every queue. */
bool user_may_all_queues(const struct user *u, unsigned right);
/* True if a selector allows the command, with some argument. */
bool user_may_run(const struct user *u, unsigned right);

/* ---- changes ---- */

bool user_name_is_valid(struct slice name);
/* Applies the rules to the user, all or none. Creates the user if there is none. If a rule is wrong, sets bad to its
 * index; count: there are too many users. */
enum rule_error user_set(struct slice name, const struct slice *rules, size_t count, size_t *bad) MUST_CHECK;
/* Gives the user these grants, and takes over their memory. Creates the user if there is none. */
void user_put(struct slice name, struct grants g);
/* Removes a user. name must not be "default". False if there is no such user. */
bool user_remove(struct slice name);
/* Gives the default user its first grants: all rights, and the password of requirepass. */
void users_reset_default(void);
/* Appends "user name rule ...", the line of the user in a file. */
void user_describe(const struct user *u, struct buf *out);
/* Appends "user name rule ..." of all users, each with a line end. If omits_default, the line of a default user that
 * has its first grants is left out. */
void users_describe(struct buf *out, bool omits_default);

/* Grants that a new user begins with, and the rules for them. */
void grants_init(struct grants *g);
void grants_free(struct grants *g);
enum rule_error grants_apply(struct grants *g, struct slice rule) MUST_CHECK;
/* Appends the rules that make the grants from those of a new user. */
void grants_describe(const struct grants *g, struct buf *out);
/* Joins words of rules: a selector in parentheses may consist of several. rules has room for count; the texts are in
 * joined. Sets rule_count. Returns the index of a word with an unmatched parenthesis, or -1. */
int rules_join(const struct slice *words, size_t count, struct buf *joined, struct slice *rules,
               size_t *rule_count);

#endif
