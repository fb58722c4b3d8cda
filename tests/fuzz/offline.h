#ifndef FUZZ_OFFLINE_H
#define FUZZ_OFFLINE_H

#include <setjmp.h>
#include "base/clock.h"
#include "base/job_key.h"
#include "base/log.h"
#include "base/node.h"
#include "batch/operations.h"
#include "check.h"
#include "cluster/outbox.h"
#include "cluster/peers.h"
#include "fake_db.h"
#include "jobs/bootstrap.h"
#include "jobs/expire.h"
#include "jobs/schedule.h"
#include "net/client.h"
#include "pg/notify_bus.h"
#include "queue/lease.h"
#include "queue/queue.h"
#include "queue/waiters.h"

/* A server without a database and without a channel, for the single file of a program that includes this. The input
 * decides the rows of results: any values of the statement's types. */
#define OFFLINE_NODE 500
/* The most statements of an input, because results cause further statements. */
#define OFFLINE_TXNS 40

/* The operations that a server uses without commands of clients, in the order of operations.def. */
static struct op *const operations[] = {
    &op_load_clock,       &op_load_secret,       &op_prune_nodes,
    &op_register_node,    &op_load_nodes,        &op_look_queues,
    &op_find_queues,      &op_page_queues,       &op_load_queues,
    &op_open_queues,      &op_find_consume_ends, &op_read_consume_ends,
    &op_fire_schedules,   &op_find_groups,       &op_next_in_groups,
    &op_dead_letter_jobs, &op_put_back_jobs,     &op_release_jobs,
    &op_look_jobs,        &op_drop_queues,       &op_save_counters,
    &op_unpause_all,      &op_wake_expired,      &op_wake_due,
    &op_wake_next,        &op_expire_in_order,   &op_find_leases,
    &op_load_leases,      &op_load_counts,       &op_adopt_leases,
    &op_count_queues,     &op_beat_node,         &op_leave_node,
    &op_due_schedules,    &op_stuck_groups,      &op_dead_rows,
    &op_sql_changes,      &op_end_in_flows,      NULL,
};

/* ---- the input ---- */

static struct slice input;

static inline unsigned input_byte(void) {
    if (input.len == 0)
        return 0;
    input.len--;
    return (unsigned char)*input.ptr++;
}

/* The bytes up to the next bar. */
static inline struct slice input_part(void) {
    const char *bar = input.len > 0 ? memchr(input.ptr, '|', input.len) : NULL;
    struct slice part = { input.ptr, bar != NULL ? (size_t)(bar - input.ptr) : input.len };

    input.ptr += part.len + (bar != NULL);
    input.len -= part.len + (bar != NULL);
    return part;
}

/* A digit is a small number. Letters are special numbers. */
static inline int64_t input_number(void) {
    unsigned byte = input_byte();
    int64_t now = clock_db();

    switch (byte) {
    case 'a':
        return INT64_MIN;
    case 'b':
        return INT64_MAX;
    case 'c':
        return INT64_MIN + 1;
    case 'd':
        return INT64_MAX - 1;
    case 'e':
        return now;
    case 'f':
        return now + US_PER_S;
    case 'g':
        return now - US_PER_S;
    case 'h':
        return INT32_MIN;
    case 'i':
        return INT32_MAX;
    case 'j':
        return -1;
    case 'k':
        return -256;
    case 'l':
        return job_id_at(now);
    default:
        return byte - '0';
    }
}

/* ---- results ---- */

/* 2, 4, 8: integers of so many bytes. n: a count. t: a time. p: a pause. r: the place of a row. b: a bool. x: bytes. c: a cron expression. s: a
 * setting. q: the name of a queue. Capitals may be null. */
static const struct offline_result {
    enum sql_stmt stmt;
    const char *columns;
    int count; /* of the columns in the header of the statement's file */
    bool one;  /* exactly one row */
} offline_results[] = {
#define OFFLINE_RESULT(name, columns, one) \
    { SQL_##name, columns, COLUMNS_##name, one }
    OFFLINE_RESULT(REGISTER_NODE, "28", true),
    OFFLINE_RESULT(LOAD_NODES, "2xx4bbt", false),
    OFFLINE_RESULT(LOAD_QUEUES, "4qptSXnn", false),
    OFFLINE_RESULT(FIND_QUEUES, "4qptSX", false),
    OFFLINE_RESULT(LOOK_QUEUES, "4qptSX", false),
    OFFLINE_RESULT(PAGE_QUEUES, "4b", false),
    OFFLINE_RESULT(LOAD_LEASES, "428t2bX", false),
    OFFLINE_RESULT(ADOPT_LEASES, "428t2b", false),
    OFFLINE_RESULT(LOAD_COUNTS, "4nnnn828n", false),
    OFFLINE_RESULT(COUNT_QUEUES, "4nnnnnnn", false),
    OFFLINE_RESULT(DEAD_ROWS, "nn", true),
    OFFLINE_RESULT(WAKE_EXPIRED, "428tt4XbX", false),
    OFFLINE_RESULT(WAKE_DUE, "428tt", false),
    OFFLINE_RESULT(WAKE_NEXT, "428tb", false),
    OFFLINE_RESULT(FIND_GROUPS, "4X8", false),
    OFFLINE_RESULT(DUE_SCHEDULES, "TN8ttCq2444N2bX2", false),
    OFFLINE_RESULT(ADD_JOBS_LEASED, "8r", false),
    OFFLINE_RESULT(CLAIM_SCAN, "28tt444xBXr", false),
    OFFLINE_RESULT(POP_FIRST, "28tt444x444XXXTXXXX42TBB", false),
    OFFLINE_RESULT(MOVE_FIRST, "428tTxt4Xt", false),
    OFFLINE_RESULT(POP_LIMITED, "28tt444x444XXXTXXXX42TBB4Ttnbn", false),
};

static inline int64_t to_wire(char kind, int64_t value) {
    if (kind == 'n')
        return value & 0xffffffffff;
    /* Times near the ends of the range are sent as they are. */
    return kind != 't' || value > INT64_MAX / 2 || value < INT64_MIN / 2 ? value
                                                                         : value - INT64_C(946684800000000);
}

static inline void set_text(PGresult *rows, int row, int col, char kind) {
    static const char *const settings[] = { "retry", "ttl", "deadqueue", "max-active", "rate", "retention" };
    static const char *const crons[] = { "* * * * *", "0 0 29 2 *", "@every 1s", "*/5 1-3 * * 1",
                                         "nonsense" };
    static const char *const names[] = { "a", "b", "c" };
    unsigned byte = input_byte();

    if (kind == 's')
        fake_set_bytes(rows, row, col, slice_str(settings[byte % LENGTH(settings)]));
    else if (kind == 'c')
        fake_set_bytes(rows, row, col, slice_str(crons[byte % LENGTH(crons)]));
    else if (kind == 'q' && byte % 8 != 7)
        fake_set_bytes(rows, row, col, slice_str(names[byte % LENGTH(names)]));
    else
        fake_set_bytes(rows, row, col,
                       (struct slice){ input.ptr, byte % 60 < input.len ? byte % 60 : input.len });
}

static inline void set_value(PGresult *rows, int row, int col, char type) {
    char kind = (char)(type | 0x20);

    if (type >= 'A' && type <= 'Z' && input_byte() % 3 == 0)
        return;
    if (type >= '0' && type <= '9')
        fake_set_int(rows, row, col, type - '0', input_number());
    else if (kind == 'b')
        fake_set_int(rows, row, col, 1, input_byte() % 2);
    else if (kind == 'p')
        fake_set_int(rows, row, col, 2, input_byte() % 4);
    else if (kind == 'r')
        fake_set_bytes(rows, row, col, SLICE("\0\0\0\1\0\1"));
    else if (kind == 't' || kind == 'n')
        fake_set_int(rows, row, col, 8, to_wire(kind, input_number()));
    else
        set_text(rows, row, col, kind);
}

static inline PGresult *offline_rows(const struct offline_result *shape) {
    int columns = (int)strlen(shape->columns);
    int count = shape->one ? 1 : (int)(input_byte() % 5);
    PGresult *rows = fake_rows(columns);

    REQUIRE(columns == shape->count);
    for (int row = 0; row < count; row++)
        for (int col = 0; col < columns; col++)
            set_value(rows, row, col, shape->columns[col]);
    return rows;
}

static inline const struct offline_result *offline_result_of(enum sql_stmt stmt) {
    for (size_t i = 0; i < LENGTH(offline_results); i++)
        if (offline_results[i].stmt == stmt)
            return &offline_results[i];
    return NULL;
}

/* The secret and the clock are never wrong. */
static inline PGresult *offline_true_row(enum sql_stmt stmt) {
    PGresult *rows = fake_rows(1);

    if (stmt == SQL_LOAD_SECRET)
        fake_set_bytes(rows, 0, 0, SLICE("0123456789abcdef"));
    else
        fake_set_int(rows, 0, 0, 8, to_wire('t', clock_db()));
    return rows;
}

/* Commits the oldest transaction. Statements without a shape return no rows. */
static inline void offline_commit(struct db_conn *conn) {
    PGresult *rows[DB_MAX_STATEMENTS] = { NULL };

    for (size_t i = 0; i < fake_count(conn); i++) {
        enum sql_stmt stmt = fake_sent(conn, i)->stmt;
        const struct offline_result *shape = offline_result_of(stmt);

        if (shape != NULL)
            rows[i] = offline_rows(shape);
        else if (stmt == SQL_LOAD_SECRET || stmt == SQL_CLOCK)
            rows[i] = offline_true_row(stmt);
    }
    fake_commit(conn, rows);
}

/* Answers statements until none is under way, at most OFFLINE_TXNS of them. */
static inline void offline_answer(void) {
    batch_flush();
    for (int i = 0; i < OFFLINE_TXNS && !batch_idle(); i++) {
        for (size_t k = 0; k < fake_db.conn_count; k++)
            if (fake_db.conns[k]->sent_txns > 0)
                offline_commit(fake_db.conns[k]);
        batch_flush();
    }
}

/* ---- the channel ---- */

static struct {
    const struct notify_bus_hooks *hooks;
    char sent[NOTIFY_TEXT_MAX + 1];
} bus;

void notify_bus_start(struct event_base *base, const struct notify_bus_hooks *hooks) {
    (void)base;
    bus.hooks = hooks;
}

void notify_bus_stop(void) {
}

bool notify_bus_is_up(void) {
    return true;
}

bool notify_bus_is_failing(void) {
    return false;
}

bool notify_bus_can_send(void) {
    return true;
}

bool notify_bus_is_busy(void) {
    return false;
}

void notify_bus_send(const char *text) {
    REQUIRE(strlen(text) <= NOTIFY_TEXT_MAX);
    strcpy(bus.sent, text);
}

/* ---- begin and end of an input ---- */

static inline void offline_nothing(void) {
}

static inline void offline_counted(bool first) {
    (void)first;
}

static const struct client_hooks offline_clients;

static inline void offline_start(void) {
    static bool started;

    clock_turn();
    if (started)
        return;
    started = true;
    REQUIRE(log_set_file("/dev/null"));
    fake_batch_start(operations, offline_nothing);
    queue_init();
    waiters_init();
    client_init(NULL, &offline_clients);
    jobid_set_secret((const unsigned char *)"0123456789abcdef");
    node_self()->number = OFFLINE_NODE;
    memset(node_self()->id, 'e', NODE_ID_LEN);
    bootstrap_on(
        (struct bootstrap_hooks){ peers_loaded, peers_note_snapshot, offline_counted, offline_nothing });
    peers_start(NULL);
    peers_loaded();
}

/* Ends all statements without rows, and forgets everything that the input caused. */
static inline void offline_end(void) {
    size_t count;
    struct node *const *nodes = node_all(&count);

    input = (struct slice){ 0 };
    for (size_t i = count; i-- > 1;)
        node_forget(nodes[i]);
    outbox_set_shared(true);
    outbox_set_shared(false);
    offline_answer();
    node_self()->number = OFFLINE_NODE;
    lease_clear();
    QUEUE_EACH(q) {
        if (q->users == 0)
            queue_drop(q);
    }
}

#endif
