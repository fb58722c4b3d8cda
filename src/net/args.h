#ifndef ARGS_H
#define ARGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "net/request.h"
#include "net/usage.h"

/*
 * NAME_MAX_BYTES is the limit of names of queues and channels, and of all arguments that are no bodies,
 * elements or messages. LABEL_MAX_BYTES is the limit of texts that describe a connection or a schedule. The
 * limit of patterns is PATTERN_MAX of base/glob.h.
 */
#define NAME_MAX_BYTES ((size_t)64 * 1024)
#define LABEL_MAX_BYTES ((size_t)1024)

/*
 * Options of a command as a table, such as "COUNT 10 WITHCOUNTERS". Each word has one row. The values go to
 * fields of the caller's struct.
 */
enum arg_kind {
    ARG_FLAG,      /* a bool becomes true */
    ARG_INT,       /* an int64_t in the syntax of Disque's commands: parse_int_disque() */
    ARG_REDIS_INT, /* an int64_t in the syntax of Redis' commands: parse_int_strict() */
    ARG_BYTES,     /* a struct slice */
    ARG_PAIRS,     /* a struct arg_pairs: two words follow, and the option may be repeated */
    ARG_FIRSTS,    /* the same, but only the first word of the pair follows: ptr of the second is NULL */
    ARG_WORDS,     /* a struct arg_words: all words before the next option */
};

/* Arguments of a request. */
struct arg_words {
    const struct slice *words; /* NULL: none */
    size_t count;
};

/* The words of a repeated option: words[2 * count], in the memory of the request. */
struct arg_pairs {
    struct slice *words;
    size_t count;
};

struct arg_option {
    const char *word;
    enum arg_kind kind;
    size_t offset;
    int64_t min; /* minimum of the number, of the length of an ARG_BYTES, or of the count of ARG_WORDS */
    int64_t max; /* maximum of the same, or number of the pairs */
    const char *error; /* for text that is no number, and for a value out of range; usage.h adds the rest */
};

struct arg_spec {
    const struct arg_option *options;
    size_t count;
    const char *stop;    /* a word that ends the options; "": each other word ends them; NULL: none does */
    const char *unknown; /* error for other words; NULL: a syntax error */
    /* Takes a word that is no option. False if it has replied an error. NULL: `unknown` is the error. */
    bool (*other)(struct req *r, int *at, void *out);
};

/* True if word is one of the options. */
bool args_is_option(const struct arg_spec *spec, struct slice word);
/* Parses argv[from ..). *end: the index after the last option, or of the stop word. False if it has replied
 * an error and ended the request. */
bool args_parse_or_reply(struct req *r, int from, const struct arg_spec *spec, void *out,
                         int *end) MUST_CHECK;

/* The integer at argv[at] in Redis' syntax: no plus sign, no leading zero. */
bool args_integer_or_reply(struct req *r, int at, int64_t *value) MUST_CHECK;
/* The timeout at argv[at] in milliseconds, at least 0, with Disque's error texts. */
bool args_timeout_or_reply(struct req *r, int at, int64_t *ms) MUST_CHECK;
/* Converts a client's timeout in milliseconds (0: no timeout) to the time that the command may wait. Respects
 * the option getjob-max-block. A timeout of some centuries or more counts as no timeout. */
int64_t limited_timeout(int64_t ms);

/* True if text has at most max bytes. what: its description, "a pattern". False if it has replied -LIMIT and
 * ended the request. */
bool args_fit_or_reply(struct req *r, const char *what, struct slice text, size_t max) MUST_CHECK;
/* True if the name of a queue that the command may make is not empty. False if it has replied the error and ended the
 * request. */
#define NAME_EMPTY "ERR the name of the queue is empty"
bool args_queue_or_reply(struct req *r, struct slice name) MUST_CHECK;
/* The same for count names, also of a command that would wait for a job of such a queue. */
bool args_queues_or_reply(struct req *r, const struct slice *names, size_t count) MUST_CHECK;
/* The same as args_fit_or_reply() for the patterns argv[from ..) and their number, at most max. */
bool args_patterns_or_reply(struct req *r, int from, int max) MUST_CHECK;

/* True if argv[from ..) are at most max names. False if it has replied -LIMIT and ended the request. */
bool args_names_or_reply(struct req *r, int from, int max) MUST_CHECK;
/* The most names that a command looks up in one turn; that takes a few milliseconds. */
#define NAMES_IN_A_TURN 10000

#define SOURCES_MAX 1000
/* True if count, the queues and patterns that a command takes jobs from, is at most SOURCES_MAX. False if it
 * has replied -LIMIT and ended the request. */
bool args_sources_or_reply(struct req *r, size_t count) MUST_CHECK;

#endif
