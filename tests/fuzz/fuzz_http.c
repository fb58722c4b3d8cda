/* Reads commands from JSON, and writes replies as JSON; both directions of POST /api/command. */
#include <jansson.h>
#include <stdlib.h>

#include "base/util.h"
#include "check.h"
#include "http/command_json.h"
#include "http/reply_json.h"
#include "http/reply_scan.h"

/* A list that is accepted has between one and the most commands, each with a name. */
static void read_commands(struct slice text) {
    struct command_list list = { 0 };
    char err[256] = "";

    if (!commands_from_json(text, &list, err, sizeof err)) {
        REQUIRE(*err != '\0' && utf8_is_valid(slice_str(err)));
        return;
    }
    REQUIRE(list.count >= 1 && list.count <= HTTP_COMMANDS_MAX);
    for (size_t i = 0; i < list.count; i++)
        REQUIRE(list.commands[i].count >= 1 && list.commands[i].count <= COMMAND_WORDS_MAX);
    command_list_free(&list);
}

/* Scans the first reply in pieces. Returns its length, or 0 if the bytes have no complete reply. */
static size_t scan_first(struct slice bytes, size_t piece) {
    struct reply_scan scan = { 0 };
    enum reply_scan_result result = REPLY_INCOMPLETE;

    for (size_t len = 0; result == REPLY_INCOMPLETE && len < bytes.len;) {
        len = bytes.len - len < piece ? bytes.len : len + piece;
        result = reply_scan_next(&scan, (struct slice){ bytes.ptr, len });
        REQUIRE(scan.at <= len);
    }
    return result == REPLY_COMPLETE ? scan.at : 0;
}

static bool is_json(struct slice text) {
    json_t *value = json_loadb(text.ptr, text.len, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);

    json_decref(value);
    return value != NULL;
}

static void write_reply(struct slice bytes) {
    size_t len = scan_first(bytes, bytes.len);
    struct slice rest = { bytes.ptr, len };
    struct buf text = { 0 };

    REQUIRE(scan_first(bytes, 1) == len);
    if (len == 0)
        return;
    reply_to_json(&rest, &text);
    REQUIRE(rest.len == 0);
    REQUIRE(is_json((struct slice){ buf_ptr(&text), buf_len(&text) }));
    buf_free(&text);
}

/* The depth of replies is bounded here, because the server's own replies have few levels. */
#define DEEPEST 2000

/* The first byte selects the direction. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct slice rest = { .ptr = (const char *)data + 1, .len = size - 1 };

    if (size < 2 || size > DEEPEST)
        return 0;
    if (*data == 'c')
        read_commands(rest);
    else
        write_reply(rest);
    return 0;
}
