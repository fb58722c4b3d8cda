/* The other servers of this database: membership, and the messages between servers. */
#include "cluster/peers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "batch/batch.h"
#include "batch/dead_rows.h"
#include "cluster/counter_audit.h"
#include "cluster/node_row.h"
#include "cluster/outbox.h"
#include "cluster/peer.h"
#include "cluster/peer_queues.h"
#include "cluster/peer_sql.h"
#include "cluster/pubsub_forward.h"
#include "jobs/bootstrap.h"
#include "jobs/expire.h"
#include "jobs/flush_all.h"
#include "jobs/schedule.h"
#include "jobs/waitjob.h"
#include "net/pubsub.h"
#include "pg/notify_bus.h"
#include "queue/list_orientation.h"
#include "queue/queue.h"
#include "queue/queue_ready.h"
#include "queue/waiters.h"

#define FORMAT 1
/* Bytes of the format and the seal. */
#define HEAD_BYTES 24
/* Intervals of messages: while clients wait for jobs, while no client waits, and for messages with counters only. */
#define WAITED_FOR_US (2 * US_PER_MS)
#define UNWAITED_US (20 * US_PER_MS)
#define COUNTERS_US (100 * US_PER_MS)
/* Intervals of messages without items. They show peers that this server lives. Without peers, they show that it can
 * send to itself. */
#define BEAT_US US_PER_S
#define ALONE_BEAT_US (5 * US_PER_S)
#define GONE_US (5 * US_PER_S)
/* A client that waited this recently will probably wait again. */
#define WAITED_US US_PER_S
#define ROW_BEAT_TICKS 600
#define POLLING_ROW_BEAT_TICKS 20
#define SECOND_TICKS 10
#define HOUR_TICKS 36000
#define RETURNED_TICKS 20 /* while a peer has failed */
#define SUSPECT_TICKS 100 /* while LISTEN is down */
/* A search for missed changes begins this long before the time of the loss. */
#define MARGIN_US (2 * US_PER_S)
/* A message of a peer that has started arrives within this time. */
#define RETURNED_US (10 * US_PER_S)
#define POLLING_BACK_US (5 * US_PER_S)
/* More queues than this are not read every second. */
#define POLLING_QUEUES 10000

static struct {
    bool loaded;
    bool left;
    uint64_t sent;       /* number of messages */
    int64_t sent_us;     /* clock_mono(): the last message */
    int64_t waited_us;   /* last time that clients waited here */
    int64_t received_us; /* last message of any peer */
    uint64_t ticks;
    int64_t tick_us; /* last tick */
} peers;

/* ---- search for missed changes ---- */

/* Jobs may have become ready since then without a message. */
static void peers_rescan(int64_t since_us) {
    struct job_key from = { .rank = 0, .id = job_id_at(clock_db() - (clock_mono() - since_us) - MARGIN_US) };
    bool whole = dead_rows_of_jobs() <= DEAD_ROWS_FEW;

    QUEUE_EACH(q) {
        if (q->id == 0)
            continue;
        /* Jobs with a priority have keys before those of all other jobs. */
        if (whole || q->scan.ranked)
            queue_reset_scan(q);
        else
            queue_scan_from(q, from);
    }
}

static void peers_search_missed(int64_t since_us) {
    peers_rescan(since_us);
    queue_suspect_all();
    peer_queues_look();
}

/* A count of the database may include a change whose message was missed. The peer must send all its shares again
 * before newer changes are added. */
static void peer_forget_shares(struct peer *p) {
    p->synced = false;
}

void peers_note_snapshot(void) {
    peer_sql_counted_again();
}

void peers_announce_unknown(void) {
    if (!node_has_peers())
        return;
    queue_suspect_all();
    peer_queues_look();
    outbox_note(OUTBOX_SUSPECT);
}

/* ---- membership ---- */

static bool peers_wait(void) {
    size_t count;
    struct node *const *nodes = node_all(&count);

    for (size_t i = 1; i < count; i++)
        if (peer_of(nodes[i])->waiting)
            return true;
    return false;
}

bool peers_adopts(uint16_t number) {
    const struct node *n = node_by_number(number);

    return (n == NULL || !n->live) && node_is_leader();
}

static void peers_handle_failure(int64_t since_us) {
    peers_search_missed(since_us);
    if (node_is_leader())
        peer_queues_adopt();
}

static void peer_failed(struct peer *p, const char *how) {
    struct node *n = p->node;

    log_notice("peers", "server %u (%.8s) %s", n->number, n->id, how);
    n->live = p->waiting = p->synced = p->scans_reset = false;
    outbox_set_shared(node_has_peers());
    p->done_us = n->seen_us;
    peers_handle_failure(n->received_us);
}

/* The peer may have been back, and have failed again before a message arrived. A server writes its row before it serves.
 * It may have lived a little longer than its row says. */
static bool is_returned_peer(const struct peer *p) {
    return p->node->seen_us > p->done_us || p->node->seen_us > clock_db() - RETURNED_US;
}

static void find_returned_peers(void) {
    size_t count;
    struct node *const *nodes = node_known(&count);
    bool any = false, returned_peers = false;

    for (size_t i = 1; i < count; i++) {
        struct peer *p = peer_of(nodes[i]);

        any |= !nodes[i]->live;
        if (nodes[i]->live || !is_returned_peer(p))
            continue;
        p->done_us = nodes[i]->seen_us;
        returned_peers = true;
    }
    if (returned_peers)
        peers_handle_failure(clock_mono() - RETURNED_US);
    if (any)
        bootstrap_nodes();
}

static void peers_begin_run(struct peer *p, uint64_t run, uint64_t message) {
    queue_forget_shares(p->node->number);
    p->node->run = run;
    p->last_message = message - 1;
    p->synced = p->scans_reset = false;
    bootstrap_nodes();
}

static void peer_appeared(struct node *n) {
    n->live = true;
    n->left = false;
    log_notice("peers", "server %u is here", n->number);
    list_orientation_peer_appeared();
    outbox_set_shared(true);
    outbox_send_all();
}

/* Handles the fields that all messages have. */
static void peers_receive_head(struct peer *p, uint64_t run, uint64_t message, bool waiting) {
    struct node *n = p->node;
    int64_t before = n->received_us;

    n->received_us = peers.received_us = clock_mono();
    p->waiting = waiting;
    /* A message is missing, or the peer has restarted and may not have sent all of its earlier changes. */
    if (n->live && (n->run != run || message != p->last_message + 1)) {
        peers_search_missed(before);
        peer_forget_shares(p);
    }
    if (n->run != run)
        peers_begin_run(p, run, message);
    p->last_message = message;
    if (!n->live)
        peer_appeared(n);
}

static void peers_watch(void) {
    size_t count;
    struct node *const *nodes = node_all(&count);

    if (!notify_bus_is_up())
        return;
    for (size_t i = count; i-- > 1;) {
        if (clock_mono() - nodes[i]->received_us > GONE_US)
            peer_failed(peer_of(nodes[i]), "is silent: it is taken for dead");
        else if (!peer_of(nodes[i])->synced && peers.ticks % SECOND_TICKS == 0)
            outbox_note(OUTBOX_REQUEST);
    }
}

/* ---- receiving ---- */

/* Changes that the peer made before it sent all its shares had no message. These jobs may be before the scan
 * positions. */
static void reset_scans_once(struct peer *p) {
    if (!p->scans_reset)
        peers_search_missed(clock_mono() - RETURNED_US);
    p->scans_reset = true;
}

static void peers_receive_note(struct peer *p, enum outbox_item item) {
    switch (item) {
    case OUTBOX_JOIN:
        p->synced = true;
        break;
    case OUTBOX_SENT_ALL:
        p->synced = true;
        reset_scans_once(p);
        break;
    case OUTBOX_REQUEST:
        outbox_send_all();
        break;
    case OUTBOX_NODES:
        bootstrap_nodes();
        break;
    case OUTBOX_SCHEDULES:
        schedule_look();
        break;
    case OUTBOX_AWAITS:
        waitjob_receive_awaits();
        break;
    case OUTBOX_FLUSHED:
        flush_all_note();
        break;
    case OUTBOX_SUSPECT:
        peers_search_missed(clock_mono() - BEAT_US);
        break;
    case OUTBOX_LEAVE:
        p->node->left = true;
        peer_failed(p, "has left");
        break;
    default:
        break;
    }
}

static void peers_receive_item(struct peer *p, const char *text) {
    int64_t numbers[OUTBOX_NUMBERS];
    int count = outbox_numbers(text + 1, numbers);

    if (count == 0)
        peers_receive_note(p, (enum outbox_item)text[0]);
    else if (text[0] == OUTBOX_CLOCK)
        clock_db_reached(numbers[0]);
    else
        peer_queues_receive(p, (enum outbox_item)text[0], numbers, count);
}

static void peers_receive_items(struct peer *p, const char *text) {
    while (*text != '\0') {
        text += strspn(text, " ");
        if (*text != '\0')
            peers_receive_item(p, text);
        text += strcspn(text, " ");
    }
}

/* Every role of the database can notify, so a message must have a seal made with the secret. on_peers_text() refuses
 * repeated messages. */
static bool is_sealed(const char *text) {
    unsigned format;
    unsigned long long seal;
    int end = 0;

    return sscanf(text, "%u %llx%n", &format, &seal, &end) == 2 && format == FORMAT &&
           seal == jobid_seal(slice_str(text + end));
}

/* The first item of every message is the time. Old messages are refused, because a restart forgets the numbers of
 * received messages, and any role can repeat a message. */
static bool is_fresh(const char *items) {
    long long sent_us;

    return sscanf(items, " o%lld", &sent_us) == 1 && clock_db_is_near(sent_us);
}

static void on_peers_text(const char *text) {
    unsigned format, number, waiting;
    unsigned long long run, message;
    int head = 0;
    struct node *n;

    if (!peers.loaded || pubsub_forward_receive(text) || !is_sealed(text) ||
        sscanf(text, "%u %*x %u %llx %llu %u%n", &format, &number, &run, &message, &waiting, &head) != 5 ||
        number > NODE_MAX_NUMBER || number == node_self()->number)
        return;
    if (number == PEER_SQL_NUMBER) {
        peer_sql_receive(message, is_fresh(text + head), text + head);
        return;
    }
    if (!is_fresh(text + head))
        return;
    n = node_get((uint16_t)number);
    if (n == NULL || run < n->run || (run == n->run && message <= peer_of(n)->last_message))
        return;
    peers_receive_head(peer_of(n), run, message, waiting != 0);
    peers_receive_items(peer_of(n), text + head);
}

/* Messages that were sent while LISTEN was down are lost. */
static void on_peers_up(void) {
    size_t count;
    struct node *const *nodes = node_all(&count);

    if (!peers.loaded)
        return;
    for (size_t i = 1; i < count; i++)
        peer_forget_shares(peer_of(nodes[i]));
    if (peers.received_us != 0)
        peers_search_missed(peers.received_us);
    outbox_note(OUTBOX_REQUEST);
}

/* ---- sending ---- */

static int64_t peers_interval(void) {
    bool urgent;

    if (outbox_has(&urgent))
        return !urgent ? COUNTERS_US : peers_wait() || peers.left ? WAITED_FOR_US : UNWAITED_US;
    return node_has_peers() || !notify_bus_is_up() ? BEAT_US : ALONE_BEAT_US;
}

int64_t peers_next_due(void) {
    return peers.loaded && notify_bus_can_send() ? peers.sent_us + peers_interval() : INT64_MAX;
}

/* Parts with messages of clients are sent between the other messages. The buffers are static, because otherwise
 * each turn would clear them. */
static void peers_send_published(void) {
    static char text[NOTIFY_TEXT_MAX];

    if (!peers.loaded || !notify_bus_can_send() || !pubsub_forward_has())
        return;
    pubsub_forward_take(text, sizeof text);
    notify_bus_send(text);
}

void peers_turn(void) {
    static char text[NOTIFY_TEXT_MAX - HEAD_BYTES];
    static char sealed[NOTIFY_TEXT_MAX];
    int head;

    if (peers_next_due() > clock_mono()) {
        peers_send_published();
        return;
    }
    head = snprintf(text, sizeof text, " %u %llx %llu %d %c%lld", node_self()->number,
                    (unsigned long long)node_self()->run, (unsigned long long)++peers.sent,
                    clock_mono() - peers.waited_us < WAITED_US, OUTBOX_CLOCK, (long long)clock_db());
    outbox_take(text + head, sizeof text - (size_t)head);
    peers.sent_us = clock_mono();
    snprintf(sealed, sizeof sealed, "%d %016llx%s", FORMAT, (unsigned long long)jobid_seal(slice_str(text)),
             text);
    notify_bus_send(sealed);
}

bool peers_idle(void) {
    bool urgent;

    return !peers.left || !notify_bus_is_up() || (!outbox_has(&urgent) && !notify_bus_is_busy());
}

/* ---- periodic work ---- */

/* Without LISTEN the server polls the database. */
static void peers_poll(void) {
    size_t count;

    (void)node_known(&count);
    if (count == 1)
        return;
    peers_rescan(clock_mono() - POLLING_BACK_US);
    if (queue_count() <= POLLING_QUEUES || peers.ticks % SUSPECT_TICKS == 0)
        peer_queues_look();
    if (peers.ticks % SUSPECT_TICKS == 0) {
        queue_suspect_all();
        bootstrap_nodes();
    }
}

void peers_tick(void) {
    bool polls = !notify_bus_is_up();
    bool stood_still = clock_mono() - peers.tick_us > GONE_US / 2;

    peers.ticks++;
    peers.tick_us = clock_mono();
    if (waiters_blocked() > 0)
        peers.waited_us = clock_mono();
    if (!peers.loaded)
        return;
    peers_watch();
    /* Peers may have declared this server failed. The heartbeat is written in the same transaction as the next
     * change. */
    if (stood_still || peers.ticks % (polls ? POLLING_ROW_BEAT_TICKS : ROW_BEAT_TICKS) == 0)
        node_row_beat();
    if (peers.ticks % HOUR_TICKS == 0)
        bootstrap_nodes();
    if (peers.ticks % SECOND_TICKS != 0)
        return;
    if (peers.ticks % RETURNED_TICKS == 0)
        find_returned_peers();
    if (node_row_is_forgotten())
        bootstrap_register();
    if (polls)
        peers_poll();
    /* This server wakes the delayed jobs of a peer if the peer fails. */
    if (polls || node_has_peers())
        expire_wake_at(clock_db());
    counter_audit_tick();
}

void peers_reconnected(void) {
    if (!peers.loaded)
        return;
    node_row_beat();
    /* Other servers may have made queues. */
    peer_queues_look();
}

void peers_loaded(void) {
    peers.loaded = true;
    outbox_note(OUTBOX_JOIN);
    outbox_note(OUTBOX_REQUEST);
}

void peers_leave(void) {
    if (!peers.loaded || peers.left)
        return;
    peers.left = true;
    node_row_leave();
    outbox_note(OUTBOX_LEAVE);
}

static const struct notify_bus_hooks hooks = { on_peers_up, on_peers_text };

void peers_start(struct event_base *base) {
    pubsub_forward_init(notify_bus_is_up);
    pubsub_init(pubsub_forward_tell);
    notify_bus_start(base, &hooks);
}

void peers_stop(void) {
    notify_bus_stop();
}

const char *peers_state(void) {
    size_t known;

    (void)node_known(&known);
    return notify_bus_is_up() ? "listening" : known > 1 ? "polling" : "alone";
}
