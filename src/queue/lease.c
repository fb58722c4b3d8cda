/* The leases that this server watches. When a lease ends, its job is ready again. */
#include "queue/lease.h"

#include <stdlib.h>
#include <string.h>
#include "base/hash.h"

#include "base/clock.h"
#include "base/compact_table.h"
#include "base/heap.h"
#include "base/node.h"
#include "base/pool.h"
#include "base/util.h"
#include "queue/queue.h"

/* A server may watch millions of leases, so this struct is small: doc/tuning.md. It fills a block of pool.h. */
struct lease {
    struct compact_link in_leases;
    struct heap_item end; /* end.due is the end also while the lease is held, and not in the heap */
    int64_t row_until_us; /* end in the row; it identifies the lease among those of the job */
    int64_t id;           /* with queue_id and rank: the key of the job */
    int32_t queue_id;
    int16_t rank;
    uint16_t owner;      /* number of another server, or 0 */
    uint32_t seen;       /* number of the last review in which it was added or seen */
    unsigned holds : 27; /* each is a request of at least a hundred bytes, so the number is never reached */
    unsigned last : 1;
    unsigned failed : 1;
    unsigned ahead : 1;     /* lease_add_ahead() */
    unsigned counted : 1;   /* in the leases of its queue */
    unsigned unwritten : 1; /* the name of its worker is not written yet */
    int64_t since_us;       /* struct lease_holder */
    union {
        struct worker_label *label;  /* if the name is written: struct lease_holder */
        struct unwritten_name *name; /* if not: the holder has the label of its worker */
    };
    struct list in_label; /* in the leases of the holder's label, if that is known */
};

/* The part of a lease whose name is not written yet. */
struct unwritten_name {
    struct list node; /* in unwritten */
    struct lease *lease;
    struct worker *worker;
    uint64_t second; /* value of `seconds` when it began */
};

static unsigned hash_of_lease(const struct compact_link *link) {
    return hash_key(&CONTAINER_OF(link, struct lease, in_leases)->id, sizeof(int64_t));
}

static struct compact_table leases = { .hash_of = hash_of_lease };
static struct heap ends;
static uint32_t review;
/* The leases whose names are not written, in the order of their start. */
static struct list unwritten = { &unwritten, &unwritten };
static uint64_t seconds;

static struct job_key lease_key(const struct lease *l) {
    return (struct job_key){ l->queue_id, l->rank, l->id };
}

static struct lease *lease_find(int64_t id) {
    struct compact_link *link = compact_first(&leases, hash_key(&id, sizeof id));

    for (; link != NULL; link = link->next) {
        struct lease *l = CONTAINER_OF(link, struct lease, in_leases);

        if (l->id == id)
            return l;
    }
    return NULL;
}

/* ---- holders ---- */

/* NULL: the holder is unknown. */
static struct worker_label *lease_label(const struct lease *l) {
    return l->unwritten ? worker_label(l->name->worker) : l->label;
}

static void set_holder(struct lease *l, struct lease_holder holder) {
    l->label = holder.label;
    l->since_us = holder.since_us;
    list_push_back(worker_label_leases(holder.label), &l->in_label);
}

static void set_worker(struct lease *l, struct worker *to) {
    struct unwritten_name *n = xmalloc(sizeof *n);

    *n = (struct unwritten_name){ .lease = l, .worker = worker_ref(to), .second = seconds };
    list_push_back(&unwritten, &n->node);
    set_holder(l, (struct lease_holder){ worker_label(to), clock_db() });
    l->name = n;
    l->unwritten = true;
}

/* The name of the lease counts as written. Until now its worker had the reference to the label. */
static void end_unwritten(struct lease *l) {
    struct unwritten_name *n = l->name;

    l->label = worker_label_ref(worker_label(n->worker));
    l->unwritten = false;
    worker_unref(n->worker);
    list_remove(&n->node);
    free(n);
}

/* The name of the lease is written. The caller owns the label of the result. */
static struct lease_holder take_holder(struct lease *l) {
    struct lease_holder holder = { l->label, l->since_us };

    if (holder.label != NULL)
        list_remove(&l->in_label);
    l->label = NULL;
    l->since_us = 0;
    return holder;
}

static void forget_holder(struct lease *l) {
    struct lease_holder holder;

    if (l->unwritten)
        end_unwritten(l);
    holder = take_holder(l);
    if (holder.label != NULL)
        worker_label_unref(holder.label);
}

static void lease_set_ahead(struct lease *l, bool ahead) {
    if (l->ahead != ahead)
        queue_count_ahead(l->queue_id, ahead ? 1 : -1);
    l->ahead = ahead;
}

static struct lease *lease_new(struct job_key key) {
    struct lease *l = pool_take_zeroed(sizeof *l);

    l->id = key.id;
    l->queue_id = key.queue_id;
    l->rank = key.rank;
    compact_add(&leases, hash_key(&key.id, sizeof key.id), &l->in_leases);
    return l;
}

static struct lease *add(struct job_key key, int64_t until_us, int64_t row_until_us, uint16_t owner) {
    struct lease *l = lease_find(key.id);
    int64_t own = owner == 0;

    if (until_us == INT64_MAX) {
        lease_remove(key.id);
        return NULL;
    }
    if (l == NULL) {
        l = lease_new(key);
        l->counted = queue_count_leases(key.queue_id, 1, own);
    } else if (l->counted && (l->owner == 0) != own) {
        (void)queue_count_leases(key.queue_id, 0, own ? 1 : -1);
    }
    /* If the same lease is loaded again, it keeps its worker, whose name is not in the row yet. */
    if (l->row_until_us != row_until_us) {
        forget_holder(l);
        lease_set_ahead(l, false);
    }
    l->end.due = until_us;
    l->row_until_us = row_until_us;
    l->owner = owner;
    l->last = l->failed = false;
    l->seen = review;
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

void lease_give(struct job_key key, int64_t until_us, int64_t row_until_us, struct worker *to) {
    struct lease *l = add(key, until_us, row_until_us, 0);

    if (l == NULL)
        return;
    lease_set_ahead(l, false);
    forget_holder(l);
    set_worker(l, to);
}

struct lease_holder lease_take_holder(int64_t id) {
    struct lease *l = lease_find(id);

    if (l == NULL || l->unwritten)
        return (struct lease_holder){ 0 };
    return take_holder(l);
}

void lease_set_holder(int64_t id, struct lease_holder holder) {
    struct lease *l = lease_find(id);

    if (l != NULL && lease_label(l) == NULL)
        set_holder(l, holder);
    else
        worker_label_unref(holder.label);
}

const char *lease_worker(int64_t id) {
    const struct lease *l = lease_find(id);
    const struct worker_label *label = l == NULL ? NULL : lease_label(l);

    return label == NULL ? NULL : worker_label_name(label);
}

void lease_each_of_worker(struct slice name, size_t most,
                          bool (*take)(void *arg, const struct worker_lease *held), void *arg) {
    struct worker_label *label = worker_label_find(name);
    size_t looks = 0, taken = 0;

    if (label == NULL)
        return;
    LIST_EACH(node, worker_label_leases(label)) {
        const struct lease *l = LIST_ENTRY(node, struct lease, in_label);

        if (taken == most || looks++ == LEASE_LOOKS)
            break;
        taken += take(arg, &(struct worker_lease){ lease_key(l), l->since_us, l->owner });
    }
}

void lease_set_last(int64_t id) {
    struct lease *l = lease_find(id);

    if (l != NULL)
        l->last = true;
}

void lease_set_failed(int64_t id) {
    struct lease *l = lease_find(id);

    if (l != NULL)
        l->last = l->failed = true;
}

static void lease_drop(struct lease *l) {
    forget_holder(l);
    lease_set_ahead(l, false);
    heap_remove(&ends, &l->end);
    compact_remove(&leases, hash_key(&l->id, sizeof l->id), &l->in_leases);
    if (l->counted)
        (void)queue_count_leases(l->queue_id, -1, -(l->owner == 0));
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
        return LEASE_RUNNING;
    }
    p = find_past(id, row_until_us);
    if (p != NULL) {
        what = p->what;
        forget_past(p);
    }
    return what;
}

bool lease_has_ended(int64_t id, int64_t row_until_us) {
    const struct past_lease *p = find_past(id, row_until_us);

    return p != NULL && p->what == LEASE_ENDED;
}

bool lease_known(int64_t id) {
    return lease_find(id) != NULL;
}

bool lease_has_end(int64_t id, int64_t row_until_us) {
    const struct lease *l = lease_find(id);

    return l != NULL && l->row_until_us == row_until_us;
}

bool lease_is_ahead(struct job_key key, int64_t row_until_us) {
    const struct lease *l = lease_find(key.id);

    return l != NULL && l->ahead && l->queue_id == key.queue_id && l->rank == key.rank &&
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

static bool unwritten_is_due(const struct unwritten_name *n) {
    return seconds - n->second >= 2;
}

static struct unwritten_name *unwritten_of(struct list *node) {
    return LIST_ENTRY(node, struct unwritten_name, node);
}

static void unwritten_see(const struct unwritten_name *n, lease_see *see, void *arg) {
    see(arg, lease_key(n->lease), n->lease->row_until_us, worker_name(n->worker));
}

static void unwritten_write(const struct unwritten_name *n, lease_see *see, void *arg) {
    unwritten_see(n, see, arg);
    end_unwritten(n->lease);
}

/* Writes the names of workers that have gone. Returns their number. */
static size_t unwritten_write_gone(size_t most, lease_see *see, void *arg) {
    struct list *node, *next;
    size_t count = 0;

    for (node = unwritten.next; count < most && node != &unwritten; node = next) {
        next = node->next;
        if (!worker_is_gone(unwritten_of(node)->worker))
            continue;
        unwritten_write(unwritten_of(node), see, arg);
        count++;
    }
    if (node == &unwritten)
        workers_were_seen();
    return count;
}

size_t lease_write_names(size_t most, lease_see *see, void *arg) {
    size_t count = 0;

    for (; count < most && !list_empty(&unwritten) && unwritten_is_due(unwritten_of(unwritten.next)); count++)
        unwritten_write(unwritten_of(unwritten.next), see, arg);
    return workers_have_gone() ? count + unwritten_write_gone(most - count, see, arg) : count;
}

void lease_each_unwritten(const char *name, lease_see *see, void *arg) {
    LIST_EACH(node, &unwritten) {
        const struct unwritten_name *n = unwritten_of(node);

        if (name == NULL || strcmp(worker_name(n->worker), name) == 0)
            unwritten_see(n, see, arg);
    }
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
        heap_set(&ends, &l->end, l->end.due);
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
    *end = (struct lease_end){ lease_key(l), l->row_until_us, l->owner, l->last, l->failed };
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

static bool leases_are_incomplete;

void lease_set_incomplete(bool on) {
    leases_are_incomplete = on;
}

bool lease_is_incomplete(void) {
    return leases_are_incomplete;
}

void lease_review_begin(void) {
    review++;
}

bool lease_review_see(int64_t id, int64_t row_until_us) {
    struct lease *l = lease_find(id);

    if (l == NULL || l->row_until_us != row_until_us)
        return false;
    l->seen = review;
    return true;
}

static void (*see_unseen)(struct job_key key, int64_t row_until_us);

static void offer_unseen(struct compact_link *link) {
    const struct lease *l = CONTAINER_OF(link, struct lease, in_leases);

    if (l->seen != review)
        see_unseen(lease_key(l), l->row_until_us);
}

void lease_review_each_unseen(void (*fn)(struct job_key key, int64_t row_until_us)) {
    see_unseen = fn;
    compact_each(&leases, offer_unseen);
}

static struct {
    int64_t now_us;
    void (*fn)(struct job_key key);
} overdue;

static void offer_overdue(struct compact_link *link) {
    const struct lease *l = CONTAINER_OF(link, struct lease, in_leases);

    if (l->row_until_us <= overdue.now_us && !l->last)
        overdue.fn(lease_key(l));
}

void lease_each_overdue(int64_t now_us, void (*fn)(struct job_key key)) {
    overdue.now_us = now_us;
    overdue.fn = fn;
    compact_each(&leases, offer_overdue);
}

size_t lease_count(void) {
    return leases.count;
}

static void drop_any(struct compact_link *link) {
    lease_drop(CONTAINER_OF(link, struct lease, in_leases));
}

void lease_clear(void) {
    compact_each(&leases, drop_any);
}
