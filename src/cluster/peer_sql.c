/* Handles messages of SQL functions: jobs that they added, took and ended. */
#include "cluster/peer_sql.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/node.h"
#include "cluster/peer_queues.h"
#include "jobs/expire.h"
#include "jobs/schedule.h"
#include "queue/job_events.h"

/* Number of messages that are remembered. An older message may be a repeat. */
#define WINDOW 4096
/* After this time, all messages have arrived that were included in the counters when these were read. */
#define SETTLE_US (2 * US_PER_S)

/* The peer whose messages SQL functions send. `live`: this message is no repetition. `synced`: the counters are
 * loaded. */
static struct node sql_node;
static struct peer sql = { .node = &sql_node };

static struct {
    uint64_t last; /* highest number so far */
    uint64_t received[WINDOW / 64];
    int64_t settled_us; /* clock_mono() */
    bool is_first;      /* this message is no repetition */
} messages;

static bool test_and_set(uint64_t number) {
    uint64_t *word = &messages.received[number % WINDOW / 64];
    uint64_t bit = UINT64_C(1) << number % 64;
    bool was_set = (*word & bit) != 0;

    *word |= bit;
    return was_set;
}

static void peer_sql_forget(uint64_t number) {
    messages.received[number % WINDOW / 64] &= ~(UINT64_C(1) << number % 64);
}

/* Is the message new? False if that is unknown, because any role can repeat a sealed message. */
static bool is_first(uint64_t number) {
    if (number > messages.last && number - messages.last >= WINDOW)
        memset(messages.received, 0, sizeof messages.received);
    else
        for (uint64_t n = number; n > messages.last; n--)
            peer_sql_forget(n);
    if (number > messages.last)
        messages.last = number;
    return messages.last - number < WINDOW && !test_and_set(number);
}

/* Each server receives the message, and sends it to its own clients. A worker that misses it gets it by WORKING. */
static void peer_sql_receive_cancel(const int64_t *numbers) {
    const struct queue *q = queue_find_id((int32_t)numbers[0]);

    if (q != NULL && messages.is_first)
        event_of_cancel_here(q->name, (struct job_key){ q->id, (int16_t)numbers[1], numbers[2] }, numbers[3],
                             (int32_t)numbers[4]);
}

static void peer_sql_receive_item(const char *text) {
    enum outbox_item item = (enum outbox_item) * text;
    int64_t numbers[OUTBOX_NUMBERS];
    int count = outbox_numbers(text + 1, numbers);

    if (item == OUTBOX_CLOCK && count == 1)
        clock_db_reached(numbers[0]);
    else if (item == OUTBOX_WAKE && count == 2)
        expire_wake_at(numbers[1]);
    else if (item == OUTBOX_POLL && count == 1)
        expire_reset_scan();
    else if (item == OUTBOX_CANCELLED && count == 5)
        peer_sql_receive_cancel(numbers);
    else if (item == OUTBOX_SCHEDULES && count == 0)
        schedule_look();
    if (count > 0 && item != OUTBOX_CANCELLED && item != OUTBOX_WAKE && item != OUTBOX_CLOCK)
        peer_queues_receive(&sql, item, numbers, count);
}

void peer_sql_receive(uint64_t message, bool fresh, const char *items) {
    messages.is_first = is_first(message);
    sql_node.live = messages.is_first && fresh;
    sql.synced = clock_mono() >= messages.settled_us;
    while (*items != '\0') {
        items += strspn(items, " ");
        if (*items != '\0')
            peer_sql_receive_item(items);
        items += strcspn(items, " ");
    }
}

void peer_sql_counted_again(void) {
    messages.settled_us = clock_mono() + SETTLE_US;
}

void peer_sql_reset(void) {
    memset(&messages, 0, sizeof messages);
}
