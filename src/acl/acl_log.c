/* ACL LOG: keeps refused commands and logins. */
#include "acl/acl_log.h"

#include <stdlib.h>

#include "base/clock.h"
#include "config/config.h"

/* The most bytes that an entry keeps of a key or a name. */
#define SHOWN_MAX 1024
/* Alike refusals are one entry if they are among the latest entries and at most this far apart. */
#define GROUP_ENTRIES 10
#define GROUP_US (60 * US_PER_S)

static struct list refusals = { &refusals, &refusals };
static size_t entry_count;
static uint64_t entries_ever;

const char *acl_log_reason_name(enum acl_log_reason reason) {
    static const char *const names[] = {
#define X(id, name) name,
        ACL_LOG_REASONS(X)
#undef X
    };

    return names[reason];
}

const char *acl_log_context_name(enum acl_log_context context) {
    static const char *const names[] = {
#define X(id, name) name,
        ACL_LOG_CONTEXTS(X)
#undef X
    };

    return names[context];
}

static struct slice log_cut(struct slice text) {
    return (struct slice){ text.ptr, text.len < SHOWN_MAX ? text.len : SHOWN_MAX };
}

static void entry_free(struct acl_log_entry *e) {
    list_remove(&e->node);
    entry_count--;
    free(e->object);
    free(e->user);
    free(e->client);
    free(e);
}

static void log_trim(size_t most) {
    while (entry_count > most)
        entry_free(LIST_ENTRY(refusals.prev, struct acl_log_entry, node));
}

static bool is_alike(const struct acl_log_entry *e, enum acl_log_reason reason, enum acl_log_context context,
                     struct slice object, struct slice user) {
    return e->reason == reason && e->context == context && clock_unix() - e->updated_us <= GROUP_US &&
           slice_equal((struct slice){ e->object, e->object_len }, object) &&
           slice_equal((struct slice){ e->user, e->user_len }, user);
}

static struct acl_log_entry *find_alike(enum acl_log_reason reason, enum acl_log_context context,
                                        struct slice object, struct slice user) {
    size_t seen = 0;

    LIST_EACH(node, &refusals) {
        struct acl_log_entry *e = LIST_ENTRY(node, struct acl_log_entry, node);

        if (is_alike(e, reason, context, object, user))
            return e;
        if (++seen == GROUP_ENTRIES)
            break;
    }
    return NULL;
}

static struct acl_log_entry *entry_new(enum acl_log_reason reason, enum acl_log_context context,
                                       struct slice object, struct slice user) {
    struct acl_log_entry *e = xcalloc(1, sizeof *e);

    *e = (struct acl_log_entry){
        .id = entries_ever++,
        .reason = reason,
        .context = context,
        .object = slice_dup(object),
        .object_len = object.len,
        .user = slice_dup(user),
        .user_len = user.len,
        .created_us = clock_unix(),
    };
    list_init(&e->node);
    entry_count++;
    return e;
}

void acl_log_add(enum acl_log_reason reason, enum acl_log_context context, struct slice object,
                 struct slice user, struct slice client) {
    struct acl_log_entry *e = find_alike(reason, context, log_cut(object), log_cut(user));

    if (e == NULL)
        e = entry_new(reason, context, log_cut(object), log_cut(user));
    e->count++;
    e->updated_us = clock_unix();
    free(e->client);
    e->client = slice_dup(client);
    list_remove(&e->node);
    list_insert_before(refusals.next, &e->node);
    log_trim((size_t)config.acllog_max_len);
}

void acl_log_reset(void) {
    log_trim(0);
}

size_t acl_log_len(void) {
    return entry_count;
}

const struct list *acl_log_entries(void) {
    return &refusals;
}
