/* Handles messages of peers about queues and jobs, and reads the rows of these queues. */
#include "cluster/peer_queues.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/saturate.h"
#include "batch/batch.h"
#include "batch/operations.h"
#include "cluster/peer_sql.h"
#include "jobs/dead_letter.h"
#include "jobs/groups.h"
#include "jobs/waitjob.h"
#include "queue/lease.h"
#include "queue/observer.h"
#include "queue/queue.h"
#include "queue/queue_limits.h"
#include "queue/queue_ready.h"
#include "queue/settings.h"

#define COUNT_MAX (INT64_C(1) << 50)
/* Maximum of items that wait for the rows of their queues. Further items are dropped, and the rows of all queues are
 * read. The counters of a new queue are suspect anyway. */
#define WAITING_MAX 10000

/* ---- queues without a known row ---- */

struct waiting_item {
    const struct peer *peer;
    enum outbox_item item;
    int64_t numbers[OUTBOX_NUMBERS];
    int count;
};

static struct {
    struct task task;
    int32_t *ids; /* rows to read */
    size_t id_count;
    size_t id_cap;
    struct waiting_item *items;
    size_t item_count;
    size_t asked; /* number of ids in the running statement */
} find_queues = { .task = { .op = &op_find_queues, .rows = 1 } };

static void peer_queues_ask(void) {
    if (find_queues.id_count > 0)
        batch_add_idle(&find_queues.task);
}

/* Adds the id even if the running statement reads it: that may have read the row before the change. */
static void peer_queues_find_queue(int32_t id) {
    if (find_queues.id_count > find_queues.asked && find_queues.ids[find_queues.id_count - 1] == id)
        return;
    if (find_queues.id_count == find_queues.id_cap) {
        find_queues.id_cap = find_queues.id_cap == 0 ? 16 : find_queues.id_cap * 2;
        find_queues.ids = xrealloc(find_queues.ids, find_queues.id_cap * sizeof *find_queues.ids);
    }
    find_queues.ids[find_queues.id_count++] = id;
    peer_queues_ask();
}

static void keep_for_later(const struct peer *p, enum outbox_item item, const int64_t *numbers, int count) {
    struct waiting_item *s;

    if (find_queues.items == NULL)
        find_queues.items = xmalloc(WAITING_MAX * sizeof *find_queues.items);
    if (find_queues.item_count == WAITING_MAX) {
        peer_queues_look();
        return;
    }
    s = &find_queues.items[find_queues.item_count++];
    *s = (struct waiting_item){ .peer = p, .item = item, .count = count };
    memcpy(s->numbers, numbers, (size_t)count * sizeof *numbers);
    peer_queues_find_queue((int32_t)numbers[0]);
}

static void peer_queues_find_encode(struct params *p, struct task *t) {
    (void)t;
    find_queues.asked = find_queues.id_count;
    for (size_t i = 0; i < find_queues.asked; i++)
        params_int4(p, 0, find_queues.ids[i]);
}

/* Adds or updates a queue. Nothing is known of a new queue, so its first claim scans all of it. */
static struct queue *load_peer_queue(const PGresult *rows, int row) {
    struct queue *q = queue_get(row_bytes(rows, row, COL_FIND_QUEUES_NAME));

    if (q->id == 0) {
        position_expect(&q->scan);
        queue_suspect(q);
    }
    if (q->id != row_int4(rows, row, COL_FIND_QUEUES_ID))
        queue_set_id(q, row_int4(rows, row, COL_FIND_QUEUES_ID));
    queue_set_pause(q, (unsigned)row_int2(rows, row, COL_FIND_QUEUES_PAUSE));
    if (q->pause != 0)
        queue_show(q);
    settings_read(q, rows, row, COL_FIND_QUEUES_SETTING);
    q->created_us = row_time(rows, row, COL_FIND_QUEUES_CREATED_AT);
    if (queue_budget(q) > 0)
        queue_signal(q);
    return q;
}

static void receive_queue(struct queue *q, const struct peer *p, enum outbox_item item,
                          const int64_t *numbers, int count);

/* Handles the waiting items at once, before later items of the same queues. Items of other queues wait as long as
 * there are rows to read. */
static void receive_unknown(void) {
    size_t count = find_queues.item_count, kept = 0;

    for (size_t i = 0; i < count; i++) {
        const struct waiting_item s = find_queues.items[i];
        struct queue *q = queue_find_id((int32_t)s.numbers[0]);

        if (q != NULL)
            receive_queue(q, s.peer, s.item, s.numbers, s.count);
        else if (find_queues.id_count > 0)
            find_queues.items[kept++] = s;
    }
    find_queues.item_count = kept;
}

static void find_ended(void) {
    find_queues.id_count -= find_queues.asked;
    memmove(find_queues.ids, find_queues.ids + find_queues.asked,
            find_queues.id_count * sizeof *find_queues.ids);
    find_queues.asked = 0;
    receive_unknown();
    peer_queues_ask();
}

static void peer_queues_find_done(struct task *t, const PGresult *rows) {
    (void)t;
    for (int i = 0; i < PQntuples(rows); i++)
        (void)load_peer_queue(rows, i);
    find_ended();
}

static void peer_queues_find_fail(struct task *t, const struct op_error *err) {
    (void)t;
    (void)err;
    queue_suspect_all();
    find_ended();
}

OPERATION(find_queues, .alone = true, .encode = peer_queues_find_encode, .on_end = peer_queues_find_done,
          .fail = peer_queues_find_fail);

/* ---- all queues ---- */

/* Queues of a statement. The next page is read when this one has ended, so that other tasks wait for one page at most. */
#define LOOK_QUEUES 1000

static struct {
    struct task task;
    int32_t cursor; /* the last queue of the page before */
    bool again;     /* after the last page, the first one is read again */
} look = { .task = { .op = &op_look_queues, .rows = 1 } };

void peer_queues_look(void) {
    look.again = look.task.state != TASK_IDLE;
    if (look.again)
        return;
    look.cursor = INT32_MIN;
    batch_add(&look.task);
}

static void peer_queues_look_begin(struct params *p) {
    params_set_int4(p, 0, look.cursor);
    params_set_int4(p, 1, LOOK_QUEUES);
}

static void look_end(void) {
    if (look.again)
        peer_queues_look();
}

/* Earlier changes of a queue that is new here are not in its counters, which therefore are suspect. Returns its id. */
static int32_t look_at_row(const PGresult *rows, int row) {
    int32_t id = row_int4(rows, row, COL_LOOK_QUEUES_ID);
    bool known = queue_find_id(id) != NULL;
    struct queue *q = load_peer_queue(rows, row);

    if (!known)
        queue_suspect(q);
    return id;
}

static void peer_queues_look_done(struct task *t, const PGresult *rows) {
    size_t queues = 0;

    for (int i = 0; i < PQntuples(rows); i++) {
        int32_t id = look_at_row(rows, i);

        queues += id != look.cursor;
        look.cursor = id;
    }
    if (queues < LOOK_QUEUES)
        look_end();
    else
        batch_add(t);
}

static void peer_queues_look_fail(struct task *t, const struct op_error *err) {
    (void)t;
    (void)err;
    look_end();
}

OPERATION(look_queues, .alone = true, .begin = peer_queues_look_begin, .on_end = peer_queues_look_done,
          .fail = peer_queues_look_fail);

/* ---- queues without a message ---- */

/* Each second reads a page: in turn queues that are newer than all known ones, and the next page of all queues. */
#define PAGE_QUEUES 1000
/* A search for jobs passes over the dead rows of a queue, so all queues are searched at most this often. */
#define PROBE_US (60 * US_PER_S)

static struct {
    struct task task;
    int32_t cursor;
    int32_t newest;
    bool at_newest;    /* the running page is of new queues */
    bool may_probe;    /* there are few dead rows */
    bool probes;       /* the pages of all queues also look for jobs */
    int64_t probed_us; /* clock_mono(): begin of the last round that looked for jobs */
} page = { .task = { .op = &op_page_queues, .rows = 1 } };

void peer_queues_page(bool may_probe) {
    if (page.task.state != TASK_IDLE)
        return;
    page.at_newest = !page.at_newest;
    if (!page.at_newest && page.cursor == 0) {
        /* At start, the counts were just read. */
        page.probes = page.probed_us != 0 && clock_mono() - page.probed_us >= PROBE_US;
        if (page.probes || page.probed_us == 0)
            page.probed_us = clock_mono();
    }
    page.may_probe = may_probe;
    batch_add(&page.task);
}

static void peer_queues_page_begin(struct params *p) {
    params_set_int4(p, 0, page.at_newest ? page.newest : page.cursor);
    params_set_int4(p, 1, PAGE_QUEUES);
    params_set_time(p, 2, clock_db());
    params_set_bool(p, 3, page.probes && page.may_probe && !page.at_newest);
}

/* An SQL function adds jobs without a message, and its caller may fail before it calls wake(). */
static void page_queue(int32_t id, bool has_jobs) {
    struct queue *q = queue_find_id(id);

    if (q == NULL) {
        peer_queues_find_queue(id);
    } else if (has_jobs && q->counters.total <= 0) {
        queue_suspect(q);
        queue_reset_scan(q);
    }
}

static void page_done(struct task *t, const PGresult *rows) {
    int32_t last = 0;

    (void)t;
    for (int i = 0; i < PQntuples(rows); i++) {
        last = row_int4(rows, i, COL_PAGE_QUEUES_ID);
        page_queue(last, row_bool(rows, i, COL_PAGE_QUEUES_HAS_JOBS));
    }
    if (last > page.newest)
        page.newest = last;
    if (!page.at_newest)
        page.cursor = PQntuples(rows) < PAGE_QUEUES ? 0 : last;
}

OPERATION(page_queues, .alone = true, .begin = peer_queues_page_begin, .on_end = page_done);

/* ---- leases that peers ended ---- */

/* Before this message arrived, the lease may have ended here, or the job may have been claimed again. The job is
 * counted twice then, which this corrects. */
static void receive_lease(struct queue *q, struct job_key key, int64_t row_until) {
    enum lease_past what = lease_revoke(key.id, row_until);

    if (what == LEASE_ENDED)
        queue_count_in(q, -1);
    if (what == LEASE_ENDED || what == LEASE_REPLACED)
        queue_count_len(q, -1);
}

/* ---- leases of failed servers ---- */

static struct task adopt = { .op = &op_adopt_leases, .rows = 1 };
static bool adopt_again;

void peer_queues_adopt(void) {
    adopt_again = adopt.state != TASK_IDLE;
    if (!adopt_again)
        batch_add(&adopt);
}

static void adopt_encode(struct params *p, struct task *t) {
    size_t count;
    struct node *const *nodes = node_all(&count);

    (void)t;
    params_set_time(p, 0, clock_db());
    for (size_t i = 0; i < count; i++)
        params_int4(p, 1, nodes[i]->number);
}

static void adopt_end(void) {
    if (adopt_again)
        peer_queues_adopt();
}

static void adopt_done(struct task *t, const PGresult *rows) {
    (void)t;
    for (int i = 0; i < PQntuples(rows); i++) {
        struct job_key key = row_full_key(rows, i, COL_ADOPT_LEASES_QUEUE_ID);

        int64_t until = row_time(rows, i, COL_ADOPT_LEASES_READY_AT);
        bool last = row_bool(rows, i, COL_ADOPT_LEASES_LAST);

        if (last && until <= clock_db())
            dead_letter_job(key, NULL, NULL);
        if (lease_known(key.id) || until <= clock_db())
            continue;
        lease_add_foreign(key, until, (uint16_t)row_int2(rows, i, COL_ADOPT_LEASES_OWNER));
        if (last)
            lease_set_last(key.id);
    }
    adopt_end();
}

/* Ignore the error: the rare full scan finds the jobs. */
static void adopt_fail(struct task *t, const struct op_error *err) {
    (void)t;
    (void)err;
    adopt_end();
}

/* Uses the read connection, because it reads the whole table and must not delay writes. */
OPERATION(adopt_leases, .alone = true, .encode = adopt_encode, .on_end = adopt_done, .fail = adopt_fail);

/* ---- items ---- */

static void receive_ready(struct queue *q, struct job_key first, int64_t count) {
    if (count == 1 || job_key_before(q->scan.position, first)) {
        queue_receive_ready(q, first);
    } else {
        first.id = int64_minus(first.id, 1);
        queue_scan_from(q, first);
    }
}

/* Sends this server's share, so that the other server adds the queue. */
static void receive_uncounted(struct queue *q) {
    queue_suspect(q);
    limits_receive_slot(q);
    OBSERVE(counted, q);
}

/* False if a number is larger than any counter can be. */
static bool are_counts(const int64_t *change, int count) {
    for (int i = 0; i < count; i++)
        if (change[i] > COUNT_MAX || change[i] < -COUNT_MAX)
            return false;
    return true;
}

/* The leader counts the changes of SQL functions, and sends them to peers as its own. A message that may be a
 * repeat only makes the counters suspect. Counters that were just read may include the change, so len and total
 * stay as read. */
static void receive_counted(struct queue *q, const struct peer *p, const int64_t change[4]) {
    if (!p->node->live || !p->synced)
        queue_suspect(q);
    if (!p->node->live || !node_is_leader())
        return;
    queue_count_in(q, change[2]);
    queue_count_out(q, change[3]);
    if (p->synced) {
        queue_count_len(q, change[0]);
        queue_count_total(q, change[1]);
        queue_signal(q);
    }
}

/* The changes of an SQL function, as those of receive_counted(). */
static void receive_states_counted(struct queue *q, const struct peer *p, int64_t delayed, int64_t waiting) {
    if (!p->node->live || !p->synced)
        queue_suspect(q);
    if (!p->node->live || !p->synced || !node_is_leader())
        return;
    queue_count_delayed(q, delayed);
    queue_count_waiting(q, waiting);
}

static void receive_sql(struct queue *q, const struct peer *p, enum outbox_item item, const int64_t *numbers,
                        int count) {
    struct job_key key = { (int32_t)numbers[0], (int16_t)numbers[1], numbers[2] };

    if (item == OUTBOX_COUNTED && count == 5 && are_counts(numbers + 1, 4)) {
        limits_receive_slot(q);
        receive_counted(q, p, numbers + 1);
    } else if (item == OUTBOX_STATES && count == 3 && are_counts(numbers + 1, 2)) {
        receive_states_counted(q, p, numbers[1], numbers[2]);
    } else if (item == OUTBOX_LEASED && count == 5 && node_is_leader() && !lease_known(key.id)) {
        lease_add_foreign(key, numbers[3], p->node->number);
        if (numbers[4] != 0)
            lease_set_last(key.id);
    } else if (item == OUTBOX_GROUP && count == 3 && node_is_leader()) {
        group_find_and_join(key);
    } else if (item == OUTBOX_POLL) {
        queue_suspect(q);
        queue_reset_scan(q);
    }
}

/* A time later than now would hide the age of all jobs. */
static void receive_states(struct queue *q, const struct peer *p, const int64_t *numbers) {
    queue_receive_states(q, p->node->number, numbers[1], numbers[2], !p->synced);
    if (numbers[3] <= clock_db())
        queue_receive_due(q, numbers[3]);
}

static void receive_queue(struct queue *q, const struct peer *p, enum outbox_item item,
                          const int64_t *numbers, int count) {
    struct job_key key = { (int32_t)numbers[0], (int16_t)numbers[1], numbers[2] };

    if (item == OUTBOX_SHARE && count == 6 && are_counts(numbers + 1, 5))
        queue_receive_share(q, p->node->number,
                            (struct queue_share){ .len = numbers[1],
                                                  .total = numbers[2],
                                                  .jobs_in = numbers[3],
                                                  .jobs_out = numbers[4],
                                                  .dead = numbers[5] },
                            !p->synced);
    else if (item == OUTBOX_STATES && count == 4 && are_counts(numbers + 1, 2))
        receive_states(q, p, numbers);
    else if (item == OUTBOX_READY && count == 4)
        receive_ready(q, key, numbers[3]);
    else if (item == OUTBOX_RETURNED && count == 3)
        queue_receive_returned(q, key);
    else if (item == OUTBOX_UNCOUNTED)
        receive_uncounted(q);
    else if (item == OUTBOX_ROOM)
        limits_receive_slot(q);
    else if ((item == OUTBOX_GONE || item == OUTBOX_MOVED) && count == 4)
        receive_lease(q, key, numbers[3]);
    else if (p->node->number == PEER_SQL_NUMBER)
        receive_sql(q, p, item, numbers, count);
}

static void receive_end(const int64_t *numbers, int count) {
    if (count == 4)
        waitjob_receive_end((struct job_key){ (int32_t)numbers[0], (int16_t)numbers[1], numbers[2] },
                            numbers[3]);
}

void peer_queues_receive(const struct peer *p, enum outbox_item item, const int64_t *numbers, int count) {
    struct queue *q = queue_find_id((int32_t)numbers[0]);

    if (item == OUTBOX_ROW)
        peer_queues_find_queue((int32_t)numbers[0]);
    else if (item == OUTBOX_ENDED)
        receive_end(numbers, count);
    else if (q == NULL)
        keep_for_later(p, item, numbers, count);
    else
        receive_queue(q, p, item, numbers, count);
}
