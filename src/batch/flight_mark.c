/* Commit markers: each transaction inserts a row, which tells whether a lost transaction was committed. */
#include "batch/flight_mark.h"

#include <stdlib.h>

#include "base/node.h"
#include "batch/batch.h"
#include "batch/operations.h"

/* Bits of the number of a transaction within one run of the server. */
#define RUN_SHIFT 40

struct mark {
    struct task task;
    struct list in_marks;
    int64_t flight;
};

static struct {
    struct list marks;    /* struct mark of transactions that have not ended */
    struct mark *current; /* marker of the transaction that is being built */
    struct list lost;
    int64_t last;      /* last number given; 0: none in this run */
    int64_t forgotten; /* transactions with smaller numbers have no rows */
} flights = { .marks = { &flights.marks, &flights.marks }, .lost = { &flights.lost, &flights.lost } };

/* ---- writing ---- */

/* True if this server has peers. A peer that stopped without signing off counts, too. */
static bool has_others(void) {
    size_t known;

    (void)node_known(&known);
    return known > 1 || node_has_company();
}

/* Greater than all numbers before, also of earlier runs. */
static int64_t next_number(void) {
    if (flights.last == 0)
        flights.last = (int64_t)node_self()->run << RUN_SHIFT;
    return ++flights.last;
}

int64_t flight_mark_begin(void) {
    struct mark *m = xcalloc(1, sizeof *m);

    m->flight = next_number();
    m->task.op = &op_mark_flight;
    m->task.rows = 1;
    list_init(&m->task.node);
    list_push_back(&flights.marks, &m->in_marks);
    flights.current = m;
    batch_add(&m->task);
    return m->flight;
}

int64_t flight_mark_always(void) {
    return flights.current != NULL ? flights.current->flight : flight_mark_begin();
}

int64_t flight_mark(void) {
    return flights.current != NULL || has_others() ? flight_mark_always() : 0;
}

static void mark_encode(struct params *p, struct task *t) {
    const struct mark *m = CONTAINER_OF(t, struct mark, task);

    flights.current = NULL;
    params_set_int2(p, 0, (int16_t)node_self()->number);
    params_set_int8(p, 1, m->flight);
}

static void mark_free(struct task *t) {
    struct mark *m = CONTAINER_OF(t, struct mark, task);

    list_remove(&m->in_marks);
    free(m);
}

static void mark_done(struct task **tasks, size_t count, const PGresult *rows) {
    (void)count;
    (void)rows;
    mark_free(tasks[0]);
}

static void mark_fail(struct task *t, const struct op_error *err) {
    (void)err;
    mark_free(t);
}

/* The next transaction gets a new marker with its own number. */
static bool mark_again(struct task *t, bool unknown) {
    (void)unknown;
    mark_free(t);
    return false;
}

struct op op_mark_flight = {
    .name = "mark_flight",
    .stmt = SQL_MARK_FLIGHT,
    .conn = CONN_WRITE,
    .commit = COMMIT_ANY,
    .alone = true,
    .encode = mark_encode,
    .done = mark_done,
    .fail = mark_fail,
    .again = mark_again,
};

/* ---- reading ---- */

static struct task find = { .op = &op_find_flights, .rows = 1 };
static size_t asked; /* how many of flights.lost the sent statement asks for */

static void ask(void) {
    if (find.state == TASK_IDLE && !list_empty(&flights.lost))
        batch_add(&find);
}

void flight_ask(struct lost_task *l) {
    list_push_back(&flights.lost, &l->node);
    ask();
}

static void find_encode(struct params *p, struct task *t) {
    (void)t;
    asked = 0;
    params_set_int2(p, 0, (int16_t)node_self()->number);
    LIST_EACH(node, &flights.lost) {
        params_int8(p, 1, LIST_ENTRY(node, struct lost_task, node)->flight);
        asked++;
    }
}

static bool is_in(const PGresult *rows, int64_t flight) {
    for (int i = 0; i < PQntuples(rows); i++)
        if (row_int8(rows, i, 0) == flight)
            return true;
    return false;
}

/* Reports the commit status to the first `asked` lost tasks; rows: NULL if the query failed. Tasks that were
 * lost after the query was sent need another query. */
static void tell(const PGresult *rows) {
    for (; asked > 0; asked--) {
        struct lost_task *l = LIST_ENTRY(list_pop_front(&flights.lost), struct lost_task, node);

        l->on_known(l, rows == NULL             ? FLIGHT_UNKNOWN
                       : is_in(rows, l->flight) ? FLIGHT_COMMITTED
                                                : FLIGHT_UNDONE);
    }
    ask();
}

static void find_done(struct task **tasks, size_t count, const PGresult *rows) {
    (void)tasks;
    (void)count;
    tell(rows);
}

static void find_fail(struct task *t, const struct op_error *err) {
    (void)t;
    (void)err;
    tell(NULL);
}

struct op op_find_flights = {
    .name = "find_flights",
    .stmt = SQL_FIND_FLIGHTS,
    .conn = CONN_WRITE,
    .alone = true,
    .encode = find_encode,
    .done = find_done,
    .fail = find_fail,
};

/* ---- deletion ---- */

static struct task forget = { .op = &op_forget_flights, .rows = 1 };

static int64_t first_needed(void) {
    int64_t first = flights.last + 1;

    LIST_EACH(node, &flights.marks) {
        int64_t flight = LIST_ENTRY(node, struct mark, in_marks)->flight;

        first = flight < first ? flight : first;
    }
    LIST_EACH(node, &flights.lost) {
        int64_t flight = LIST_ENTRY(node, struct lost_task, node)->flight;

        first = flight < first ? flight : first;
    }
    return first;
}

void flight_forget(void) {
    if (forget.state == TASK_IDLE && flights.last > 0 && first_needed() > flights.forgotten)
        batch_add(&forget);
}

static void forget_encode(struct params *p, struct task *t) {
    (void)t;
    flights.forgotten = first_needed();
    params_set_int2(p, 0, (int16_t)node_self()->number);
    params_set_int8(p, 1, flights.forgotten);
}

static void forget_done(struct task **tasks, size_t count, const PGresult *rows) {
    (void)tasks;
    (void)count;
    (void)rows;
}

static void forget_fail(struct task *t, const struct op_error *err) {
    (void)t;
    (void)err;
}

struct op op_forget_flights = {
    .name = "forget_flights",
    .stmt = SQL_FORGET_FLIGHTS,
    .conn = CONN_READ,
    .alone = true,
    .encode = forget_encode,
    .done = forget_done,
    .fail = forget_fail,
};
