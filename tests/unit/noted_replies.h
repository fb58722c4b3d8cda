#ifndef NOTED_REPLIES_H
#define NOTED_REPLIES_H

#include "net/request.h"
#include "notes.h"

/* The replies of requests without a client, in the order of their ends. */
static struct buf noted_replies;

/* For req_new(). */
static inline void noted_on_end(struct req *r) {
    notes_reply(&noted_replies, &r->own);
    req_free(r);
}

/* The replies since the last call. */
static inline void assert_replied(const char *expected) {
    char text[256];

    assert_string_equal(notes_take(&noted_replies, text, sizeof text), expected);
}

#endif
