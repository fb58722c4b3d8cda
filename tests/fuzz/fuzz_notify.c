/* Notifications of peers and of SQL functions: forged, stale, repeated, cut, and sealed with any items. */
#include <stdarg.h>
#include "offline.h"

#include "cluster/pubsub_forward.h"

static unsigned long long last_message;
static char last_text[2 * NOTIFY_TEXT_MAX];

/* The state that a message without a seal must not change. */
struct trace {
    size_t nodes;
    uint32_t queues;
    size_t leases;
    int64_t wake;
    bool idle;
};

static struct trace trace_take(void) {
    struct trace t = { .queues = (uint32_t)queue_count(),
                       .leases = lease_count(),
                       .wake = expire_next_wake() };

    (void)node_all(&t.nodes);
    t.idle = batch_idle();
    return t;
}

static void hear_forged(const char *text) {
    struct trace before = trace_take(), after;

    bus.hooks->on_text(text);
    after = trace_take();
    REQUIRE(after.nodes == before.nodes && after.queues == before.queues && after.leases == before.leases &&
            after.wake == before.wake && after.idle == before.idle);
}

static void hear_body(const char *body) {
    snprintf(last_text, sizeof last_text, "1 %llx%s", (unsigned long long)jobid_seal(slice_str(body)), body);
    bus.hooks->on_text(last_text);
}

/* A message with a good head. 0 is the number of SQL functions. */
static void hear_items_of(unsigned node, int64_t age_us, struct slice items) {
    char body[NOTIFY_TEXT_MAX];

    snprintf(body, sizeof body, " %u %x %llu %d o%lld %.*s", node, 0x1000U, ++last_message, 1,
             (long long)(clock_db() - age_us), (int)(items.len < 4000 ? items.len : 4000), items.ptr);
    hear_body(body);
}

/* A part of a PUBLISH stream, as a peer would send it. Its text is cut behind that many characters. */
static void hear_published(unsigned node, struct slice message, size_t cut) {
    char text[NOTIFY_TEXT_MAX + 1];

    node_self()->number = (uint16_t)node;
    pubsub_forward_tell(SLICE("channel"), message);
    if (pubsub_forward_has())
        pubsub_forward_take(text, sizeof text);
    else
        text[0] = '\0';
    node_self()->number = OFFLINE_NODE;
    if (cut < strlen(text))
        text[cut] = '\0';
    bus.hooks->on_text(text);
}

/* The first byte of a part chooses its kind. */
static void hear_part(struct slice part) {
    struct slice rest = { part.ptr + 1, part.len - 1 };
    char text[NOTIFY_TEXT_MAX];

    snprintf(text, sizeof text, "%.*s", (int)(rest.len < 4000 ? rest.len : 4000), rest.ptr);
    switch (part.ptr[0]) {
    case '!':
        hear_forged(text);
        break;
    case '~':
        hear_body(text);
        break;
    case '=': /* a repeated message of a peer changes nothing */
        if (last_text[0] != '\0' && strstr(last_text, " 0 1000 ") == NULL)
            hear_forged(last_text);
        break;
    case '-': {
        struct trace before = trace_take();

        hear_items_of(7, 20 * US_PER_S, rest);
        REQUIRE(trace_take().nodes == before.nodes);
        break;
    }
    case 'P':
        hear_published(3, rest, SIZE_MAX);
        break;
    case 'C':
        hear_published(3, rest, rest.len * 4);
        break;
    case '.':
        for (int i = 0; i < 10; i++)
            peers_tick();
        peers_turn();
        input = rest;
        offline_answer();
        break;
    default:
        hear_items_of((unsigned char)part.ptr[0] % 4, 0, rest);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct slice left = { (const char *)data, size };

    offline_start();
    last_text[0] = '\0';
    while (left.len > 0) {
        struct slice part;

        input = left;
        part = input_part();
        left = input;
        if (part.len > 0)
            hear_part(part);
    }
    offline_end();
    return 0;
}
