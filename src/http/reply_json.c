/* Writes replies as JSON. */
#include "http/reply_json.h"

#include <openssl/evp.h>

#include "base/json.h"
#include "http/reply_scan.h"

static void add_text(struct buf *out, struct slice text) {
    buf_append(out, text.ptr, text.len);
}

/* libsodium takes four times as long, because its time does not depend on the bytes. */
static void base64_to_json(struct slice bytes, struct buf *out) {
    char *text;

    buf_append_str(out, "{\"base64\":\"");
    text = buf_reserve(out, bytes.len / 3 * 4 + 5);
    buf_added(out, (size_t)EVP_EncodeBlock((unsigned char *)text, (const unsigned char *)bytes.ptr,
                                           (int)bytes.len));
    buf_append_str(out, "\"}");
}

static void bytes_to_json(struct slice bytes, struct buf *out) {
    size_t end = out->end;

    if (json_add_string(out, bytes))
        return;
    out->end = end;
    base64_to_json(bytes, out);
}

/* ---- maps ---- */

/* True if the first value can be the name of a member. */
static bool is_member_name(struct slice replies) {
    struct reply_head head;
    struct slice text = reply_head_read(replies, &head) ? reply_head_text(replies, &head) : SLICE("");

    return head.type != '_' && reply_head_elements(&head) == 0 && utf8_is_valid(text);
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

static void reply_to_object(struct slice *replies, size_t pairs, struct buf *out) {
    buf_append_str(out, "{");
    for (size_t i = 0; i < pairs; i++) {
        if (i > 0)
            buf_append_str(out, ",");
        bytes_to_json(reply_text(*replies), out);
        buf_append_str(out, ":");
        skip_reply(replies);
        reply_to_json(replies, out);
    }
    buf_append_str(out, "}");
}

static void reply_to_array(struct slice *replies, size_t count, struct buf *out) {
    buf_append_str(out, "[");
    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            buf_append_str(out, ",");
        reply_to_json(replies, out);
    }
    buf_append_str(out, "]");
}

static void reply_to_pairs(struct slice *replies, size_t pairs, struct buf *out) {
    buf_append_str(out, "[");
    for (size_t i = 0; i < pairs; i++) {
        if (i > 0)
            buf_append_str(out, ",");
        reply_to_array(replies, 2, out);
    }
    buf_append_str(out, "]");
}

static void map_to_json(struct slice *replies, size_t pairs, struct buf *out) {
    if (are_member_names(*replies, pairs))
        reply_to_object(replies, pairs, out);
    else
        reply_to_pairs(replies, pairs, out);
}

/* ---- values ---- */

static void error_to_json(struct slice text, struct buf *out) {
    buf_append_str(out, "{\"error\":");
    bytes_to_json(text, out);
    buf_append_str(out, "}");
}

/* The value of a line or of a bulk. The double "inf" is no number of JSON. */
static void value_to_json(const struct reply_head *head, struct slice text, struct buf *out) {
    bool is_null = head->type == '_' || head->number < 0;

    if (head->type == ':' || (head->type == ',' && json_kind_of(text) == JSON_NUMBER))
        add_text(out, text);
    else if (head->type == '#')
        buf_append_str(out, slice_is(text, "t") ? "true" : "false");
    else if (head->type == '-' || head->type == '!')
        error_to_json(text, out);
    else if (is_null)
        buf_append_str(out, "null");
    else
        bytes_to_json(text, out);
}

static bool is_array_type(char type) {
    return type == '*' || type == '~' || type == '>';
}

/* Reads the first line of a reply. False: there is none. */
static bool take_head(struct slice *replies, struct reply_head *head, struct slice *text) {
    struct slice all = *replies;

    if (!reply_head_read(all, head))
        return false;
    *text = reply_head_text(all, head);
    *replies = (struct slice){ all.ptr + head->size, all.len - head->size };
    return true;
}

void reply_to_json(struct slice *replies, struct buf *out) {
    struct reply_head head;
    struct slice text;

    if (!take_head(replies, &head, &text))
        buf_append_str(out, "null");
    else if (head.type == '%' && head.number >= 0)
        map_to_json(replies, (size_t)head.number, out);
    else if (is_array_type(head.type) && head.number >= 0)
        reply_to_array(replies, (size_t)head.number, out);
    else
        value_to_json(&head, text, out);
}

void reply_pairs_to_json(struct slice *replies, struct buf *out) {
    struct slice rest = *replies, text;
    struct reply_head head;

    if (!take_head(&rest, &head, &text) || !is_array_type(head.type) || head.number % 2 != 0) {
        reply_to_json(replies, out);
        return;
    }
    *replies = rest;
    reply_to_object(replies, (size_t)head.number / 2, out);
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
