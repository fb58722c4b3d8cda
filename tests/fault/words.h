#ifndef WORDS_H
#define WORDS_H

#include <stdio.h>
#include "base/util.h"

/* The words of a command. */
#define WORDS_MOST 64

struct words {
    struct slice argv[WORDS_MOST];
    char text[WORDS_MOST][24];
    int count;
};

static inline void word(struct words *w, const char *literal) {
    w->argv[w->count++] = slice_str(literal);
}

static inline void word_slice(struct words *w, struct slice s) {
    w->argv[w->count++] = s;
}

static inline void word_int(struct words *w, long long value) {
    snprintf(w->text[w->count], sizeof w->text[0], "%lld", value);
    w->argv[w->count] = slice_str(w->text[w->count]);
    w->count++;
}

static inline void word_option(struct words *w, const char *name, long long value) {
    word(w, name);
    word_int(w, value);
}

#endif
