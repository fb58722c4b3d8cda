/* Texts with any bytes, and the names that transcripts give them. */
#include "vars.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "process.h"

const struct text *vars_get(const struct vars *vars, const char *name, size_t len) {
    for (int i = 0; i < vars->count; i++)
        if (strlen(vars->list[i].name) == len && memcmp(vars->list[i].name, name, len) == 0)
            return &vars->list[i].value;
    return NULL;
}

void vars_set(struct vars *vars, const char *name, size_t len, const char *bytes, size_t size) {
    int i = vars->count;

    if (i == MAX_VARS || len >= sizeof(vars->list[i].name))
        die("too many names in one case, or too long a name");
    memcpy(vars->list[i].name, name, len);
    vars->list[i].name[len] = '\0';
    vars->list[i].value.ptr = malloc(size + 1);
    memcpy(vars->list[i].value.ptr, bytes, size);
    vars->list[i].value.ptr[size] = '\0';
    vars->list[i].value.len = size;
    vars->count++;
}

void vars_clear(struct vars *vars) {
    for (int i = 0; i < vars->count; i++)
        free(vars->list[i].value.ptr);
    vars->count = 0;
}

/* At "{name" or "{name:from:to}": the length up to and with the brace, or 0. */
static size_t variable_at(const char *text, size_t len, size_t *name_len) {
    const char *close = len > 2 ? memchr(text, '}', len) : NULL;
    size_t n = 1;

    if (!close || text[0] != '{' || !isalpha((unsigned char)text[1]))
        return 0;
    while (isalnum((unsigned char)text[n]) || text[n] == '_')
        n++;
    *name_len = n - 1;
    if (text[n] == ':' || text[n] == '}')
        return (size_t)(close - text) + 1;
    return 0;
}

bool is_variable(const char *text, size_t len, const char **name, size_t *name_len) {
    size_t size = variable_at(text, len, name_len);

    *name = text + 1;
    return size == len && size == *name_len + 2;
}

static void cut(const char *range, const struct text *value, size_t *from, size_t *to) {
    unsigned long a = 0, b = value->len;

    if (*range == ':')
        sscanf(range, ":%lu:%lu", &a, &b);
    *to = b < value->len ? b : value->len;
    *from = a < *to ? a : *to;
}

bool vars_expand(const struct vars *vars, const char *text, size_t len, struct text *out, char *err,
                 size_t size) {
    FILE *f = open_memstream(&out->ptr, &out->len);
    bool ok = true;

    for (size_t i = 0; i < len && ok;) {
        size_t name_len, n = variable_at(text + i, len - i, &name_len);
        const struct text *value = n ? vars_get(vars, text + i + 1, name_len) : NULL;
        size_t from, to;

        if (!n) {
            fputc(text[i++], f);
            continue;
        }
        if (value) {
            cut(text + i + 1 + name_len, value, &from, &to);
            fwrite(value->ptr + from, 1, to - from, f);
        } else {
            snprintf(err, size, "nothing is named %.*s", (int)name_len, text + i + 1);
            ok = false;
        }
        i += n;
    }
    fclose(f);
    if (!ok)
        free(out->ptr);
    return ok;
}

static int hex_digit(char c) {
    return isdigit((unsigned char)c)    ? c - '0'
           : isxdigit((unsigned char)c) ? tolower((unsigned char)c) - 'a' + 10
                                        : 0;
}

static char escaped(const char **p) {
    const char *q = *p;

    *p = q + 1;
    switch (*q) {
    case 'n':
        return '\n';
    case 'r':
        return '\r';
    case 't':
        return '\t';
    case 'x':
        if (!isxdigit((unsigned char)q[1]) || !isxdigit((unsigned char)q[2]))
            return 'x';
        *p = q + 3;
        return (char)(hex_digit(q[1]) * 16 + hex_digit(q[2]));
    default:
        return *q;
    }
}

bool read_quoted(const char **p, struct text *out) {
    FILE *f = open_memstream(&out->ptr, &out->len);
    const char *q = *p + 1;

    while (*q && *q != '"') {
        char c = *q++;

        if (c == '\\' && *q)
            c = escaped(&q);
        fputc(c, f);
    }
    fclose(f);
    if (*q != '"') {
        free(out->ptr);
        return false;
    }
    *p = q + 1;
    return true;
}
