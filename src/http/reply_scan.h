#ifndef REPLY_SCAN_H
#define REPLY_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/util.h"

/*
 * Finds the end of a reply of RESP2 or RESP3 in bytes that arrive in pieces. Zero bytes are a new scan.
 */
struct reply_scan {
    size_t at;      /* length of the scanned bytes */
    size_t missing; /* values that complete the reply, after the scanned bytes; 0: the reply begins at `at` */
    size_t values;  /* in the scanned bytes, those of groups and of former replies included */
};

enum reply_scan_result {
    REPLY_INCOMPLETE,
    REPLY_COMPLETE, /* the reply ends at `at` */
    REPLY_BROKEN,
};

/* Goes on with the bytes, of which the first `at` are unchanged since the last call. After REPLY_COMPLETE the next
 * call begins the next reply. */
enum reply_scan_result reply_scan_next(struct reply_scan *s, struct slice bytes);

/* The first line of a value, without its type and its line end. */
struct reply_head {
    char type;
    struct slice line;
    int64_t number; /* of the line, for types that have a number; else 0 */
    size_t size;    /* bytes of the value up to its elements: the line, and the bytes of a bulk */
};

/* Reads the value at the front of the bytes. False: the bytes have no complete line. */
bool reply_head_read(struct slice bytes, struct reply_head *head) MUST_CHECK;
/* The number of values that belong to this one. */
size_t reply_head_elements(const struct reply_head *head);
/* The text of a value that is a text; empty for all others. */
struct slice reply_head_text(struct slice bytes, const struct reply_head *head);

#endif
