#ifndef ENDED_REPLY_H
#define ENDED_REPLY_H

#include <stdlib.h>
#include "base/util.h"
#include "net/request.h"

/* The reply of the last request that ended, for requests without a client: req_new(..., ended_reply_note). */
static char *ended_reply;

static inline void ended_reply_forget(void) {
    free(ended_reply);
    ended_reply = NULL;
}

static inline void ended_reply_note(struct req *r) {
    ended_reply_forget();
    ended_reply = slice_dup((struct slice){ buf_ptr(&r->own), buf_len(&r->own) });
    req_free(r);
}

#endif
