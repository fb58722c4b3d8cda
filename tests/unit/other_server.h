#ifndef OTHER_SERVER_H
#define OTHER_SERVER_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "base/clock.h"
#include "base/log.h"
#include "base/node.h"
#include "batch/operations.h"
#include "cluster/counter_audit.h"
#include "cluster/node_row.h"
#include "cluster/outbox.h"
#include "cluster/peer.h"
#include "cluster/peers.h"
#include "fake_db.h"
#include "getters.h"
#include "jobs/bootstrap.h"
#include "pg/notify_bus.h"
#include "queue/lease.h"
#include "queue/queue.h"

/* Another server, and a channel to it under control of the test: the functions of notify_bus.h and bootstrap.h that
 * peers.c calls, for the single file of a test program that includes this. Time passes only where a function says so.
 */

static struct op *const ops[] = { &op_look_queues,  &op_find_queues, &op_count_queues, &op_due_schedules,
                                  &op_adopt_leases, &op_beat_node,   &op_leave_node,   NULL };

static int rows_asked_for;

/* Stands in for bootstrap.c. */
void bootstrap_register(void) {
}

void bootstrap_nodes(void) {
    rows_asked_for++;
}

/* ---- the channel ---- */

static struct {
    const struct notify_bus_hooks *hooks;
    bool up;
    bool full; /* a notification is under way */
    char sent[NOTIFY_TEXT_MAX + 1];
} channel;

void notify_bus_start(struct event_base *base, const struct notify_bus_hooks *hooks) {
    (void)base;
    channel.hooks = hooks;
    channel.up = true;
}

void notify_bus_stop(void) {
}

bool notify_bus_is_up(void) {
    return channel.up;
}

bool notify_bus_can_send(void) {
    return !channel.full;
}

bool notify_bus_is_busy(void) {
    return channel.full;
}

void notify_bus_send(const char *text) {
    assert_false(channel.full);
    assert_true(strlen(text) < NOTIFY_TEXT_MAX);
    strcpy(channel.sent, text);
}

/* ---- another server ---- */

static uint16_t other; /* each test has a new one, because servers do not forget a node */
static unsigned long long run, message;
static int64_t late_us; /* the age of received messages; each test begins with 0 */

static inline struct node *node(void) {
    return node_by_number(other);
}

static inline struct peer *peer(void) {
    return peer_of(node());
}

/* The message as it is told, from the number on. */
static inline void hear_sealed(const char *body) {
    char text[2 * NOTIFY_TEXT_MAX];

    snprintf(text, sizeof text, "1 %llx%s", (unsigned long long)jobid_seal(slice_str(body)), body);
    channel.hooks->on_text(text);
}

static inline void receive_from(uint16_t number, int waiting, const char *items) {
    char body[NOTIFY_TEXT_MAX];

    snprintf(body, sizeof body, " %u %llx %llu %d o%lld %s", number, run, ++message, waiting,
             (long long)(clock_db() - late_us), items);
    hear_sealed(body);
}

static inline void hear(const char *items) {
    receive_from(other, 0, items);
}

/* ---- this server ---- */

static inline struct db_conn *side(void) {
    return fake_db.conns[1];
}

static inline void no_plan(void) {
}

static inline int group_start(void **state) {
    (void)state;
    if (!log_set_file("/dev/null"))
        return -1;
    jobid_set_secret((const unsigned char *)"0123456789abcdef");
    node_self()->number = 500;
    memset(node_self()->id, 'e', NODE_ID_LEN);
    peers_start(NULL);
    return fake_batch_start(ops, no_plan);
}

/* All that is to be told now; without the head and the time. */
static inline const char *tell(void) {
    static char text[NOTIFY_TEXT_MAX];
    int head = 0;
    bool urgent;

    channel.sent[0] = text[0] = '\0';
    while (outbox_has(&urgent)) {
        clock_turn();
        peers_turn();
    }
    if (sscanf(channel.sent, "%*u %*x %*u %*x %*u %*u o%*d%n", &head) == 0 && head > 0)
        strcpy(text, channel.sent + head);
    return text;
}

/* Answers all statements with no rows. */
static inline void answer_all(void) {
    for (batch_flush(); !batch_idle(); batch_flush()) {
        if (fake_write_conn()->sent_txns > 0)
            fake_commit_empty(fake_write_conn());
        else
            fake_commit_empty(side());
    }
}

static inline int start(void **state) {
    static uint16_t last = 10;

    (void)state;
    getters_start();
    channel.up = true;
    channel.full = false;
    other = last++;
    run = 0x1000;
    message = 41;
    late_us = 0;
    rows_asked_for = 0;
    (void)tell();
    return 0;
}

static inline int stop(void **state) {
    size_t count;
    struct node *const *nodes = node_all(&count);

    (void)state;
    for (size_t i = count; i-- > 1;)
        node_forget(nodes[i]);
    outbox_set_shared(true);
    outbox_set_shared(false);
    answer_all();
    getters_stop();
    lease_clear();
    return 0;
}

/* It is here, and all that it has done before is known. */
static inline void introduce(void) {
    hear("h");
    answer_all();
    (void)tell();
    assert_true(node()->live && peer()->synced);
}

static inline struct queue *sure(const char *name) {
    struct queue *q = queue_named(name);

    q->counters.suspect = false;
    return q;
}

static inline struct job_key key_of(int64_t id) {
    return (struct job_key){ 7, 0, id };
}

/* Ticks of a second, without that any time passes. */
static inline void tick_a_second(void) {
    for (int i = 0; i < 10; i++)
        peers_tick();
}

static inline void be_silent(int64_t us) {
    node()->received_us = clock_mono() - us;
}

/* The statement that stands alone in the oldest transaction of the connection. */
static inline const struct fake_statement *sent(struct db_conn *conn, enum sql_stmt stmt) {
    batch_flush();
    for (size_t i = 0; i < fake_count(conn); i++)
        if (fake_sent(conn, i)->stmt == stmt)
            return fake_sent(conn, i);
    return NULL;
}

#endif
