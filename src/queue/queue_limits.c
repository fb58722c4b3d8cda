/* Limited queues: decides when a claim for a queue with max-active or rate is worth sending. */
#include "queue/queue_limits.h"

#include "base/clock.h"
#include "queue/observer.h"
#include "queue/queue_ready.h"
#include "queue/settings.h"

/* The first wait for another session's claim. A claim of a peer is committed within milliseconds, but a
 * transaction of SQL may hold concurrency slots for long. */
#define SOON_US (3 * US_PER_MS)
/* The longest wait. It bounds the delay if a notification is lost. */
#define LOOK_US US_PER_S

static uint64_t limit_changes;

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
    int64_t room = q->limits.server_most - q->own_leases - q->claims.kept - q->claims.rows;

    return room > 0 ? room : 0;
}

uint64_t limits_changes(void) {
    return limit_changes;
}

static void end_pace(struct queue *q) {
    if (q->limits.state == LIMIT_PACED)
        q->limits.state = LIMIT_FULL;
}

/* The settings of the queue have changed. Requests that waited for the old limits try again. */
void limits_set(struct queue *q) {
    limit_changes++;
    q->limits.limited = has_limits(q) && !limits_are_per_group(q);
    q->limits.server_most = setting_in_force(q, SETTING_SERVER_MAX_ACTIVE);
    q->limits.is_held_back = q->limits.limited || q->limits.server_most > 0;
    end_pace(q);
    limits_receive_room(q);
    queue_signal(q);
}

void limits_receive_room(struct queue *q) {
    q->limits.rooms++;
    if (q->limits.state != LIMIT_FULL)
        return;
    q->limits.state = LIMIT_OPEN;
    timer_stop(&q->limits.look);
    queue_signal(q);
}

static void limits_look(struct timer *t) {
    struct queue *q = CONTAINER_OF(t, struct queue, limits.look);

    end_pace(q);
    limits_receive_room(q);
}

void limits_room(struct queue *q) {
    if (!q->limits.limited)
        return;
    limits_receive_room(q);
    OBSERVE(room, q);
}

static int64_t next_wait(const struct queue *q) {
    int64_t twice = q->limits.look_wait_us * 2;

    return twice < SOON_US ? SOON_US : twice < LOOK_US ? twice : LOOK_US;
}

static void set_full(struct queue *q, bool soon) {
    if (q->limits.state != LIMIT_PACED)
        q->limits.state = LIMIT_FULL;
    q->limits.look_wait_us = soon ? next_wait(q) : LOOK_US;
    timer_set(&q->limits.look, clock_mono() + q->limits.look_wait_us, limits_look);
}

static void set_paced(struct queue *q, int64_t wait_us) {
    q->limits.state = LIMIT_PACED;
    timer_set(&q->limits.look, clock_mono() + wait_us, limits_look);
}

/* If a concurrency slot has become free since the claim was sent, the queue does not become full. */
void limits_no_room(struct queue *q, uint64_t rooms, int32_t wait_ms, bool soon) {
    if (wait_ms > 0)
        set_paced(q, wait_ms * US_PER_MS);
    else if (q->limits.rooms == rooms)
        set_full(q, soon);
}

void limits_not_full(struct queue *q) {
    q->limits.look_wait_us = 0;
}

void limits_drop(struct queue *q) {
    timer_stop(&q->limits.look);
}
