/* Checks that texts are valid JSON. */
#include "base/json_check.h"

#include <string.h>

struct place {
    struct slice text;
    size_t at;
};

static int peek(const struct place *p) {
    return p->at < p->text.len ? (unsigned char)p->text.ptr[p->at] : -1;
}

static void skip_blanks(struct place *p) {
    while (peek(p) == ' ' || peek(p) == '\t' || peek(p) == '\n' || peek(p) == '\r')
        p->at++;
}

static bool take(struct place *p, int c) {
    if (peek(p) != c)
        return false;
    p->at++;
    return true;
}

static bool is_digit(int c) {
    return c >= '0' && c <= '9';
}

static bool take_digits(struct place *p) {
    size_t begin = p->at;

    while (is_digit(peek(p)))
        p->at++;
    return p->at > begin;
}

static bool take_number(struct place *p) {
    take(p, '-');
    if (!take(p, '0') && !take_digits(p))
        return false;
    if (take(p, '.') && !take_digits(p))
        return false;
    if (!take(p, 'e') && !take(p, 'E'))
        return true;
    if (!take(p, '-'))
        take(p, '+');
    return take_digits(p);
}

static bool is_hex(int c) {
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* Takes the rest of an escape sequence behind the backslash. */
static bool take_escape(struct place *p) {
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

static bool take_string(struct place *p) {
    if (!take(p, '"'))
        return false;
    while (!take(p, '"')) {
        size_t len = p->at < p->text.len ? utf8_character_len(p->text, p->at) : 0;

        if (len == 0 || peek(p) < 0x20)
            return false;
        if (!take(p, '\\'))
            p->at += len;
        else if (!take_escape(p))
            return false;
    }
    return true;
}

static bool take_word(struct place *p) {
    static const char *const words[] = { "true", "false", "null" };

    for (size_t i = 0; i < LENGTH(words); i++) {
        size_t len = strlen(words[i]);

        if (p->text.len - p->at >= len && memcmp(p->text.ptr + p->at, words[i], len) == 0) {
            p->at += len;
            return true;
        }
    }
    return false;
}

static enum json_kind take_value(struct place *p, int depth);

static bool take_name(struct place *p) {
    skip_blanks(p);
    if (!take_string(p))
        return false;
    skip_blanks(p);
    return take(p, ':');
}

/* Takes the members of an object or array behind the opening bracket, and the closing bracket. */
static bool take_members(struct place *p, char end, int depth) {
    skip_blanks(p);
    if (take(p, end))
        return true;
    do {
        if ((end == '}' && !take_name(p)) || take_value(p, depth + 1) == JSON_NONE)
            return false;
    } while (take(p, ','));
    return take(p, end);
}

/* Takes a value and the blanks around it. */
static enum json_kind take_value(struct place *p, int depth) {
    enum json_kind kind = JSON_NONE;

    skip_blanks(p);
    if (depth > JSON_DEPTH)
        return JSON_NONE;
    if (take(p, '{'))
        kind = take_members(p, '}', depth) ? JSON_OBJECT : JSON_NONE;
    else if (take(p, '['))
        kind = take_members(p, ']', depth) ? JSON_ARRAY : JSON_NONE;
    else if (peek(p) == '"')
        kind = take_string(p) ? JSON_STRING : JSON_NONE;
    else if (peek(p) == '-' || is_digit(peek(p)))
        kind = take_number(p) ? JSON_NUMBER : JSON_NONE;
    else
        kind = take_word(p) ? JSON_WORD : JSON_NONE;
    skip_blanks(p);
    return kind;
}

enum json_kind json_kind_of(struct slice text) {
    struct place p = { text, 0 };
    enum json_kind kind = take_value(&p, 1);

    return p.at == text.len ? kind : JSON_NONE;
}
