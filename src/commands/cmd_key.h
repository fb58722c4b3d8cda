#ifndef CMD_KEY_H
#define CMD_KEY_H

#include <stdint.h>
#include "batch/op.h"
#include "net/req.h"
#include "queue/queue.h"
#include "queue/queue_row.h"

/* Until when the queued job of a queue lives that lives longest, clock_db(). */
#define LIFE_NONE TIME_BEGINNING
#define LIFE_FOR_EVER TIME_NEVER

struct life {
    /* The owner's. */
    void (*found)(struct life *l, int64_t until);
    struct req *req;
    /* Private. */
    struct queue *q;
    struct parked parked;
};

/* Asks for that of q, for which key_may_exist(). l is as long-lived as its request, whose data it is. */
void key_find_life(struct life *l, struct queue *q);

#endif
