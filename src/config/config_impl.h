#ifndef CONFIG_IMPL_H
#define CONFIG_IMPL_H

#include <stdbool.h>
#include "base/buf.h"
#include "base/util.h"
#include "config/config.h"

/*
 * Internal declarations of the config*.c files. No other file includes this header.
 */

/* A kind of option: converts between text and a field of struct config. */
struct config_kind {
    bool many_words;  /* takes several words: "bind a b"; the other kinds take exactly one word */
    bool owns_string; /* the field is a char * to free */
    /* False if text is not allowed; the field then keeps its value. */
    bool (*parse)(const struct config_option *o, struct slice text, void *field);
    /* Appends the value in the syntax of the file. parse() of this text gives the same value. */
    void (*write)(const void *field, const struct config_option *o, struct buf *out);
    /* Appends the value as CONFIG GET replies it. */
    void (*show)(const void *field, const struct config_option *o, struct buf *out);
    void (*allowed)(const struct config_option *o, struct buf *out);
};

extern const struct config_kind config_kind_BOOL;
extern const struct config_kind config_kind_INT;
extern const struct config_kind config_kind_KEEPALIVE;
extern const struct config_kind config_kind_OCTAL;
extern const struct config_kind config_kind_SIZE;
extern const struct config_kind config_kind_SHARE;
extern const struct config_kind config_kind_ENUM;
extern const struct config_kind config_kind_STRING;
extern const struct config_kind config_kind_WORDS;
extern const struct config_kind config_kind_ADDRESSES;
extern const struct config_kind config_kind_CONNINFO;
extern const struct config_kind config_kind_LIMITS;

/* Functions for `config` or for a temporary copy. config_init() sets the defaults. */
void config_init(struct config *c);
void config_free(struct config *c);
bool config_apply(struct config *c, const struct config_option *o, struct slice text) MUST_CHECK;
/* For text that is known to be allowed; any other text ends the process. */
void config_apply_known(struct config *c, const struct config_option *o, const char *text);
/* The value in the syntax of the file, sizes with units. The caller frees it. */
char *config_text(const struct config *c, const struct config_option *o);

/* ", did you mean port?" for an unknown name; "" if no option has a similar name. Valid until the next call. */
const char *config_suggestion(struct slice name);

/* A line of a file, or an option of the command line, split into words. */
#define CONFIG_MAX_WORDS 64

struct config_line {
    char *bytes; /* holds the words */
    struct slice words[CONFIG_MAX_WORDS];
    size_t count; /* 0: a comment, or an empty line */
};

/* NULL, or a text that says what is wrong. The caller calls config_line_free() in both cases. */
const char *config_line_split(struct config_line *line, struct slice raw);
/* True for a line of a user: "user name rule ...". */
bool config_line_is_user(struct slice raw);
void config_line_free(struct config_line *line);
/* Appends the words to b with blanks between them and returns the appended part. */
struct slice config_join_words(const struct slice *words, size_t count, struct buf *b);
/* Sets the option words[0] to the values behind it; count must be at least 1. where is the place for err, such as
 * "file:12". */
bool config_apply_words(const struct slice *words, size_t count, const char *where, char *err,
                        size_t err_size) MUST_CHECK;

#define KB ((int64_t)1024)
#define MB (1024 * KB)
#define GB (1024 * MB)

#endif
