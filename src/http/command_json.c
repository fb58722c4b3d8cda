/* Reads commands from JSON. */
#include "http/command_json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sodium.h>

#include "base/json.h"

struct command_reader {
    struct slice text;
    struct command_list *list;
    size_t used; /* bytes of list->decoded */
    char *err;
    size_t err_size;
};

/* ---- words ---- */

/* A decoded text is not longer than its JSON. */
static char *room_for_word(struct command_reader *r) {
    if (r->list->decoded == NULL)
        r->list->decoded = xmalloc(2 * r->text.len);
    return r->list->decoded + r->used;
}

static bool is_base64_object(struct slice object, struct slice *value) {
    struct json_members members = { .whole = object };
    struct slice name, plain, other;

    return json_next(&members, &name, value) == JSON_FOUND && json_plain_string(name, &plain) &&
           slice_equal(plain, SLICE("base64")) && json_next(&members, &name, &other) == JSON_ABSENT;
}

/* The characters are behind the bytes that they become. */
static bool word_from_base64(struct command_reader *r, struct slice object, struct slice *word) {
    char *bytes = room_for_word(r);
    struct slice value, text;

    if (!is_base64_object(object, &value) || !json_unescape(value, bytes + object.len, &text) ||
        sodium_base642bin((unsigned char *)bytes, object.len, text.ptr, text.len, NULL, &word->len, NULL,
                          sodium_base64_VARIANT_ORIGINAL) != 0)
        return false;
    word->ptr = bytes;
    r->used += word->len;
    return true;
}

static bool word_from_string(struct command_reader *r, struct slice value, struct slice *word) {
    if (json_kind_of(value) != JSON_STRING)
        return false;
    if (json_plain_string(value, word))
        return true;
    if (!json_unescape(value, room_for_word(r), word))
        return false;
    r->used += word->len;
    return true;
}

static bool word_from_json(struct command_reader *r, struct slice value, struct slice *word) {
    int64_t number;

    *word = value;
    if (value.ptr[0] == '"')
        return word_from_string(r, value, word);
    if (value.ptr[0] == '{')
        return word_from_base64(r, value, word);
    return parse_int_strict(value, &number);
}

/* ---- commands ---- */

static bool fail_shape(struct command_reader *r) {
    snprintf(r->err, r->err_size, "expected an array of 1 to %d words, such as [\"QLEN\", \"emails\"]",
             COMMAND_WORDS_MAX);
    return false;
}

/* The first word has the index 0, and people count from 1. */
static bool fail_word(struct command_reader *r, size_t index) {
    snprintf(r->err, r->err_size, "word %zu is neither a text nor an integer nor {\"base64\": \"...\"}",
             index + 1);
    return false;
}

/* The members behind `at` are not JSON. */
static bool fail_json(struct command_reader *r, const struct json_members *m) {
    snprintf(r->err, r->err_size, "the body is not JSON behind byte %zu",
             (size_t)(m->whole.ptr - r->text.ptr) + m->at);
    return false;
}

static bool begins_array(struct slice text) {
    size_t at = 0;

    while (at < text.len && memchr(" \t\r\n", text.ptr[at], 4) != NULL)
        at++;
    return at < text.len && text.ptr[at] == '[';
}

/* The room doubles when it is full. */
static struct slice *new_word(struct command_words *c) {
    if ((c->count & (c->count - 1)) == 0)
        c->words = xrealloc(c->words, (c->count == 0 ? 1 : 2 * c->count) * sizeof *c->words);
    return &c->words[c->count++];
}

static bool read_command(struct command_reader *r, struct slice array) {
    struct json_members members = { .whole = array, .is_array = true };
    struct command_words *c = &r->list->commands[r->list->count];
    struct slice none, value;
    enum json_found found;

    if (!begins_array(array))
        return fail_shape(r);
    *c = (struct command_words){ 0 };
    r->list->count++;
    while ((found = json_next(&members, &none, &value)) == JSON_FOUND) {
        if (c->count == COMMAND_WORDS_MAX)
            return fail_shape(r);
        if (!word_from_json(r, value, new_word(c)))
            return fail_word(r, c->count - 1);
    }
    if (found == JSON_BROKEN)
        return fail_json(r, &members);
    return c->count > 0 || fail_shape(r);
}

static bool read_commands(struct command_reader *r) {
    struct json_members members = { .whole = r->text, .is_array = true };
    struct slice none, value;
    enum json_found found = begins_array(r->text) ? json_next(&members, &none, &value) : JSON_BROKEN;

    r->list->is_single = found != JSON_FOUND || value.ptr[0] != '[';
    if (r->list->is_single)
        return read_command(r, r->text);
    for (; found == JSON_FOUND; found = json_next(&members, &none, &value)) {
        if (r->list->count == HTTP_COMMANDS_MAX) {
            snprintf(r->err, r->err_size, "expected at most %d commands", HTTP_COMMANDS_MAX);
            return false;
        }
        if (!read_command(r, value))
            return false;
    }
    return found == JSON_ABSENT || fail_json(r, &members);
}

bool commands_from_json(struct slice text, struct command_list *list, char *err, size_t err_size) {
    struct command_reader r = { .text = text, .list = list, .err = err, .err_size = err_size };
    bool ok;

    list->count = 0;
    list->decoded = NULL;
    ok = read_commands(&r);
    if (!ok)
        command_list_free(list);
    return ok;
}

void command_list_free(struct command_list *list) {
    for (size_t i = 0; i < list->count; i++)
        free(list->commands[i].words);
    list->count = 0;
    free(list->decoded);
    list->decoded = NULL;
}
