/* Patterns of queue names: which queues match, which of these may have jobs, which is next. */
#include "queue/pattern_index.h"
#include "queue/queue_ready.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/glob.h"
#include "net/long_work.h"

#define BITS 64
#define PATTERN_WORDS (PATTERNS_MAX / BITS)
#define IDLE_PATTERN_US (60 * US_PER_S)
/* The number of comparisons in a step. A long name or pattern counts as several. */
#define STEP_NAMES 4096
#define NAME_BYTES 64
/* A name is compared with all patterns in one turn if their number times its length is at most this. */
#define AT_ONCE_BYTES (64 * 1024)

/* A queue whose name is compared with the patterns in steps. */
struct long_name {
    UT_hash_handle by_slot;
    uint32_t slot; /* of the queue */
    struct list node;
    uint32_t next; /* slot of the next pattern */
};
/* The lengths of a class are up to twice as long as those of the class before. */
#define LENGTH_CLASSES 24

static struct {
    struct queue_pattern *by_text;
    struct queue_pattern *slots[PATTERNS_MAX];
    uint32_t first_free; /* no slot before it is free */
    struct list idle;
    struct list unsettled;
    struct long_work work; /* settles the patterns; their users take turns */
    bool works;
    uint64_t steps;   /* of the work */
    uint64_t settled; /* the last step for a pattern without a user */
    void (*on_settled)(struct queue_pattern *p);
    struct long_name *long_names;          /* by the slot of the queue */
    struct list by_length[LENGTH_CLASSES]; /* the same, by the class of their length */
    struct long_work name_work;            /* compares them */
    bool compares;
    uint64_t waiting[PATTERN_WORDS]; /* set of the indexes of patterns with waiters */
    size_t waiting_count;            /* number of these patterns */
    /* set of the indexes of queues that may have jobs; maintained while there are patterns */
    uint64_t *ready;
    uint32_t words; /* length of `ready` */
} patterns;

void patterns_init(void) {
    list_init(&patterns.idle);
    list_init(&patterns.unsettled);
    for (size_t i = 0; i < LENGTH_CLASSES; i++)
        list_init(&patterns.by_length[i]);
    patterns.works = patterns.compares = false;
}

void patterns_on_settled(void (*fn)(struct queue_pattern *p)) {
    patterns.on_settled = fn;
}

size_t patterns_count(void) {
    return HASH_CNT(by_text, patterns.by_text);
}

/* ---- sets of bits ---- */

static void pattern_index_set_bit(uint64_t *words, uint32_t bit, bool on) {
    uint64_t mask = UINT64_C(1) << bit % BITS;

    words[bit / BITS] = on ? words[bit / BITS] | mask : words[bit / BITS] & ~mask;
}

/* The first bit in [from, to) that is in both sets; `to` if there is none. */
static uint32_t common_bit(const uint64_t *a, const uint64_t *b, uint32_t from, uint32_t to) {
    while (from < to) {
        uint64_t both = a[from / BITS] & b[from / BITS] & (UINT64_MAX << from % BITS);

        if (both != 0) {
            uint32_t bit = from / BITS * BITS + (uint32_t)__builtin_ctzll(both);

            return bit < to ? bit : to;
        }
        from = (from / BITS + 1) * BITS;
    }
    return to;
}

static void pattern_index_make_room(uint64_t **words, uint32_t *count, uint32_t bit) {
    uint32_t wanted = *count == 0 ? 4 : *count;

    while (wanted * BITS <= bit)
        wanted *= 2;
    if (wanted == *count)
        return;
    *words = xrealloc(*words, wanted * sizeof **words);
    memset(*words + *count, 0, (wanted - *count) * sizeof **words);
    *count = wanted;
}

/* ---- names ---- */

bool glob_is_special(struct slice name) {
    return memchr(name.ptr, '*', name.len) != NULL || memchr(name.ptr, '?', name.len) != NULL;
}

bool glob_is_pattern(struct slice name) {
    for (size_t i = 0; i < name.len; i++) {
        if (name.ptr[i] == '*' || name.ptr[i] == '?')
            return true;
        if (name.ptr[i] == '\\')
            i++;
    }
    return false;
}

size_t glob_unescape(struct slice name, char *out) {
    size_t len = 0;

    for (size_t i = 0; i < name.len; i++) {
        if (name.ptr[i] == '\\' && i + 1 < name.len)
            i++;
        out[len++] = name.ptr[i];
    }
    return len;
}

/* ---- matches ---- */

static void pattern_index_compare(struct queue_pattern *p, struct queue *q) {
    bool fits = !q->hidden && glob_match(p->text, q->name, false) &&
                (p->user == NULL || user_may_queue(p->user, p->right, ACL_READ, q->name));

    if (q->matches.patterns == NULL)
        q->matches.patterns = xcalloc(PATTERN_WORDS, sizeof *q->matches.patterns);
    pattern_index_make_room(&p->queues, &p->words, q->slot);
    pattern_index_set_bit(p->queues, q->slot, fits);
    pattern_index_set_bit(q->matches.patterns, p->slot, fits);
}

/* The cost in comparisons of short names. glob_match() takes the pattern in words of 64 bits. */
static int64_t pattern_index_cost(const struct queue_pattern *p, const struct queue *q) {
    return 1 + (int64_t)(q->name.len / NAME_BYTES * (p->text.len / BITS + 1));
}

static void set_ready(const struct queue *q) {
    pattern_index_make_room(&patterns.ready, &patterns.words, q->slot);
    pattern_index_set_bit(patterns.ready, q->slot, true);
}

static void long_name_free(struct long_name *n) {
    HASH_DELETE(by_slot, patterns.long_names, n);
    list_remove(&n->node);
    free(n);
}

/* Shorter names go first, so they do not wait for those of a client that makes many long ones. */
static struct long_name *first_long_name(void) {
    for (size_t i = 0; i < LENGTH_CLASSES; i++)
        if (!list_empty(&patterns.by_length[i]))
            return LIST_ENTRY(patterns.by_length[i].next, struct long_name, node);
    return NULL;
}

/* Compares the name with some patterns, and lessens *left by the cost. Returns true if patterns are left. */
static bool compare_long_name(struct long_name *n, struct queue *q, int64_t *left) {
    while (*left > 0 && n->next < PATTERNS_MAX) {
        struct queue_pattern *p = patterns.slots[n->next++];

        if (p == NULL)
            continue;
        pattern_index_compare(p, q);
        *left -= pattern_index_cost(p, q);
    }
    *left -= PATTERN_WORDS; /* for the slots without a pattern */
    return n->next < PATTERNS_MAX;
}

static bool compare_long_names(struct long_work *w) {
    int64_t left = STEP_NAMES;
    struct long_name *n;

    (void)w;
    while ((n = first_long_name()) != NULL) {
        struct queue *q = queue_at(n->slot);

        if (compare_long_name(n, q, &left))
            return true;
        long_name_free(n);
        q->matched = NAME_MATCHED;
        queue_signal(q);
    }
    patterns.compares = false;
    return false;
}

static void add_long_name(struct queue *q) {
    struct long_name *n = xcalloc(1, sizeof *n);
    size_t length = 0;

    while (length < LENGTH_CLASSES - 1 && q->name.len >> length > 1)
        length++;
    n->slot = q->slot;
    HASH_ADD(by_slot, patterns.long_names, slot, sizeof n->slot, n);
    list_push_back(&patterns.by_length[length], &n->node);
    if (patterns.compares)
        return;
    patterns.compares = true;
    long_work_begin(&patterns.name_work, NULL, compare_long_names);
}

static void drop_long_name(const struct queue *q) {
    struct long_name *n;

    HASH_FIND(by_slot, patterns.long_names, &q->slot, sizeof q->slot, n);
    if (n != NULL)
        long_name_free(n);
}

/* Compares the name of a queue with all patterns, once. That is done when the queue has jobs or its waiters
 * are requested, and not when a command names it. */
static void pattern_index_add_queue(struct queue *q) {
    struct queue_pattern *p, *next;

    if (q->matched != NAME_NOT_MATCHED)
        return;
    if (q->name.len * patterns_count() > AT_ONCE_BYTES) {
        q->matched = NAME_IN_STEPS;
        add_long_name(q);
        return;
    }
    q->matched = NAME_MATCHED;
    HASH_ITER(by_text, patterns.by_text, p, next) {
        pattern_index_compare(p, q);
    }
}

void patterns_note_queue(struct queue *q) {
    pattern_index_add_queue(q);
    if (patterns.by_text != NULL)
        set_ready(q);
}

void patterns_drop_queue(struct queue *q) {
    struct queue_pattern *p, *next;

    HASH_ITER(by_text, patterns.by_text, p, next) {
        pattern_index_make_room(&p->queues, &p->words, q->slot);
        pattern_index_set_bit(p->queues, q->slot, false);
    }
    if (q->slot / BITS < patterns.words)
        pattern_index_set_bit(patterns.ready, q->slot, false);
    free(q->matches.patterns);
    if (q->matched == NAME_IN_STEPS)
        drop_long_name(q);
}

/* ---- life of patterns ---- */

static void pattern_free(struct queue_pattern *p) {
    if (p->user != NULL)
        p->user->patterns--;
    list_remove(&p->idle);
    list_remove(&p->unsettled);
    HASH_DELETE(by_text, patterns.by_text, p);
    patterns.slots[p->slot] = NULL;
    if (p->slot < patterns.first_free)
        patterns.first_free = p->slot;
    free(p->queues);
    free(p->key);
    if (p->user != NULL)
        user_release(p->user);
    free(p);
}

/* Frees the pattern of the user that has been unused for longest. False: all are in use. */
static bool forget_idle_of(const struct user *user) {
    LIST_EACH_SAFE(node, &patterns.idle) {
        struct queue_pattern *p = LIST_ENTRY(node, struct queue_pattern, idle);

        if (p->user == user) {
            pattern_free(p);
            return true;
        }
    }
    return false;
}

/* A free index. If there is none, it frees the pattern that has been unused for longest. PATTERNS_MAX: all are
 * in use, or PATTERNS_EACH patterns of the user are. */
static uint32_t pattern_index_free_slot(const struct user *user) {
    if (user != NULL && user->patterns >= PATTERNS_EACH && !forget_idle_of(user))
        return PATTERNS_MAX;
    while (patterns.first_free < PATTERNS_MAX && patterns.slots[patterns.first_free] != NULL)
        patterns.first_free++;
    if (patterns.first_free == PATTERNS_MAX && !list_empty(&patterns.idle))
        pattern_free(LIST_ENTRY(patterns.idle.next, struct queue_pattern, idle));
    return patterns.first_free;
}

/* Compares p with some queues, and returns true if queues are left. A queue that gets an index below
 * p->compared later is compared with p when it gets its first job. */
static bool settle_some(struct queue_pattern *p) {
    int64_t left = STEP_NAMES;

    for (; p->compared < queue_slots() && left > 0; p->compared++) {
        struct queue *q = queue_at(p->compared);

        if (q == NULL || q->matched == NAME_NOT_MATCHED) {
            left--;
            continue;
        }
        pattern_index_compare(p, q);
        set_ready(q);
        left -= pattern_index_cost(p, q);
    }
    return p->compared < queue_slots();
}

static uint64_t *last_step_of(struct queue_pattern *p) {
    return p->user != NULL ? &p->user->settled : &patterns.settled;
}

/* The oldest pattern of the user whose last step was the earliest. NULL: all patterns are settled. */
static struct queue_pattern *next_unsettled(void) {
    struct queue_pattern *next = NULL;

    LIST_EACH(node, &patterns.unsettled) {
        struct queue_pattern *p = LIST_ENTRY(node, struct queue_pattern, unsettled);

        if (next == NULL || *last_step_of(p) < *last_step_of(next))
            next = p;
    }
    return next;
}

static bool pattern_index_settle(struct long_work *w) {
    struct queue_pattern *p = next_unsettled();

    (void)w;
    if (p != NULL) {
        *last_step_of(p) = ++patterns.steps;
        if (settle_some(p))
            return true;
        p->stale = false;
        list_remove(&p->unsettled);
        if (patterns.on_settled != NULL)
            patterns.on_settled(p);
    }
    patterns.works = !list_empty(&patterns.unsettled);
    return patterns.works;
}

static void begin_settling(struct queue_pattern *p) {
    list_push_back(&patterns.unsettled, &p->unsettled);
    if (patterns.works)
        return;
    patterns.works = true;
    long_work_begin(&patterns.work, NULL, pattern_index_settle);
}

/* Bytes of the key before the text. */
#define KEY_USER sizeof(struct user *)

static struct queue_pattern *pattern_new(const char *key, size_t len, struct user *user, unsigned right) {
    uint32_t slot = pattern_index_free_slot(user);
    struct queue_pattern *p;

    if (slot == PATTERNS_MAX)
        return NULL;
    p = xcalloc(1, sizeof *p);
    p->key = xmemdup(key, KEY_USER + len);
    p->text = (struct slice){ p->key + KEY_USER, len };
    if (user != NULL) {
        p->user = user_hold(user);
        p->rights = user->rights;
        user->patterns++;
    }
    p->right = right;
    p->slot = slot;
    list_init(&p->idle);
    list_init(&p->unsettled);
    list_init(&p->waiters);
    patterns.slots[slot] = p;
    HASH_ADD_KEYPTR(by_text, patterns.by_text, p->key, KEY_USER + len, p);
    begin_settling(p);
    return p;
}

/* Its bits are set and cleared when it is settled. */
static void pattern_compare_again(struct queue_pattern *p) {
    p->rights = p->user->rights;
    p->stale = true;
    p->compared = 0;
    if (pattern_is_settled(p))
        begin_settling(p);
}

void patterns_rights_changed(void) {
    struct queue_pattern *p, *next;

    HASH_ITER(by_text, patterns.by_text, p, next) {
        if (p->user != NULL && p->rights != p->user->rights)
            pattern_compare_again(p);
    }
}

struct queue_pattern *pattern_use(struct slice text, struct user *user, unsigned right) {
    static char key[KEY_USER + PATTERN_MAX];
    struct queue_pattern *p;

    memcpy(key, &user, KEY_USER);
    memcpy(key + KEY_USER, text.ptr, text.len);
    HASH_FIND(by_text, patterns.by_text, key, KEY_USER + text.len, p);
    if (p == NULL)
        p = pattern_new(key, text.len, user, right);
    if (p == NULL)
        return NULL;
    p->users++;
    list_remove(&p->idle);
    return p;
}

void pattern_leave(struct queue_pattern *p) {
    if (--p->users > 0)
        return;
    p->used_us = clock_mono();
    list_push_back(&patterns.idle, &p->idle);
}

void patterns_forget_unused(void) {
    LIST_EACH_SAFE(node, &patterns.idle) {
        struct queue_pattern *p = LIST_ENTRY(node, struct queue_pattern, idle);

        if (clock_mono() - p->used_us < IDLE_PATTERN_US)
            return;
        pattern_free(p);
    }
}

/* ---- rotation ---- */

/* Removes queues without jobs from the set. They are added again when patterns_note_queue() is called. */
static struct queue *find_between(const struct queue_pattern *p, uint32_t from, uint32_t to,
                                  bool (*accept)(struct queue *q)) {
    uint32_t words = p->words < patterns.words ? p->words : patterns.words;
    uint32_t end = to < words * BITS ? to : words * BITS;

    while ((from = common_bit(p->queues, patterns.ready, from, end)) < end) {
        struct queue *q = queue_at(from);

        if (accept(q))
            return q;
        if (!queue_may_give(q) && q->work->claims.rows == 0)
            pattern_index_set_bit(patterns.ready, from, false);
        from++;
    }
    return NULL;
}

struct queue *pattern_find(const struct queue_pattern *p, bool (*accept)(struct queue *q)) {
    struct queue *q;

    if (p->stale)
        return NULL;
    q = find_between(p, p->cursor, UINT32_MAX, accept);
    return q != NULL ? q : find_between(p, 0, p->cursor, accept);
}

void pattern_served(struct queue_pattern *p, const struct queue *q) {
    p->cursor = q->slot + 1;
}

bool pattern_has(const struct queue_pattern *p, const struct queue *q) {
    return !p->stale && q->slot < p->words * BITS && (p->queues[q->slot / BITS] >> q->slot % BITS & 1) != 0;
}

/* ---- waiters ---- */

void pattern_set_waiting(struct queue_pattern *p, bool waiting) {
    pattern_index_set_bit(patterns.waiting, p->slot, waiting);
    patterns.waiting_count = waiting ? patterns.waiting_count + 1 : patterns.waiting_count - 1;
}

struct queue_pattern *patterns_next_waiting(struct queue *q, uint32_t *from) {
    uint32_t bit;

    if (patterns.waiting_count == 0)
        return NULL;
    pattern_index_add_queue(q);
    if (q->matches.patterns == NULL)
        return NULL;
    do {
        bit = common_bit(q->matches.patterns, patterns.waiting, *from, PATTERNS_MAX);
        *from = bit + 1;
    } while (bit < PATTERNS_MAX && patterns.slots[bit]->stale);
    return bit < PATTERNS_MAX ? patterns.slots[bit] : NULL;
}

bool patterns_wait_for(struct queue *q) {
    uint32_t from = 0;

    return patterns_next_waiting(q, &from) != NULL;
}

int64_t patterns_waiters(struct queue *q) {
    uint32_t from = 0;
    int64_t count = 0;
    const struct queue_pattern *p;

    while ((p = patterns_next_waiting(q, &from)) != NULL)
        count += p->waiter_count;
    return count;
}
