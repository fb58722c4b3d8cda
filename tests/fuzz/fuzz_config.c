/* Sets options: "name value" a line. A shown value can be set again, and does not change then. */
#include <string.h>

#include "base/buf.h"
#include "base/tokenizer.h"
#include "check.h"
#include "config/config.h"

static char *fuzz_config_shown(const struct config_option *o) {
    struct buf out = { 0 };
    char *text;

    config_show(o, &out);
    text = xmalloc(buf_len(&out) + 1);
    memcpy(text, buf_ptr(&out), buf_len(&out));
    text[buf_len(&out)] = '\0';
    buf_free(&out);
    return text;
}

static void set_and_compare(struct slice name, struct slice value) {
    const struct config_option *o = config_find(name);
    char err[300], *before, *after;

    if (!config_set(name, value, err, sizeof err)) {
        REQUIRE(err[0] != '\0');
        return;
    }
    before = fuzz_config_shown(o);
    REQUIRE(config_set(name, slice_str(before), err, sizeof err));
    after = fuzz_config_shown(o);
    REQUIRE(strcmp(before, after) == 0);
    free(before);
    free(after);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static bool begun;
    struct slice name, value;
    char *line = xmalloc(size + 1);
    size_t from = 0;

    if (!begun)
        config_defaults();
    begun = true;
    if (size > 0)
        memcpy(line, data, size);
    while (tokenizer_next(line, size, &from, &name) == WORD_FOUND &&
           tokenizer_next(line, size, &from, &value) == WORD_FOUND)
        set_and_compare(name, value);
    free(line);
    return 0;
}
