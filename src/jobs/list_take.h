#ifndef LIST_TAKE_H
#define LIST_TAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "jobs/take.h"
#include "net/request.h"
#include "queue/delivery.h"
#include "queue/queue_store.h"

/* Functions that write a reply. */
struct pop_form {
    void (*some)(struct req *r, const struct job *jobs, size_t count);
    void (*none)(struct req *r);
};

/* A list command that takes elements, as it was parsed. */
struct list_take {
    struct pop pop; /* must be the first field: taker.own */
    struct req *req;
    const struct pop_form *form;
    const struct slice *keys;
    size_t key_count;
    struct slice to; /* ptr NULL: no move */
    int64_t count;
    bool blocks;
    int64_t deadline; /* clock_mono(); 0: none */
    struct row_waiter row_waiter;
};

#endif
