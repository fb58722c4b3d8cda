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
/* More shapes than this in one flight, and the general statement is cheaper. */
#define ALIKE_MOST 3
/* Fewer tasks than this are not worth a second flight. */
#define SPLIT_LEAST 16

struct part {
    struct op *op;
    void (*done)(struct task **tasks, size_t count, const PGresult *rows);
    struct task **tasks; /* into the flight's array, set when it is complete */
    size_t count;
};

/* Statements and whose tasks they are. */
struct flight {
    struct db_lane *db;
    /* Of the tasks that wait and whose operations spread: for how many it has seats. */
    size_t seats;
    size_t of;
    size_t spread_count; /* how many it took */
    struct part parts[DB_MAX_STATEMENTS];
    size_t part_count;
    struct task **tasks;
    size_t task_count;
    size_t task_cap;
};

struct lane {
    struct db_lane *db;
    size_t queued;                         /* tasks in the queues of its operations */
    struct flight flights[DB_MAX_FLIGHTS]; /* those under way from the oldest on, in a ring */
    size_t oldest;
    size_t lost; /* flights that are to be sent again with the next that is lost */
};

static struct {
    struct op *const *ops;
    void (*plan)(void);
    struct lane lanes[LANES];
    struct list suspects; /* tasks of failed statements: sent in ever smaller groups */
    bool suspects_flew;   /* the last hot flight was theirs */
} batch;

void batch_init(struct op *const *ops, void (*plan)(void)) {
    batch.ops = ops;
    batch.plan = plan;
    list_init(&batch.suspects);
    for (size_t i = 0; ops[i] != NULL; i++) {
        list_init(&ops[i]->queue);
        ops[i]->queued = 0;
    }
    for (size_t i = 0; i < LANES; i++)
        batch.lanes[i].queued = 0;
}

void batch_start(void) {
    batch.lanes[0].db = db_lane_new("hot", LANE_HOT);
    batch.lanes[1].db = db_lane_new("side", LANE_SIDE);
}

void batch_stop(void) {
    for (size_t i = 0; i < LANES; i++) {
        db_lane_free(batch.lanes[i].db);
        for (size_t k = 0; k < DB_MAX_FLIGHTS; k++)
            free(batch.lanes[i].flights[k].tasks);
    }
}

static void count_queued(struct op *op, int change) {
    op->queued += (size_t)change;
    batch.lanes[op->lane == LANE_HOT ? 0 : 1].queued += (size_t)change;
}

void batch_add(struct task *t) {
    t->state = TASK_QUEUED;
    t->company = 0;
    count_queued(t->op, 1);
    list_push_back(&t->op->queue, &t->node);
}

bool batch_cancel(struct task *t) {
    if (t->state != TASK_QUEUED)
        return false;
    list_remove(&t->node);
    if (t->company == 0)
        count_queued(t->op, -1);
    t->state = TASK_IDLE;
    return true;
}

bool batch_connected(enum lane_kind kind) {
    for (size_t i = 0; i < LANES; i++)
        if (batch.lanes[i].db->kind == kind && batch.lanes[i].db->state >= DB_READY)
            return true;
    return false;
}

bool batch_idle(void) {
    for (size_t i = 0; batch.ops[i] != NULL; i++)
        if (!list_empty(&batch.ops[i]->queue))
            return false;
    for (size_t i = 0; i < LANES; i++)
        if (batch.lanes[i].db->state == DB_FLYING)
            return false;
    return list_empty(&batch.suspects);
}

/* ---- building a flight ---- */

static struct lane *lane_of(const struct db_lane *db) {
    for (size_t i = 0; i < LANES; i++)
        if (batch.lanes[i].db == db)
            return &batch.lanes[i];
    return NULL;
}

static void board(struct flight *f, struct task *t) {
    if (f->task_count == f->task_cap) {
        f->task_cap = f->task_cap == 0 ? 64 : f->task_cap * 2;
        f->tasks = xrealloc(f->tasks, f->task_cap * sizeof *f->tasks);
    }
    f->tasks[f->task_count++] = t;
    f->parts[f->part_count].count++;
    f->spread_count += t->op->spreads;
    list_remove(&t->node);
    if (t->company == 0)
        count_queued(t->op, -1);
    t->state = TASK_SENT;
}

static struct task *first_task(struct op *op) {
    return LIST_ENTRY(op->queue.next, struct task, node);
}

static bool has_room_for(const struct params *p, const struct task *t) {
    return p->rows == 0 || (p->rows + t->rows <= (size_t)config.batch_max &&
                            p->bytes + t->bytes <= (size_t)config.batch_max_bytes);
}

static void encode(struct flight *f, struct params *p, struct task *t,
                   void (*encode_task)(struct params *p, struct task *t)) {
    t->first_row = p->rows;
    encode_task(p, t);
    p->rows += t->rows;
    p->bytes += t->bytes;
    board(f, t);
}

/* Tasks in the statement being built. */
static size_t boarded(const struct flight *f) {
    return f->parts[f->part_count].count;
}

static size_t seats_for(const struct flight *f, const struct op *op) {
    return op->spreads ? (op->queued * f->seats + f->of - 1) / f->of : SIZE_MAX;
}

static void finish_statement(struct flight *f, struct op *op, const struct op_alike *alike) {
    size_t rows = db_params(f->db)->rows;

    f->parts[f->part_count].op = op;
    f->parts[f->part_count].done = alike != NULL ? alike->done : op->done;
    f->part_count++;
    stats.rows += rows;
    if (rows > stats.batch_max_rows)
        stats.batch_max_rows = rows;
    db_statement(f->db, alike != NULL ? alike->stmt : op->stmt);
}

static struct params *begin_statement(struct flight *f, struct op *op) {
    struct params *p = db_params(f->db);

    f->parts[f->part_count].count = 0;
    if (op->begin != NULL)
        op->begin(p);
    return p;
}

/* As many of the operation's tasks as fit; the rest waits for the next flight. */
static void add_statement(struct flight *f, struct op *op) {
    struct params *p = begin_statement(f, op);
    size_t seats = seats_for(f, op);

    do
        encode(f, p, first_task(op), op->encode);
    while (!op->alone && !list_empty(&op->queue) && boarded(f) < seats && has_room_for(p, first_task(op)));
    finish_statement(f, op, NULL);
}

/* ---- tasks of one shape ---- */

static bool same_shape(const struct op_shape *x, const struct op_shape *y) {
    return x->a == y->a && x->b == y->b;
}

/* Do the operation's tasks have few shapes, the first one among them? Looks at no more
 * tasks than travel together. When not all find a seat they must have one: or those of the
 * first shape would overtake older ones of another. */
static bool few_shapes(const struct flight *f, const struct op *op) {
    size_t most = seats_for(f, op) < op->queued ? 1 : ALIKE_MOST;
    struct op_shape shapes[ALIKE_MOST], shape;
    size_t known = 0, left = (size_t)config.batch_max;

    for (struct list *n = op->queue.next; n != &op->queue && left > 0; n = n->next, left--) {
        size_t i = 0;

        if (!op->alike->shape(LIST_ENTRY(n, struct task, node), &shape))
            return false;
        while (i < known && !same_shape(&shapes[i], &shape))
            i++;
        if (i == most)
            return false;
        if (i == known)
            shapes[known++] = shape;
    }
    return true;
}

/* The first task and those that may go with it, so many at most; tells how many they are.
 * None when the first has no shape: few_shapes() may have looked less far. */
static size_t add_alike_statement(struct flight *f, struct op *op, size_t seats) {
    const struct op_alike *alike = op->alike;
    struct params *p = db_params(f->db);
    struct task *first = first_task(op);
    struct op_shape wanted, shape;
    struct list *next;

    if (!alike->shape(first, &wanted))
        return 0;
    f->parts[f->part_count].count = 0;
    alike->begin(p, first);
    for (struct list *n = op->queue.next; n != &op->queue; n = next) {
        struct task *t = LIST_ENTRY(n, struct task, node);

        next = n->next;
        if (boarded(f) >= seats || !has_room_for(p, t))
            break;
        if (t == first || (alike->shape(t, &shape) && same_shape(&shape, &wanted) &&
                           (alike->join == NULL || alike->join(first, t))))
            encode(f, p, t, alike->encode);
    }
    finish_statement(f, op, alike);
    return f->parts[f->part_count - 1].count;
}

/* May op have another statement in the flight? */
static bool may_go_on(const struct flight *f, const struct op *op) {
    return !list_empty(&op->queue) && f->part_count < DB_MAX_STATEMENTS;
}

static void add_alike(struct flight *f, struct op *op) {
    size_t seats = seats_for(f, op), taken = 1;

    for (size_t left = ALIKE_MOST; left > 0 && taken > 0 && seats > 0 && may_go_on(f, op); left--) {
        taken = add_alike_statement(f, op, seats);
        seats -= taken;
    }
}

/* Statements of an alone operation are bounded, so that all operations find room. */
static void add_op(struct flight *f, struct op *op) {
    size_t left = !op->alone ? 1 : op->most > 0 ? op->most : ALONE_MOST;

    if (op->alike != NULL && few_shapes(f, op)) {
        add_alike(f, op);
        return;
    }
    for (; left > 0 && may_go_on(f, op); left--)
        add_statement(f, op);
}

/* The first suspects, as many as may travel together. Nobody else is in the flight,
 * since it is likely to fail. */
static void add_suspects(struct flight *f) {
    struct task *first = LIST_ENTRY(batch.suspects.next, struct task, node);
    struct op *op = first->op;
    uint32_t company = first->company;
    struct params *p = begin_statement(f, op);

    stats.suspect_flights++;
    for (uint32_t i = 0; i < company && !list_empty(&batch.suspects); i++) {
        struct task *t = LIST_ENTRY(batch.suspects.next, struct task, node);

        if (t->op != op || t->company != company || (i > 0 && op->alone))
            break;
        encode(f, p, t, op->encode);
    }
    finish_statement(f, op, NULL);
}

/* Suspects and all others take turns, so that nobody waits for the guilty. */
static bool is_turn_of_suspects(void) {
    batch.suspects_flew = !batch.suspects_flew && !list_empty(&batch.suspects);
    return batch.suspects_flew;
}

static void build(struct flight *f) {
    f->part_count = f->task_count = 0;
    if (f->db->kind == LANE_HOT && is_turn_of_suspects()) {
        add_suspects(f);
        return;
    }
    if (f->db->kind == LANE_HOT)
        batch.plan();
    for (size_t i = 0; batch.ops[i] != NULL; i++)
        if (batch.ops[i]->lane == f->db->kind)
            add_op(f, batch.ops[i]);
}

static void on_landed(struct db_lane *db, const struct db_result *result);

static void take_off(struct flight *f) {
    struct task **tasks = f->tasks;

    for (size_t i = 0; i < f->part_count; i++) {
        f->parts[i].tasks = tasks;
        tasks += f->parts[i].count;
    }
    db_send(f->db, on_landed);
}

static size_t waiting_to_spread(const struct db_lane *db) {
    size_t count = 0;

    for (size_t i = 0; batch.ops[i] != NULL; i++)
        if (batch.ops[i]->lane == db->kind && batch.ops[i]->spreads)
            count += batch.ops[i]->queued;
    return count;
}

/* A second flight starts when it carries as much as the first. */
static bool is_worth_it(const struct lane *lane, const struct flight *other, size_t waiting) {
    if (waiting + other->spread_count > 0)
        return waiting >= other->spread_count;
    return lane->queued >= other->task_count;
}

/* With two flights under way the database goes from one to the next while we deal with
 * what the last one brought. That pays when both are about as large: of the tasks that can
 * be spread, the next takes so many that as many are left. */
static bool share_out(const struct lane *lane, struct flight *f) {
    const struct flight *other = f->db->flying > 0 ? &lane->flights[lane->oldest] : NULL;
    size_t flying = other == NULL ? 0 : other->spread_count;
    size_t waiting = waiting_to_spread(f->db);

    f->seats = f->of = 1;
    f->spread_count = 0;
    if (other != NULL && !is_worth_it(lane, other, waiting))
        return false;
    if (waiting > flying && waiting + flying >= SPLIT_LEAST) {
        /* Of an odd number the second takes one more, not one less. */
        f->seats = (waiting + flying + (other != NULL)) / 2;
        f->of = waiting;
    }
    return true;
}

static void lane_flush(struct lane *lane) {
    while (db_has_room(lane->db)) {
        struct flight *f = &lane->flights[(lane->oldest + lane->db->flying) % DB_MAX_FLIGHTS];

        f->db = lane->db;
        if (!share_out(lane, f))
            return;
        build(f);
        /* Nothing else to send: the suspects need not wait for their turn. */
        if (f->part_count == 0 && f->db->kind == LANE_HOT && !list_empty(&batch.suspects))
            build(f);
        if (f->part_count == 0)
            return;
        take_off(f);
    }
}

void batch_flush(void) {
    for (size_t i = 0; i < LANES; i++)
        lane_flush(&batch.lanes[i]);
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
        part->done(part->tasks, part->count, result->rows[i]);
    }
}

/* Callers go from the last task to the first, so that the order stays. */
static void send_again(struct task *t, bool unknown) {
    t->state = TASK_IDLE;
    if (t->op->again != NULL && !t->op->again(t, unknown))
        return;
    t->state = TASK_QUEUED;
    if (t->company == 0)
        count_queued(t->op, 1);
    list_push_front(t->company > 0 ? &batch.suspects : &t->op->queue, &t->node);
}

/* Flights are lost together. We are told of the oldest first, but deal with the newest
 * first, when we have been told of all. */
static void lost(struct lane *lane) {
    if (lane->db->flying > 0) {
        lane->lost++;
        return;
    }
    for (size_t n = 0; n <= lane->lost; n++) {
        struct flight *f = &lane->flights[(lane->oldest + DB_MAX_FLIGHTS - 1 - n) % DB_MAX_FLIGHTS];

        for (size_t i = f->task_count; i-- > 0;)
            send_again(f->tasks[i], true);
    }
    lane->lost = 0;
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

static void on_landed(struct db_lane *db, const struct db_result *result) {
    struct lane *lane = lane_of(db);
    struct flight *f = &lane->flights[lane->oldest];

    lane->oldest = (lane->oldest + 1) % DB_MAX_FLIGHTS;
    if (result->outcome == DB_COMMITTED)
        committed(f, result);
    else if (result->outcome == DB_FAILED)
        failed(f, result);
    else
        lost(lane);
}
