/* Scan positions: which keys the next claim of a queue takes, and from where on it scans. */
#include "queue/scan_position.h"

#include <stdlib.h>

#include "base/util.h"

static const struct job_key beginning = { .rank = INT16_MIN, .id = 0 };

void position_init(struct scan_position *s) {
    *s = (struct scan_position){ .position = beginning };
    list_init(&s->sent);
}

void position_free(struct scan_position *s) {
    free(s->keys);
}

/* ---- redelivery keys ---- */

static void key_sift_up(struct job_key *heap, size_t at) {
    while (at > 0 && job_key_before(heap[at], heap[(at - 1) / 2])) {
        struct job_key parent = heap[(at - 1) / 2];

        heap[(at - 1) / 2] = heap[at];
        heap[at] = parent;
        at = (at - 1) / 2;
    }
}

static void key_sift_down(struct job_key *heap, size_t count, size_t at) {
    for (;;) {
        size_t least = at;

        for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < count; child++)
            if (job_key_before(heap[child], heap[least]))
                least = child;
        if (least == at)
            return;
        struct job_key moved = heap[at];

        heap[at] = heap[least];
        heap[least] = moved;
        at = least;
    }
}

/* Drops the redelivery keys and scans from the first of them: all their jobs are at or after it. */
static void scan_from_first_key(struct scan_position *s) {
    struct job_key before = s->keys[0];

    before.id--;
    s->key_count = 0;
    position_set_back(s, before);
}

void position_add_key(struct scan_position *s, struct job_key key) {
    s->ranked |= key.rank != 0;
    if (s->key_count == s->key_cap) {
        s->key_cap = s->key_cap == 0 ? 16 : s->key_cap * 2;
        s->keys = xrealloc(s->keys, s->key_cap * sizeof *s->keys);
    }
    s->keys[s->key_count] = key;
    key_sift_up(s->keys, s->key_count++);
    if (s->key_count == REDELIVERY_KEYS_MAX)
        scan_from_first_key(s);
}

static void pop_key(struct scan_position *s) {
    s->keys[0] = s->keys[--s->key_count];
    key_sift_down(s->keys, s->key_count, 0);
}

/* A key after the position is not taken while a scan is needed. The scan may find jobs of a higher priority. */
bool position_take_key(struct scan_position *s, struct job_key *key) {
    if (s->key_count == 0 || (s->may_have_more && job_key_before(s->position, s->keys[0])))
        return false;
    *key = s->keys[0];
    pop_key(s);
    return true;
}

void position_forget_key(struct scan_position *s, struct job_key key) {
    while (s->key_count > 0 && s->keys[0].rank == key.rank && s->keys[0].id == key.id)
        pop_key(s);
}

static int compare_keys(const void *a, const void *b) {
    const struct job_key *x = a, *y = b;

    return job_key_before(*x, *y) ? -1 : job_key_before(*y, *x);
}

/* A single key is compared without the calls of a binary search. */
static bool is_one_of(struct job_key key, const struct job_key *keys, size_t count) {
    if (count == 1)
        return key.id == keys[0].id && key.rank == keys[0].rank;
    return bsearch(&key, keys, count, sizeof *keys, compare_keys) != NULL;
}

void position_remove_keys(struct scan_position *s, struct job_key *keys, size_t count) {
    size_t kept = 0;

    if (s->key_count == 0 || count == 0)
        return;
    qsort(keys, count, sizeof *keys, compare_keys);
    if (job_key_before(keys[count - 1], s->keys[0]))
        return;
    /* The keys before the first removed one stay a heap. */
    while (kept < s->key_count && !is_one_of(s->keys[kept], keys, count))
        kept++;
    for (size_t i = kept; i < s->key_count; i++) {
        struct job_key key = s->keys[i];

        if (is_one_of(key, keys, count))
            continue;
        s->keys[kept] = key;
        key_sift_up(s->keys, kept++);
    }
    s->key_count = kept;
}

/* ---- the position ---- */

void position_add(struct scan_position *s, struct job_key key) {
    if (s->apart > 0)
        position_receive(s, key);
    if (!job_key_before(s->position, key)) {
        position_add_key(s, key);
        return;
    }
    s->ranked |= key.rank != 0;
    /* No ready job is between the position and key. But jobs that were handed off since the last claim may have
     * left millions of dead rows there. */
    if (!s->may_have_more)
        s->position = (struct job_key){ key.queue_id, key.rank, key.id - 1 };
    s->may_have_more = true;
}

void position_expect(struct scan_position *s) {
    s->may_have_more = true;
}

void position_set_back(struct scan_position *s, struct job_key key) {
    if (job_key_before(key, s->position))
        s->position = key;
    s->ranked |= key.rank != 0 && key.rank != beginning.rank;
    s->may_have_more = true;
    s->resets++;
}

void position_reset(struct scan_position *s) {
    s->key_count = 0;
    position_set_back(s, beginning);
}

bool position_is_at_beginning(const struct scan_position *s) {
    return s->position.rank == beginning.rank && s->position.id == beginning.id;
}

void position_clear(struct scan_position *s) {
    s->key_count = 0;
    s->may_have_more = false;
}

/* ---- scans ---- */

void position_begin(struct scan_position *s, struct queue_scan *scan) {
    scan->received = (struct job_key){ .rank = INT16_MAX, .id = INT64_MAX };
    scan->start = s->position;
    scan->resets = s->resets;
    scan->apart_of = NULL;
    list_push_back(&s->sent, &scan->node);
}

void position_note_apart(struct scan_position *s, struct queue_scan *scan) {
    scan->apart_of = s;
    s->apart++;
}

void position_end(struct queue_scan *scan) {
    list_remove(&scan->node);
    if (scan->apart_of != NULL)
        scan->apart_of->apart--;
    scan->apart_of = NULL;
}

/* The snapshot of a sent scan may be older than the commit. */
void position_receive(struct scan_position *s, struct job_key key) {
    LIST_EACH(node, &s->sent) {
        struct queue_scan *scan = LIST_ENTRY(node, struct queue_scan, node);

        if (job_key_before(key, scan->received))
            scan->received = key;
    }
}

/* A scan that returned as many rows as its limit stopped at its last row. A scan that returned fewer has seen all keys
 * up to its snapshot_end. Transactions of CONN_WRITE run one after another, so during such a scan no job of this server
 * became ready before the scan's key. Jobs that position_receive() noted during the scan may be missing from it, before
 * and after snapshot_end. If the position was set back during the scan, the queue must be scanned again. */
void position_advance(struct scan_position *s, const struct queue_scan *scan, const struct job_key *last,
                      bool to_the_end) {
    struct job_key end = { .rank = 0, .id = scan->snapshot_end };

    if (s->resets != scan->resets) {
        s->may_have_more = true;
        return;
    }
    if (to_the_end)
        s->may_have_more = scan->received.rank != INT16_MAX;
    else if (last != NULL)
        end = *last;
    else
        return;
    if (!job_key_before(end, scan->received)) {
        end = scan->received;
        end.id--;
        s->may_have_more = true;
    }
    if (job_key_before(s->position, end))
        s->position = end;
}
