/* The limits of output that a client does not read. */
#include "net/output_limits.h"

#include "base/clock.h"
#include "config/config.h"
#include "net/unproven.h"

/* A client whose output exceeds the hard limit is closed after it has read nothing for this time. */
#define STALL_US (10 * US_PER_S)
/* Clients that have not authenticated need no long replies (Redis' CVE-2025-21605). */
#define UNAUTH_OUTPUT ((size_t)16 * 1024)

static const struct output_limit *output_limit_of(const struct client *c) {
    return &config.output_limit[c->pubsub != NULL ? OUTPUT_PUBSUB : OUTPUT_NORMAL];
}

bool output_is_flooded(const struct client *c) {
    size_t soft = output_limit_of(c)->soft;

    return soft > 0 && client_unwritten(c) > soft;
}

/* True if the client gets messages, which come even if it does not read. A client that gets only replies has
 * requested them. It may have any amount of output while it reads. */
static bool gets_messages(const struct client *c) {
    return c->pubsub != NULL || c->monitor;
}

static bool stalls_for(const struct client *c, int64_t us) {
    return c->stalled_us != 0 && clock_mono() - c->stalled_us > us;
}

static bool over_soft_for(struct client *c, int64_t us) {
    if (client_unwritten(c) <= output_limit_of(c)->soft) {
        c->over_soft_us = 0;
        return false;
    }
    if (c->over_soft_us == 0)
        c->over_soft_us = clock_mono();
    return clock_mono() - c->over_soft_us > us;
}

bool output_is_over_limit(struct client *c) {
    const struct output_limit *limit = output_limit_of(c);
    int64_t soft_us = limit->soft_seconds * US_PER_S;
    size_t len = client_unwritten(c);

    if (client_is_limited(c) && len > UNAUTH_OUTPUT)
        return true;
    if (limit->hard > 0 && len > limit->hard && (gets_messages(c) || stalls_for(c, STALL_US)))
        return true;
    return limit->soft > 0 && over_soft_for(c, soft_us) && (gets_messages(c) || stalls_for(c, soft_us));
}
