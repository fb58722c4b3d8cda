/* Finds the known word that is nearest to a misspelt word. */
#include "base/spelling.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define SHORT_WORD 4

void spelling_init(struct spelling *s, struct slice word) {
    *s = (struct spelling){ .word = word, .steps = word.len <= SHORT_WORD ? 2 : 3 };
}

static size_t spelling_least(size_t a, size_t b) {
    return a < b ? a : b;
}

static bool same_letter(struct slice a, size_t i, struct slice b, size_t j) {
    return tolower((unsigned char)a.ptr[i]) == tolower((unsigned char)b.ptr[j]);
}

/* The optimal string alignment distance, with three rows of the table in memory. */
static size_t distance(struct slice a, struct slice b) {
    size_t rows[3][SPELLING_MAX + 1];
    size_t *before = rows[0], *above = rows[1], *row = rows[2];

    for (size_t j = 0; j <= b.len; j++)
        above[j] = j;
    for (size_t i = 1; i <= a.len; i++) {
        size_t *spare = before;

        row[0] = i;
        for (size_t j = 1; j <= b.len; j++) {
            row[j] = spelling_least(spelling_least(above[j], row[j - 1]) + 1,
                                    above[j - 1] + (same_letter(a, i - 1, b, j - 1) ? 0 : 1));
            if (i > 1 && j > 1 && same_letter(a, i - 1, b, j - 2) && same_letter(a, i - 2, b, j - 1))
                row[j] = spelling_least(row[j], before[j - 2] + 1);
        }
        before = above;
        above = row;
        row = spare;
    }
    return above[b.len];
}

void spelling_offer(struct spelling *s, struct slice candidate) {
    size_t steps;

    if (s->word.len == 0 || s->word.len > SPELLING_MAX || candidate.len > SPELLING_MAX)
        return;
    steps = distance(s->word, candidate);
    if (steps < s->steps && steps < candidate.len) {
        s->steps = steps;
        s->nearest = candidate;
    }
}

void spelling_question(struct slice nearest, char out[SPELLING_QUESTION_SIZE]) {
    out[0] = '\0';
    if (nearest.len > 0 && nearest.len <= SPELLING_MAX)
        snprintf(out, SPELLING_QUESTION_SIZE, ", did you mean %.*s?", (int)nearest.len, nearest.ptr);
}
