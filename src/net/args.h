#ifndef ARGS_H
#define ARGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "net/req.h"
#include "net/usage.h"

/*
 * How long names may be: of queues and channels, and all arguments that are no bodies, elements or messages;
 * and texts that describe a connection or a schedule. The limit of patterns is PATTERN_MAX, of match.h.
 */
#define NAME_MAX_BYTES ((size_t)64 * 1024)
#define LABEL_MAX_BYTES ((size_t)1024)

/*
 * Options of a command as data: "COUNT 10 WITHCOUNTERS". One row per word; the
 * values go to fields of the caller's struct.
 */
enum arg_kind {
    ARG_FLAG,      /* a bool becomes true */
    ARG_INT,       /* an int64_t, written as Disque's commands take it: parse_int_disque() */
    ARG_REDIS_INT, /* an int64_t, written as Redis' commands take it: parse_int_strict() */
    ARG_BYTES,     /* a struct slice */
};

struct arg_option {
    const char *word;
    enum arg_kind kind;
    size_t offset;
    int64_t min; /* of a number, or of the length of an ARG_BYTES */
    int64_t max;
    const char *error; /* of no number, and of a value out of range; usage.h adds the rest */
};

struct arg_spec {
    const struct arg_option *options;
    size_t count;
    const char *stop;    /* a word that ends the options; "": any that is none does; or NULL */
    const char *unknown; /* error for other words; NULL: a syntax error */
    /* Takes a word that is no option; false when it has replied. NULL: unknown. */
    bool (*other)(struct req *r, int *at, void *out);
};

/* Is word one of the options? */
bool args_is_option(const struct arg_spec *spec, struct slice word);
/* Parses argv[from ..) and gives the index behind the last option, or of the
 * stop word. False when it has replied an error and ended the request. */
bool args_parse_or_reply(struct req *r, int from, const struct arg_spec *spec, void *out,
                         int *end) MUST_CHECK;

/* The integer at argv[at], written as Redis writes it: no plus sign, no leading zero. */
bool args_integer_or_reply(struct req *r, int at, int64_t *value) MUST_CHECK;
/* The timeout at argv[at]: milliseconds, 0 or more, with Disque's error texts. */
bool args_timeout_or_reply(struct req *r, int at, int64_t *ms) MUST_CHECK;

/* Is text, described by what ("a pattern"), at most max bytes long? False when it has replied -LIMIT and ended the
 * request. */
bool args_fit_or_reply(struct req *r, const char *what, struct slice text, size_t max) MUST_CHECK;
/* The same for the patterns argv[from ..), which are at most max. */
bool args_patterns_or_reply(struct req *r, int from, int max) MUST_CHECK;

/* Are argv[from ..) at most max names? False when it has replied -LIMIT and ended the request. */
bool args_names_or_reply(struct req *r, int from, int max) MUST_CHECK;
/* Names that are looked up in a turn take some milliseconds. */
#define NAMES_IN_A_TURN 10000

#define SOURCES_MAX 1000
/* Does a command take jobs from at most SOURCES_MAX queues and patterns? False when it has replied -LIMIT and ended the
 * request. */
bool args_sources_or_reply(struct req *r, size_t count) MUST_CHECK;

#endif
