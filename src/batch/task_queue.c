/* Queued tasks: by operation, heavy ones, suspects, and tasks that are too large. */
#include "batch/task_queue.h"

#include <assert.h>
#include <string.h>

#include "base/util.h"

/* Most operations that there may be. */
#define OPS_MOST 192

static struct {
    struct op *const *ops;
    uint64_t filled[OPS_MOST / 64]; /* a bit per operation: set if its queue has tasks */
    size_t counts[CONN_KINDS];
    struct fair_list heavy[CONN_KINDS];
    struct list suspects[CONN_KINDS];
    struct list too_large; /* they fail at the end of the turn */
} queued;

void task_queue_init(struct op *const *ops) {
    queued.ops = ops;
    list_init(&queued.too_large);
    memset(queued.filled, 0, sizeof queued.filled);
    memset(queued.counts, 0, sizeof queued.counts);
    for (size_t i = 0; i < CONN_KINDS; i++) {
        fair_list_init(&queued.heavy[i]);
        list_init(&queued.suspects[i]);
    }
    for (size_t i = 0; ops[i] != NULL; i++) {
        assert(i < OPS_MOST);
        fair_list_init(&ops[i]->queue);
        ops[i]->queued = 0;
        ops[i]->place = (uint16_t)i;
    }
}

void task_fail(struct task *t, const struct op_error *error) {
    if (t->op->fail != NULL)
        t->op->fail(t, error);
}

void task_reset(struct task *t) {
    t->state = TASK_IDLE;
    t->group_size = 0;
    t->failures = t->lost = t->lost_alone = 0;
    t->unsettled = t->heavy = false;
    t->reads = 0;
    t->blocked_us = 0;
}

void task_give_up(struct task *t, const struct op_error *error) {
    task_reset(t);
    task_fail(t, error);
}

/* Several transactions are built per turn, and most operations have no tasks. */
struct op *task_queue_next(size_t place) {
    for (size_t word = place / 64; word < LENGTH(queued.filled); word++) {
        uint64_t bits = queued.filled[word];

        if (word == place / 64)
            bits &= ~UINT64_C(0) << place % 64;
        if (bits != 0)
            return queued.ops[word * 64 + (size_t)__builtin_ctzll(bits)];
    }
    return NULL;
}

static void note_filled(const struct op *op) {
    uint64_t bit = UINT64_C(1) << op->place % 64;

    if (op->queued > 0)
        queued.filled[op->place / 64] |= bit;
    else
        queued.filled[op->place / 64] &= ~bit;
}

/* Suspects, and the tasks of client transactions, are not counted here. */
static void count_queued(const struct task *t, int change) {
    struct op *op = t->op;

    if (t->turn.in == NULL)
        return;
    queued.counts[op->conn] += (size_t)change;
    if (t->turn.in != &op->queue)
        return;
    op->queued += (size_t)change;
    note_filled(op);
    op->contention.blocked += (size_t)(t->blocked_us != 0 ? change : 0);
}

void task_queue_count_client_txns(long change) {
    queued.counts[CONN_WRITE] += (size_t)change;
}

static void note_queued(struct task *t) {
    t->state = TASK_QUEUED;
    count_queued(t, 1);
}

void task_queue_remove(struct task *t) {
    count_queued(t, -1);
    fair_remove(&t->turn);
    list_remove(&t->turn.node);
    t->state = TASK_IDLE;
}

void task_queue_take(struct task *t) {
    count_queued(t, -1);
    fair_take(&t->turn);
    list_remove(&t->turn.node);
    t->state = TASK_SENT;
}

/* A heavy read is sent alone anyway, and changes nothing. An unsettled write must be in front of all others. Tasks that
 * wait for a lock are in the queue of their operation. */
static bool stays_heavy(const struct task *t) {
    return t->heavy && !t->op->contention.on &&
           (t->op->conn == CONN_READ || (!t->unsettled && t->group_size == 0));
}

/* A divided task is sent alone anyway. */
void task_queue_push_front(struct task *t) {
    t->heavy = stays_heavy(t);
    if (t->heavy)
        fair_put_back(&queued.heavy[t->op->conn], &t->turn);
    else if (t->group_size == 0 || t->op->encode_from != NULL)
        fair_put_back(&t->op->queue, &t->turn);
    else
        list_push_front(&queued.suspects[t->op->conn], &t->turn.node);
    note_queued(t);
}

void task_queue_add_last(struct task *t) {
    t->heavy = false;
    fair_add_last(&t->op->queue, &t->turn, task_cost(t));
    note_queued(t);
}

void task_queue_add(struct task *t) {
    if (task_size(t) > OP_MAX_BYTES) {
        t->group_size = 1;
        list_push_back(&queued.too_large, &t->turn.node);
    } else {
        t->group_size = 0;
        fair_add(t->heavy ? &queued.heavy[t->op->conn] : &t->op->queue, &t->turn, task_cost(t));
    }
    note_queued(t);
}

/* An unsettled task stays in front of all others. */
void task_queue_make_heavy(struct op *op) {
    LIST_EACH_SAFE(node, &op->queue.nodes) {
        struct task *t = task_of_node(node);

        if (t->unsettled)
            continue;
        task_queue_remove(t);
        t->heavy = true;
        task_queue_add(t);
    }
}

struct task *task_queue_first_heavy(enum conn_kind kind) {
    struct list *nodes = &queued.heavy[kind].nodes;

    return list_empty(nodes) ? NULL : task_of_node(nodes->next);
}

/* task_queue_add() does not fail the task, because its callers still use the task. */
void task_queue_fail_too_large(void) {
    static const struct op_error error = { OP_TOO_LARGE,
                                           "it is larger than a statement of the database can be" };
    struct list *node;

    while ((node = list_pop_front(&queued.too_large)) != NULL)
        task_give_up(task_of_node(node), &error);
}

struct list *task_queue_suspects(enum conn_kind kind) {
    return &queued.suspects[kind];
}

size_t task_queue_count(enum conn_kind kind) {
    return queued.counts[kind];
}

bool task_queue_is_empty(void) {
    for (int kind = 0; kind < CONN_KINDS; kind++)
        if (task_queue_first_heavy(kind) != NULL || !list_empty(&queued.suspects[kind]))
            return false;
    return task_queue_next(0) == NULL && list_empty(&queued.too_large);
}
