/* The next command of producers and consumers, and the effect of replies on the ledger. */
#include "worker.h"

#include <stdio.h>
#include <string.h>

#include "conn.h"
#include "journal.h"
#include "options.h"
#include "run.h"
#include "stamp.h"

/* The bytes around a body that make it an add to a queue. */
struct add {
    struct wire before;
    struct wire after;
};

static struct add *adds;

/* A ring of producers that may send, but wait for the schedule or the window. First come, first served. A producer is
 * in it at most once. */
static struct conn **hungry;
static int64_t hungry_head;
static int64_t hungry_count;

/* Jobs the schedule has called for so far. */
static uint64_t scheduled;

enum { MAX_ERRORS_SHOWN = 5 };

void worker_init(void) {
    stamp_init((size_t)options.body);
    hungry = xcalloc((size_t)options.producers, sizeof(struct conn *));
    adds = xcalloc((size_t)options.queues, sizeof(*adds));
    for (int q = 0; q < options.queues; q++)
        run.target->make_add(queue_name(q), &adds[q].before, &adds[q].after);
}

/* An error reply: the run ends, unless it was told to live through failures. */
static void got_error(struct conn *c, const char *what, const char *reply) {
    int len = (int)line_length(reply);
    run.errors++;
    c->stalled = true;
    if (!options.reconnect)
        run_fail("%s was answered %.*s", what, len, reply);
    else if (run.errors <= MAX_ERRORS_SHOWN)
        fprintf(stderr, "load: %s was answered %.*s\n", what, len, reply);
}

/* When the schedule wants the next job. */
static int64_t next_due(void) {
    return run.start + (int64_t)((double)scheduled * 1e9 / options.rate);
}

bool worker_exhausted(void) {
    if (run.stopped || options.producers == 0)
        return true;
    if (options.jobs && run.sent >= (uint64_t)options.jobs)
        return true;
    return (options.rate > 0 ? next_due() : run.now) >= run.deadline;
}

static bool window_full(void) {
    return options.window && run.sent - ledger.settled >= (uint64_t)options.window;
}

/* Allows a producer to send a job. *since is the moment from which its latency counts: its due time, and not the time
 * of sending. */
static bool may_send(int64_t *since) {
    if (run.start == 0 || worker_exhausted() || window_full())
        return false;
    *since = run.now;
    if (options.rate > 0) {
        if (next_due() > run.now)
            return false;
        *since = next_due();
        scheduled++;
    }
    return true;
}

int64_t worker_next_due(void) {
    if (options.rate <= 0 || run.start == 0 || hungry_count == 0 || worker_exhausted() || window_full())
        return INT64_MAX;
    int64_t wait = next_due() - run.now;
    return wait > 0 ? wait : 0;
}

static void queue_up(struct conn *c) {
    if (c->hungry)
        return;
    c->hungry = true;
    hungry[(hungry_head + hungry_count++) % options.producers] = c;
}

static struct conn *next_hungry(void) {
    struct conn *c = hungry[hungry_head];
    hungry_head = (hungry_head + 1) % options.producers;
    hungry_count--;
    c->hungry = false;
    return c;
}

static void send_add(struct conn *c, int64_t since) {
    size_t len = (size_t)options.body;
    const struct add *add = &adds[((uint64_t)c->index + c->next_seq) % (uint64_t)options.queues];
    struct stamp stamp = {
        .run = (uint64_t)options.run, .producer = (uint32_t)c->index, .seq = c->next_seq, .since = since
    };
    wire_append(&c->out, wire_ptr(&add->before), wire_len(&add->before));
    wire_reserve(&c->out, len);
    stamp_write(c->out.data + c->out.end, len, &stamp);
    c->out.end += len;
    wire_append(&c->out, wire_ptr(&add->after), wire_len(&add->after));
    c->txns[(c->txn_head + c->txn_count++) % options.pipeline] =
        (struct txn){ .seq = c->next_seq++, .since = since };
    run.sent++;
    run.in_flight++;
}

/* Sends as much as the producer may send now. False if that was nothing. */
static bool fill(struct conn *c) {
    int64_t since;
    bool any = false;
    while (c->txn_count < options.pipeline) {
        if (!may_send(&since)) {
            queue_up(c);
            return any;
        }
        send_add(c, since);
        any = true;
    }
    return any;
}

struct conn *worker_feed(void) {
    for (int64_t tries = hungry_count; tries > 0; tries--) {
        struct conn *c = next_hungry();
        if (c->fd >= 0 && c->setup_due == 0 && !c->stalled)
            return fill(c) ? c : NULL;
    }
    return NULL;
}

static struct txn take_txn(struct conn *c) {
    struct txn txn = c->txns[c->txn_head];
    c->txn_head = (c->txn_head + 1) % options.pipeline;
    c->txn_count--;
    run.in_flight--;
    return txn;
}

static void give_up_add(struct conn *c, uint64_t seq) {
    ledger_unknown((uint32_t)c->index, seq);
    journal_write(JOURNAL_UNKNOWN, (uint32_t)c->index, seq, run.now);
}

static void add_reply(struct conn *c, const char *reply) {
    enum add_reply kind = run.target->read_add(reply);
    if (kind == ADD_NOT_A_REPLY)
        return;
    if (c->txn_count == 0)
        die("a reply without a command: %.*s", (int)line_length(reply), reply);
    struct txn txn = take_txn(c);
    if (kind == ADD_FAILED) {
        give_up_add(c, txn.seq);
        got_error(c, "an add", reply);
        return;
    }
    run.last_add = run.now;
    ledger_added((uint32_t)c->index, txn.seq);
    journal_write(JOURNAL_ADDED, (uint32_t)c->index, txn.seq, run.now);
    if (run.measuring)
        histogram_record(&run.add, run.now - txn.since);
}

static void send_get(struct conn *c) {
    wire_append(&c->out, wire_ptr(&c->get), wire_len(&c->get));
    c->get_due += c->get_replies;
    c->get_since = run.now;
}

/* A drain of a part of a queue's jobs requests no more than these. A job that the server delivers to a closed
 * connection is absent until the end of its lease. */
static bool enough_asked_for(void) {
    uint64_t coming = run.gets * (uint64_t)options.count;
    if (!options.drain || options.verify || options.jobs == 0)
        return false;
    return ledger.delivered + coming >= (uint64_t)options.jobs;
}

static void start_get(struct conn *c) {
    if (enough_asked_for())
        return;
    run.gets++;
    send_get(c);
}

static void start_ack(struct conn *c) {
    c->ack_since = run.now;
    c->ack_confirmed = 0;
    c->ack_failed = false;
    c->ack_due = run.target->format_ack(c, &c->out);
    if (options.overlap)
        start_get(c);
}

/* The first job that a drain sees says which run it drains. */
static bool is_ours(const struct stamp *stamp) {
    if (options.run == 0)
        options.run = (int64_t)stamp->run;
    return stamp->run == (uint64_t)options.run;
}

static void enter_delivery(const struct stamp *stamp) {
    enum delivery kind = ledger_delivered(stamp->producer, stamp->seq, run.now / NS_PER_MS);
    journal_write(JOURNAL_DELIVERED, stamp->producer, stamp->seq, run.now);
    if (kind == DELIVERY_DOUBLED && ledger.doubled <= MAX_ERRORS_SHOWN)
        fprintf(stderr, "load: doubled: producer %u, sequence %llu\n", stamp->producer,
                (unsigned long long)stamp->seq);
    if (kind == DELIVERY_FIRST && run.measuring)
        histogram_record(&run.deliver, run.now - stamp->since);
}

void worker_delivered(struct conn *c, struct slice token, struct slice body) {
    struct stamp stamp = { 0 };
    if (c->role == ROLE_IDLE)
        return;
    if (c->held_count >= options.count)
        die("the server delivered more than the %lld jobs asked for", (long long)options.count);
    if (token.len > conn_token_size())
        die("an ID or foreign job of %zu bytes: use a queue of its own for the run", token.len);
    bool whole = stamp_read(body, &stamp);
    struct held *held = &c->held[c->held_count];
    *held = (struct held){ .producer = stamp.producer, .seq = stamp.seq };
    held->token_len = (uint32_t)token.len;
    held->ours = whole && is_ours(&stamp);
    memcpy(conn_token(c, c->held_count++), token.ptr, token.len);
    run.deliveries++;
    run.last_delivery = run.now;
    if (held->ours)
        enter_delivery(&stamp);
    else if (whole)
        run.foreign++;
    else
        run.damaged++;
}

static void enter_acks(const struct conn *c) {
    run.last_ack = run.now;
    run.stale_acks += (uint64_t)(c->held_count - c->ack_confirmed);
    if (run.measuring)
        histogram_record(&run.ack, run.now - c->ack_since);
    for (int i = 0; i < c->held_count; i++) {
        const struct held *held = &c->held[i];
        if (!held->ours)
            continue;
        ledger_acked(held->producer, held->seq);
        journal_write(JOURNAL_ACKED, held->producer, held->seq, run.now);
    }
}

static void drop_held(struct conn *c) {
    for (int i = 0; i < c->held_count; i++)
        if (c->held[i].ours)
            ledger_dropped(c->held[i].producer, c->held[i].seq);
    c->held_count = 0;
}

static void ack_reply(struct conn *c, const char *reply) {
    if (run.target->is_error(reply)) {
        c->ack_failed = true;
        got_error(c, "an ack", reply);
    } else {
        c->ack_confirmed += run.target->read_ack(c, reply);
    }
    if (--c->ack_due > 0)
        return;
    if (c->ack_failed)
        drop_held(c);
    else
        enter_acks(c);
    c->held_count = 0;
    if (c->get_due == 0 && !c->stalled)
        start_get(c);
}

static void get_reply(struct conn *c, const char *reply) {
    if (c->get_due == 0)
        die("a reply without a command: %.*s", (int)line_length(reply), reply);
    if (run.target->is_error(reply))
        got_error(c, "a get", reply);
    else
        run.target->read_get(c, reply);
    if (--c->get_due > 0)
        return;
    run.gets--;
    if (c->held_count > 0 && run.measuring)
        histogram_record(&run.get, run.now - c->get_since);
    if (c->held_count > 0)
        start_ack(c);
    else if (!c->stalled)
        start_get(c);
}

static void setup_reply(struct conn *c, const char *reply) {
    bool exists = strncmp(reply, "-BUSYGROUP", 10) == 0;
    if (run.target->is_error(reply) && !exists) {
        got_error(c, "a command at the start", reply);
        c->setup_failed = true;
    }
    if (--c->setup_due == 0 && !c->setup_failed)
        worker_resume(c);
}

static void idle_reply(struct conn *c, const char *reply) {
    run.idle_replies++;
    if (run.target->is_error(reply))
        got_error(c, "an idle waiter", reply);
    if (--c->get_due <= 0 && !c->stalled)
        send_get(c);
}

static void handle(struct conn *c, const char *reply) {
    if (c->setup_due > 0)
        setup_reply(c, reply);
    else if (c->role == ROLE_PRODUCER)
        add_reply(c, reply);
    else if (c->role == ROLE_IDLE)
        idle_reply(c, reply);
    else if (c->ack_due > 0)
        ack_reply(c, reply);
    else
        get_reply(c, reply);
}

void worker_input(struct conn *c) {
    size_t len;
    while (wire_len(&c->in) > 0 && (len = run.target->reply_length(&c->in)) > 0) {
        handle(c, wire_ptr(&c->in));
        wire_consume(&c->in, len);
    }
    if (c->role == ROLE_PRODUCER && c->setup_due == 0 && !c->stalled)
        fill(c);
}

/* A drain is timed from the first get, so all consumers begin at the start;
 * otherwise they wait for jobs before there are any. */
void worker_resume(struct conn *c) {
    if (c->setup_failed) {
        conn_setup(c);
        return;
    }
    c->stalled = options.drain && run.start == 0;
    if (c->stalled)
        return;
    if (c->role == ROLE_PRODUCER)
        fill(c);
    else if (c->get_due > 0 || c->ack_due > 0)
        return;
    else if (c->role == ROLE_IDLE)
        send_get(c);
    else
        start_get(c);
}

void worker_abandon(struct conn *c) {
    while (c->txn_count > 0)
        give_up_add(c, take_txn(c).seq);
    if (c->role == ROLE_CONSUMER && c->get_due > 0)
        run.gets--;
    drop_held(c);
}
