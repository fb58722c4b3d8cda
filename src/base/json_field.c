/* Finds single fields of a JSON object. */
#include "base/json_field.h"

#include <string.h>

struct json_field_place {
    const char *at, *end;
};

static bool json_field_is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static void json_field_skip_blanks(struct json_field_place *p) {
    while (p->at < p->end && json_field_is_blank(*p->at))
        p->at++;
}

static bool json_field_take(struct json_field_place *p, char c) {
    json_field_skip_blanks(p);
    if (p->at == p->end || *p->at != c)
        return false;
    p->at++;
    return true;
}

static bool skip_string(struct json_field_place *p) {
    if (!json_field_take(p, '"'))
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

/* Skips to the bracket that closes the one here. Does not check that the two brackets are of the same kind. */
static bool skip_nested(struct json_field_place *p) {
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

static bool skip_word(struct json_field_place *p) {
    const char *begin = p->at;

    while (p->at < p->end && !json_field_is_blank(*p->at) && strchr(",}]\"{[:", *p->at) == NULL)
        p->at++;
    return p->at > begin;
}

static bool skip_value(struct json_field_place *p, struct slice *value) {
    bool good;

    json_field_skip_blanks(p);
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

/* Scans the whole object even after a match, so that a truncated object is reported as broken. */
enum json_found json_field(struct slice object, const char *name, struct slice *value) {
    struct json_field_place p = { object.ptr, object.ptr + object.len };
    enum json_found found = JSON_ABSENT;
    struct slice key, here, text;

    if (!json_field_take(&p, '{'))
        return JSON_BROKEN;
    if (!json_field_take(&p, '}')) {
        do {
            json_field_skip_blanks(&p);
            key.ptr = p.at;
            if (!skip_string(&p))
                return JSON_BROKEN;
            key.len = (size_t)(p.at - key.ptr);
            if (!json_field_take(&p, ':') || !skip_value(&p, &here))
                return JSON_BROKEN;
            if (json_plain_string(key, &text) && slice_equal(text, slice_str(name))) {
                *value = here;
                found = JSON_FOUND;
            }
        } while (json_field_take(&p, ','));
        if (!json_field_take(&p, '}'))
            return JSON_BROKEN;
    }
    json_field_skip_blanks(&p);
    return p.at == p.end ? found : JSON_BROKEN;
}

bool json_plain_string(struct slice value, struct slice *text) {
    if (value.len < 2 || value.ptr[0] != '"' || memchr(value.ptr, '\\', value.len) != NULL)
        return false;
    *text = (struct slice){ value.ptr + 1, value.len - 2 };
    return true;
}
