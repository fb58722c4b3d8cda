#ifndef NOTES_H
#define NOTES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "base/buf.h"

/* Copies the notes since the last call to text, without the first blank. Each note has a blank before it. */
static inline const char *notes_take(struct buf *notes, char *text, size_t size) {
    size_t len = buf_len(notes);

    assert_true(len < size);
    memcpy(text, len == 0 ? "" : buf_ptr(notes) + 1, len == 0 ? 0 : len - 1);
    text[len == 0 ? 0 : len - 1] = '\0';
    buf_reset(notes, SIZE_MAX);
    return text;
}

/* Adds a blank and the beginning of a reply, up to a blank or its end. */
static inline void notes_reply(struct buf *notes, const struct buf *reply) {
    const char *text = buf_ptr(reply);
    size_t len = 0;

    while (len < buf_len(reply) && text[len] != ' ' && text[len] != '\r')
        len++;
    buf_append_str(notes, " ");
    buf_append(notes, text, len);
}

#endif
