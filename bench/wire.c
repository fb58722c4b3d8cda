/* Byte buffers, and the small part of RESP that a client needs. */
#include "wire.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void wire_reserve(struct wire *w, size_t n) {
    if (w->cap - w->end >= n)
        return;
    size_t len = wire_len(w);
    if (w->start > 0) {
        memmove(w->data, w->data + w->start, len);
        w->start = 0;
        w->end = len;
    }
    if (w->cap - w->end >= n)
        return;
    size_t cap = w->cap ? w->cap : 512;
    while (cap - len < n)
        cap *= 2;
    w->data = xrealloc(w->data, cap);
    w->cap = cap;
}

void wire_append(struct wire *w, const void *bytes, size_t n) {
    wire_reserve(w, n);
    memcpy(w->data + w->end, bytes, n);
    w->end += n;
}

void wire_text(struct wire *w, const char *text) {
    wire_append(w, text, strlen(text));
}

void wire_printf(struct wire *w, const char *fmt, ...) {
    char text[512];
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    if (n < 0 || (size_t)n >= sizeof(text))
        die("a command of more than %zu bytes: shorten the queue's name", sizeof(text));
    wire_append(w, text, (size_t)n);
}

void wire_consume(struct wire *w, size_t n) {
    w->start += n;
    if (w->start == w->end)
        w->start = w->end = 0;
}

void wire_reset(struct wire *w) {
    w->start = w->end = w->need = 0;
}

static void append_header(struct wire *w, char type, uint64_t n) {
    char text[24];
    char *p = text + sizeof(text);
    *--p = '\n';
    *--p = '\r';
    do {
        *--p = (char)('0' + n % 10);
        n /= 10;
    } while (n);
    *--p = type;
    wire_append(w, p, (size_t)(text + sizeof(text) - p));
}

void wire_array(struct wire *w, int64_t n) {
    append_header(w, '*', (uint64_t)n);
}

void wire_bulk(struct wire *w, const void *bytes, size_t n) {
    append_header(w, '$', n);
    wire_append(w, bytes, n);
    wire_append(w, "\r\n", 2);
}

void wire_bulk_text(struct wire *w, const char *text) {
    wire_bulk(w, text, strlen(text));
}

void wire_command(struct wire *w, const char *const *words) {
    int n = 0;
    while (words[n])
        n++;
    wire_array(w, n);
    for (int i = 0; i < n; i++)
        wire_bulk_text(w, words[i]);
}

/* Reads "<type><number>\r\n" at data[*pos]; false while the line is not complete. */
static bool header_at(const struct wire *w, size_t *pos, int64_t *n) {
    size_t i = *pos + 1;
    bool negative = i < w->end && w->data[i] == '-';
    int64_t value = 0;
    for (i += negative; i < w->end && w->data[i] >= '0' && w->data[i] <= '9'; i++)
        value = value * 10 + (w->data[i] - '0');
    if (i + 1 >= w->end)
        return false;
    if (w->data[i] != '\r')
        die("the server does not speak RESP here: %.*s", (int)(w->end - *pos), w->data + *pos);
    *n = negative ? -value : value;
    *pos = i + 2;
    return true;
}

static bool line_at(const struct wire *w, size_t *pos) {
    const char *nl = memchr(w->data + *pos, '\n', w->end - *pos);
    if (!nl)
        return false;
    *pos = (size_t)(nl - w->data) + 1;
    return true;
}

/* Moves *pos behind a value without its elements, and adds the number of elements to *todo. */
static bool value_at(struct wire *w, size_t *pos, int64_t *todo) {
    int64_t n;
    char type = w->data[*pos];
    if (type == '+' || type == '-')
        return line_at(w, pos);
    if (!header_at(w, pos, &n))
        return false;
    if (type == '$' && n >= 0)
        *pos += (size_t)n + 2;
    if (type == '*' && n > 0)
        *todo += n;
    if (*pos <= w->end)
        return true;
    w->need = *pos - w->start;
    return false;
}

size_t resp_length(struct wire *w) {
    size_t pos = w->start;
    if (wire_len(w) < w->need)
        return 0;
    for (int64_t todo = 1; todo > 0; todo--)
        if (pos >= w->end || !value_at(w, &pos, &todo))
            return 0;
    w->need = 0;
    return pos - w->start;
}

static int64_t take_number(const char **p, char type) {
    const char *s = *p;
    if (*s != type)
        die("a reply of another type than '%c': %.*s", type, (int)line_length(s), s);
    bool negative = *++s == '-';
    int64_t value = 0;
    for (s += negative; *s >= '0' && *s <= '9'; s++)
        value = value * 10 + (*s - '0');
    *p = s + 2;
    return negative ? -value : value;
}

int64_t resp_integer(const char **p) {
    return take_number(p, ':');
}

int64_t resp_array(const char **p) {
    return take_number(p, '*');
}

struct slice resp_bulk(const char **p) {
    int64_t len = take_number(p, '$');
    if (len < 0)
        return (struct slice){ NULL, 0 };
    struct slice s = { *p, (size_t)len };
    *p += len + 2;
    return s;
}

size_t line_length(const char *p) {
    size_t n = 0;
    while (p[n] != '\r' && p[n] != '\n')
        n++;
    return n;
}
