#ifndef SPELLING_H
#define SPELLING_H

#include <stddef.h>
#include "base/util.h"

/*
 * Finds the known word that is nearest to a misspelt word: "did you mean GETJOB?". The comparison ignores case. An
 * inserted, missing, wrong or swapped letter is one step. A suggestion is at most one step away from a word of up to
 * four letters, and at most two steps from a longer word.
 */
#define SPELLING_MAX 32 /* Longer words have no suggestion. */

struct spelling {
    struct slice word;
    struct slice nearest; /* empty: no candidate is near enough */
    size_t steps;         /* from word to nearest; without one, the first number of steps that is too many */
};

/* word must outlive the search, and so must the candidates. */
void spelling_init(struct spelling *s, struct slice word);
void spelling_offer(struct spelling *s, struct slice candidate);

/* Writes ", did you mean GETJOB?" for an error, or "" if nearest is empty. */
#define SPELLING_QUESTION_SIZE (SPELLING_MAX + 24)
void spelling_question(struct slice nearest, char out[SPELLING_QUESTION_SIZE]);

#endif
