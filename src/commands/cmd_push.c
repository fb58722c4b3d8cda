/* LPUSH RPUSH LPUSHX RPUSHX: add the elements, and reply the length of the list. */
#include "commands/dispatch.h"
#include "jobs/add.h"
#include "jobs/bulk_in_txn.h"
#include "queue/queue_iter.h"

static void push_reply(struct req *r, const struct added *pushed) {
    reply_int(r, pushed->len);
}

/* Elements have no attempts, whatever the queue has. */
static void push_push(struct req *r, enum list_end end, bool if_any) {
    struct add *a = req_alloc(r, sizeof *a);

    a->req = r;
    a->opt = (struct add_options){ .replicate = 1, .ttl = -1, .retry = -1, .maxlen = -1 };
    a->bodies = r->argv + 2;
    a->count = (size_t)r->argc - 2;
    a->end = end;
    a->if_any = if_any;
    a->reply = push_reply;
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
    bool in_txn = req_in_txn(r) && key_may_exist(r, q);

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
