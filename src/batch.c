/* Natural batching: tasks of all clients become one statement per operation and turn. */
#include "batch.h"

#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "config.h"
#include "log.h"
#include "stats.h"

#define LANES 2
/* Deadlocks, cancelled statements and the like: how often the same task is tried. */
#define MAX_TRANSIENT_FAILURES 5
#define ALONE_MOST 16

struct part {
    struct op *op;
    struct task **tasks; /* into the flight's array, set when it is complete */
    size_t count;
};

/* What a lane carries: its statements and whose tasks they are. */
struct flight {
    struct db_lane *lane;
    struct part parts[DB_MAX_STATEMENTS];
    size_t part_count;
    struct task **tasks;
    size_t task_count;
    size_t task_cap;
};

static struct {
    struct op *const *ops;
    void (*plan)(void);
    struct flight flights[LANES];
    struct list suspects; /* tasks of failed statements: sent in ever smaller groups */
    bool suspects_flew;   /* the last hot flight was theirs */
} batch;

void batch_init(struct op *const *ops, void (*plan)(void)) {
    batch.ops = ops;
    batch.plan = plan;
    list_init(&batch.suspects);
    for (size_t i = 0; ops[i] != NULL; i++)
        list_init(&ops[i]->queue);
}

void batch_start(void) {
    batch.flights[0].lane = db_lane_new("hot", LANE_HOT);
    batch.flights[1].lane = db_lane_new("side", LANE_SIDE);
}

void batch_stop(void) {
    for (size_t i = 0; i < LANES; i++) {
        db_lane_free(batch.flights[i].lane);
        free(batch.flights[i].tasks);
    }
}

void batch_add(struct task *t) {
    t->state = TASK_QUEUED;
    list_push_back(&t->op->queue, &t->node);
}

bool batch_cancel(struct task *t) {
    if (t->state != TASK_QUEUED)
        return false;
    list_remove(&t->node);
    t->state = TASK_IDLE;
    return true;
}

bool batch_connected(enum lane_kind kind) {
    for (size_t i = 0; i < LANES; i++)
        if (batch.flights[i].lane->kind == kind && batch.flights[i].lane->state >= DB_READY)
            return true;
    return false;
}

bool batch_idle(void) {
    for (size_t i = 0; batch.ops[i] != NULL; i++)
        if (!list_empty(&batch.ops[i]->queue))
            return false;
    for (size_t i = 0; i < LANES; i++)
        if (batch.flights[i].lane->state == DB_FLYING)
            return false;
    return list_empty(&batch.suspects);
}

/* ---- building a flight ---- */

static struct flight *flight_of(const struct db_lane *lane) {
    for (size_t i = 0; i < LANES; i++)
        if (batch.flights[i].lane == lane)
            return &batch.flights[i];
    return NULL;
}

static void board(struct flight *f, struct task *t) {
    if (f->task_count == f->task_cap) {
        f->task_cap = f->task_cap == 0 ? 64 : f->task_cap * 2;
        f->tasks = xrealloc(f->tasks, f->task_cap * sizeof *f->tasks);
    }
    f->tasks[f->task_count++] = t;
    f->parts[f->part_count].count++;
    list_remove(&t->node);
    t->state = TASK_SENT;
}

static void encode(struct flight *f, struct params *p, struct task *t) {
    t->first_row = p->rows;
    t->op->encode(p, t);
    p->rows += t->rows;
    board(f, t);
}

static void finish_statement(struct flight *f, struct op *op, const struct params *p) {
    f->parts[f->part_count].op = op;
    f->part_count++;
    stats.rows += p->rows;
    if (p->rows > stats.batch_max_rows)
        stats.batch_max_rows = p->rows;
    db_statement(f->lane, op->stmt);
}

static void begin_statement(struct flight *f, struct op *op, struct params *p) {
    f->parts[f->part_count].count = 0;
    if (op->begin != NULL)
        op->begin(p);
}

/* As many of the operation's tasks as fit; the rest waits for the next flight. */
static void add_statement(struct flight *f, struct op *op) {
    struct params *p = db_params(f->lane);
    size_t bytes = 0;

    begin_statement(f, op, p);
    do {
        struct task *t = LIST_ENTRY(op->queue.next, struct task, node);

        if (p->rows > 0 &&
            (p->rows + t->rows > (size_t)config.batch_max || bytes + t->bytes > config.batch_max_bytes))
            break;
        bytes += t->bytes;
        encode(f, p, t);
    } while (!op->alone && !list_empty(&op->queue));
    finish_statement(f, op, p);
}

/* Statements of an alone operation are bounded, so that all operations find room. */
static void add_op(struct flight *f, struct op *op) {
    size_t left = !op->alone ? 1 : op->most > 0 ? op->most : ALONE_MOST;

    for (; left > 0 && !list_empty(&op->queue) && f->part_count < DB_MAX_STATEMENTS; left--)
        add_statement(f, op);
}

/* The first suspects, as many as may travel together. Nobody else is in the flight,
 * since it is likely to fail. */
static void add_suspects(struct flight *f) {
    struct task *first = LIST_ENTRY(batch.suspects.next, struct task, node);
    struct op *op = first->op;
    uint32_t company = first->company;
    struct params *p = db_params(f->lane);

    stats.suspect_flights++;
    begin_statement(f, op, p);
    for (uint32_t i = 0; i < company && !list_empty(&batch.suspects); i++) {
        struct task *t = LIST_ENTRY(batch.suspects.next, struct task, node);

        if (t->op != op || t->company != company || (i > 0 && op->alone))
            break;
        encode(f, p, t);
    }
    finish_statement(f, op, p);
}

/* Suspects and all others take turns, so that nobody waits for the guilty. */
static bool is_turn_of_suspects(void) {
    batch.suspects_flew = !batch.suspects_flew && !list_empty(&batch.suspects);
    return batch.suspects_flew;
}

static void build(struct flight *f) {
    f->part_count = f->task_count = 0;
    if (f->lane->kind == LANE_HOT && is_turn_of_suspects()) {
        add_suspects(f);
        return;
    }
    if (f->lane->kind == LANE_HOT)
        batch.plan();
    for (size_t i = 0; batch.ops[i] != NULL; i++)
        if (batch.ops[i]->lane == f->lane->kind)
            add_op(f, batch.ops[i]);
}

static void on_landed(struct db_lane *lane, const struct db_result *result);

static void take_off(struct flight *f) {
    struct task **tasks = f->tasks;

    for (size_t i = 0; i < f->part_count; i++) {
        f->parts[i].tasks = tasks;
        tasks += f->parts[i].count;
    }
    db_send(f->lane, on_landed);
}

void batch_flush(void) {
    for (size_t i = 0; i < LANES; i++) {
        struct flight *f = &batch.flights[i];

        if (f->lane->state != DB_READY)
            continue;
        build(f);
        /* Nothing else to send: the suspects need not wait for their turn. */
        if (f->part_count == 0 && f->lane->kind == LANE_HOT && !list_empty(&batch.suspects))
            build(f);
        if (f->part_count > 0)
            take_off(f);
    }
}

/* ---- a flight's end ---- */

static void committed(struct flight *f, const struct db_result *result) {
    for (size_t i = 0; i < f->part_count; i++) {
        struct part *part = &f->parts[i];

        for (size_t k = 0; k < part->count; k++) {
            part->tasks[k]->state = TASK_IDLE;
            part->tasks[k]->company = 0;
            part->tasks[k]->failures = 0;
        }
        part->op->done(part->tasks, part->count, result->rows[i]);
    }
}

/* Callers go from the last task to the first, so that the order stays. */
static void send_again(struct task *t, bool unknown) {
    t->state = TASK_IDLE;
    if (t->op->again != NULL && !t->op->again(t, unknown))
        return;
    t->state = TASK_QUEUED;
    list_push_front(t->company > 0 ? &batch.suspects : &t->op->queue, &t->node);
}

static void lost(struct flight *f) {
    for (size_t i = f->task_count; i-- > 0;)
        send_again(f->tasks[i], true);
}

/* Classes 40 (rolled back), 55 (not in state), 57 (cancelled by an operator). */
static bool is_transient(const char *sqlstate) {
    return strncmp(sqlstate, "40", 2) == 0 || strncmp(sqlstate, "55", 2) == 0 ||
           strncmp(sqlstate, "57", 2) == 0;
}

/* A task whose own statement failed: again in half the company, or not at all. */
static void failed_task(struct task *t, size_t company, const struct op_error *error) {
    bool transient = is_transient(error->sqlstate) && ++t->failures < MAX_TRANSIENT_FAILURES;

    t->state = TASK_IDLE;
    if (!transient && company <= 1) {
        t->company = 0;
        t->op->fail(t, error);
        return;
    }
    if (!transient)
        t->company = (uint32_t)(company / 2 > 0 ? company / 2 : 1);
    send_again(t, false);
}

/* When no statement failed but the commit did, every part is suspect. */
static void failed(struct flight *f, const struct db_result *result) {
    bool at_commit = result->failed_at >= f->part_count;

    for (size_t i = f->part_count; i-- > 0;) {
        struct part *part = &f->parts[i];
        bool guilty = at_commit || i == result->failed_at;
        size_t company = part->count > 1 || !at_commit ? part->count : f->part_count;

        for (size_t k = part->count; k-- > 0;) {
            if (guilty)
                failed_task(part->tasks[k], company, &result->error);
            else
                send_again(part->tasks[k], false);
        }
    }
}

static void on_landed(struct db_lane *lane, const struct db_result *result) {
    struct flight *f = flight_of(lane);

    if (result->outcome == DB_COMMITTED)
        committed(f, result);
    else if (result->outcome == DB_FAILED)
        failed(f, result);
    else
        lost(f);
}
