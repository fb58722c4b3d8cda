#ifndef VARS_H
#define VARS_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Bytes that may hold NULs, and the names a transcript has given to some.
 */
struct text {
    char *ptr; /* NUL-terminated behind len */
    size_t len;
};

#define MAX_VARS 64

struct vars {
    struct {
        char name[32];
        struct text value;
    } list[MAX_VARS];
    int count;
};

/* The value of a name, or NULL. */
const struct text *vars_get(const struct vars *vars, const char *name, size_t len);
void vars_set(struct vars *vars, const char *name, size_t len, const char *bytes, size_t size);
void vars_clear(struct vars *vars);

/* Is the text nothing but {name}? */
bool is_variable(const char *text, size_t len, const char **name, size_t *name_len);
/* Replaces {name} and {name:from:to} by values. A name begins with a letter. False with a sentence in err if a name is
 * unknown. */
bool vars_expand(const struct vars *vars, const char *text, size_t len, struct text *out, char *err,
                 size_t size);

/* Reads "..." with \xHH \n \r \t \" \\ at *p, which moves behind it; NULL bytes
 * are possible. False when it does not end. */
bool read_quoted(const char **p, struct text *out);

#endif
