/* The most recent slow commands, for SLOWLOG. */
#include "base/slowlog.h"

#include <stdlib.h>
#include "base/buf.h"
#include "base/clock.h"

static struct list slowlog_entries = { &slowlog_entries, &slowlog_entries }; /* newest first */
static size_t count;
static size_t max_count = 128;
static int64_t next_id;

static const struct slowlog_entry *entry_or_end(const struct list *link) {
    return link == &slowlog_entries ? NULL : LIST_ENTRY(link, const struct slowlog_entry, link);
}

const struct slowlog_entry *slowlog_newest(void) {
    return entry_or_end(slowlog_entries.next);
}

const struct slowlog_entry *slowlog_older(const struct slowlog_entry *than) {
    return entry_or_end(than->link.next);
}

size_t slowlog_len(void) {
    return count;
}

static void slowlog_drop(struct slowlog_entry *e) {
    list_remove(&e->link);
    count--;
    for (int i = 0; i < e->argc; i++)
        free((char *)e->argv[i].ptr);
    free(e->addr);
    free(e->name);
    free(e);
}

static void trim(size_t keep) {
    while (count > keep)
        slowlog_drop(LIST_ENTRY(slowlog_entries.prev, struct slowlog_entry, link));
}

void slowlog_set_max_len(size_t max_len) {
    max_count = max_len;
    trim(max_count);
}

void slowlog_reset(void) {
    trim(0);
}

static struct slice copy(struct slice s) {
    return (struct slice){ slice_dup(s), s.len };
}

static struct slice copy_cut(struct slice arg) {
    struct buf text = { 0 };

    if (arg.len <= SLOWLOG_MAX_ARG_BYTES)
        return copy(arg);
    buf_append(&text, arg.ptr, SLOWLOG_MAX_ARG_BYTES);
    buf_printf(&text, "... (%zu more bytes)", arg.len - SLOWLOG_MAX_ARG_BYTES);
    return (struct slice){ buf_ptr(&text), buf_len(&text) };
}

static void copy_args(struct slowlog_entry *e, int argc, const struct slice *argv) {
    bool cut = argc > SLOWLOG_MAX_ARGS;
    int shown = cut ? SLOWLOG_MAX_ARGS - 1 : argc;

    for (int i = 0; i < shown; i++)
        e->argv[i] = copy_cut(argv[i]);
    e->argc = shown;
    if (cut)
        e->argv[e->argc++] = slice_str(xasprintf("... (%d more arguments)", argc - shown));
}

void slowlog_add(int argc, const struct slice *argv, int64_t usec, int64_t unix_us, const char *addr,
                 const char *name) {
    struct slowlog_entry *e = xcalloc(1, sizeof(*e));

    e->id = next_id++;
    e->unix_s = unix_us / US_PER_S;
    e->usec = usec;
    e->addr = xstrdup(addr);
    e->name = xasprintf("%.*s", SLOWLOG_MAX_ARG_BYTES, name);
    copy_args(e, argc, argv);
    list_push_front(&slowlog_entries, &e->link);
    count++;
    trim(max_count);
}
