/* The leases that this server watches. When a lease ends, its job is ready again. */
#include "queue/lease.h"

#include <stdlib.h>
#include <string.h>
#include "base/hash.h"

#include "base/clock.h"
#include "base/heap.h"
#include "base/node.h"
#include "base/pool.h"
#include "base/util.h"
#include "queue/queue.h"

struct lease {
    UT_hash_handle hh;
    struct job_key key;
    struct heap_item end;
    int64_t until_us;
    int64_t row_until_us; /* end in the row; it identifies the lease among those of the job */
    unsigned holds;
    uint16_t owner; /* number of another server, or 0 */
    bool last;
    bool ahead;            /* lease_add_ahead() */
    bool counted;          /* in the leases of its queue */
    uint64_t told;         /* number of the last review in which it was added */
    struct worker *worker; /* worker whose name is not written yet, or NULL */
    uint64_t second;       /* value of `seconds` when it began */
    struct lease_holder holder;
    struct list in_label; /* in the leases of the holder's label, if that is known */
};

static struct lease *leases;
static struct heap ends;
static uint64_t review;
/* The hash keeps the leases in the order of their start. The names of all leases before this one are
 * written. */
static struct lease *unwritten;
static uint64_t seconds;

static struct lease *lease_find(int64_t id) {
    struct lease *l;

    HASH_FIND(hh, leases, &id, sizeof id, l);
    return l;
}

static void forget_worker(struct lease *l) {
    if (l->worker != NULL)
        worker_unref(l->worker);
    l->worker = NULL;
}

static void set_holder(struct lease *l, struct lease_holder holder) {
    l->holder = holder;
    list_push_back(worker_label_leases(holder.label), &l->in_label);
}

/* The caller owns the label of the result. */
static struct lease_holder take_holder(struct lease *l) {
    struct lease_holder holder = l->holder;

    if (holder.label != NULL)
        list_remove(&l->in_label);
    l->holder = (struct lease_holder){ 0 };
    return holder;
}

static void forget_holder(struct lease *l) {
    struct lease_holder holder = take_holder(l);

    if (holder.label != NULL)
        worker_label_unref(holder.label);
}

static void lease_append(struct lease *l) {
    l->second = seconds;
    HASH_ADD(hh, leases, key.id, sizeof l->key.id, l);
    if (unwritten == NULL)
        unwritten = l;
}

static void lease_set_ahead(struct lease *l, bool ahead) {
    if (l->ahead != ahead)
        queue_count_ahead(l->key.queue_id, ahead ? 1 : -1);
    l->ahead = ahead;
}

static struct lease *add(struct job_key key, int64_t until_us, int64_t row_until_us, uint16_t owner) {
    struct lease *l = lease_find(key.id);
    int64_t own = owner == 0;

    if (until_us == INT64_MAX) {
        lease_remove(key.id);
        return NULL;
    }
    if (l == NULL) {
        l = pool_take_zeroed(sizeof *l);
        l->key = key;
        l->counted = queue_count_leases(key.queue_id, 1, own);
        lease_append(l);
    } else if (l->counted && (l->owner == 0) != own) {
        (void)queue_count_leases(key.queue_id, 0, own ? 1 : -1);
    }
    /* If the same lease is loaded again, it keeps its worker, whose name is not in the row yet. */
    if (l->row_until_us != row_until_us) {
        forget_worker(l);
        forget_holder(l);
        lease_set_ahead(l, false);
    }
    l->until_us = until_us;
    l->row_until_us = row_until_us;
    l->owner = owner;
    l->last = false;
    l->told = review;
    if (l->holds == 0)
        heap_set(&ends, &l->end, until_us);
    return l;
}

void lease_add(struct job_key key, int64_t until_us) {
    (void)add(key, until_us, until_us, 0);
}

void lease_add_ahead(struct job_key key, int64_t until_us) {
    struct lease *l = add(key, until_us, until_us, 0);

    if (l != NULL)
        lease_set_ahead(l, true);
}

void lease_add_row(struct job_key key, int64_t until_us, int64_t row_until_us) {
    (void)add(key, until_us, row_until_us, 0);
}

void lease_add_foreign(struct job_key key, int64_t until_us, uint16_t owner) {
    (void)add(key, until_us, until_us, owner);
}

static void move_to_end(struct lease *l) {
    if (unwritten == l)
        unwritten = l->hh.next;
    HASH_DEL(leases, l);
    lease_append(l);
}

void lease_give(struct job_key key, int64_t until_us, int64_t row_until_us, struct worker *to) {
    struct lease *l = add(key, until_us, row_until_us, 0);

    if (l == NULL)
        return;
    if (l->second != seconds)
        move_to_end(l);
    lease_set_ahead(l, false);
    forget_worker(l);
    forget_holder(l);
    l->worker = worker_ref(to);
    set_holder(l, (struct lease_holder){ worker_label_ref(worker_label(to)), clock_db() });
}

struct lease_holder lease_take_holder(int64_t id) {
    struct lease *l = lease_find(id);

    if (l == NULL || l->worker != NULL)
        return (struct lease_holder){ 0 };
    return take_holder(l);
}

void lease_set_holder(int64_t id, struct lease_holder holder) {
    struct lease *l = lease_find(id);

    if (l != NULL && l->holder.label == NULL)
        set_holder(l, holder);
    else
        worker_label_unref(holder.label);
}

const char *lease_worker(int64_t id) {
    const struct lease *l = lease_find(id);

    return l == NULL || l->holder.label == NULL ? NULL : worker_label_name(l->holder.label);
}

void lease_each_held(struct slice name, size_t most, bool (*take)(void *arg, const struct lease_held *held),
                     void *arg) {
    struct worker_label *label = worker_label_find(name);
    size_t looks = 0, taken = 0;

    if (label == NULL)
        return;
    LIST_EACH(node, worker_label_leases(label)) {
        const struct lease *l = LIST_ENTRY(node, struct lease, in_label);

        if (taken == most || looks++ == LEASE_LOOKS)
            break;
        taken += take(arg, &(struct lease_held){ l->key, l->holder.since_us, l->owner });
    }
}

void lease_set_last(int64_t id) {
    struct lease *l = lease_find(id);

    if (l != NULL)
        l->last = true;
}

static void lease_drop(struct lease *l) {
    if (unwritten == l)
        unwritten = l->hh.next;
    forget_worker(l);
    forget_holder(l);
    lease_set_ahead(l, false);
    heap_remove(&ends, &l->end);
    HASH_DEL(leases, l);
    if (l->counted)
        (void)queue_count_leases(l->key.queue_id, -1, -(l->owner == 0));
    pool_give(l, sizeof *l);
}

bool lease_remove(int64_t id) {
    struct lease *l = lease_find(id);

    if (l == NULL)
        return false;
    lease_drop(l);
    return true;
}

/* A server that was away for a while watches its own leases again after its start. */
static bool is_watched_by_peer(const struct lease *l) {
    const struct node *n = l->owner == 0 ? NULL : node_by_number(l->owner);

    return n != NULL && n->live;
}

bool lease_remove_row(int64_t id, int64_t row_until_us, int64_t *other_us) {
    struct lease *l = lease_find(id);
    bool same = l != NULL && l->row_until_us == row_until_us;
    bool by_peer = l != NULL && is_watched_by_peer(l);

    *other_us = l == NULL || same ? 0 : l->row_until_us;
    if (l != NULL)
        lease_drop(l);
    return same && !by_peer;
}

bool lease_is_own(int64_t id, int64_t row_until_us) {
    const struct lease *l = lease_find(id);

    return l != NULL && l->owner == 0 && l->row_until_us == row_until_us;
}

/* ---- past leases ---- */

/* How many ended leases are remembered. Notifications of peers arrive within milliseconds. */
#define PAST_LEASES 4096

struct past {
    int64_t id;
    int64_t row_until_us;
};

/* A ring: the oldest entry is overwritten. */
static struct past_lease {
    UT_hash_handle hh; /* in past_by_key while `what` is not LEASE_UNKNOWN */
    struct past key;
    enum lease_past what;
} past[PAST_LEASES];
static struct past_lease *past_by_key;
static size_t past_next;

static void forget_past(struct past_lease *p) {
    if (p->what != LEASE_UNKNOWN)
        HASH_DEL(past_by_key, p);
    p->what = LEASE_UNKNOWN;
}

static struct past_lease *find_past(int64_t id, int64_t row_until_us) {
    struct past key = { id, row_until_us };
    struct past_lease *p;

    HASH_FIND(hh, past_by_key, &key, sizeof key, p);
    return p;
}

static void remember(int64_t id, int64_t row_until_us, enum lease_past what) {
    struct past_lease *p = find_past(id, row_until_us);

    if (p == NULL) {
        p = &past[past_next++ % PAST_LEASES];
        forget_past(p);
        p->key = (struct past){ id, row_until_us };
        HASH_ADD(hh, past_by_key, key, sizeof p->key, p);
    }
    p->what = what;
}

bool lease_replace(int64_t id) {
    struct lease *l = lease_find(id);

    if (l == NULL)
        return false;
    remember(id, l->row_until_us, LEASE_REPLACED);
    lease_drop(l);
    return true;
}

enum lease_past lease_revoke(int64_t id, int64_t row_until_us) {
    struct lease *l = lease_find(id);
    enum lease_past what = LEASE_UNKNOWN;
    struct past_lease *p;

    if (l != NULL && l->row_until_us == row_until_us) {
        lease_drop(l);
        return LEASE_HELD;
    }
    p = find_past(id, row_until_us);
    if (p != NULL) {
        what = p->what;
        forget_past(p);
    }
    return what;
}

bool lease_known(int64_t id) {
    return lease_find(id) != NULL;
}

bool lease_is_ahead(struct job_key key, int64_t row_until_us) {
    const struct lease *l = lease_find(key.id);

    return l != NULL && l->ahead && l->key.queue_id == key.queue_id && l->key.rank == key.rank &&
           l->row_until_us == row_until_us;
}

bool lease_runs_at(int64_t id, int64_t at_us) {
    const struct lease *l = lease_find(id);

    return l != NULL && l->row_until_us > at_us;
}

/* ---- names of workers ---- */

void lease_second(void) {
    seconds++;
}

static bool lease_is_due(const struct lease *l) {
    return seconds - l->second >= 2;
}

static size_t lease_write_name(struct lease *l, lease_see *see, void *arg) {
    if (l->worker == NULL)
        return 0;
    see(arg, l->key, l->row_until_us, worker_name(l->worker));
    forget_worker(l);
    return 1;
}

size_t lease_write_names(size_t most, lease_see *see, void *arg) {
    size_t count = 0;
    struct lease *l;

    for (; count < most && unwritten != NULL && lease_is_due(unwritten); unwritten = unwritten->hh.next)
        count += lease_write_name(unwritten, see, arg);
    if (!workers_have_gone())
        return count;
    for (l = unwritten; count < most && l != NULL; l = l->hh.next)
        if (l->worker != NULL && worker_is_gone(l->worker))
            count += lease_write_name(l, see, arg);
    if (l == NULL)
        workers_were_seen();
    return count;
}

void lease_each_unwritten(const char *name, lease_see *see, void *arg) {
    for (struct lease *l = unwritten; l != NULL; l = l->hh.next)
        if (l->worker != NULL && (name == NULL || strcmp(worker_name(l->worker), name) == 0))
            see(arg, l->key, l->row_until_us, worker_name(l->worker));
}

void lease_hold(int64_t id) {
    struct lease *l = lease_find(id);

    if (l == NULL)
        return;
    l->holds++;
    heap_remove(&ends, &l->end);
}

void lease_unhold(int64_t id) {
    struct lease *l = lease_find(id);

    if (l != NULL && l->holds > 0 && --l->holds == 0)
        heap_set(&ends, &l->end, l->until_us);
}

bool lease_is_held(int64_t id) {
    const struct lease *l = lease_find(id);

    return l != NULL && l->holds > 0;
}

bool lease_take_ended(int64_t now_us, struct lease_end *end) {
    struct heap_item *first = heap_first(&ends);
    struct lease *l;

    if (first == NULL || first->due > now_us)
        return false;
    l = CONTAINER_OF(first, struct lease, end);
    *end = (struct lease_end){ l->key, l->row_until_us, l->owner, l->last };
    lease_drop(l);
    return true;
}

void lease_end_counted(const struct lease_end *end) {
    remember(end->key.id, end->row_until_us, LEASE_ENDED);
}

int64_t lease_next_end(void) {
    struct heap_item *first = heap_first(&ends);

    return first == NULL ? INT64_MAX : first->due;
}

void lease_review_begin(void) {
    review++;
}

void lease_review_end(void) {
    struct lease *l, *next;

    HASH_ITER(hh, leases, l, next) {
        if (l->told != review)
            lease_drop(l);
    }
}

size_t lease_count(void) {
    return HASH_COUNT(leases);
}

void lease_clear(void) {
    struct lease *l, *next;

    HASH_ITER(hh, leases, l, next)
        lease_drop(l);
}
