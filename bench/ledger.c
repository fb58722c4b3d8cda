/* The books on every job of the run: eight bytes each, no search. */
#include "ledger.h"

#include <string.h>

enum {
    JOB_ADDED = 1,
    JOB_UNKNOWN = 2,
    JOB_ACKED = 4,
    JOB_DROPPED = 8,
    JOB_SETTLED = 16,
};

struct job {
    uint32_t delivered_ms; /* of the last delivery; wraps, only differences count */
    uint8_t deliveries;    /* stops at 255 */
    uint8_t flags;
};

/* The jobs of a producer are in chunks, so that they never move. */
enum { CHUNK_BITS = 14, CHUNK_JOBS = 1 << CHUNK_BITS, MAX_PRODUCERS = 65536 };

struct producer {
    struct job **chunks;
    uint64_t chunk_count;
    uint64_t begin; /* lowest sequence number delivered; only valid once any_delivered */
    bool any_delivered;
    uint64_t end; /* the highest sequence number seen, plus one */
};

/* Clocks of client and server differ, Disque adds jitter to RETRY, and the
 * first delivery may have waited in a socket before it was seen. */
enum { RETRY_SLACK_MS = 500 };

struct ledger ledger;

static struct producer producers[MAX_PRODUCERS];
static int64_t lease_ms;
static bool released_on_close;

void ledger_init(int64_t lease, bool release) {
    lease_ms = lease;
    released_on_close = release;
}

static void grow(struct producer *p, uint64_t chunk) {
    uint64_t count = p->chunk_count ? p->chunk_count : 4;
    while (count <= chunk)
        count *= 2;
    p->chunks = xrealloc(p->chunks, count * sizeof(*p->chunks));
    memset(p->chunks + p->chunk_count, 0, (count - p->chunk_count) * sizeof(*p->chunks));
    p->chunk_count = count;
}

static struct job *job_of(uint32_t producer, uint64_t seq) {
    if (producer >= MAX_PRODUCERS || seq >= UINT64_C(1) << 32)
        die("a job of producer %u, sequence %llu: no load generator sends that", producer,
            (unsigned long long)seq);
    struct producer *p = &producers[producer];
    uint64_t chunk = seq >> CHUNK_BITS;
    if (chunk >= p->chunk_count)
        grow(p, chunk);
    if (!p->chunks[chunk])
        p->chunks[chunk] = xcalloc(CHUNK_JOBS, sizeof(struct job));
    if (seq >= p->end)
        p->end = seq + 1;
    return &p->chunks[chunk][seq & (CHUNK_JOBS - 1)];
}

static void settle(struct job *job) {
    if (job->flags & JOB_SETTLED)
        return;
    job->flags |= JOB_SETTLED;
    ledger.settled++;
}

void ledger_added(uint32_t producer, uint64_t seq) {
    struct job *job = job_of(producer, seq);
    job->flags |= JOB_ADDED;
    ledger.added++;
    if (!(job->flags & JOB_ACKED))
        ledger.open++;
}

void ledger_unknown(uint32_t producer, uint64_t seq) {
    struct job *job = job_of(producer, seq);
    job->flags |= JOB_UNKNOWN;
    ledger.unknown++;
    if (job->deliveries == 0)
        ledger.unseen++;
    settle(job);
}

static bool explained(const struct job *job, int64_t ms) {
    if (job->flags & JOB_ACKED)
        return false;
    if ((job->flags & JOB_DROPPED) && released_on_close)
        return true;
    return lease_ms > 0 && (uint32_t)ms - job->delivered_ms + RETRY_SLACK_MS >= (uint64_t)lease_ms;
}

static enum delivery delivered_first(struct producer *p, uint64_t seq, struct job *job) {
    ledger.delivered++;
    if (!p->any_delivered || seq < p->begin)
        p->begin = seq;
    p->any_delivered = true;
    if (job->flags & JOB_UNKNOWN)
        ledger.unseen--;
    return DELIVERY_FIRST;
}

static enum delivery delivered_again(const struct job *job, int64_t ms) {
    if (explained(job, ms)) {
        ledger.redelivered++;
        return DELIVERY_AGAIN;
    }
    ledger.doubled++;
    return DELIVERY_DOUBLED;
}

enum delivery ledger_delivered(uint32_t producer, uint64_t seq, int64_t ms) {
    struct job *job = job_of(producer, seq);
    enum delivery kind =
        job->deliveries ? delivered_again(job, ms) : delivered_first(&producers[producer], seq, job);
    if (job->deliveries < UINT8_MAX)
        job->deliveries++;
    job->delivered_ms = (uint32_t)ms;
    job->flags &= (uint8_t)~JOB_DROPPED;
    return kind;
}

void ledger_acked(uint32_t producer, uint64_t seq) {
    struct job *job = job_of(producer, seq);
    if (job->flags & JOB_ACKED)
        return;
    job->flags |= JOB_ACKED;
    ledger.acked++;
    if (job->flags & JOB_ADDED)
        ledger.open--;
    settle(job);
}

void ledger_dropped(uint32_t producer, uint64_t seq) {
    job_of(producer, seq)->flags |= JOB_DROPPED;
}

static struct job *existing(const struct producer *p, uint64_t seq) {
    struct job *chunk = p->chunks[seq >> CHUNK_BITS];
    return chunk ? &chunk[seq & (CHUNK_JOBS - 1)] : NULL;
}

void ledger_drop_all(void) {
    for (uint32_t i = 0; i < MAX_PRODUCERS; i++) {
        for (uint64_t seq = 0; seq < producers[i].end; seq++) {
            struct job *job = existing(&producers[i], seq);
            if (job && job->deliveries > 0 && !(job->flags & JOB_ACKED))
                job->flags |= JOB_DROPPED;
        }
    }
}

static bool is_lost(const struct producer *p, uint64_t seq, bool gaps) {
    const struct job *job = existing(p, seq);
    if (job && job->deliveries > 0)
        return false;
    if (job && (job->flags & JOB_ADDED))
        return true;
    return gaps && p->any_delivered && seq > p->begin;
}

uint64_t ledger_lost(bool gaps, void (*found)(uint32_t producer, uint64_t seq)) {
    uint64_t lost = 0;
    for (uint32_t i = 0; i < MAX_PRODUCERS; i++) {
        for (uint64_t seq = 0; seq < producers[i].end; seq++) {
            if (!is_lost(&producers[i], seq, gaps))
                continue;
            lost++;
            found(i, seq);
        }
    }
    return lost;
}
