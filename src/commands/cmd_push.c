/* LPUSH RPUSH LPUSHX RPUSHX: the options of elements, and the reply, the length of the list. */
#include "batch/client_txn.h"
#include "commands/dispatch.h"
#include "jobs/add.h"
#include "queue/queue_iter.h"
#include "queue/settings.h"

/* Elements have no attempts, and live without end unless the queue has a ttl. */
static struct add_options push_options(const struct queue *q) {
    int64_t ttl = q == NULL ? -1 : setting_of(q, SETTING_TTL);

    return (struct add_options){ .replicate = 1, .ttl = ttl < 0 ? LIST_TTL : ttl, .retry = -1, .maxlen = -1 };
}

static void push_reply(struct req *r, const struct added *pushed) {
    reply_int(r, pushed->len);
}

static void push_push(struct req *r, enum list_end end, bool if_any) {
    struct add *a = req_alloc(r, sizeof *a);

    *a = (struct add){ .req = r,
                       .opt = push_options(queue_find(r->argv[1])),
                       .bodies = r->argv + 2,
                       .count = (size_t)r->argc - 2,
                       .end = end,
                       .if_any = if_any,
                       .reply = push_reply };
    add_start(a);
}

void cmd_lpush(struct req *r) {
    push_push(r, END_LEFT, false);
}

void cmd_rpush(struct req *r) {
    push_push(r, END_RIGHT, false);
}

static void push_if_there(struct req *r, enum list_end end) {
    const struct queue *q = queue_find(r->argv[1]);
    bool in_txn = r->task.client_txn != NULL && q != NULL && (q->id != 0 || q->row.opening);

    if (in_txn || queue_is_key(q))
        push_push(r, end, in_txn);
    else
        req_int(r, 0);
}

void cmd_lpushx(struct req *r) {
    push_if_there(r, END_LEFT);
}

void cmd_rpushx(struct req *r) {
    push_if_there(r, END_RIGHT);
}
