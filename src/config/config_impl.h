#ifndef CONFIG_IMPL_H
#define CONFIG_IMPL_H

#include <stdbool.h>
#include "base/buf.h"
#include "base/util.h"
#include "config/config.h"

/*
 * What the config*.c files share and nobody else includes.
 */

/* The kinds of options: how text becomes a field of struct config and back. */
struct config_kind {
    bool many_words;  /* "bind a b"; others take exactly one word */
    bool owns_string; /* the field is a char * to free */
    /* Leaves the field as it was when text is not allowed. */
    bool (*parse)(const struct config_option *o, struct slice text, void *field);
    /* As in the file: what parse() takes and makes the same field of. */
    void (*write)(const void *field, const struct config_option *o, struct buf *out);
    /* As CONFIG GET replies it. */
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

/* Values in a struct config that may be a copy. */
void config_init(struct config *c);
void config_free(struct config *c);
bool config_apply(struct config *c, const struct config_option *o, struct slice text) MUST_CHECK;
/* For text that the option is sure to take. */
void config_apply_known(struct config *c, const struct config_option *o, const char *text);
/* A new string: the value as the file has it, sizes with units. */
char *config_text(const struct config *c, const struct config_option *o);

/* ", did you mean port?" for a name that no option has; "" without a near one. Valid until the next call. */
const char *config_suggestion(struct slice name);

/* One line of a file, or one option of the command line, taken apart. */
#define CONFIG_MAX_WORDS 64

struct config_line {
    char *bytes; /* the words lie in here */
    struct slice words[CONFIG_MAX_WORDS];
    size_t count; /* 0: a comment, or nothing */
};

/* NULL, or what is wrong. Either way the line is to be freed. */
const char *config_line_split(struct config_line *line, struct slice raw);
void config_line_free(struct config_line *line);
/* Words with blanks between them, in b, which need not be empty before. */
struct slice config_join_words(const struct slice *words, size_t count, struct buf *b);
/* Applies a name and its values, words[count > 0], to the configuration; where
 * is "file:12", for err. */
bool config_apply_words(const struct slice *words, size_t count, const char *where, char *err,
                        size_t err_size) MUST_CHECK;

#define KB ((int64_t)1024)
#define MB (1024 * KB)
#define GB (1024 * MB)

#endif
