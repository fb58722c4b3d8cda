/* Eviction: disconnects the largest clients when all clients use more memory than the budget. */
#include "net/client_memory.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/stats.h"
#include "base/tls.h"

/* The most clients that are disconnected in one turn. */
#define EVICT_MOST 8
/* A client that uses less memory is not disconnected. */
#define EVICT_LEAST ((size_t)16 * 1024)
/* The pause after a search that found no client to disconnect. */
#define IN_VAIN_US (100 * US_PER_MS)

struct candidate {
    struct client *client;
    size_t frees;
};

static size_t output_memory(const struct client *c) {
    return c->out.cap + c->ahead.own + c->replies_elsewhere;
}

void client_count_buffers(struct client *c) {
    size_t input = c->in.cap + resp_parser_memory(&c->parser);
    size_t output = output_memory(c);

    if (input != c->share.kinds[MEMORY_INPUT])
        memory_change(&c->share, MEMORY_INPUT, c->share.kinds[MEMORY_INPUT], input);
    if (output != c->own_counted)
        memory_change(&c->share, MEMORY_OUTPUT, c->own_counted, output);
    if (c->tls != NULL)
        memory_change(&c->share, MEMORY_TLS, c->share.kinds[MEMORY_TLS], tls_memory(c->tls));
    if (c->ahead.shared != c->shared_counted) {
        memory_leave(&c->share, MEMORY_OUTPUT, c->shared_counted);
        memory_join(&c->share, MEMORY_OUTPUT, c->ahead.shared);
    }
    c->own_counted = output;
    c->shared_counted = c->ahead.shared;
}

void client_count_replies(struct client *c, size_t bytes) {
    c->replies_elsewhere = bytes;
    client_count_buffers(c);
}

/* The memory that disconnecting c frees. Requests that are sent stay until their results arrive, without the
 * bytes that their handlers hold. A client transaction that is sent stays, too. */
static size_t freed_by(const struct client *c) {
    size_t bytes = c->share.total - (c->exec != NULL ? c->share.kinds[MEMORY_MULTI] : 0);

    LIST_EACH(node, &c->reqs) {
        const struct req *r = LIST_ENTRY(node, const struct req, in_client);

        if (r->task.state != TASK_SENT)
            break;
        bytes -= r->bytes - r->held;
    }
    return bytes;
}

/* The order of eviction: the larger first, and clients with CLIENT NO-EVICT last. */
static bool goes_before(const struct candidate *a, const struct candidate *b) {
    if (a->client->no_evict != b->client->no_evict)
        return b->client->no_evict;
    return a->frees > b->frees;
}

/* Inserts c into the first EVICT_MOST candidates, in order of eviction. */
static size_t client_memory_insert(struct candidate *all, size_t count, struct candidate c) {
    size_t at = count < EVICT_MOST ? count++ : EVICT_MOST;

    while (at > 0 && goes_before(&c, &all[at - 1])) {
        if (at < EVICT_MOST)
            all[at] = all[at - 1];
        at--;
    }
    if (at < EVICT_MOST)
        all[at] = c;
    return count;
}

static size_t find_candidates(struct candidate *all) {
    static const enum client_state states[] = { CLIENT_OPEN, CLIENT_CLOSING };
    size_t count = 0;

    for (size_t i = 0; i < LENGTH(states); i++) {
        LIST_EACH(node, client_list(states[i])) {
            struct client *c = LIST_ENTRY(node, struct client, in_state);

            if (c->share.total >= EVICT_LEAST && freed_by(c) >= EVICT_LEAST)
                count = client_memory_insert(all, count, (struct candidate){ c, freed_by(c) });
        }
    }
    return count;
}

static void evict(const struct candidate *v) {
    static struct log_kind disconnected;

    log_sometimes(&disconnected, LOG_WARNING_, client_ident(v->client),
                  "disconnected: it uses %zu bytes, and all clients together use more than maxmemory allows",
                  v->client->share.total);
    stats.evicted_clients++;
    v->client->evicted = true;
    client_kill(v->client, "evicted: memory over maxmemory");
}

void clients_evict(void) {
    static int64_t in_vain_us;
    struct candidate all[EVICT_MOST];
    size_t excess = memory_excess(), freed = 0, count;

    if (excess == 0 || clock_mono() < in_vain_us)
        return;
    count = find_candidates(all);
    if (count == 0)
        in_vain_us = clock_mono() + IN_VAIN_US;
    for (size_t i = 0; i < count && freed < excess; i++) {
        freed += all[i].frees;
        evict(&all[i]);
    }
}
