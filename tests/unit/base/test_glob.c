/* Glob patterns: matches, and the time of the worst patterns. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>
#include "base/glob.h"

/* A slice in memory of its exact size, so that the sanitizer sees every byte too far. */
static struct slice exact(const char *text, size_t len) {
    return (struct slice){ xmemdup(text, len), len };
}

static void release(struct slice s) {
    free((char *)s.ptr);
}

struct queue_pattern {
    const char *pattern;
    const char *text;
    bool matches;
    bool ignore_case;
};

static const struct queue_pattern patterns[] = {
    { "", "", true, false },
    { "", "a", false, false },
    { "a", "", false, false },
    { "*", "", true, false },
    { "***", "", true, false },
    { "*", "anything", true, false },
    { "?", "", false, false },
    { "?", "a", true, false },
    { "??", "a", false, false },
    { "queue", "queue", true, false },
    { "queue", "queues", false, false },
    { "queue*", "queues", true, false },
    { "*s", "queues", true, false },
    { "q*e*s", "queues", true, false },
    { "q*x*s", "queues", false, false },
    { "*ab*ab", "abab", true, false },
    { "*ab*ab", "ab", false, false },
    { "*aab", "aaab", true, false },
    { "a*b?d*", "axxbbcd", true, false },
    { "h[ae]llo", "hallo", true, false },
    { "h[ae]llo", "hillo", false, false },
    { "h[^e]llo", "hallo", true, false },
    { "h[^e]llo", "hello", false, false },
    { "[a-c]x", "bx", true, false },
    { "[c-a]x", "bx", true, false },
    { "[a-c]x", "dx", false, false },
    { "[a\\-c]", "-", true, false },
    { "[a\\-c]", "b", false, false },
    { "[\\]]", "]", true, false },
    { "[]", "a", false, false },
    { "[^]", "a", true, false },
    { "[ab", "b", true, false },
    { "[", "[", false, false },
    { "*[0-9]", "job17", true, false },
    { "*[0-9]", "job17x", false, false },
    { "\\*", "*", true, false },
    { "\\*", "x", false, false },
    { "\\?a", "?a", true, false },
    { "\\[a]", "[a]", true, false },
    { "a\\", "a\\", true, false },
    { "\\a", "a", true, false },
    { "QuEuE", "qUeUe", true, true },
    { "QuEuE", "qUeUe", false, false },
    { "[a-c]", "B", true, true },
    { "[A-C]", "b", true, true },
    { "[\\X]", "x", true, true },
    { "\xc3*", "\xc3\xa4", true, false },
};

static void test_glob(void **state) {
    (void)state;
    for (size_t i = 0; i < LENGTH(patterns); i++) {
        const struct queue_pattern *g = &patterns[i];
        struct slice pattern = exact(g->pattern, strlen(g->pattern)), text = exact(g->text, strlen(g->text));

        if (glob_match(pattern, text, g->ignore_case) != g->matches)
            fail_msg("pattern '%s', text '%s': expected %d", g->pattern, g->text, g->matches);
        if (glob_match_worst(pattern, text, g->ignore_case) != g->matches)
            fail_msg("by the automaton: pattern '%s', text '%s': expected %d", g->pattern, g->text,
                     g->matches);
        release(pattern);
        release(text);
    }
    assert_true(glob_match(SLICE("a?\0*"), SLICE("a\0\0b"), false));
    assert_false(glob_match(SLICE("a\0b"), SLICE("a\0c"), false));
}

/* With a try at every star again this would take longer than the universe has. */
static void test_glob_many_stars(void **state) {
    char pattern[101], text[5000];

    (void)state;
    for (size_t i = 0; i < 100; i += 2)
        memcpy(pattern + i, "a*", 2);
    pattern[100] = 'b';
    memset(text, 'a', sizeof(text));
    assert_false(glob_match((struct slice){ pattern, 101 }, (struct slice){ text, sizeof(text) }, false));
    text[sizeof(text) - 1] = 'b';
    assert_true(glob_match((struct slice){ pattern, 101 }, (struct slice){ text, sizeof(text) }, false));
}

/* ---- both ways ---- */

static unsigned next_random(void) {
    static unsigned seed = 12345;

    seed = seed * 1103515245u + 12345u;
    return seed >> 16;
}

static void fill(char *out, size_t len, const char *alphabet) {
    for (size_t i = 0; i < len; i++)
        out[i] = alphabet[next_random() % strlen(alphabet)];
}

/* Random patterns and texts of few letters, many of which match; patterns of more than one word, too. */
static void test_both_ways_agree(void **state) {
    size_t matched = 0;

    (void)state;
    for (int i = 0; i < 50000; i++) {
        char pattern[200], text[200];
        size_t pattern_len = next_random() % (i % 10 == 0 ? 200 : 12), text_len = next_random() % 200;
        struct slice p = { pattern, pattern_len }, t = { text, i % 3 == 0 ? pattern_len : text_len };
        bool matches, by_automaton;

        fill(pattern, sizeof pattern, "ab*?[]a-^\\B*");
        fill(text, sizeof text, "abB");
        matches = glob_match(p, t, i % 2 == 0);
        by_automaton = glob_match_worst(p, t, i % 2 == 0);
        if (matches != by_automaton)
            fail_msg("pattern '%.*s', text '%.*s': %d, but by the automaton %d", (int)p.len, p.ptr,
                     (int)t.len, t.ptr, matches, by_automaton);
        matched += matches;
    }
    assert_in_range(matched, 1000, 49000);
}

/* A text in pieces of all sizes, the empty one among them. */
static void test_pieces(void **state) {
    (void)state;
    for (size_t i = 0; i < LENGTH(patterns); i++) {
        const struct queue_pattern *g = &patterns[i];
        size_t len = strlen(g->text);

        for (size_t cut = 0; cut <= len; cut++) {
            struct slice first = exact(g->text, cut), second = exact(g->text + cut, len - cut);
            struct glob_run *run = glob_run_begin(slice_str(g->pattern), g->ignore_case);
            bool may_match = glob_run_read(run, first) && glob_run_read(run, second);

            assert_true(may_match || !g->matches);
            assert_int_equal(glob_run_end(run), g->matches);
            release(first);
            release(second);
        }
    }
}

/* ---- the worst patterns ---- */

#define NAME_BYTES ((size_t)64 * 1024)

static int64_t cpu_ms(void) {
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* A byte of the text compared with each element would take 20 seconds of CPU, or an hour with sets. */
static void test_worst_patterns(void **state) {
    char *name = xmalloc(NAME_BYTES);
    struct slice text = { name, NAME_BYTES };
    char literal[PATTERN_MAX], sets[PATTERN_MAX];
    int64_t began = cpu_ms();

    (void)state;
    memset(name, 'a', NAME_BYTES);
    memset(literal, 'a', sizeof literal);
    literal[0] = '*';
    literal[sizeof literal - 1] = 'b';
    memset(sets, '-', sizeof sets);
    for (size_t i = 1; i + 32 < sizeof sets; i += 32) {
        sets[i] = '[';
        sets[i + 30] = 'a';
        sets[i + 31] = ']';
    }
    sets[0] = '*';
    for (int i = 0; i < 100; i++) {
        assert_false(glob_match((struct slice){ literal, sizeof literal }, text, false));
        assert_false(glob_match((struct slice){ sets, sizeof sets }, text, true));
    }
    /* After its last star, a pattern matches whatever comes. Byte by byte this would take 200 seconds. */
    for (int i = 0; i < 1000 * 1000; i++)
        assert_true(glob_match(SLICE("a*"), text, false));
    assert_in_range(cpu_ms() - began, 0, 10000);
    name[NAME_BYTES - 1] = 'b';
    assert_true(glob_match((struct slice){ literal, sizeof literal }, text, false));
    free(name);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_glob),
        cmocka_unit_test(test_glob_many_stars),
        cmocka_unit_test(test_both_ways_agree),
        cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_worst_patterns),
    };

    return cmocka_run_group_tests_name("match", tests, NULL, NULL);
}
