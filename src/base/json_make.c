/* Writes JSON objects. */
#include "base/json_make.h"

#include <string.h>

#include "base/json_check.h"

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
        len = utf8_character_len(text, at);
        if (len == 0)
            return false;
        add_character(b, text.ptr + at, len);
    }
    buf_append(b, "\"", 1);
    return true;
}

static bool json_make_add_name(struct buf *b, struct slice name) {
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
    return json_make_add_name(b, name) && add_string(b, text);
}

bool json_add_value(struct buf *b, struct slice name, struct slice value) {
    if (json_kind_of(value) == JSON_NONE || !json_make_add_name(b, name))
        return false;
    buf_append(b, value.ptr, value.len);
    return true;
}

void json_end(struct buf *b) {
    buf_append(b, "}", 1);
}
