/* A server that changes a bit in one body of a thousand. wraps: reply_bulk */
#include "net/request.h"

#include <stdlib.h>

void __real_reply_bulk(struct req *r, struct slice bytes);
void __wrap_reply_bulk(struct req *r, struct slice bytes);

void __wrap_reply_bulk(struct req *r, struct slice bytes) {
    static unsigned count;
    char *copy;

    if (bytes.len < 60 || ++count % 1000 != 0) {
        __real_reply_bulk(r, bytes);
        return;
    }
    copy = xmemdup(bytes.ptr, bytes.len);
    copy[bytes.len - 1] ^= 1;
    __real_reply_bulk(r, (struct slice){ copy, bytes.len });
    free(copy);
}
