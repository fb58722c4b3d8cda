/* The kinds of options: conversion between text and value, and the allowed values. */
#include "config/config_kind.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <libpq-fe.h>

#define MAX_ADDRESSES 16
#define MAX_ADDRESS 63
#define DEFAULT_KEEPALIVE 60
#define BLANKS " \t"

static const struct config_name output_classes[] = {
#define X(id, name) { name, id },
    OUTPUT_CLASSES(X)
#undef X
        { "replica", OUTPUT_REPLICA },
    { NULL, 0 },
};

static bool name_value(const struct config_name *names, struct slice text, int *value) {
    for (; names->name; names++) {
        if (slice_is(text, names->name)) {
            *value = names->value;
            return true;
        }
    }
    return false;
}

/* yes or no */

static bool parse_bool(const struct config_option *o, struct slice text, void *field) {
    (void)o;
    bool yes = slice_is(text, "yes");
    if (!yes && !slice_is(text, "no"))
        return false;
    *(bool *)field = yes;
    return true;
}

static void write_bool(const void *field, const struct config_option *o, struct buf *out) {
    (void)o;
    buf_append_str(out, *(const bool *)field ? "yes" : "no");
}

static void allowed_bool(const struct config_option *o, struct buf *out) {
    (void)o;
    buf_append_str(out, "yes or no");
}

const struct config_kind config_kind_BOOL = {
    .parse = parse_bool,
    .write = write_bool,
    .show = write_bool,
    .allowed = allowed_bool,
};

/* Integers */

static bool config_kind_parse_int(const struct config_option *o, struct slice text, void *field) {
    int64_t value;
    if (!parse_int_strict(text, &value) || value < o->min || value > o->max)
        return false;
    *(int *)field = (int)value;
    return true;
}

static void write_int(const void *field, const struct config_option *o, struct buf *out) {
    (void)o;
    buf_printf(out, "%d", *(const int *)field);
}

static void allowed_int(const struct config_option *o, struct buf *out) {
    if (o->min == o->max)
        buf_printf(out, "only %lld", (long long)o->min);
    else
        buf_printf(out, "an integer from %lld to %lld", (long long)o->min, (long long)o->max);
}

const struct config_kind config_kind_INT = {
    .parse = config_kind_parse_int,
    .write = write_int,
    .show = write_int,
    .allowed = allowed_int,
};

static bool parse_keepalive(const struct config_option *o, struct slice text, void *field) {
    bool yes;
    if (!parse_bool(o, text, &yes))
        return config_kind_parse_int(o, text, field);
    *(int *)field = yes ? DEFAULT_KEEPALIVE : 0;
    return true;
}

static void allowed_keepalive(const struct config_option *o, struct buf *out) {
    buf_append_str(out, "yes, no, or ");
    allowed_int(o, out);
}

const struct config_kind config_kind_KEEPALIVE = {
    .parse = parse_keepalive,
    .write = write_int,
    .show = write_int,
    .allowed = allowed_keepalive,
};

static bool parse_auto_port(const struct config_option *o, struct slice text, void *field) {
    if (!slice_is(text, "auto"))
        return config_kind_parse_int(o, text, field);
    *(int *)field = PORT_AUTO;
    return true;
}

static void write_auto_port(const void *field, const struct config_option *o, struct buf *out) {
    if (*(const int *)field == PORT_AUTO)
        buf_append_str(out, "auto");
    else
        write_int(field, o, out);
}

static void allowed_auto_port(const struct config_option *o, struct buf *out) {
    buf_append_str(out, "auto, or ");
    allowed_int(o, out);
}

const struct config_kind config_kind_AUTO_PORT = {
    .parse = parse_auto_port,
    .write = write_auto_port,
    .show = write_auto_port,
    .allowed = allowed_auto_port,
};

static bool parse_octal(const struct config_option *o, struct slice text, void *field) {
    int value = 0;
    if (text.len == 0)
        return false;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        if (c < '0' || c > '7' || value > o->max)
            return false;
        value = value * 8 + (c - '0');
    }
    if (value > o->max)
        return false;
    *(int *)field = value;
    return true;
}

static void write_octal(const void *field, const struct config_option *o, struct buf *out) {
    (void)o;
    buf_printf(out, "%o", (unsigned)*(const int *)field);
}

static void allowed_octal(const struct config_option *o, struct buf *out) {
    buf_printf(out, "an octal number from %o to %o", (unsigned)o->min, (unsigned)o->max);
}

const struct config_kind config_kind_OCTAL = {
    .parse = parse_octal,
    .write = write_octal,
    .show = write_octal,
    .allowed = allowed_octal,
};

/* Sizes */

/* Appends the size in the largest unit that divides it, so that the text is exact. */
static void append_size(struct buf *out, uint64_t size) {
    static const char *const units[] = { "", "kb", "mb", "gb" };
    size_t unit = 0;
    while (size > 0 && size % 1024 == 0 && unit + 1 < LENGTH(units)) {
        size /= 1024;
        unit++;
    }
    buf_printf(out, "%llu%s", (unsigned long long)size, units[unit]);
}

static bool parse_size_field(const struct config_option *o, struct slice text, void *field) {
    int64_t value;
    if (!parse_size(text, &value) || value < o->min || value > o->max)
        return false;
    *(size_t *)field = (size_t)value;
    return true;
}

static void write_size(const void *field, const struct config_option *o, struct buf *out) {
    (void)o;
    append_size(out, *(const size_t *)field);
}

static void show_size(const void *field, const struct config_option *o, struct buf *out) {
    (void)o;
    buf_printf(out, "%zu", *(const size_t *)field);
}

static void allowed_size(const struct config_option *o, struct buf *out) {
    buf_append_str(out, "a size from ");
    append_size(out, (uint64_t)o->min);
    buf_append_str(out, " to ");
    append_size(out, (uint64_t)o->max);
}

const struct config_kind config_kind_SIZE = {
    .parse = parse_size_field,
    .write = write_size,
    .show = show_size,
    .allowed = allowed_size,
};

/* Sizes, or percentages of another size */

static bool parse_percent(struct slice text, int64_t *percent) {
    if (text.len == 0 || text.ptr[text.len - 1] != '%')
        return false;
    text.len--;
    return parse_int_strict(text, percent) && *percent >= 1 && *percent <= 100;
}

static bool parse_share(const struct config_option *o, struct slice text, void *field) {
    struct size_share *share = field;
    int64_t percent = 0;
    size_t bytes = 0;

    if (!parse_percent(text, &percent) && !parse_size_field(o, text, &bytes))
        return false;
    *share = (struct size_share){ bytes, (int)percent };
    return true;
}

static void write_share(const void *field, const struct config_option *o, struct buf *out) {
    const struct size_share *share = field;

    if (share->percent > 0)
        buf_printf(out, "%d%%", share->percent);
    else
        write_size(&share->bytes, o, out);
}

static void show_share(const void *field, const struct config_option *o, struct buf *out) {
    const struct size_share *share = field;

    if (share->percent > 0)
        write_share(field, o, out);
    else
        show_size(&share->bytes, o, out);
}

static void allowed_share(const struct config_option *o, struct buf *out) {
    buf_append_str(out, "a part from 1% to 100%, or ");
    allowed_size(o, out);
}

const struct config_kind config_kind_SHARE = {
    .parse = parse_share,
    .write = write_share,
    .show = show_share,
    .allowed = allowed_share,
};

/* Names */

static bool parse_enum(const struct config_option *o, struct slice text, void *field) {
    return name_value(o->names, text, field);
}

static void write_enum(const void *field, const struct config_option *o, struct buf *out) {
    const struct config_name *n = o->names;
    while (n->value != *(const int *)field)
        n++;
    buf_append_str(out, n->name);
}

static void allowed_enum(const struct config_option *o, struct buf *out) {
    for (const struct config_name *n = o->names; n->name; n++) {
        const char *before = n == o->names ? "" : n[1].name ? ", " : " or ";
        buf_printf(out, "%s%s", before, n->name);
    }
}

const struct config_kind config_kind_ENUM = {
    .parse = parse_enum,
    .write = write_enum,
    .show = write_enum,
    .allowed = allowed_enum,
};

/* Strings */

static void replace_string(void *field, struct slice text) {
    char **string = field;
    char *old = *string;
    *string = slice_dup(text);
    free(old);
}

static bool parse_string(const struct config_option *o, struct slice text, void *field) {
    if ((int64_t)text.len > o->max || memchr(text.ptr, '\0', text.len))
        return false;
    replace_string(field, text);
    return true;
}

static void write_string(const void *field, const struct config_option *o, struct buf *out) {
    (void)o;
    buf_append_str(out, *(char *const *)field);
}

static void allowed_string(const struct config_option *o, struct buf *out) {
    buf_printf(out, "text of at most %lld bytes", (long long)o->max);
}

const struct config_kind config_kind_STRING = {
    .owns_string = true,
    .parse = parse_string,
    .write = write_string,
    .show = write_string,
    .allowed = allowed_string,
};

const struct config_kind config_kind_WORDS = {
    .many_words = true,
    .owns_string = true,
    .parse = parse_string,
    .write = write_string,
    .show = write_string,
    .allowed = allowed_string,
};

static bool config_kind_is_address(struct slice word) {
    if (word.ptr[0] == '-')
        word = (struct slice){ word.ptr + 1, word.len - 1 };
    if (word.len == 0 || word.len > MAX_ADDRESS)
        return false;
    for (size_t i = 0; i < word.len; i++) {
        unsigned char c = (unsigned char)word.ptr[i];
        if (c <= ' ' || c > '~' || c == '"' || c == '\'')
            return false;
    }
    return true;
}

static bool parse_addresses(const struct config_option *o, struct slice text, void *field) {
    (void)o;
    struct slice rest = text, word;
    int count = 0;
    while (slice_next_word(&rest, BLANKS, &word)) {
        if (++count > MAX_ADDRESSES || !config_kind_is_address(word))
            return false;
    }
    if (count == 0)
        return false;
    replace_string(field, text);
    return true;
}

static void allowed_addresses(const struct config_option *o, struct buf *out) {
    (void)o;
    buf_printf(out, "1 to %d addresses", MAX_ADDRESSES);
}

const struct config_kind config_kind_ADDRESSES = {
    .many_words = true,
    .owns_string = true,
    .parse = parse_addresses,
    .write = write_string,
    .show = write_string,
    .allowed = allowed_addresses,
};

/* Connection strings */

/* libpq's error message is not used, because it may quote a part of the password. */
static bool parse_conninfo(const struct config_option *o, struct slice text, void *field) {
    (void)o;
    if (memchr(text.ptr, '\0', text.len))
        return false;
    char *string = slice_dup(text);
    char *message = NULL;
    PQconninfoOption *parts = PQconninfoParse(string, &message);
    bool ok = parts != NULL;
    PQconninfoFree(parts);
    PQfreemem(message);
    free(string);
    if (ok)
        replace_string(field, text);
    return ok;
}

static void append_conninfo_value(struct buf *out, const char *value) {
    bool plain = value[0] != '\0' && !strpbrk(value, " \t\r\n'\\");
    if (plain) {
        buf_append_str(out, value);
        return;
    }
    buf_append(out, "'", 1);
    for (const char *p = value; *p; p++) {
        if (*p == '\'' || *p == '\\')
            buf_append(out, "\\", 1);
        buf_append(out, p, 1);
    }
    buf_append(out, "'", 1);
}

/* libpq sets a star in dispchar of the options that a dialog must not show. */
static void show_conninfo(const void *field, const struct config_option *o, struct buf *out) {
    (void)o;
    PQconninfoOption *parts = PQconninfoParse(*(char *const *)field, NULL);
    const char *blank = "";
    for (PQconninfoOption *p = parts; p && p->keyword; p++) {
        if (!p->val)
            continue;
        buf_printf(out, "%s%s=", blank, p->keyword);
        append_conninfo_value(out, strchr(p->dispchar, '*') ? "***" : p->val);
        blank = " ";
    }
    PQconninfoFree(parts);
}

static void allowed_conninfo(const struct config_option *o, struct buf *out) {
    (void)o;
    buf_append_str(out, "a connection URI, keyword=value pairs, or nothing");
}

const struct config_kind config_kind_CONNINFO = {
    .owns_string = true,
    .parse = parse_conninfo,
    .write = write_string,
    .show = show_conninfo,
    .allowed = allowed_conninfo,
};

/* Output limits: class, hard limit, soft limit and seconds, for one class or several. A class that the text does not
 * name keeps its limits. */

static bool parse_limit(struct slice *rest, struct output_limit *limit) {
    struct slice hard, soft, seconds;
    int64_t hard_size, soft_size, soft_seconds;
    if (!slice_next_word(rest, BLANKS, &hard) || !slice_next_word(rest, BLANKS, &soft) ||
        !slice_next_word(rest, BLANKS, &seconds))
        return false;
    if (!parse_size(hard, &hard_size) || !parse_size(soft, &soft_size))
        return false;
    if (!parse_int_strict(seconds, &soft_seconds))
        return false;
    if (hard_size < 0 || soft_size < 0 || soft_seconds < 0 || soft_seconds > INT_MAX)
        return false;
    *limit = (struct output_limit){ (size_t)hard_size, (size_t)soft_size, (int)soft_seconds };
    return true;
}

static bool config_kind_parse_limits(const struct config_option *o, struct slice text, void *field) {
    (void)o;
    struct output_limit limits[OUTPUT_CLASS_COUNT];
    memcpy(limits, field, sizeof(limits));
    struct slice word;
    int count = 0, class;
    while (slice_next_word(&text, BLANKS, &word)) {
        if (!name_value(output_classes, word, &class) || !parse_limit(&text, &limits[class]))
            return false;
        count++;
    }
    if (count == 0)
        return false;
    memcpy(field, limits, sizeof(limits));
    return true;
}

static void write_limits(const void *field, const struct config_option *o, struct buf *out) {
    (void)o;
    const struct output_limit *limits = field;
    for (int i = 0; i < OUTPUT_CLASS_COUNT; i++) {
        buf_printf(out, "%s%s ", i ? " " : "", output_classes[i].name);
        append_size(out, limits[i].hard);
        buf_append(out, " ", 1);
        append_size(out, limits[i].soft);
        buf_printf(out, " %d", limits[i].soft_seconds);
    }
}

static void show_limits(const void *field, const struct config_option *o, struct buf *out) {
    (void)o;
    const struct output_limit *limits = field;
    for (int i = 0; i < OUTPUT_CLASS_COUNT; i++) {
        buf_printf(out, "%s%s %zu %zu %d", i ? " " : "", output_classes[i].name, limits[i].hard,
                   limits[i].soft, limits[i].soft_seconds);
    }
}

static void allowed_limits(const struct config_option *o, struct buf *out) {
    (void)o;
    buf_append_str(out,
                   "groups of class (normal, slave, replica or pubsub), hard size, soft size, soft seconds");
}

const struct config_kind config_kind_LIMITS = {
    .many_words = true,
    .parse = config_kind_parse_limits,
    .write = write_limits,
    .show = show_limits,
    .allowed = allowed_limits,
};
