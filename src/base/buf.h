#ifndef BUF_H
#define BUF_H

#include <stddef.h>
#include "base/util.h"

/*
 * A growable run of bytes, appended at the end and consumed at the front.
 * The live bytes are data[start .. end). All zero is a valid empty buffer.
 */
struct buf {
    char *data;
    size_t start;
    size_t end;
    size_t cap;
};

static inline size_t buf_len(const struct buf *b) {
    return b->end - b->start;
}

/* The first live byte; NULL if b has no memory. */
static inline char *buf_ptr(const struct buf *b) {
    return b->start == 0 ? b->data : b->data + b->start;
}

/* Makes room for at least n bytes and returns its address. After the bytes are written, call buf_added(). */
char *buf_reserve(struct buf *b, size_t n);
void buf_added(struct buf *b, size_t n);
void buf_append(struct buf *b, const void *bytes, size_t n);
void buf_append_str(struct buf *b, const char *text);
void buf_printf(struct buf *b, const char *fmt, ...) PRINTF_LIKE(2, 3);
void buf_consume(struct buf *b, size_t n);
/* Frees most of the unused room of a buffer of 4 KB or more, if at most a quarter of it is used. */
void buf_fit(struct buf *b);
/* Empties b. The memory is freed if it is larger than keep bytes. */
void buf_reset(struct buf *b, size_t keep);
void buf_free(struct buf *b);

#endif
