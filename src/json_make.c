/* Make JSON objects. */
#include "json_make.h"

#include <string.h>

#include "json_field.h"

/* How many bytes the character at s.ptr[at] has; 0: it is none. Overlong forms, surrogates and what is
 * beyond the last plane are none. */
static size_t character_len(struct slice s, size_t at) {
    static const struct {
        unsigned char first, last, low, high; /* of the first byte, and of the second */
        size_t len;
    } forms[] = {
        { 0x00, 0x7f, 0, 0, 1 },       { 0xc2, 0xdf, 0x80, 0xbf, 2 }, { 0xe0, 0xe0, 0xa0, 0xbf, 3 },
        { 0xe1, 0xec, 0x80, 0xbf, 3 }, { 0xed, 0xed, 0x80, 0x9f, 3 }, { 0xee, 0xef, 0x80, 0xbf, 3 },
        { 0xf0, 0xf0, 0x90, 0xbf, 4 }, { 0xf1, 0xf3, 0x80, 0xbf, 4 }, { 0xf4, 0xf4, 0x80, 0x8f, 4 },
    };
    const unsigned char *c = (const unsigned char *)s.ptr + at;
    size_t form = 0;

    while (form < LENGTH(forms) && (c[0] < forms[form].first || c[0] > forms[form].last))
        form++;
    if (form == LENGTH(forms) || forms[form].len > s.len - at)
        return 0;
    if (forms[form].len > 1 && (c[1] < forms[form].low || c[1] > forms[form].high))
        return 0;
    for (size_t i = 2; i < forms[form].len; i++) {
        if (c[i] < 0x80 || c[i] > 0xbf)
            return 0;
    }
    return forms[form].len;
}

static void add_character(struct buf *b, const char *at, size_t len) {
    unsigned char c = (unsigned char)*at;

    if (c == '"' || c == '\\')
        buf_append(b, "\\", 1);
    if (c < 0x20)
        buf_printf(b, "\\u%04x", c);
    else
        buf_append(b, at, len);
}

static bool add_string(struct buf *b, struct slice text) {
    buf_append(b, "\"", 1);
    for (size_t at = 0, len; at < text.len; at += len) {
        len = character_len(text, at);
        if (len == 0)
            return false;
        add_character(b, text.ptr + at, len);
    }
    buf_append(b, "\"", 1);
    return true;
}

static bool add_name(struct buf *b, struct slice name) {
    if (buf_ptr(b)[buf_len(b) - 1] != '{')
        buf_append(b, ",", 1);
    if (!add_string(b, name))
        return false;
    buf_append(b, ":", 1);
    return true;
}

void json_begin(struct buf *b) {
    buf_append(b, "{", 1);
}

bool json_add_text(struct buf *b, struct slice name, struct slice text) {
    return add_name(b, name) && add_string(b, text);
}

bool json_add_value(struct buf *b, struct slice name, struct slice value) {
    if (!json_is_value(value) || !add_name(b, name))
        return false;
    buf_append(b, value.ptr, value.len);
    return true;
}

void json_end(struct buf *b) {
    buf_append(b, "}", 1);
}
