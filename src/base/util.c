/* Memory allocation that never fails, byte slices, strict integers. */
#include "base/util.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/log.h"

struct slice slice_str(const char *text) {
    return (struct slice){ text, strlen(text) };
}

bool slice_equal(struct slice a, struct slice b) {
    return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}

static unsigned char lower(char c) {
    return c >= 'A' && c <= 'Z' ? (unsigned char)(c + ('a' - 'A')) : (unsigned char)c;
}

bool slice_is(struct slice s, const char *word) {
    for (size_t i = 0; i < s.len; i++) {
        if (word[i] == '\0' || lower(s.ptr[i]) != lower(word[i]))
            return false;
    }
    return word[s.len] == '\0';
}

static void *util_checked(void *ptr, size_t size) {
    if (ptr == NULL)
        log_fatal("memory", "out of memory while asking for %zu bytes", size);
    return ptr;
}

bool slice_next_word(struct slice *rest, const char *separators, struct slice *word) {
    size_t from = 0, to;

    while (from < rest->len && rest->ptr[from] != '\0' && strchr(separators, rest->ptr[from]) != NULL)
        from++;
    to = from;
    while (to < rest->len && (rest->ptr[to] == '\0' || strchr(separators, rest->ptr[to]) == NULL))
        to++;
    *word = (struct slice){ rest->ptr + from, to - from };
    *rest = (struct slice){ rest->ptr + to, rest->len - to };
    return to > from;
}

/* A size of 0 returns a unique pointer, so that NULL always means failure. */
void *xmalloc(size_t size) {
    return util_checked(malloc(size == 0 ? 1 : size), size);
}

void *xcalloc(size_t count, size_t size) {
    if (count == 0 || size == 0)
        return util_checked(calloc(1, 1), 1);
    return util_checked(calloc(count, size), size);
}

void *xrealloc(void *ptr, size_t size) {
    return util_checked(realloc(ptr, size == 0 ? 1 : size), size);
}

char *xstrdup(const char *text) {
    return xmemdup(text, strlen(text) + 1);
}

void *xmemdup(const void *ptr, size_t size) {
    void *copy = xmalloc(size);

    if (size > 0)
        memcpy(copy, ptr, size);
    return copy;
}

char *slice_dup(struct slice s) {
    char *copy = xmalloc(s.len + 1);

    if (s.len > 0)
        memcpy(copy, s.ptr, s.len);
    copy[s.len] = '\0';
    return copy;
}

char *xasprintf(const char *fmt, ...) {
    va_list args, again;
    char *text;
    int len;

    va_start(args, fmt);
    va_copy(again, args);
    len = vsnprintf(NULL, 0, fmt, args);
    if (len < 0)
        log_fatal("memory", "the format \"%s\" cannot be printed", fmt);
    text = xmalloc((size_t)len + 1);
    vsnprintf(text, (size_t)len + 1, fmt, again);
    va_end(again);
    va_end(args);
    return text;
}

/* Parses one or more digits. False if the value is greater than limit. */
static bool parse_digits(struct slice s, uint64_t limit, uint64_t *out) {
    uint64_t value = 0;

    if (s.len == 0)
        return false;
    for (size_t i = 0; i < s.len; i++) {
        unsigned digit = (unsigned)(unsigned char)s.ptr[i] - '0';

        if (digit > 9 || value > (limit - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    *out = value;
    return true;
}

static struct slice slice_from(struct slice s, size_t skip) {
    return (struct slice){ s.ptr + skip, s.len - skip };
}

/* Parses digits as a signed value. INT64_MIN is allowed, although its magnitude is greater than INT64_MAX. */
static bool parse_signed(struct slice digits, bool negative, int64_t *out) {
    uint64_t value;

    if (!parse_digits(digits, (uint64_t)INT64_MAX + (negative ? 1 : 0), &value))
        return false;
    *out = negative ? (int64_t)(0 - value) : (int64_t)value;
    return true;
}

bool parse_int_strict(struct slice s, int64_t *out) {
    bool negative = s.len > 0 && s.ptr[0] == '-';
    struct slice digits = negative ? slice_from(s, 1) : s;

    if (digits.len > 0 && digits.ptr[0] == '0' && (negative || digits.len > 1))
        return false;
    return parse_signed(digits, negative, out);
}

bool parse_int_disque(struct slice s, int64_t *out) {
    bool has_sign;

    s.len = s.len == 0 ? 0 : strnlen(s.ptr, s.len);
    if (s.len == 0) {
        *out = 0;
        return true;
    }
    has_sign = s.ptr[0] == '-' || s.ptr[0] == '+';
    return parse_signed(has_sign ? slice_from(s, 1) : s, s.ptr[0] == '-', out);
}

static const struct unit {
    const char *name;
    int64_t factor;
} units[] = {
    { "", 1 },
    { "b", 1 },
    { "k", 1000 },
    { "kb", INT64_C(1) << 10 },
    { "m", 1000 * 1000 },
    { "mb", INT64_C(1) << 20 },
    { "g", 1000 * 1000 * 1000 },
    { "gb", INT64_C(1) << 30 },
};

bool parse_size(struct slice s, int64_t *out) {
    struct slice digits = s;
    uint64_t value;

    digits.len = 0;
    while (digits.len < s.len && isdigit((unsigned char)s.ptr[digits.len]))
        digits.len++;
    if (!parse_digits(digits, INT64_MAX, &value))
        return false;
    for (size_t i = 0; i < LENGTH(units); i++) {
        int64_t size;

        if (!slice_is(slice_from(s, digits.len), units[i].name))
            continue;
        if (__builtin_mul_overflow((int64_t)value, units[i].factor, &size))
            return false;
        *out = size;
        return true;
    }
    return false;
}

void hex_encode(const unsigned char *bytes, size_t len, char *out) {
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < len; i++) {
        *out++ = digits[bytes[i] >> 4];
        *out++ = digits[bytes[i] & 15];
    }
    *out = '\0';
}

size_t utf8_character_len(struct slice s, size_t at) {
    /* By the first byte: the length, and the range of the second byte. */
    enum { WRONG, ONE, TWO, E0, THREE, ED, F0, FOUR, F4 };
    static const unsigned char forms[256] = {
        [0x00 ... 0x7f] = ONE, [0xc2 ... 0xdf] = TWO,   [0xe0] = E0, [0xe1 ... 0xec] = THREE,
        [0xed] = ED,           [0xee ... 0xef] = THREE, [0xf0] = F0, [0xf1 ... 0xf3] = FOUR,
        [0xf4] = F4,
    };
    static const struct {
        unsigned char len, low, high;
    } kinds[] = {
        [WRONG] = { 0, 0, 0 },    [ONE] = { 1, 0, 0 },         [TWO] = { 2, 0x80, 0xbf },
        [E0] = { 3, 0xa0, 0xbf }, [THREE] = { 3, 0x80, 0xbf }, [ED] = { 3, 0x80, 0x9f },
        [F0] = { 4, 0x90, 0xbf }, [FOUR] = { 4, 0x80, 0xbf },  [F4] = { 4, 0x80, 0x8f },
    };
    const unsigned char *c = (const unsigned char *)s.ptr + at;
    unsigned char form = forms[c[0]];
    size_t len = kinds[form].len;

    if (len <= 1)
        return len;
    if (len > s.len - at || c[1] < kinds[form].low || c[1] > kinds[form].high)
        return 0;
    for (size_t i = 2; i < len; i++) {
        if (c[i] < 0x80 || c[i] > 0xbf)
            return 0;
    }
    return len;
}

bool utf8_is_valid(struct slice s) {
    for (size_t at = 0, len; at < s.len; at += len) {
        len = utf8_character_len(s, at);
        if (len == 0)
            return false;
    }
    return true;
}
