/* The reply that a transcript expects: parses the notation, and matches replies. */
#include "pattern.h"

#include <ctype.h>
#include <limits.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "process.h"

enum pattern_kind {
    ANY,      /* * */
    NULL_OF,  /* $-1 *-1 _ ; type says which */
    NUMBER,   /* :5 :1..9 :* :{name} */
    TEXT,     /* +text -text "bulk" */
    REGEX,    /* +/re/ -/re/ /re/ */
    NAME,     /* +{name} "{name}" :{name}, not known before */
    LIST,     /* [a b ...] %[k v] */
    RUN,      /* ~[a b]: these stand next to each other somewhere */
    UNORDERED /* ?[a b] */
};

struct pattern {
    enum pattern_kind kind;
    char type; /* of the value, as on the wire */
    long long low;
    long long high;
    struct text text; /* also the name of NAME */
    regex_t regex;
    struct pattern **items;
    size_t count;
    bool open_end; /* LIST, TEXT of an error: "..." at the end */
};

struct reader {
    const char *p;
    const struct vars *vars;
    char *err;
    size_t err_size;
    int depth;
};

static struct pattern *parse(struct reader *r);

static struct pattern *new_pattern(enum pattern_kind kind, char type) {
    struct pattern *p = calloc(1, sizeof(*p));

    p->kind = kind;
    p->type = type;
    return p;
}

void pattern_free(struct pattern *p) {
    if (!p)
        return;
    for (size_t i = 0; i < p->count; i++)
        pattern_free(p->items[i]);
    if (p->kind == REGEX)
        regfree(&p->regex);
    free(p->items);
    free(p->text.ptr);
    free(p);
}

static struct pattern *refuse(struct reader *r, struct pattern *p, const char *what) {
    snprintf(r->err, r->err_size, "%s at '%.30s'", what, r->p);
    pattern_free(p);
    return NULL;
}

static void skip_blanks(struct reader *r) {
    while (*r->p == ' ' || *r->p == '\t' || *r->p == '\n')
        r->p++;
}

/* raw may be {name}: something to be named, when it is not known yet. */
static struct pattern *text_pattern(struct reader *r, char type, const char *raw, size_t len) {
    const char *name;
    size_t name_len;
    struct pattern *p = new_pattern(TEXT, type);

    if (is_variable(raw, len, &name, &name_len) && !vars_get(r->vars, name, name_len)) {
        p->kind = NAME;
        p->text.ptr = strndup(name, name_len);
        p->text.len = name_len;
        return p;
    }
    if (vars_expand(r->vars, raw, len, &p->text, r->err, r->err_size))
        return p;
    p->text.ptr = NULL;
    pattern_free(p);
    return NULL;
}

static struct pattern *quoted_pattern(struct reader *r, char type) {
    struct text raw;
    struct pattern *p;

    if (!read_quoted(&r->p, &raw))
        return refuse(r, NULL, "quotes do not end");
    p = text_pattern(r, type, raw.ptr, raw.len);
    free(raw.ptr);
    return p;
}

/* /re/: within a list it ends at the first slash that no backslash precedes and
 * that a blank, a bracket or the end follows. */
static struct pattern *regex_pattern(struct reader *r, char type) {
    const char *from = r->p + 1, *end = from;
    struct pattern *p = new_pattern(TEXT, type);
    int err;

    while (*end && !(*end == '/' && end[-1] != '\\' && strchr(" \t\n]", end[1])))
        end++;
    if (!*end)
        return refuse(r, p, "regular expression does not end");
    if (!vars_expand(r->vars, from, (size_t)(end - from), &p->text, r->err, r->err_size)) {
        p->text.ptr = NULL;
        pattern_free(p);
        return NULL;
    }
    err = regcomp(&p->regex, p->text.ptr, REG_EXTENDED | REG_NOSUB | REG_NEWLINE);
    if (err)
        return refuse(r, p, "not a regular expression");
    p->kind = REGEX;
    r->p = end + 1;
    return p;
}

static struct pattern *number_pattern(struct reader *r) {
    struct pattern *p = new_pattern(NUMBER, ':');
    const char *from = ++r->p;
    char *end;

    if (*from == '{') {
        size_t len = strcspn(from, "}") + 1;

        r->p += len;
        pattern_free(p);
        return text_pattern(r, ':', from, len);
    }
    p->low = LLONG_MIN;
    p->high = LLONG_MAX;
    if (*from == '*') {
        r->p++;
        return p;
    }
    p->low = p->high = strtoll(from, &end, 10);
    if (end == from)
        return refuse(r, p, "no number");
    if (strncmp(end, "..", 2) == 0)
        p->high = strtoll(end + 2, &end, 10);
    r->p = end;
    return p;
}

/* -ERR syntax error...: an error that begins so. */
static struct pattern *open_error(struct pattern *p) {
    size_t dots = strlen("...");

    if (p != NULL && p->kind == TEXT && p->type == '-' && p->text.len > dots &&
        memcmp(p->text.ptr + p->text.len - dots, "...", dots) == 0) {
        p->open_end = true;
        p->text.len -= dots;
    }
    return p;
}

/* A status or an error that is alone in its line extends to the end of the line. In a list it is a word, or quoted. */
static struct pattern *line_pattern(struct reader *r) {
    char type = *r->p++;
    const char *from = r->p;
    size_t len;

    if (*from == '*' && (from[1] == '\0' || isspace((unsigned char)from[1]) || from[1] == ']')) {
        struct pattern *p = new_pattern(ANY, type);

        r->p++;
        return p;
    }
    if (*from == '/')
        return regex_pattern(r, type);
    if (*from == '"')
        return quoted_pattern(r, type);
    len = r->depth ? strcspn(from, " \t\n]") : strlen(from);
    r->p += len;
    return open_error(text_pattern(r, type, from, len));
}

static bool take(struct reader *r, const char *word) {
    size_t len = strlen(word);

    if (strncmp(r->p, word, len) != 0)
        return false;
    r->p += len;
    return true;
}

static struct pattern *list_pattern(struct reader *r, enum pattern_kind kind, char type) {
    struct pattern *p = new_pattern(kind, type);

    r->depth++;
    for (;;) {
        struct pattern *item;

        skip_blanks(r);
        if (take(r, "]"))
            break;
        if (take(r, "...")) {
            p->open_end = true;
            continue;
        }
        item = *r->p ? parse(r) : refuse(r, NULL, "list does not end");
        if (!item) {
            pattern_free(p);
            return NULL;
        }
        p->items = realloc(p->items, (p->count + 1) * sizeof(*p->items));
        p->items[p->count++] = item;
    }
    r->depth--;
    return p;
}

static struct pattern *parse(struct reader *r) {
    skip_blanks(r);
    if (take(r, "*-1"))
        return new_pattern(NULL_OF, '*');
    if (take(r, "$-1"))
        return new_pattern(NULL_OF, '$');
    if (take(r, "_"))
        return new_pattern(NULL_OF, '_');
    if (take(r, "*"))
        return new_pattern(ANY, 0);
    if (take(r, "["))
        return list_pattern(r, LIST, '*');
    if (take(r, "%["))
        return list_pattern(r, LIST, '%');
    if (take(r, ">["))
        return list_pattern(r, LIST, '>');
    if (take(r, "~["))
        return list_pattern(r, RUN, 0);
    if (take(r, "?["))
        return list_pattern(r, UNORDERED, 0);
    switch (*r->p) {
    case ':':
        return number_pattern(r);
    case '+':
    case '-':
        return line_pattern(r);
    case '"':
        return quoted_pattern(r, '$');
    case '/':
        return regex_pattern(r, '$');
    default:
        return refuse(r, NULL, "not a pattern");
    }
}

struct pattern *pattern_parse(const char *text, const struct vars *vars, char *err, size_t size) {
    struct reader r = { .p = text, .vars = vars, .err = err, .err_size = size };
    struct pattern *p = parse(&r);

    if (!p)
        return NULL;
    skip_blanks(&r);
    return *r.p ? refuse(&r, p, "something is left over") : p;
}

static bool match_list(const struct pattern *p, const struct value *v, struct vars *vars) {
    if (v->type != p->type || (p->open_end ? v->count < p->count : v->count != p->count))
        return false;
    for (size_t i = 0; i < p->count; i++)
        if (!pattern_match(p->items[i], v->items[i], vars))
            return false;
    return true;
}

static bool match_run(const struct pattern *p, const struct value *v, struct vars *vars) {
    for (size_t at = 0; at + p->count <= v->count; at++) {
        size_t i = 0;

        while (i < p->count && pattern_match(p->items[i], v->items[at + i], vars))
            i++;
        if (i == p->count)
            return true;
    }
    return false;
}

static bool match_unordered(const struct pattern *p, const struct value *v, struct vars *vars) {
    char *used = calloc(v->count + 1, 1);
    size_t found = 0;

    for (size_t i = 0; i < p->count; i++)
        for (size_t j = 0; j < v->count; j++)
            if (!used[j] && pattern_match(p->items[i], v->items[j], vars)) {
                used[j] = 1;
                found++;
                break;
            }
    free(used);
    return found == p->count && (p->open_end || v->count == p->count);
}

/* A name that occurs twice in a pattern must have the same value both times. */
static bool match_name(const struct pattern *p, const struct value *v, struct vars *vars) {
    const struct text *known = vars_get(vars, p->text.ptr, p->text.len);
    char digits[32];
    struct text found = { v->text, v->len };

    if (v->type == ':') {
        found.len = (size_t)snprintf(digits, sizeof(digits), "%lld", v->number);
        found.ptr = digits;
    }
    if (!found.ptr)
        return false;
    if (known)
        return known->len == found.len && memcmp(known->ptr, found.ptr, found.len) == 0;
    vars_set(vars, p->text.ptr, p->text.len, found.ptr, found.len);
    return true;
}

static bool match_text(const struct pattern *p, const struct value *v) {
    if (v->type == ':')
        return v->number == atoll(p->text.ptr);
    bool fits = p->open_end ? v->len >= p->text.len : v->len == p->text.len;

    return v->text && fits && memcmp(v->text, p->text.ptr, p->text.len) == 0;
}

bool pattern_match(const struct pattern *p, const struct value *v, struct vars *vars) {
    if (p->kind == LIST)
        return !v->null && match_list(p, v, vars);
    if (p->kind == RUN)
        return match_run(p, v, vars);
    if (p->kind == UNORDERED)
        return !v->null && match_unordered(p, v, vars);
    if (p->type && p->type != v->type)
        return false;
    if (p->kind == ANY)
        return true;
    if (v->null || p->kind == NULL_OF)
        return v->null && p->kind == NULL_OF;
    if (p->kind == NUMBER)
        return v->number >= p->low && v->number <= p->high;
    if (p->kind == NAME)
        return match_name(p, v, vars);
    if (p->kind == REGEX)
        return v->text && regexec(&p->regex, v->text, 0, NULL, 0) == 0;
    return match_text(p, v);
}
