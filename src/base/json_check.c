/* Checks that texts are valid JSON. */
#include "base/json_check.h"

#include <string.h>

struct json_check_place {
    struct slice text;
    size_t at;
};

static int peek(const struct json_check_place *p) {
    return p->at < p->text.len ? (unsigned char)p->text.ptr[p->at] : -1;
}

static void json_check_skip_blanks(struct json_check_place *p) {
    while (peek(p) == ' ' || peek(p) == '\t' || peek(p) == '\n' || peek(p) == '\r')
        p->at++;
}

static bool json_check_take(struct json_check_place *p, int c) {
    if (peek(p) != c)
        return false;
    p->at++;
    return true;
}

static bool is_digit(int c) {
    return c >= '0' && c <= '9';
}

static bool take_digits(struct json_check_place *p) {
    size_t begin = p->at;

    while (is_digit(peek(p)))
        p->at++;
    return p->at > begin;
}

static bool json_check_take_number(struct json_check_place *p) {
    json_check_take(p, '-');
    if (!json_check_take(p, '0') && !take_digits(p))
        return false;
    if (json_check_take(p, '.') && !take_digits(p))
        return false;
    if (!json_check_take(p, 'e') && !json_check_take(p, 'E'))
        return true;
    if (!json_check_take(p, '-'))
        json_check_take(p, '+');
    return take_digits(p);
}

static bool is_hex(int c) {
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* Takes the rest of an escape sequence behind the backslash. */
static bool take_escape(struct json_check_place *p) {
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

static bool take_string(struct json_check_place *p) {
    if (!json_check_take(p, '"'))
        return false;
    while (!json_check_take(p, '"')) {
        size_t len = p->at < p->text.len ? utf8_character_len(p->text, p->at) : 0;

        if (len == 0 || peek(p) < 0x20)
            return false;
        if (!json_check_take(p, '\\'))
            p->at += len;
        else if (!take_escape(p))
            return false;
    }
    return true;
}

static bool take_word(struct json_check_place *p) {
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

static enum json_kind json_check_take_value(struct json_check_place *p, int depth);

static bool take_name(struct json_check_place *p) {
    json_check_skip_blanks(p);
    if (!take_string(p))
        return false;
    json_check_skip_blanks(p);
    return json_check_take(p, ':');
}

/* Takes the members of an object or array behind the opening bracket, and the closing bracket. */
static bool take_members(struct json_check_place *p, char end, int depth) {
    json_check_skip_blanks(p);
    if (json_check_take(p, end))
        return true;
    do {
        if ((end == '}' && !take_name(p)) || json_check_take_value(p, depth + 1) == JSON_NONE)
            return false;
    } while (json_check_take(p, ','));
    return json_check_take(p, end);
}

/* Takes a value and the blanks around it. */
static enum json_kind json_check_take_value(struct json_check_place *p, int depth) {
    enum json_kind kind = JSON_NONE;

    json_check_skip_blanks(p);
    if (depth > JSON_DEPTH)
        return JSON_NONE;
    if (json_check_take(p, '{'))
        kind = take_members(p, '}', depth) ? JSON_OBJECT : JSON_NONE;
    else if (json_check_take(p, '['))
        kind = take_members(p, ']', depth) ? JSON_ARRAY : JSON_NONE;
    else if (peek(p) == '"')
        kind = take_string(p) ? JSON_STRING : JSON_NONE;
    else if (peek(p) == '-' || is_digit(peek(p)))
        kind = json_check_take_number(p) ? JSON_NUMBER : JSON_NONE;
    else
        kind = take_word(p) ? JSON_WORD : JSON_NONE;
    json_check_skip_blanks(p);
    return kind;
}

enum json_kind json_kind_of(struct slice text) {
    struct json_check_place p = { text, 0 };
    enum json_kind kind = json_check_take_value(&p, 1);

    return p.at == text.len ? kind : JSON_NONE;
}
