/* Glob matching in bounded time. */
#include "base/glob.h"

#include <stdint.h>
#include <stdlib.h>

#define BITS 64
#define BYTES 256

static unsigned char fold(unsigned char c, bool ignore_case) {
    return ignore_case && c >= 'A' && c <= 'Z' ? (unsigned char)(c + ('a' - 'A')) : c;
}

/* ---- elements ---- */

/* Matches one member of a set at *at, a character or a range. Moves *at behind it. */
static bool set_member_matches(struct slice pattern, size_t *at, unsigned char c, bool ignore_case) {
    const unsigned char *p = (const unsigned char *)pattern.ptr + *at;
    size_t left = pattern.len - *at;
    unsigned char low = fold(p[0], ignore_case), high = low;

    if (left >= 2 && p[0] == '\\') {
        low = high = fold(p[1], ignore_case);
        *at += 2;
    } else if (left >= 3 && p[1] == '-') {
        high = fold(p[2], ignore_case);
        *at += 3;
    } else {
        *at += 1;
    }
    return low <= high ? c >= low && c <= high : c >= high && c <= low;
}

/* Matches a set; *at is behind its '['. A set without ']' ends with the pattern. */
static bool set_matches(struct slice pattern, size_t *at, unsigned char c, bool ignore_case) {
    bool negated = *at < pattern.len && pattern.ptr[*at] == '^';
    bool found = false;

    if (negated)
        (*at)++;
    while (*at < pattern.len && pattern.ptr[*at] != ']')
        found |= set_member_matches(pattern, at, c, ignore_case);
    if (*at < pattern.len)
        (*at)++;
    return found != negated;
}

/* Matches one element of the pattern, except a star, against one byte. */
static bool element_matches(struct slice pattern, size_t *at, unsigned char c, bool ignore_case) {
    char first = pattern.ptr[(*at)++];

    c = fold(c, ignore_case);
    if (first == '?')
        return true;
    if (first == '[')
        return set_matches(pattern, at, c, ignore_case);
    if (first == '\\' && *at < pattern.len)
        first = pattern.ptr[(*at)++];
    return fold((unsigned char)first, ignore_case) == c;
}

/* ---- automaton ---- */

/*
 * The pattern as an automaton that reads each byte of the text once. Bit n of a set stands for the state in
 * which n elements have matched.
 */
struct glob_run {
    size_t words;    /* length of a set of states */
    size_t elements; /* number of elements in the pattern, without stars */
    uint64_t *next;  /* for each byte: the states whose next element matches it */
    uint64_t *stars; /* states that any byte leaves unchanged */
    uint64_t *now;   /* states that the text so far can lead to */
};

static void match_set_bit(uint64_t *words, size_t bit) {
    words[bit / BITS] |= UINT64_C(1) << bit % BITS;
}

static void match_add_element(struct glob_run *a, struct slice pattern, size_t *at, bool ignore_case) {
    size_t end = *at;

    for (unsigned c = 0; c < BYTES; c++) {
        end = *at;
        if (element_matches(pattern, &end, (unsigned char)c, ignore_case))
            match_set_bit(a->next + c * a->words, a->elements);
    }
    *at = end;
    a->elements++;
}

static void match_make(struct glob_run *a, struct slice pattern, bool ignore_case) {
    size_t at = 0;

    a->words = pattern.len / BITS + 1;
    a->next = xcalloc(a->words * (BYTES + 2), sizeof *a->next);
    a->stars = a->next + a->words * BYTES;
    a->now = a->stars + a->words;
    while (at < pattern.len) {
        if (pattern.ptr[at] != '*') {
            match_add_element(a, pattern, &at, ignore_case);
        } else {
            match_set_bit(a->stars, a->elements);
            at++;
        }
    }
}

/* Reads one byte of the text. False if no state is left. */
static bool read_byte(struct glob_run *a, unsigned char c) {
    const uint64_t *next = a->next + c * a->words;
    uint64_t carry = 0, any = 0;

    for (size_t i = 0; i < a->words; i++) {
        uint64_t moved = a->now[i] & next[i];

        a->now[i] = (a->now[i] & a->stars[i]) | moved << 1 | carry;
        carry = moved >> (BITS - 1);
        any |= a->now[i];
    }
    return any != 0;
}

struct glob_run *glob_run_begin(struct slice pattern, bool ignore_case) {
    struct glob_run *g = xcalloc(1, sizeof *g);

    match_make(g, pattern, ignore_case);
    match_set_bit(g->now, 0);
    return g;
}

bool glob_run_read(struct glob_run *g, struct slice piece) {
    for (size_t i = 0; i < piece.len; i++)
        if (!read_byte(g, (unsigned char)piece.ptr[i]))
            return false;
    return true;
}

bool glob_run_end(struct glob_run *g) {
    bool matches = (g->now[g->elements / BITS] >> g->elements % BITS & 1) != 0;

    free(g->next);
    free(g);
    return matches;
}

/* After glob_run_read() has returned false, no state is left. */
bool glob_match_worst(struct slice pattern, struct slice text, bool ignore_case) {
    struct glob_run *g = glob_run_begin(pattern, ignore_case);

    (void)glob_run_read(g, text);
    return glob_run_end(g);
}

/* ---- backtracking ---- */

/*
 * Backtracking is fast for usual patterns, but in the worst case compares each byte of the text with each element.
 * After more steps than the construction of the automaton takes, the automaton does the work.
 *
 * Only the last star is tried again. The elements between two stars have matched at their earliest position. A later
 * position leaves less text for the rest of the pattern, so it cannot help.
 */
bool glob_match(struct slice pattern, struct slice text, bool ignore_case) {
    size_t steps = BYTES * (pattern.len + 1) + 2 * text.len;
    size_t after_star = 0, star_text = 0;
    size_t p = 0, t = 0;
    bool starred = false;

    while (t < text.len) {
        size_t from = p, next = p;

        if (p < pattern.len && pattern.ptr[p] == '*') {
            starred = true;
            after_star = ++p;
            star_text = t;
            if (p == pattern.len)
                return true;
        } else if (p < pattern.len &&
                   element_matches(pattern, &next, (unsigned char)text.ptr[t], ignore_case)) {
            p = next;
            t++;
        } else if (starred) {
            p = after_star;
            t = ++star_text;
        } else {
            return false;
        }
        if (steps <= 1 + next - from)
            return glob_match_worst(pattern, text, ignore_case);
        steps -= 1 + next - from;
    }
    while (p < pattern.len && pattern.ptr[p] == '*')
        p++;
    return p == pattern.len;
}
