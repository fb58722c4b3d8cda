/* Compares both matchers of globs: a pattern, a tab, a text. */
#include <string.h>

#include "base/glob.h"
#include "check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const char *text = (const char *)data;
    const char *tab = memchr(text, '\t', size);
    struct slice pattern, name;

    if (tab == NULL)
        return 0;
    pattern = (struct slice){ .ptr = text, .len = (size_t)(tab - text) };
    if (pattern.len > PATTERN_MAX)
        return 0;
    name = (struct slice){ .ptr = tab + 1, .len = size - pattern.len - 1 };
    for (int fold = 0; fold < 2; fold++)
        REQUIRE(glob_match(pattern, name, fold) == glob_match_worst(pattern, name, fold));
    return 0;
}
