/* Checks, reads and writes JSON; a written object is valid, and gives the text back. */
#include <string.h>

#include "base/buf.h"
#include "base/json.h"
#include "check.h"

static void read_fields(struct slice text) {
    static const char *const names[] = { "a", "", "id", "\\u0061" };
    enum json_kind kind = json_kind_of(text);
    struct slice value, plain;

    for (size_t i = 0; i < LENGTH(names); i++) {
        enum json_found found = json_field(text, names[i], &value);

        if (found != JSON_FOUND)
            continue;
        REQUIRE(value.ptr >= text.ptr && value.ptr + value.len <= text.ptr + text.len);
        if (kind == JSON_OBJECT)
            REQUIRE(json_kind_of(value) != JSON_NONE);
        (void)!json_plain_string(value, &plain);
    }
}

static void write_field(struct slice text) {
    struct buf made = { 0 };
    bool ok;

    json_begin(&made);
    ok = json_add_text(&made, SLICE("a"), text);
    if (json_kind_of(text) != JSON_NONE)
        ok = json_add_value(&made, SLICE("b"), text) && ok;
    json_end(&made);
    if (ok)
        REQUIRE(json_kind_of((struct slice){ .ptr = buf_ptr(&made), .len = buf_len(&made) }) == JSON_OBJECT);
    buf_free(&made);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct slice text = { .ptr = (const char *)data, .len = size };

    read_fields(text);
    /* The depth of a value and of the object around it differ by one. */
    if (size < 100)
        write_field(text);
    return 0;
}
