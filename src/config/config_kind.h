#ifndef CONFIG_KIND_H
#define CONFIG_KIND_H

#include <stdbool.h>
#include "base/buf.h"
#include "base/util.h"
#include "config/config.h"

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
extern const struct config_kind config_kind_AUTO_PORT;
extern const struct config_kind config_kind_OCTAL;
extern const struct config_kind config_kind_SIZE;
extern const struct config_kind config_kind_SHARE;
extern const struct config_kind config_kind_ENUM;
extern const struct config_kind config_kind_STRING;
extern const struct config_kind config_kind_WORDS;
extern const struct config_kind config_kind_ADDRESSES;
extern const struct config_kind config_kind_CONNINFO;
extern const struct config_kind config_kind_LIMITS;

#define KB ((int64_t)1024)
#define MB (1024 * KB)
#define GB (1024 * MB)

#endif
