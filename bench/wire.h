#ifndef BENCH_WIRE_H
#define BENCH_WIRE_H

#include "common.h"

/* A growable run of bytes: appended at the end, consumed at the front, for both directions of a connection and for
 * prepared commands. All zero is a valid empty wire. The live bytes are data[start .. end). */
struct wire {
    char *data;
    size_t start;
    size_t end;
    size_t cap;
    size_t need; /* an unfinished reply is known to be at least this long */
};

static inline size_t wire_len(const struct wire *w) {
    return w->end - w->start;
}

static inline const char *wire_ptr(const struct wire *w) {
    return w->data + w->start;
}

/* Room for n bytes at data + end. */
void wire_reserve(struct wire *w, size_t n);
void wire_append(struct wire *w, const void *bytes, size_t n);
void wire_text(struct wire *w, const char *text);
void wire_printf(struct wire *w, const char *fmt, ...) PRINTF_LIKE(2, 3);
void wire_consume(struct wire *w, size_t n);
/* Empties w and keeps its memory. */
void wire_reset(struct wire *w);

/* RESP requests: "*n", then n times "$len bytes". */
void wire_array(struct wire *w, int64_t n);
void wire_bulk(struct wire *w, const void *bytes, size_t n);
void wire_bulk_text(struct wire *w, const char *text);
/* A whole command from a list of words that ends with NULL. */
void wire_command(struct wire *w, const char *const *words);

/* The length of the complete RESP2 reply at the front of w, or 0. */
size_t resp_length(struct wire *w);

/*
 * Taking a complete reply apart: each function reads the value at *p and moves
 * *p behind it. A value of another type than asked for ends the program, since
 * nothing that follows on the connection could be understood.
 */
int64_t resp_integer(const char **p);
/* Number of elements; -1 for the null array. */
int64_t resp_array(const char **p);
/* ptr is NULL for a null bulk. */
struct slice resp_bulk(const char **p);

/* Length of the line at p without its end; p must hold a line end. */
size_t line_length(const char *p);

#endif
