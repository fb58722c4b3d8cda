/* Limited queues: decides when a claim for a queue with max-active or rate is worth sending. */
#include "queue/queue_limits.h"

#include <stdlib.h>

#include "base/clock.h"
#include "queue/lease.h"
#include "queue/observer.h"
#include "queue/queue_ready.h"
#include "queue/settings.h"

/* The first wait for another session's claim. A claim of a peer is committed within milliseconds, but a
 * transaction of SQL may hold concurrency slots for long. */
#define SOON_US (3 * US_PER_MS)
/* The longest wait. It bounds the delay if a notification is lost. */
#define LOOK_US US_PER_S

static uint64_t limit_changes;

const struct queue_limits queue_unlimited = { 0 };

/* The own limits of the queue, for changes. It keeps them until it is freed. */
static struct queue_limits *own_limits(struct queue *q) {
    if (q->limits == &queue_unlimited) {
        struct queue_limits *l = xcalloc(1, sizeof *l);

        l->q = q;
        q->limits = l;
    }
    return (struct queue_limits *)q->limits;
}

static bool has_limits(const struct queue *q) {
    return setting_of(q, SETTING_MAX_ACTIVE) > 0 || setting_of(q, SETTING_RATE) > 0;
}

bool limits_are_per_group(const struct queue *q) {
    return has_limits(q) && setting_of(q, SETTING_PER_GROUP) > 0;
}

static int64_t interval_us(const struct queue *q, enum setting rate) {
    enum setting period;

    if (!setting_period(rate, &period) || setting_of(q, rate) <= 0)
        return 0;
    return setting_in_force(q, period) * US_PER_S / setting_of(q, rate);
}

int64_t limits_group_interval_us(const struct queue *q) {
    int64_t own = interval_us(q, SETTING_GROUP_RATE);

    return own > 0 || setting_of(q, SETTING_PER_GROUP) <= 0 ? own : interval_us(q, SETTING_RATE);
}

int64_t limits_server_room(const struct queue *q) {
    int64_t room = q->limits->server_most - q->own_leases - q->work->claims.kept - q->work->claims.rows;

    return room > 0 && !lease_is_incomplete() ? room : 0;
}

uint64_t limits_changes(void) {
    return limit_changes;
}

static void end_pace(struct queue_limits *l) {
    if (l->state == LIMIT_PACED)
        l->state = LIMIT_FULL;
}

/* The settings of the queue have changed. Requests that waited for the old limits try again. */
void limits_set(struct queue *q) {
    int64_t server_most = setting_in_force(q, SETTING_SERVER_MAX_ACTIVE);
    bool limited = has_limits(q) && !limits_are_per_group(q);
    bool is_held_back = limited || server_most > 0;

    limit_changes++;
    if (is_held_back || q->limits != &queue_unlimited) {
        struct queue_limits *l = own_limits(q);

        l->limited = limited;
        l->server_most = server_most;
        l->is_held_back = is_held_back;
        end_pace(l);
        limits_receive_slot(q);
    }
    queue_signal(q);
}

void limits_receive_slot(struct queue *q) {
    struct queue_limits *l;

    if (q->limits == &queue_unlimited)
        return;
    l = own_limits(q);
    l->slots_freed++;
    if (l->state != LIMIT_FULL)
        return;
    l->state = LIMIT_OPEN;
    timer_stop(&l->look);
    queue_signal(q);
}

static void limits_look(struct timer *t) {
    struct queue_limits *l = CONTAINER_OF(t, struct queue_limits, look);

    end_pace(l);
    limits_receive_slot(l->q);
}

void limits_slot_freed(struct queue *q) {
    if (!q->limits->limited)
        return;
    limits_receive_slot(q);
    OBSERVE(room, q);
}

static int64_t next_wait(const struct queue_limits *l) {
    int64_t twice = l->look_wait_us * 2;

    return twice < SOON_US ? SOON_US : twice < LOOK_US ? twice : LOOK_US;
}

static void set_full(struct queue_limits *l, bool soon) {
    if (l->state != LIMIT_PACED)
        l->state = LIMIT_FULL;
    l->look_wait_us = soon ? next_wait(l) : LOOK_US;
    timer_set(&l->look, clock_mono() + l->look_wait_us, limits_look);
}

static void set_paced(struct queue_limits *l, int64_t wait_us) {
    l->state = LIMIT_PACED;
    timer_set(&l->look, clock_mono() + wait_us, limits_look);
}

/* If a concurrency slot has become free since the claim was sent, the queue does not become full. */
void limits_claim_refused(struct queue *q, uint64_t slots_freed, int32_t wait_ms, bool soon) {
    struct queue_limits *l = own_limits(q);

    if (wait_ms > 0)
        set_paced(l, wait_ms * US_PER_MS);
    else if (l->slots_freed == slots_freed)
        set_full(l, soon);
}

void limits_claim_allowed(struct queue *q) {
    if (q->limits != &queue_unlimited)
        own_limits(q)->look_wait_us = 0;
}

void limits_init(struct queue *q) {
    q->limits = &queue_unlimited;
}

void limits_drop(struct queue *q) {
    if (q->limits == &queue_unlimited)
        return;
    timer_stop(&own_limits(q)->look);
    free(own_limits(q));
}
