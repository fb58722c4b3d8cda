/* Headers of jobs: checks the options of a command. */
#include "net/headers.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/log.h"

static int header_compare(const void *a, const void *b) {
    const struct slice *x = a, *y = b;

    if (x->len != y->len)
        return x->len < y->len ? -1 : 1;
    return memcmp(x->ptr, y->ptr, x->len);
}

static bool header_is_text(struct slice s) {
    return s.len == 0 || (memchr(s.ptr, '\0', s.len) == NULL && utf8_is_valid(s));
}

/* The error of the pairs, which are sorted by name. NULL: none. */
static const char *headers_refusal(const struct arg_pairs *pairs) {
    size_t bytes = 0;

    for (size_t i = 0; i < pairs->count; i++) {
        const struct slice *word = &pairs->words[2 * i];

        if (word[0].len == 0 || word[0].len > HEADER_NAME_MAX)
            return "ERR the name of a HEADER must have 1 to 128 bytes";
        if (!header_is_text(word[0]) || !header_is_text(word[1]))
            return "ERR HEADER takes UTF-8 without zero bytes";
        if (i > 0 && slice_equal(word[0], word[-2]))
            return "ERR two HEADERs of a job have the same name";
        bytes += word[0].len + word[1].len;
    }
    return bytes > HEADERS_MAX_BYTES ? "LIMIT the headers of a job have at most 8192 bytes" : NULL;
}

static bool header_add(struct buf *json, const struct slice *word) {
    if (word[1].ptr == NULL)
        return json_add_value(json, word[0], SLICE("null"));
    return json_add_text(json, word[0], word[1]);
}

/* The object of pairs that were checked. */
static struct slice headers_json(struct req *r, const struct arg_pairs *pairs) {
    struct buf text = { 0 };
    bool good = true;

    json_begin(&text);
    for (size_t i = 0; i < pairs->count; i++)
        good = header_add(&text, &pairs->words[2 * i]) && good;
    json_end(&text);
    if (!good)
        log_fatal("headers", "a checked header is not UTF-8");
    return req_take_text(r, &text);
}

bool headers_or_reply(struct req *r, struct arg_pairs *pairs, struct slice *json) {
    const char *refusal;

    if (pairs->count == 0)
        return true;
    qsort(pairs->words, pairs->count, 2 * sizeof *pairs->words, header_compare);
    refusal = headers_refusal(pairs);
    if (refusal != NULL)
        req_error(r, "%s", refusal);
    else
        *json = headers_json(r, pairs);
    return refusal == NULL;
}
