/* Applies rules of users; the description of the result must give the same result. */
#include <string.h>

#include "acl/user.h"
#include "base/buf.h"
#include "base/tokenizer.h"
#include "check.h"

#define RULES_MAX 4096 /* more than an input has */

/* Splits the line in place into words. */
static size_t split(char *line, size_t len, struct slice *words) {
    size_t from = 0, count = 0;

    while (count < RULES_MAX && tokenizer_next(line, len, &from, &words[count]) == WORD_FOUND)
        count++;
    return count;
}

static bool apply_line(struct grants *g, char *line, size_t len) {
    static struct slice words[RULES_MAX], rules[RULES_MAX];
    struct buf joined = { 0 };
    size_t count = split(line, len, words), rule_count = 0;
    bool all = rules_join(words, count, &joined, rules, &rule_count) < 0;

    for (size_t i = 0; all && i < rule_count; i++) {
        enum rule_error error = grants_apply(g, rules[i]);

        if (error != RULE_OK)
            REQUIRE(rule_error_text(error) != NULL);
        all = error == RULE_OK;
    }
    buf_free(&joined);
    return all;
}

static void fuzz_acl_describe(const struct grants *g, struct buf *out) {
    grants_describe(g, out);
    buf_append(out, "", 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct grants g = { 0 }, again = { 0 };
    struct buf first = { 0 }, second = { 0 };
    char *line = xmalloc(size + 1);
    char *copy;

    if (size > 0)
        memcpy(line, data, size);
    grants_init(&g);
    (void)apply_line(&g, line, size);
    fuzz_acl_describe(&g, &first);
    grants_init(&again);
    copy = xstrdup(buf_ptr(&first));
    if (strlen(copy) + 1 == buf_len(&first) && strcspn(copy, "\"'\\") == strlen(copy)) {
        REQUIRE(apply_line(&again, copy, strlen(copy)));
        fuzz_acl_describe(&again, &second);
        REQUIRE(strcmp(buf_ptr(&first), buf_ptr(&second)) == 0);
    }
    free(copy);
    free(line);
    grants_free(&g);
    grants_free(&again);
    buf_free(&first);
    buf_free(&second);
    return 0;
}
