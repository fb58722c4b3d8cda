/* The table of options: defaults, values, CONFIG SET, change callbacks. */
#include "config/config.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include "base/log.h"
#include "base/spelling.h"
#include "config/config_impl.h"

/* The longest part of a client's argument that an error text repeats, in bytes. */
#define ECHO_MAX 128

struct config config;

static const struct config_name debug_access[] = {
#define X(id, name) { name, id },
    DEBUG_ACCESS(X)
#undef X
        { NULL, 0 },
};

static const struct config_name pubsub_defaults[] = {
#define X(id, name) { name, id },
    PUBSUB_DEFAULTS(X)
#undef X
        { NULL, 0 },
};

static const struct config_name job_id_replies[] = {
#define X(id, name) { name, id },
    JOB_ID_REPLIES(X)
#undef X
        { NULL, 0 },
};

static const struct config_name tls_client_auth[] = {
#define X(id, name) { name, id },
    TLS_CLIENT_AUTH(X)
#undef X
        { NULL, 0 },
};

static const struct config_name durabilities[] = {
#define X(id, name, setting) { name, id },
    DURABILITIES(X)
#undef X
        { NULL, 0 },
};

static const struct config_name log_levels[] = {
#define X(id, name, mark) { name, id },
    LOG_LEVELS(X)
#undef X
        { NULL, 0 },
};

static const struct config_name syslog_facilities[] = {
    { "user", LOG_USER },     { "local0", LOG_LOCAL0 },
    { "local1", LOG_LOCAL1 }, { "local2", LOG_LOCAL2 },
    { "local3", LOG_LOCAL3 }, { "local4", LOG_LOCAL4 },
    { "local5", LOG_LOCAL5 }, { "local6", LOG_LOCAL6 },
    { "local7", LOG_LOCAL7 }, { NULL, 0 },
};

static const struct config_name never[] = { { "no", 0 }, { NULL, 0 } };

static const struct config_name maxmemory_policies[] = { { "acks", 0 }, { "noeviction", 1 }, { NULL, 0 } };

static const struct config_name appendfsync_modes[] = {
    { "always", 0 },
    { "everysec", 1 },
    { "no", 2 },
    { NULL, 0 },
};

#define RANGE(lo, hi) .min = lo, .max = hi
#define BYTES(most) .max = most
#define NAMES(table) .names = table
#define NONE .min = 0

static const struct config_option options[] = {
#define SECTION(title)
#define OPTION(kind_, member, name_, text_, bounds, flags_, doc_) \
    { .name = name_,                                              \
      .kind = &config_kind_##kind_,                               \
      .text = text_,                                              \
      .offset = offsetof(struct config, member),                  \
      .flags = flags_,                                            \
      .doc = doc_,                                                \
      bounds },
#include "config/options.def"
#undef OPTION
#undef SECTION
};

static void *config_field_of(struct config *c, const struct config_option *o) {
    return (char *)c + o->offset;
}

static const void *const_field_of(const struct config *c, const struct config_option *o) {
    return (const char *)c + o->offset;
}

const struct config_option *config_options(size_t *count) {
    *count = LENGTH(options);
    return options;
}

const struct config_option *config_find(struct slice name) {
    for (size_t i = 0; i < LENGTH(options); i++) {
        if (slice_is(name, options[i].name))
            return &options[i];
    }
    return NULL;
}

bool config_apply(struct config *c, const struct config_option *o, struct slice text) {
    return o->kind->parse(o, text, config_field_of(c, o));
}

char *config_text(const struct config *c, const struct config_option *o) {
    struct buf b = { 0 };
    o->kind->write(const_field_of(c, o), o, &b);
    buf_append(&b, "", 1);
    char *text = xstrdup(buf_ptr(&b));
    buf_free(&b);
    return text;
}

void config_show(const struct config_option *o, struct buf *out) {
    o->kind->show(const_field_of(&config, o), o, out);
}

void config_allowed(const struct config_option *o, struct buf *out) {
    o->kind->allowed(o, out);
}

void config_apply_known(struct config *c, const struct config_option *o, const char *text) {
    if (!config_apply(c, o, slice_str(text)))
        log_fatal("config", "option %s refuses its own value", o->name);
}

void config_init(struct config *c) {
    memset(c, 0, sizeof(*c));
    for (size_t i = 0; i < LENGTH(options); i++)
        config_apply_known(c, &options[i], options[i].text);
}

void config_free(struct config *c) {
    for (size_t i = 0; i < LENGTH(options); i++) {
        if (options[i].kind->owns_string)
            free(*(char **)config_field_of(c, &options[i]));
    }
    memset(c, 0, sizeof(*c));
}

void config_defaults(void) {
    config_free(&config);
    config_init(&config);
}

const char *config_database_redacted(void) {
    static struct buf shown;
    buf_reset(&shown, SIZE_MAX);
    config_show(config_find(SLICE("database")), &shown);
    buf_append(&shown, "", 1);
    return buf_ptr(&shown);
}

/* Change callbacks */

struct watcher {
    const struct config_option *option;
    void (*fn)(void);                          /* NULL: check is set */
    bool (*check)(char *err, size_t err_size); /* NULL: fn is set */
    bool due;
};

static struct watcher *watchers;
static size_t watcher_count;

static void add_watcher(const char *name, struct watcher w) {
    w.option = config_find(slice_str(name));
    if (!w.option)
        log_fatal("config", "there is no option %s to watch", name);
    watchers = xrealloc(watchers, (watcher_count + 1) * sizeof(*watchers));
    watchers[watcher_count++] = w;
}

void config_on_change(const char *name, void (*fn)(void)) {
    add_watcher(name, (struct watcher){ .fn = fn });
}

void config_on_set(const char *name, bool (*fn)(char *err, size_t err_size)) {
    add_watcher(name, (struct watcher){ .check = fn });
}

static void mark_watchers(const struct config_option *o, bool checks) {
    for (size_t i = 0; i < watcher_count; i++) {
        if (watchers[i].option == o && (watchers[i].check != NULL) == checks)
            watchers[i].due = true;
    }
}

/* True if the watcher is due. Then the same function is not due for another option. */
static bool take_watcher(size_t i) {
    if (!watchers[i].due)
        return false;
    for (size_t j = i; j < watcher_count; j++) {
        if (watchers[j].fn == watchers[i].fn && watchers[j].check == watchers[i].check)
            watchers[j].due = false;
    }
    return true;
}

/* Runs each function once, even if several of its options changed. */
static void run_watchers(void) {
    for (size_t i = 0; i < watcher_count; i++) {
        if (watchers[i].check == NULL && take_watcher(i))
            watchers[i].fn();
    }
}

/* Runs each check once. After a failure the others do not run. */
static bool run_checks(char *err, size_t err_size) {
    bool good = true;
    for (size_t i = 0; i < watcher_count; i++) {
        if (watchers[i].check != NULL && take_watcher(i))
            good = good && watchers[i].check(err, err_size);
    }
    return good;
}

int config_own_port(void) {
    return config.port != 0 ? config.port : config.tls_port;
}

/* CONFIG SET */

const char *config_suggestion(struct slice name) {
    static char text[SPELLING_MAX * 2];
    struct spelling s;

    spelling_init(&s, name);
    for (size_t i = 0; i < LENGTH(options); i++)
        spelling_offer(&s, slice_str(options[i].name));
    snprintf(text, sizeof text, "%s%.*s%s", s.nearest.len > 0 ? ", did you mean " : "", (int)s.nearest.len,
             s.nearest.ptr, s.nearest.len > 0 ? "?" : "");
    return text;
}

struct config_change {
    const struct config_option *option;
    char *before;
};

static int echo_len(struct slice s) {
    return (int)(s.len < ECHO_MAX ? s.len : ECHO_MAX);
}

static bool set_one(const struct slice *pair, struct config_change *change, char *err, size_t err_size) {
    const struct config_option *o = config_find(pair[0]);
    if (!o) {
        snprintf(err, err_size, "Unsupported CONFIG parameter: %.*s%s", echo_len(pair[0]), pair[0].ptr,
                 config_suggestion(pair[0]));
        return false;
    }
    if (!(o->flags & OPT_RUNTIME)) {
        snprintf(err, err_size, "Unsupported CONFIG parameter: %s can only be set at start", o->name);
        return false;
    }
    char *before = config_text(&config, o);
    if (!config_apply(&config, o, pair[1])) {
        struct buf allowed = { 0 };
        config_allowed(o, &allowed);
        snprintf(err, err_size, "Invalid argument '%.*s' for CONFIG SET '%.*s': it takes %.*s",
                 echo_len(pair[1]), pair[1].ptr, echo_len(pair[0]), pair[0].ptr, (int)buf_len(&allowed),
                 buf_ptr(&allowed));
        buf_free(&allowed);
        free(before);
        return false;
    }
    *change = (struct config_change){ .option = o, .before = before };
    return true;
}

static void announce(const struct config_change *change) {
    const struct config_option *o = change->option;
    char *now = config_text(&config, o);
    if (strcmp(now, change->before) != 0) {
        log_notice("config", "%s is now %s", o->name,
                   o->flags & OPT_SECRET ? "another one" : log_escape(slice_str(now), ECHO_MAX));
        mark_watchers(o, false);
    }
    free(now);
}

bool config_set_all(const struct slice *pairs, size_t count, char *err, size_t err_size) {
    struct config_change *changes = xcalloc(count, sizeof(*changes));
    size_t done = 0;
    while (done < count && set_one(pairs + 2 * done, &changes[done], err, err_size))
        done++;
    bool ok = done == count;
    for (size_t i = 0; ok && i < done; i++)
        mark_watchers(changes[i].option, true);
    ok = ok && run_checks(err, err_size);
    for (size_t i = 0; ok && i < done; i++)
        announce(&changes[i]);
    while (done > 0) {
        done--;
        if (!ok)
            config_apply_known(&config, changes[done].option, changes[done].before);
        free(changes[done].before);
    }
    free(changes);
    if (ok)
        run_watchers();
    return ok;
}

bool config_set(struct slice name, struct slice value, char *err, size_t err_size) {
    const struct slice pair[2] = { name, value };
    return config_set_all(pair, 1, err, err_size);
}
