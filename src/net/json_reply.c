/* Replies of JSON values, such as the headers of a job. */
#include "net/json_reply.h"

#include "base/json.h"

#define JSON_REPLY_DEPTH 4

static void json_reply_value(struct req *r, struct slice json, int depth);

static size_t json_reply_count(struct json_members m) {
    struct slice name, value;
    size_t count = 0;

    while (json_next(&m, &name, &value) == JSON_FOUND)
        count++;
    return count;
}

static void json_reply_string(struct req *r, struct slice json) {
    struct slice text;

    reply_bulk(r, json_unescape(json, req_alloc(r, json.len), &text) ? text : json);
}

static void json_reply_members(struct req *r, struct json_members m, int depth) {
    struct slice name, value;

    if (m.is_array)
        reply_array(r, json_reply_count(m));
    else
        reply_map(r, json_reply_count(m));
    while (json_next(&m, &name, &value) == JSON_FOUND) {
        if (!m.is_array)
            json_reply_string(r, name);
        json_reply_value(r, value, depth + 1);
    }
}

static void json_reply_value(struct req *r, struct slice json, int depth) {
    enum json_kind kind = depth > JSON_REPLY_DEPTH ? JSON_NONE : json_kind_of(json);
    int64_t number;

    if (kind == JSON_OBJECT || kind == JSON_ARRAY)
        json_reply_members(r, (struct json_members){ .whole = json, .is_array = kind == JSON_ARRAY }, depth);
    else if (kind == JSON_STRING)
        json_reply_string(r, json);
    else if (kind == JSON_NUMBER && parse_int_strict(json, &number))
        reply_int(r, number);
    else
        reply_bulk(r, json);
}

void reply_json(struct req *r, struct slice json) {
    json_reply_value(r, json, 1);
}
