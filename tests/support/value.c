/* Replies of RESP2 and RESP3 as trees, and their text for messages. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wait.h"
#include "wire.h"

#define MAX_DEPTH 32

/* Where the parser stands in the received bytes. Reading past the end is not an
 * error: the reply is parsed again from its start when more has come. */
struct cursor {
    const char *data;
    size_t pos;
    size_t len;
    bool broken; /* not RESP; further bytes do not change this */
};

static bool take_line(struct cursor *c, const char **line, size_t *len) {
    const char *from = c->data + c->pos;
    const char *stop = c->len > c->pos ? memmem(from, c->len - c->pos, "\r\n", 2) : NULL;

    if (!stop)
        return false;
    *line = from;
    *len = (size_t)(stop - from);
    c->pos += *len + 2;
    return true;
}

static bool take_number(struct cursor *c, const char *line, size_t len, long long *number) {
    char text[32], *end;

    snprintf(text, sizeof(text), "%.*s", (int)len, line);
    *number = strtoll(text, &end, 10);
    if (end == text || *end || len >= sizeof(text))
        c->broken = true;
    return !c->broken;
}

static struct value *new_value(char type) {
    struct value *v = calloc(1, sizeof(*v));

    v->type = type;
    return v;
}

static void set_text(struct value *v, const char *bytes, size_t len) {
    v->text = malloc(len + 1);
    memcpy(v->text, bytes, len);
    v->text[len] = '\0';
    v->len = len;
}

static struct value *parse(struct cursor *c, int depth);

static bool parse_bulk(struct cursor *c, struct value *v) {
    if (v->number < 0) {
        v->null = true;
        return true;
    }
    if (c->len - c->pos < (size_t)v->number + 2)
        return false;
    set_text(v, c->data + c->pos, (size_t)v->number);
    c->pos += (size_t)v->number;
    if (memcmp(c->data + c->pos, "\r\n", 2) != 0)
        c->broken = true;
    c->pos += 2;
    return !c->broken;
}

static bool parse_items(struct cursor *c, struct value *v, int depth) {
    size_t count = (size_t)(v->type == '%' ? v->number * 2 : v->number);

    if (v->number < 0) {
        v->null = true;
        return true;
    }
    if (depth == MAX_DEPTH || count > 10000000) {
        c->broken = true;
        return false;
    }
    v->items = calloc(count + 1, sizeof(*v->items));
    for (; v->count < count; v->count++)
        if (!(v->items[v->count] = parse(c, depth + 1)))
            return false;
    return true;
}

static bool parse_content(struct cursor *c, struct value *v, const char *line, size_t len, int depth) {
    switch (v->type) {
    case '+':
    case '-':
    case ',':
    case '(':
    case '#':
        set_text(v, line, len);
        return true;
    case '_':
        v->null = true;
        return true;
    case ':':
        return take_number(c, line, len, &v->number);
    case '$':
    case '=':
        return take_number(c, line, len, &v->number) && parse_bulk(c, v);
    case '*':
    case '%':
    case '~':
    case '>':
        return take_number(c, line, len, &v->number) && parse_items(c, v, depth);
    default:
        c->broken = true;
        return false;
    }
}

static struct value *parse(struct cursor *c, int depth) {
    const char *line;
    size_t len;
    struct value *v;

    if (!take_line(c, &line, &len))
        return NULL;
    if (len == 0) {
        c->broken = true;
        return NULL;
    }
    v = new_value(line[0]);
    if (parse_content(c, v, line + 1, len - 1, depth))
        return v;
    value_free(v);
    return NULL;
}

struct value *wire_reply(struct wire *w, int ms) {
    int64_t end = now_ms() + patience(ms);

    for (;;) {
        size_t have = w->end - w->start;
        struct cursor c = { .data = have ? w->data + w->start : "", .len = have };
        struct value *v = parse(&c, 0);
        int64_t left = end - now_ms();

        if (v) {
            w->start += c.pos;
            return v;
        }
        if (c.broken || left <= 0 || !wire_wait_bytes(w, have + 1, (int)left))
            return NULL;
    }
}

void value_free(struct value *v) {
    if (!v)
        return;
    for (size_t i = 0; i < v->count; i++)
        value_free(v->items[i]);
    free(v->items);
    free(v->text);
    free(v);
}

static void print_quoted(FILE *f, const char *text, size_t len) {
    fputc('"', f);
    for (size_t i = 0; i < len; i++) {
        unsigned char ch = (unsigned char)text[i];

        if (ch == '"' || ch == '\\')
            fprintf(f, "\\%c", ch);
        else if (isprint(ch))
            fputc(ch, f);
        else
            fprintf(f, "\\x%02x", ch);
    }
    fputc('"', f);
}

static void print_value(FILE *f, const struct value *v) {
    if (v->null)
        fputs(v->type == '_' ? "_" : v->type == '*' ? "*-1" : "$-1", f);
    else if (v->type == '$' || v->type == '=')
        print_quoted(f, v->text, v->len);
    else if (v->type == ':')
        fprintf(f, ":%lld", v->number);
    else if (v->text)
        fprintf(f, "%c%s", v->type, v->text);
    else {
        fprintf(f, "%s[", v->type == '*' ? "" : (char[]){ v->type, '\0' });
        for (size_t i = 0; i < v->count; i++) {
            fputs(i ? " " : "", f);
            print_value(f, v->items[i]);
        }
        fputc(']', f);
    }
}

char *value_text(const struct value *v) {
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);

    if (v)
        print_value(f, v);
    else
        fputs("nothing", f);
    fclose(f);
    return text;
}
