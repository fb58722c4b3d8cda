/* Turns commands from JSON into words, and replies into JSON. */
#include "http/reply_json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sodium.h>

/* ---- replies ---- */

static json_t *bytes_to_json(struct slice bytes) {
    size_t size;
    char *text;
    json_t *out;

    if (utf8_is_valid(bytes))
        return json_stringn_nocheck(bytes.ptr, bytes.len);
    size = sodium_base64_encoded_len(bytes.len, sodium_base64_VARIANT_ORIGINAL);
    text = xmalloc(size);
    sodium_bin2base64(text, size, (const unsigned char *)bytes.ptr, bytes.len,
                      sodium_base64_VARIANT_ORIGINAL);
    out = json_pack("{s:s}", "base64", text);
    free(text);
    return out;
}

static struct slice text_of_reply(const redisReply *r) {
    return (struct slice){ r->str, r->len };
}

static json_t *array_to_json(const redisReply *r) {
    json_t *out = json_array();

    for (size_t i = 0; i < r->elements; i++)
        json_array_append_new(out, reply_to_json(r->element[i]));
    return out;
}

json_t *reply_to_json(const redisReply *r) {
    switch (r->type) {
    case REDIS_REPLY_INTEGER:
        return json_integer(r->integer);
    case REDIS_REPLY_NIL:
        return json_null();
    case REDIS_REPLY_ARRAY:
        return array_to_json(r);
    case REDIS_REPLY_ERROR:
        return json_pack("{s:o}", "error", bytes_to_json(text_of_reply(r)));
    default:
        return bytes_to_json(text_of_reply(r));
    }
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

void command_words_free(struct slice *words, size_t count) {
    for (size_t i = 0; i < count; i++)
        free((char *)words[i].ptr);
    free(words);
}

static struct slice *words_from_array(const json_t *array, size_t *count, char *err, size_t err_size) {
    size_t size = json_array_size(array);
    struct slice *words;

    if (!json_is_array(array) || size == 0 || size > COMMAND_WORDS_MAX) {
        snprintf(err, err_size, "expected an array of 1 to %d words, such as [\"QLEN\", \"emails\"]",
                 COMMAND_WORDS_MAX);
        return NULL;
    }
    words = xcalloc(size, sizeof *words);
    for (size_t i = 0; i < size; i++) {
        if (word_from_json(json_array_get(array, i), &words[i]))
            continue;
        snprintf(err, err_size, "word %zu is neither a text nor an integer nor {\"base64\": \"...\"}", i);
        command_words_free(words, i);
        return NULL;
    }
    *count = size;
    return words;
}

struct slice *command_from_json(struct slice text, size_t *count, char *err, size_t err_size) {
    json_error_t why;
    json_t *array = json_loadb(text.ptr, text.len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &why);
    struct slice *words;

    if (array == NULL) {
        snprintf(err, err_size, "the body is not JSON: %s", why.text);
        return NULL;
    }
    words = words_from_array(array, count, err, err_size);
    json_decref(array);
    return words;
}
