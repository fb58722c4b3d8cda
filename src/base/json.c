/* JSON: checks texts, finds single fields of an object, writes objects. */
#include "base/json.h"

#include <string.h>

struct json_place {
    const char *at, *end;
};

/* The next byte; -1 at the end. */
static int peek(const struct json_place *p) {
    return p->at < p->end ? (unsigned char)*p->at : -1;
}

static bool is_blank(int c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static void skip_blanks(struct json_place *p) {
    while (is_blank(peek(p)))
        p->at++;
}

static bool json_take(struct json_place *p, int c) {
    if (peek(p) != c)
        return false;
    p->at++;
    return true;
}

/* ---- check ---- */

static bool is_digit(int c) {
    return c >= '0' && c <= '9';
}

static bool take_digits(struct json_place *p) {
    const char *begin = p->at;

    while (is_digit(peek(p)))
        p->at++;
    return p->at > begin;
}

static bool json_take_number(struct json_place *p) {
    json_take(p, '-');
    if (!json_take(p, '0') && !take_digits(p))
        return false;
    if (json_take(p, '.') && !take_digits(p))
        return false;
    if (!json_take(p, 'e') && !json_take(p, 'E'))
        return true;
    if (!json_take(p, '-'))
        json_take(p, '+');
    return take_digits(p);
}

static bool is_hex(int c) {
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* Takes the rest of an escape sequence behind the backslash. */
static bool take_escape(struct json_place *p) {
    int c = peek(p);

    if (c == -1 || strchr("\"\\/bfnrtu", c) == NULL)
        return false;
    p->at++;
    for (int i = 0; c == 'u' && i < 4; i++) {
        if (!is_hex(peek(p)))
            return false;
        p->at++;
    }
    return true;
}

static bool take_string(struct json_place *p) {
    if (!json_take(p, '"'))
        return false;
    while (!json_take(p, '"')) {
        size_t left = (size_t)(p->end - p->at);
        size_t len = left > 0 ? utf8_character_len((struct slice){ p->at, left }, 0) : 0;

        if (len == 0 || peek(p) < 0x20)
            return false;
        if (!json_take(p, '\\'))
            p->at += len;
        else if (!take_escape(p))
            return false;
    }
    return true;
}

static bool take_word(struct json_place *p) {
    static const char *const words[] = { "true", "false", "null" };

    for (size_t i = 0; i < LENGTH(words); i++) {
        size_t len = strlen(words[i]);

        if ((size_t)(p->end - p->at) >= len && memcmp(p->at, words[i], len) == 0) {
            p->at += len;
            return true;
        }
    }
    return false;
}

static enum json_kind json_take_value(struct json_place *p, int depth);

static bool take_name(struct json_place *p) {
    skip_blanks(p);
    if (!take_string(p))
        return false;
    skip_blanks(p);
    return json_take(p, ':');
}

/* Takes the members of an object or array behind the opening bracket, and the closing bracket. */
static bool take_members(struct json_place *p, char end, int depth) {
    skip_blanks(p);
    if (json_take(p, end))
        return true;
    do {
        if ((end == '}' && !take_name(p)) || json_take_value(p, depth + 1) == JSON_NONE)
            return false;
    } while (json_take(p, ','));
    return json_take(p, end);
}

/* Takes a value and the blanks around it. */
static enum json_kind json_take_value(struct json_place *p, int depth) {
    enum json_kind kind = JSON_NONE;

    skip_blanks(p);
    if (depth > JSON_DEPTH)
        return JSON_NONE;
    if (json_take(p, '{'))
        kind = take_members(p, '}', depth) ? JSON_OBJECT : JSON_NONE;
    else if (json_take(p, '['))
        kind = take_members(p, ']', depth) ? JSON_ARRAY : JSON_NONE;
    else if (peek(p) == '"')
        kind = take_string(p) ? JSON_STRING : JSON_NONE;
    else if (peek(p) == '-' || is_digit(peek(p)))
        kind = json_take_number(p) ? JSON_NUMBER : JSON_NONE;
    else
        kind = take_word(p) ? JSON_WORD : JSON_NONE;
    skip_blanks(p);
    return kind;
}

enum json_kind json_kind_of(struct slice text) {
    struct json_place p = { text.ptr, text.ptr + text.len };
    enum json_kind kind = json_take_value(&p, 1);

    return p.at == p.end ? kind : JSON_NONE;
}

/* ---- search for a field ---- */

static bool take_mark(struct json_place *p, char c) {
    skip_blanks(p);
    return json_take(p, c);
}

static bool skip_string(struct json_place *p) {
    if (!take_mark(p, '"'))
        return false;
    for (; p->at < p->end; p->at++) {
        if (*p->at == '"') {
            p->at++;
            return true;
        }
        if (*p->at == '\\' && ++p->at == p->end)
            return false;
    }
    return false;
}

/* Skips to the bracket that closes the bracket at this position. Does not check that the two brackets are of the
 * same kind. */
static bool skip_nested(struct json_place *p) {
    for (int depth = 0; p->at < p->end;) {
        char c = *p->at;

        if (c == '"') {
            if (!skip_string(p))
                return false;
            continue;
        }
        p->at++;
        if (c == '{' || c == '[')
            depth++;
        else if ((c == '}' || c == ']') && --depth == 0)
            return true;
    }
    return false;
}

static bool skip_word(struct json_place *p) {
    const char *begin = p->at;

    while (p->at < p->end && !is_blank(*p->at) && strchr(",}]\"{[:", *p->at) == NULL)
        p->at++;
    return p->at > begin;
}

static bool skip_value(struct json_place *p, struct slice *value) {
    bool good;

    skip_blanks(p);
    if (p->at == p->end)
        return false;
    value->ptr = p->at;
    if (*p->at == '"')
        good = skip_string(p);
    else if (*p->at == '{' || *p->at == '[')
        good = skip_nested(p);
    else
        good = skip_word(p);
    value->len = (size_t)(p->at - value->ptr);
    return good;
}

/* Steps over the bracket or comma before a member. JSON_ABSENT: over the closing bracket, and nothing follows. */
static enum json_found step_to_member(struct json_place *p, const struct json_members *m) {
    bool is_first = m->at == 0;

    if (is_first && !take_mark(p, m->is_array ? '[' : '{'))
        return JSON_BROKEN;
    if (!is_first && take_mark(p, ','))
        return JSON_FOUND;
    if (!take_mark(p, m->is_array ? ']' : '}'))
        return is_first ? JSON_FOUND : JSON_BROKEN;
    skip_blanks(p);
    return p->at == p->end ? JSON_ABSENT : JSON_BROKEN;
}

static bool step_over_name(struct json_place *p, struct slice *name) {
    skip_blanks(p);
    name->ptr = p->at;
    if (!skip_string(p))
        return false;
    name->len = (size_t)(p->at - name->ptr);
    return take_mark(p, ':');
}

enum json_found json_next(struct json_members *m, struct slice *name, struct slice *value) {
    struct json_place p = { m->whole.ptr + m->at, m->whole.ptr + m->whole.len };
    enum json_found found = step_to_member(&p, m);

    if (found != JSON_FOUND)
        return found;
    if ((!m->is_array && !step_over_name(&p, name)) || !skip_value(&p, value))
        return JSON_BROKEN;
    m->at = (size_t)(p.at - m->whole.ptr);
    return JSON_FOUND;
}

/* Scans the whole object even after a match, so that a truncated object is reported as broken. */
enum json_found json_field(struct slice object, const char *name, struct slice *value) {
    struct json_members members = { .whole = object };
    enum json_found found = JSON_ABSENT, next;
    struct slice key, here, text;

    while ((next = json_next(&members, &key, &here)) == JSON_FOUND) {
        if (json_plain_string(key, &text) && slice_equal(text, slice_str(name))) {
            *value = here;
            found = JSON_FOUND;
        }
    }
    return next == JSON_BROKEN ? JSON_BROKEN : found;
}

bool json_plain_string(struct slice value, struct slice *text) {
    if (value.len < 2 || value.ptr[0] != '"' || memchr(value.ptr, '\\', value.len) != NULL)
        return false;
    *text = (struct slice){ value.ptr + 1, value.len - 2 };
    return true;
}

/* ---- escapes ---- */

/* The number of the four hexadecimal digits at `at`; -1: they are none. */
static int32_t read_unit(const char *at, const char *end) {
    int32_t unit = 0;

    for (int i = 0; i < 4; i++) {
        int c = at + i < end ? (unsigned char)at[i] : -1;

        if (!is_hex(c))
            return -1;
        unit = unit * 16 + (is_digit(c) ? c - '0' : (c | 0x20) - 'a' + 10);
    }
    return unit;
}

/* A character has at most as many bytes as its escape sequences. */
static size_t write_utf8(char *out, int32_t c) {
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        out[0] = (char)(0xc0 | c >> 6);
        out[1] = (char)(0x80 | (c & 0x3f));
        return 2;
    }
    if (c < 0x10000) {
        out[0] = (char)(0xe0 | c >> 12);
        out[1] = (char)(0x80 | (c >> 6 & 0x3f));
        out[2] = (char)(0x80 | (c & 0x3f));
        return 3;
    }
    out[0] = (char)(0xf0 | c >> 18);
    out[1] = (char)(0x80 | (c >> 12 & 0x3f));
    out[2] = (char)(0x80 | (c >> 6 & 0x3f));
    out[3] = (char)(0x80 | (c & 0x3f));
    return 4;
}

/* Reads the escape sequence behind a backslash at *at, and writes its character. 0: it is none. */
static size_t unescape(const char **at, const char *end, char *out) {
    static const char letters[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
    const char *letter = *at < end && **at != '\0' ? strchr(letters, **at) : NULL;
    int32_t unit, low;

    if (letter != NULL) {
        (*at)++;
        *out = meanings[letter - letters];
        return 1;
    }
    if (*at == end || **at != 'u' || (unit = read_unit(*at + 1, end)) < 0)
        return 0;
    *at += 5;
    if (unit < 0xd800 || unit > 0xdfff)
        return write_utf8(out, unit);
    if (unit > 0xdbff || end - *at < 6 || (*at)[0] != '\\' || (*at)[1] != 'u' ||
        (low = read_unit(*at + 2, end)) < 0xdc00 || low > 0xdfff)
        return 0;
    *at += 6;
    return write_utf8(out, 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00));
}

bool json_unescape(struct slice value, char *out, struct slice *text) {
    const char *at = value.ptr, *end = value.ptr + value.len;
    size_t len = 0, written;

    if (value.len < 2 || *at++ != '"' || *--end != '"')
        return false;
    while (at < end) {
        if (*at != '\\') {
            out[len++] = *at++;
            continue;
        }
        at++;
        if ((written = unescape(&at, end, out + len)) == 0)
            return false;
        len += written;
    }
    *text = (struct slice){ out, len };
    return true;
}

/* ---- writing ---- */

/* Bytes that become JSON at once. */
#define JSON_PIECE 4096
/* The longest escape sequence. */
#define JSON_ESCAPE 6

/* Writes the escape sequence of a control character, a quote or a backslash. Returns the end. */
static char *put_escape(char *out, unsigned char c) {
    static const char sequences[0x20][JSON_ESCAPE + 1] = {
        "\\u0000", "\\u0001", "\\u0002", "\\u0003", "\\u0004", "\\u0005", "\\u0006", "\\u0007",
        "\\b",     "\\t",     "\\n",     "\\u000b", "\\f",     "\\r",     "\\u000e", "\\u000f",
        "\\u0010", "\\u0011", "\\u0012", "\\u0013", "\\u0014", "\\u0015", "\\u0016", "\\u0017",
        "\\u0018", "\\u0019", "\\u001a", "\\u001b", "\\u001c", "\\u001d", "\\u001e", "\\u001f",
    };

    if (c >= 0x20) {
        memcpy(out, (char[]){ '\\', (char)c }, 2);
        return out + 2;
    }
    memcpy(out, sequences[c], JSON_ESCAPE);
    return out + (sequences[c][1] == 'u' ? JSON_ESCAPE : 2);
}

/* Writes the characters from `at` on that are ASCII without an escape sequence, and steps over them. Returns the end. */
static char *put_plain(char *out, struct slice text, size_t *at, size_t end) {
    static const bool is_plain[256] = { [0x20 ... 0x21] = true,
                                        [0x23 ... 0x5b] = true,
                                        [0x5d ... 0x7f] = true };
    size_t begin = *at;

    while (*at < end && is_plain[(unsigned char)text.ptr[*at]])
        ++*at;
    memcpy(out, text.ptr + begin, *at - begin);
    return out + (*at - begin);
}

/* Writes the character at `at`, and steps over it. Returns the end; NULL: it is not UTF-8. */
static char *put_character(char *out, struct slice text, size_t *at) {
    unsigned char c = (unsigned char)text.ptr[*at];
    size_t len;

    if (c < 0x80) {
        ++*at;
        return put_escape(out, c);
    }
    len = utf8_character_len(text, *at);
    memcpy(out, text.ptr + *at, len);
    *at += len;
    return len == 0 ? NULL : out + len;
}

bool json_add_string(struct buf *b, struct slice text) {
    buf_append(b, "\"", 1);
    for (size_t at = 0; at < text.len;) {
        size_t end = text.len - at > JSON_PIECE ? at + JSON_PIECE : text.len;
        char *begin = buf_reserve(b, (end - at + 1) * JSON_ESCAPE), *out = begin;

        while (out != NULL && at < end) {
            out = put_plain(out, text, &at, end);
            if (at < end)
                out = put_character(out, text, &at);
        }
        if (out == NULL)
            return false;
        buf_added(b, (size_t)(out - begin));
    }
    buf_append(b, "\"", 1);
    return true;
}

static bool json_add_name(struct buf *b, struct slice name) {
    if (buf_ptr(b)[buf_len(b) - 1] != '{')
        buf_append(b, ",", 1);
    if (!json_add_string(b, name))
        return false;
    buf_append(b, ":", 1);
    return true;
}

void json_begin(struct buf *b) {
    buf_append(b, "{", 1);
}

bool json_add_text(struct buf *b, struct slice name, struct slice text) {
    return json_add_name(b, name) && json_add_string(b, text);
}

bool json_add_value(struct buf *b, struct slice name, struct slice value) {
    if (json_kind_of(value) == JSON_NONE || !json_add_name(b, name))
        return false;
    buf_append(b, value.ptr, value.len);
    return true;
}

void json_end(struct buf *b) {
    buf_append(b, "}", 1);
}
