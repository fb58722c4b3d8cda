/* Users: passwords, selectors, login, checks of rights. */
#include "acl/user.h"

#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sodium.h>

#include "config/config.h"

_Static_assert(PASSWORD_HASH_BYTES == crypto_hash_sha256_BYTES, "passwords are kept as SHA-256");

struct user *default_user;
static struct user *users;

/* ---- grants ---- */

void grants_init(struct grants *g) {
    *g = (struct grants){ 0 };
    selector_init(&g->root);
    g->root.all_channels = config.acl_pubsub_default == PUBSUB_ALL_CHANNELS;
}

static void clear_selectors(struct grants *g) {
    for (size_t i = 0; i < g->more_count; i++)
        selector_free(&g->more[i]);
    free(g->more);
    g->more = NULL;
    g->more_count = 0;
}

static void clear_passwords(struct grants *g) {
    free(g->passwords);
    g->passwords = NULL;
    g->password_count = 0;
}

void grants_free(struct grants *g) {
    clear_passwords(g);
    clear_selectors(g);
    selector_free(&g->root);
}

static void grants_add_selector(struct grants *g, struct selector s) {
    g->more = xrealloc(g->more, (g->more_count + 1) * sizeof *g->more);
    g->more[g->more_count++] = s;
}

static void grants_copy(struct grants *to, const struct grants *from) {
    *to = *from;
    selector_copy(&to->root, &from->root);
    to->passwords = xmemdup(from->passwords, from->password_count * sizeof *from->passwords);
    to->more = NULL;
    to->more_count = 0;
    for (size_t i = 0; i < from->more_count; i++) {
        struct selector s;

        selector_copy(&s, &from->more[i]);
        grants_add_selector(to, s);
    }
}

/* ---- passwords ---- */

/* The index of the hash, or -1. Compares all passwords, so that the time does not depend on the match. */
static int password_find(const struct grants *g, const unsigned char *hash) {
    int found = -1;

    for (size_t i = 0; i < g->password_count; i++) {
        if (sodium_memcmp(g->passwords[i], hash, PASSWORD_HASH_BYTES) == 0)
            found = (int)i;
    }
    return found;
}

/* A hash is given as 64 lower-case hexadecimal digits. */
static bool hash_read(struct slice text, unsigned char *hash) {
    size_t len;

    for (size_t i = 0; i < text.len; i++) {
        if (!isdigit((unsigned char)text.ptr[i]) && (text.ptr[i] < 'a' || text.ptr[i] > 'f'))
            return false;
    }
    return text.len == 2 * PASSWORD_HASH_BYTES &&
           sodium_hex2bin(hash, PASSWORD_HASH_BYTES, text.ptr, text.len, NULL, &len, NULL) == 0;
}

static enum rule_error password_add(struct grants *g, const unsigned char *hash) {
    g->nopass = false;
    if (password_find(g, hash) >= 0)
        return RULE_OK;
    if (g->password_count == USER_PASSWORDS_MAX)
        return RULE_TOO_MANY;
    g->passwords = xrealloc(g->passwords, (g->password_count + 1) * sizeof *g->passwords);
    memcpy(g->passwords[g->password_count++], hash, PASSWORD_HASH_BYTES);
    return RULE_OK;
}

static enum rule_error password_drop(struct grants *g, const unsigned char *hash) {
    int at = password_find(g, hash);

    if (at < 0)
        return RULE_NO_SUCH_PASSWORD;
    g->password_count--;
    memmove(g->passwords[at], g->passwords[at + 1], (g->password_count - (size_t)at) * sizeof *g->passwords);
    return RULE_OK;
}

/* >password #hash <password !hash */
static enum rule_error apply_password(struct grants *g, struct slice rule) {
    struct slice text = { rule.ptr + 1, rule.len - 1 };
    unsigned char hash[PASSWORD_HASH_BYTES];
    char mark = rule.ptr[0];

    if (mark == '>' || mark == '<')
        password_hash(text, hash);
    else if (!hash_read(text, hash))
        return RULE_BAD_HASH;
    return mark == '>' || mark == '#' ? password_add(g, hash) : password_drop(g, hash);
}

/* The only password; empty: none is needed. */
static void set_password(struct grants *g, struct slice password) {
    unsigned char hash[PASSWORD_HASH_BYTES];

    clear_passwords(g);
    g->nopass = password.len == 0;
    password_hash(password, hash);
    if (password.len > 0) {
        g->passwords = xmemdup(hash, sizeof hash);
        g->password_count = 1;
    }
}

/* ---- rules ---- */

static enum rule_error selector_read(struct selector *s, struct slice words) {
    size_t at = 0;

    while (at < words.len) {
        size_t end = at;
        enum rule_error error;

        while (end < words.len && words.ptr[end] != ' ')
            end++;
        if (end > at && words.ptr[end - 1] == ')')
            error = RULE_SYNTAX; /* it would end the selector when the description is read */
        else
            error = end == at ? RULE_OK : selector_apply(s, (struct slice){ words.ptr + at, end - at });
        if (error != RULE_OK)
            return error;
        at = end + 1;
    }
    return RULE_OK;
}

/* (rule rule ...) */
static enum rule_error apply_selector(struct grants *g, struct slice rule) {
    struct selector s;
    enum rule_error error;

    if (g->more_count == USER_SELECTORS_MAX)
        return RULE_TOO_MANY;
    selector_init(&s);
    error = selector_read(&s, (struct slice){ rule.ptr + 1, rule.len - 2 });
    if (error == RULE_OK)
        grants_add_selector(g, s);
    else
        selector_free(&s);
    return error;
}

static bool apply_flag(struct grants *g, struct slice rule) {
    if (slice_is(rule, "on") || slice_is(rule, "off"))
        g->on = slice_is(rule, "on");
    else if (slice_is(rule, "skip-sanitize-payload") || slice_is(rule, "sanitize-payload"))
        g->skips_sanitize = slice_is(rule, "skip-sanitize-payload");
    else if (slice_is(rule, "nopass") || slice_is(rule, "resetpass")) {
        g->nopass = slice_is(rule, "nopass");
        clear_passwords(g);
    } else if (slice_is(rule, "clearselectors"))
        clear_selectors(g);
    else if (slice_is(rule, "reset")) {
        grants_free(g);
        grants_init(g);
    } else
        return false;
    return true;
}

enum rule_error grants_apply(struct grants *g, struct slice rule) {
    if (rule.len == 0 || apply_flag(g, rule))
        return RULE_OK;
    if (strchr("><#!", rule.ptr[0]) != NULL && rule.ptr[0] != '\0')
        return apply_password(g, rule);
    if (rule.len > 1 && rule.ptr[0] == '(' && rule.ptr[rule.len - 1] == ')')
        return apply_selector(g, rule);
    return selector_apply(&g->root, rule);
}

int rules_join(const struct slice *words, size_t count, struct buf *joined, struct slice *rules,
               size_t *rule_count) {
    size_t bytes = 0;
    int open = -1;

    for (size_t i = 0; i < count; i++)
        bytes += words[i].len + 1;
    *rule_count = 0;
    if (count == 0)
        return -1;
    buf_reserve(joined, bytes); /* the texts do not move */
    for (size_t i = 0; i < count; i++) {
        struct slice w = words[i];
        bool begins = open < 0 && w.len > 0 && w.ptr[0] == '(';
        struct slice *rule = &rules[*rule_count];

        if (open < 0)
            *rule = (struct slice){ buf_ptr(joined) + buf_len(joined), 0 };
        else
            buf_append_str(joined, " ");
        buf_append(joined, w.ptr, w.len);
        rule->len = (size_t)(buf_ptr(joined) + buf_len(joined) - rule->ptr);
        if (begins)
            open = (int)i;
        if (open >= 0 && (w.len == 0 || w.ptr[w.len - 1] != ')'))
            continue;
        open = -1;
        ++*rule_count;
    }
    return open;
}

static void describe_passwords(const struct grants *g, struct buf *out) {
    for (size_t i = 0; i < g->password_count; i++) {
        char text[2 * PASSWORD_HASH_BYTES + 1];

        hex_encode(g->passwords[i], PASSWORD_HASH_BYTES, text);
        buf_printf(out, "#%s ", text);
    }
}

static void describe_selectors(const struct grants *g, struct buf *out) {
    selector_describe(&g->root, out);
    for (size_t i = 0; i < g->more_count; i++) {
        buf_append_str(out, " (");
        selector_describe(&g->more[i], out);
        buf_append_str(out, ")");
    }
}

void grants_describe(const struct grants *g, struct buf *out) {
    buf_printf(out, "%s %s%s ", g->on ? "on" : "off", g->nopass ? "nopass " : "",
               g->skips_sanitize ? "skip-sanitize-payload" : "sanitize-payload");
    describe_passwords(g, out);
    describe_selectors(g, out);
}

static bool have_same_selectors(const struct grants *a, const struct grants *b) {
    struct buf x = { 0 }, y = { 0 };
    bool same;

    describe_selectors(a, &x);
    describe_selectors(b, &y);
    same =
        slice_equal((struct slice){ buf_ptr(&x), buf_len(&x) }, (struct slice){ buf_ptr(&y), buf_len(&y) });
    buf_free(&x);
    buf_free(&y);
    return same;
}

/* ---- users ---- */

static void user_note_all(struct user *u) {
    u->all = !u->removed && selector_has_all(&u->grants.root);
}

static struct user *user_new(struct slice name, struct grants grants) {
    struct user *u = xcalloc(1, sizeof *u);

    u->name = slice_dup(name);
    u->name_len = name.len;
    u->refs = 1;
    u->grants = grants;
    user_note_all(u);
    HASH_ADD_KEYPTR(by_name, users, u->name, u->name_len, u);
    return u;
}

static void apply_known(struct grants *g, const char *rule) {
    if (grants_apply(g, slice_str(rule)) != RULE_OK)
        abort();
}

/* The grants with which the default user begins. */
static struct grants default_grants(void) {
    struct grants g;

    grants_init(&g);
    apply_known(&g, "on");
    apply_known(&g, "allkeys");
    apply_known(&g, "allchannels");
    apply_known(&g, "allcommands");
    set_password(&g, slice_str(config.requirepass));
    return g;
}

static void apply_requirepass(void) {
    set_password(&default_user->grants, slice_str(config.requirepass));
}

void users_init(void) {
    if (default_user == NULL) {
        default_user = user_new(SLICE("default"), default_grants());
        config_on_change("requirepass", apply_requirepass);
    }
    apply_requirepass();
}

void users_reset_default(void) {
    user_put(SLICE("default"), default_grants());
}

/* True if the default user has the grants with which it begins. */
static bool default_is_first(void) {
    struct grants g = default_grants();
    struct buf first = { 0 }, now = { 0 };
    bool same;

    grants_describe(&g, &first);
    grants_describe(&default_user->grants, &now);
    same = slice_equal((struct slice){ buf_ptr(&first), buf_len(&first) },
                       (struct slice){ buf_ptr(&now), buf_len(&now) });
    grants_free(&g);
    buf_free(&first);
    buf_free(&now);
    return same;
}

void user_describe(const struct user *u, struct buf *out) {
    buf_append_str(out, "user ");
    buf_append(out, u->name, u->name_len);
    buf_append_str(out, " ");
    grants_describe(&u->grants, out);
}

void users_describe(struct buf *out, bool omits_default) {
    struct user **all = users_sorted();

    for (size_t i = 0; i < users_count(); i++) {
        if (omits_default && all[i] == default_user && default_is_first())
            continue;
        user_describe(all[i], out);
        buf_append_str(out, "\n");
    }
    free(all);
}

size_t users_count(void) {
    return HASH_CNT(by_name, users);
}

struct user *user_find(struct slice name) {
    struct user *u;

    HASH_FIND(by_name, users, name.ptr, name.len, u);
    return u;
}

struct slice user_name(const struct user *u) {
    return (struct slice){ u->name, u->name_len };
}

static int by_name(const void *a, const void *b) {
    const struct user *x = *(struct user *const *)a, *y = *(struct user *const *)b;
    size_t common = x->name_len < y->name_len ? x->name_len : y->name_len;
    int order = memcmp(x->name, y->name, common);

    return order != 0 ? order : (x->name_len > y->name_len) - (x->name_len < y->name_len);
}

struct user **users_sorted(void) {
    struct user **all = xcalloc(users_count(), sizeof *all);
    size_t count = 0;

    for (struct user *u = users; u != NULL; u = u->by_name.next)
        all[count++] = u;
    qsort(all, count, sizeof *all, by_name);
    return all;
}

void user_free(struct user *u) {
    assert(u->removed);
    grants_free(&u->grants);
    fair_user_free(&u->turns);
    free(u->name);
    free(u);
}

bool user_name_is_valid(struct slice name) {
    for (size_t i = 0; i < name.len; i++) {
        if (isspace((unsigned char)name.ptr[i]) || name.ptr[i] == '\0')
            return false;
    }
    return name.len > 0 && name.len <= USER_NAME_MAX;
}

static enum rule_error apply_all(struct grants *g, const struct slice *rules, size_t count, size_t *bad) {
    for (size_t i = 0; i < count; i++) {
        enum rule_error error = grants_apply(g, rules[i]);

        if (error != RULE_OK) {
            *bad = i;
            return error;
        }
    }
    return RULE_OK;
}

void user_put(struct slice name, struct grants g) {
    struct user *u = user_find(name);

    if (u == NULL) {
        (void)user_new(name, g);
        return;
    }
    u->rights += !have_same_selectors(&u->grants, &g);
    grants_free(&u->grants);
    u->grants = g;
    user_note_all(u);
}

enum rule_error user_set(struct slice name, const struct slice *rules, size_t count, size_t *bad) {
    struct user *u = user_find(name);
    struct grants g;
    enum rule_error error;

    *bad = count;
    if (u == NULL && users_count() >= USERS_MAX)
        return RULE_TOO_MANY;
    if (u == NULL)
        grants_init(&g);
    else
        grants_copy(&g, &u->grants);
    error = apply_all(&g, rules, count, bad);
    if (error == RULE_OK)
        user_put(name, g);
    else
        grants_free(&g);
    return error;
}

bool user_remove(struct slice name) {
    struct user *u = user_find(name);

    if (u == NULL)
        return false;
    assert(u != default_user);
    HASH_DELETE(by_name, users, u);
    grants_free(&u->grants);
    u->grants = (struct grants){ 0 };
    u->removed = true;
    u->rights++;
    user_note_all(u);
    user_release(u);
    return true;
}

/* ---- checks ---- */

void password_hash(struct slice password, unsigned char hash[PASSWORD_HASH_BYTES]) {
    crypto_hash_sha256(hash, (const unsigned char *)password.ptr, password.len);
}

bool user_accepts(const struct user *u, const unsigned char hash[PASSWORD_HASH_BYTES]) {
    return (password_find(&u->grants, hash) >= 0 || u->grants.nopass) && u->grants.on;
}

struct user *user_login(struct slice name, struct slice password) {
    struct user *u = user_find(name);
    unsigned char hash[PASSWORD_HASH_BYTES];

    password_hash(password, hash);
    return u != NULL && user_accepts(u, hash) ? u : NULL;
}

static size_t selector_count(const struct user *u) {
    return 1 + u->grants.more_count;
}

static const struct selector *selector_of(const struct user *u, size_t i) {
    return i == 0 ? &u->grants.root : &u->grants.more[i - 1];
}

bool user_may_call(const struct user *u, const struct acl_call *call, enum acl_denial *why, int *place) {
    *why = ACL_DENIED_COMMAND;
    *place = 0;
    for (size_t i = 0; i < selector_count(u); i++) {
        int at;
        enum acl_denial denial = selector_check(selector_of(u, i), call, &at);

        if (denial == ACL_ALLOWED)
            return true;
        if (denial > *why || (denial == *why && at > *place)) {
            *why = denial;
            *place = at;
        }
    }
    return false;
}

bool user_may_queue(const struct user *u, unsigned right, unsigned access, struct slice queue) {
    for (size_t i = 0; i < selector_count(u); i++) {
        const struct selector *s = selector_of(u, i);

        if (selector_may_run(s, right, NULL) && selector_may_queue(s, access, queue))
            return true;
    }
    return false;
}

bool user_may_all_queues(const struct user *u, unsigned right) {
    for (size_t i = 0; i < selector_count(u); i++) {
        const struct selector *s = selector_of(u, i);

        if (selector_may_run(s, right, NULL) && s->all_queues)
            return true;
    }
    return false;
}

bool user_may_channel(const struct user *u, unsigned right, struct slice channel, bool is_pattern) {
    for (size_t i = 0; i < selector_count(u); i++) {
        const struct selector *s = selector_of(u, i);

        if (selector_may_run(s, right, NULL) && selector_may_channel(s, channel, is_pattern))
            return true;
    }
    return false;
}

bool user_may_run(const struct user *u, unsigned right) {
    for (size_t i = 0; i < selector_count(u); i++) {
        const struct selector *s = selector_of(u, i);

        if (selector_may_run(s, right, NULL))
            return true;
        for (size_t j = 0; j < s->first_arg_count; j++) {
            if (s->first_args[j].right == right)
                return true;
        }
    }
    return false;
}
