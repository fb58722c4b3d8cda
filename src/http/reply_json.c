/* Turns commands from JSON into words, and replies into JSON. */
#include "http/reply_json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sodium.h>

#include "base/json_bytes.h"
#include "http/reply_scan.h"

/* ---- replies ---- */

static json_t *reply_to_array(struct slice *replies, size_t count) {
    json_t *out = json_array();

    while (count-- > 0)
        json_array_append_new(out, reply_to_json(replies));
    return out;
}

/* True if the first value can be the name of a member: the JSON library takes no NUL there. */
static bool is_member_name(struct slice replies) {
    struct reply_head head;
    struct slice text = reply_head_read(replies, &head) ? reply_head_text(replies, &head) : SLICE("");

    return head.type != '_' && reply_head_elements(&head) == 0 && utf8_is_valid(text) &&
           memchr(text.ptr, '\0', text.len) == NULL;
}

static void skip_reply(struct slice *replies) {
    struct reply_scan scan = { 0 };

    (void)reply_scan_next(&scan, *replies);
    *replies = (struct slice){ replies->ptr + scan.at, replies->len - scan.at };
}

static bool are_member_names(struct slice replies, size_t pairs) {
    for (size_t i = 0; i < pairs; i++) {
        if (!is_member_name(replies))
            return false;
        skip_reply(&replies);
        skip_reply(&replies);
    }
    return true;
}

static json_t *reply_to_object(struct slice *replies, size_t pairs) {
    json_t *out = json_object();

    while (pairs-- > 0) {
        char *name = slice_dup(reply_text(*replies));

        skip_reply(replies);
        json_object_set_new_nocheck(out, name, reply_to_json(replies));
        free(name);
    }
    return out;
}

static json_t *reply_to_pairs(struct slice *replies, size_t pairs) {
    json_t *out = json_array();

    while (pairs-- > 0)
        json_array_append_new(out, reply_to_array(replies, 2));
    return out;
}

static json_t *map_to_json(struct slice *replies, size_t pairs) {
    return are_member_names(*replies, pairs) ? reply_to_object(replies, pairs)
                                             : reply_to_pairs(replies, pairs);
}

static json_t *double_to_json(struct slice text) {
    char *copy = slice_dup(text);
    json_t *out = json_real(strtod(copy, NULL));

    free(copy);
    return out != NULL ? out : json_of_bytes(text);
}

/* The value of a line or of a bulk. */
static json_t *text_to_json(const struct reply_head *head, struct slice text) {
    switch (head->type) {
    case ':':
        return json_integer(head->number);
    case '_':
        return json_null();
    case '#':
        return json_boolean(slice_is(text, "t"));
    case ',':
        return double_to_json(text);
    case '-':
    case '!':
        return json_pack("{s:o}", "error", json_of_bytes(text));
    default:
        return head->number < 0 ? json_null() : json_of_bytes(text);
    }
}

json_t *reply_to_json(struct slice *replies) {
    struct slice all = *replies;
    struct reply_head head;

    if (!reply_head_read(all, &head))
        return json_null();
    *replies = (struct slice){ all.ptr + head.size, all.len - head.size };
    if (head.type == '%' && head.number >= 0)
        return map_to_json(replies, (size_t)head.number);
    if ((head.type == '*' || head.type == '~' || head.type == '>') && head.number >= 0)
        return reply_to_array(replies, (size_t)head.number);
    return text_to_json(&head, reply_head_text(all, &head));
}

bool reply_is_error(struct slice replies, struct slice *text) {
    struct reply_head head;

    if (!reply_head_read(replies, &head) || (head.type != '-' && head.type != '!'))
        return false;
    *text = reply_head_text(replies, &head);
    return true;
}

struct slice reply_text(struct slice replies) {
    struct reply_head head;

    return reply_head_read(replies, &head) ? reply_head_text(replies, &head) : SLICE("");
}

/* ---- commands ---- */

static bool word_from_base64(const json_t *value, struct slice *out) {
    const char *text = json_string_value(json_object_get(value, "base64"));
    size_t size, len;
    unsigned char *bytes;

    if (text == NULL || json_object_size(value) != 1)
        return false;
    size = strlen(text) / 4 * 3 + 3;
    bytes = xmalloc(size);
    if (sodium_base642bin(bytes, size, text, strlen(text), NULL, &len, NULL,
                          sodium_base64_VARIANT_ORIGINAL) != 0) {
        free(bytes);
        return false;
    }
    *out = (struct slice){ (char *)bytes, len };
    return true;
}

static bool word_from_json(const json_t *value, struct slice *out) {
    if (json_is_string(value)) {
        struct slice text = { json_string_value(value), json_string_length(value) };

        *out = (struct slice){ slice_dup(text), text.len };
        return true;
    }
    if (json_is_integer(value)) {
        char *digits = xasprintf("%lld", (long long)json_integer_value(value));

        *out = slice_str(digits);
        return true;
    }
    return word_from_base64(value, out);
}

void command_list_free(struct command_list *list) {
    for (size_t i = 0; i < list->count; i++) {
        for (size_t j = 0; j < list->commands[i].count; j++)
            free((char *)list->commands[i].words[j].ptr);
        free(list->commands[i].words);
    }
    list->count = 0;
}

/* Appends the command to the list. */
static bool add_command(struct command_list *list, const json_t *array, char *err, size_t err_size) {
    struct command_words *c = &list->commands[list->count];
    size_t size = json_array_size(array);

    if (!json_is_array(array) || size == 0 || size > COMMAND_WORDS_MAX) {
        snprintf(err, err_size, "expected an array of 1 to %d words, such as [\"QLEN\", \"emails\"]",
                 COMMAND_WORDS_MAX);
        return false;
    }
    c->words = xcalloc(size, sizeof *c->words);
    list->count++;
    for (c->count = 0; c->count < size; c->count++) {
        if (word_from_json(json_array_get(array, c->count), &c->words[c->count]))
            continue;
        snprintf(err, err_size, "word %zu is neither a text nor an integer nor {\"base64\": \"...\"}",
                 c->count);
        return false;
    }
    return true;
}

static bool add_commands(struct command_list *list, const json_t *value, char *err, size_t err_size) {
    size_t size = json_array_size(value);

    list->is_single = !json_is_array(json_array_get(value, 0));
    if (list->is_single)
        return add_command(list, value, err, err_size);
    if (size > COMMANDS_MAX) {
        snprintf(err, err_size, "expected at most %d commands", COMMANDS_MAX);
        return false;
    }
    for (size_t i = 0; i < size; i++) {
        if (!add_command(list, json_array_get(value, i), err, err_size))
            return false;
    }
    return true;
}

bool commands_from_json(struct slice text, struct command_list *list, char *err, size_t err_size) {
    json_error_t why;
    json_t *value = json_loadb(text.ptr, text.len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &why);
    bool ok;

    list->count = 0;
    if (value == NULL) {
        snprintf(err, err_size, "the body is not JSON: line %d, column %d", why.line, why.column);
        return false;
    }
    ok = add_commands(list, value, err, err_size);
    json_decref(value);
    if (!ok)
        command_list_free(list);
    return ok;
}
