/* Turns replies into JSON. */
#include "http/reply_json.h"

#include <stdlib.h>
#include <string.h>

#include "base/json_bytes.h"
#include "http/reply_scan.h"

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
