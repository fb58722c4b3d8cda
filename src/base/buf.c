/* A growable run of bytes, appended at the end and consumed at the front. */
#include "base/buf.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/log.h"

#define BUF_MIN_CAP 256
#define BUF_FIT_CAP ((size_t)4 * 1024)
/* A buffer of this size or more grows by a quarter. realloc() remaps the pages of large blocks instead of copying. */
#define BUF_LARGE_CAP ((size_t)1024 * 1024)

static void move_to_front(struct buf *b) {
    size_t len = buf_len(b);

    if (b->start == 0)
        return;
    memmove(b->data, b->data + b->start, len);
    b->start = 0;
    b->end = len;
}

/* Growing by a part of the capacity keeps the cost of appending linear. A larger need is met exactly. */
static void grow(struct buf *b, size_t needed) {
    size_t more = b->cap < BUF_LARGE_CAP ? b->cap : b->cap / 4;
    size_t cap = b->cap > SIZE_MAX - more ? SIZE_MAX : b->cap + more;

    if (cap < BUF_MIN_CAP)
        cap = BUF_MIN_CAP;
    if (cap < needed)
        cap = needed;
    b->data = xrealloc(b->data, cap);
    b->cap = cap;
}

char *buf_reserve(struct buf *b, size_t n) {
    size_t len = buf_len(b);

    if (b->cap - b->end < n) {
        if (n > SIZE_MAX - len)
            log_fatal("memory", "a buffer of %zu bytes cannot grow by %zu", len, n);
        /* Bytes are moved only if at least as many bytes were consumed. Otherwise small appends would move the same
         * large rest again and again. */
        bool roomy = len + n <= b->cap && b->start >= len;

        move_to_front(b);
        if (!roomy)
            grow(b, len + n);
    }
    return b->data + b->end;
}

void buf_added(struct buf *b, size_t n) {
    assert(n <= b->cap - b->end);
    b->end += n;
}

void buf_append(struct buf *b, const void *bytes, size_t n) {
    if (n == 0)
        return;
    memcpy(buf_reserve(b, n), bytes, n);
    b->end += n;
}

void buf_append_str(struct buf *b, const char *text) {
    buf_append(b, text, strlen(text));
}

/* Formats into the free room. Returns the length of the whole text, or -1 after an error. */
static int try_print(struct buf *b, const char *fmt, va_list args) {
    return vsnprintf(b->data + b->end, b->cap - b->end, fmt, args);
}

void buf_printf(struct buf *b, const char *fmt, ...) {
    va_list args, again;
    int len;

    buf_reserve(b, strlen(fmt) + 64);
    va_start(args, fmt);
    va_copy(again, args);
    len = try_print(b, fmt, args);
    if (len > 0 && (size_t)len >= b->cap - b->end) {
        buf_reserve(b, (size_t)len + 1);
        len = try_print(b, fmt, again);
    }
    va_end(again);
    va_end(args);
    if (len > 0)
        b->end += (size_t)len;
}

void buf_consume(struct buf *b, size_t n) {
    assert(n <= buf_len(b));
    b->start += n;
    if (b->start == b->end)
        b->start = b->end = 0;
}

void buf_fit(struct buf *b) {
    size_t len = buf_len(b);

    if (b->cap < BUF_FIT_CAP || len > b->cap / 4)
        return;
    move_to_front(b);
    b->cap = len + BUF_MIN_CAP;
    b->data = xrealloc(b->data, b->cap);
}

void buf_reset(struct buf *b, size_t keep) {
    b->start = b->end = 0;
    if (b->cap > keep)
        buf_free(b);
}

void buf_free(struct buf *b) {
    free(b->data);
    *b = (struct buf){ 0 };
}
