/* LLEN LINDEX LRANGE LPOS LREM: reads and removes elements of lists. */
#include "base/clock.h"
#include "base/saturate.h"
#include "batch/batch.h"
#include "batch/operations.h"
#include "commands/dispatch.h"
#include "jobs/list_read.h"
#include "jobs/page.h"
#include "net/args.h"
#include "queue/queue_iter.h"

void cmd_llen(struct req *r) {
    const struct queue *q = queue_find(r->argv[1]);

    req_int(r, q == NULL ? 0 : queue_len(q));
}

/* ---- LRANGE, LINDEX ---- */

/* A range of more than one page is read from its left end to its right end. The keys of both ends are found
 * first. */
enum range_step {
    RANGE_WHOLE, /* the whole range, if it is one page */
    RANGE_START, /* finds the first element by its index from the right */
    RANGE_STOP,  /* finds the element after the last one, by its index from the right */
    RANGE_PAGES,
};

struct range {
    struct list_read look;
    struct page page;
    enum range_step step;
    int64_t start; /* index of the first element from the right, from 0; less than 0: already found */
    int64_t left;  /* index of the first element from the left, if it is known */
    int64_t offset;
    int64_t limit; /* maximum rows; less than 0: none */
    int64_t drop;  /* number of last rows outside the range */
    int64_t back;  /* distance of the start from the right, if the end counts from the left; else 0 */
    bool turned;   /* the rows come in reverse order */
    bool one;      /* replies an element, not an array */
};

static void list_list_encode(struct params *p, struct task *t) {
    struct range *g = REQ_OF_TASK(t)->data;
    struct job_key first = list_read_first_key(&g->look);

    if (job_key_before(first, g->page.after))
        first = g->page.after;
    params_set_int4(p, 0, g->look.q->id);
    params_set_int2(p, 1, first.rank);
    params_set_int8(p, 2, first.id);
    params_set_int8(p, 3, g->offset);
    params_set_int8(p, 4, g->page.rows);
    params_set_time(p, 5, clock_db());
    params_set_int2(p, 6, g->page.until.rank);
    params_set_int8(p, 7, g->page.until.id);
    params_set_int8(p, 8, g->page.bytes);
}

/* The number of first rows outside the range. If as many rows as the limit were found, the range begins after
 * its end: all rows are outside. */
static int64_t skipped(const struct range *g, int64_t found) {
    if (g->back == 0 || found < g->back)
        return 0;
    return found < g->limit ? found - g->back : found;
}

/* Has the result only bodies? */
static bool is_bodies(const struct range *g) {
    return g->look.at_front == &op_whole_first;
}

static struct slice list_element(const struct range *g, const PGresult *rows, int row) {
    struct slice body = row_bytes(rows, row, is_bodies(g) ? COL_WHOLE_FIRST_BODY : COL_LIST_FIRST_BODY);

    queue_note_body(g->look.q, body.len);
    return body;
}

static void reply_whole(struct range *g, const PGresult *rows) {
    struct req *r = g->look.req;
    int64_t found = PQntuples(rows), to = found - g->drop;
    int from = (int)skipped(g, found), n;

    if (g->back > 0 && to > g->limit - g->back)
        to = g->limit - g->back;
    n = (int)(to > from ? to - from : 0);
    if (g->one && n == 0)
        reply_null_bulk(r);
    else if (!g->one)
        reply_array(r, (size_t)n);
    for (int i = 0; i < n; i++)
        reply_bulk(r, list_element(g, rows, g->turned ? n - 1 - i : from + i));
    req_end(r);
}

static void list_add_element(struct page *p, const PGresult *rows, int i) {
    reply_bulk(p->req, list_element(p->req->data, rows, i));
}

static void range_send(struct range *g, enum range_step step, enum list_end from) {
    g->step = step;
    g->look.from = from;
    page_plan(&g->page, g->offset);
    list_read_send(&g->look);
}

/* Finds one element by its index from the right. */
static void find_place(struct range *g, enum range_step step, int64_t place) {
    g->offset = place;
    g->page.wanted = 1;
    range_send(g, step, END_RIGHT);
}

static void read_pages(struct range *g, int64_t offset) {
    g->page.backwards = list_read_consume_end(g->look.q) != END_LEFT;
    g->offset = offset;
    g->page.wanted = g->limit < 0 ? INT64_MAX : g->limit;
    range_send(g, RANGE_PAGES, END_LEFT);
}

/* drop > 0: the range ends before the element with this index from the right. */
static void find_stop(struct range *g) {
    if (g->drop > 0)
        find_place(g, RANGE_STOP, g->drop - 1);
    else
        read_pages(g, g->start < 0 ? g->left : 0);
}

/* Called if the range is more than one page. */
static void begin_pages(struct range *g) {
    g->look.at_front = &op_list_first;
    g->look.at_back = &op_list_last;
    g->start = -1;
    g->left = g->offset;
    if (!g->turned) {
        find_stop(g);
        return;
    }
    g->start = g->offset + g->limit - 1;
    g->drop = g->offset;
    g->limit = -1;
    find_place(g, RANGE_START, g->start);
}

/* The range begins with this element, so the bound is the key before it. */
static void set_start(struct range *g, struct job_key key) {
    if (list_read_consume_end(g->look.q) == END_LEFT) {
        key.id--;
        g->page.after = key;
    } else {
        key.id++;
        g->page.until = key;
    }
}

static void set_stop(struct range *g, struct job_key key) {
    if (list_read_consume_end(g->look.q) == END_LEFT)
        g->page.until = key;
    else
        g->page.after = key;
}

static struct job_key element_key(const struct range *g, const PGresult *rows) {
    return row_key(g->look.q->id, rows, 0, COL_LIST_FIRST_RANK);
}

/* If the list has no such index, it is shorter. All elements are then after the start, and none is before the
 * stop. */
static void place_found(struct range *g, const PGresult *rows) {
    bool is_there = PQntuples(rows) > 0;

    if (g->step == RANGE_START) {
        if (is_there)
            set_start(g, element_key(g, rows));
        find_stop(g);
    } else if (is_there) {
        set_stop(g, element_key(g, rows));
        read_pages(g, g->start < 0 ? g->left : 0);
    } else {
        g->look.q->users--;
        reply_array(g->look.req, 0);
        req_end(g->look.req);
    }
}

/* A result with only bodies is also empty if the range is larger than a page. */
static bool is_whole(const struct range *g, const PGresult *rows) {
    int n = PQntuples(rows);

    if (n >= g->page.wanted)
        return true;
    return is_bodies(g) ? n > 0 && n < g->page.rows : page_is_last(rows, g->page.rows, g->page.bytes);
}

static void list_list_done(struct task *t, const PGresult *rows) {
    struct range *g = REQ_OF_TASK(t)->data;
    struct queue *q = g->look.q;

    if (g->step == RANGE_START || g->step == RANGE_STOP) {
        place_found(g, rows);
    } else if (g->step == RANGE_PAGES) {
        g->offset = 0;
        if (page_take(&g->page, rows, COL_LIST_FIRST_RANK, list_add_element))
            range_send(g, RANGE_PAGES, END_LEFT);
        else
            q->users--;
    } else if (is_whole(g, rows)) {
        q->users--;
        reply_whole(g, rows);
    } else if (g->page.in_txn) {
        q->users--;
        page_refuse(&g->page);
    } else {
        begin_pages(g);
    }
}

static void list_list_fail(struct task *t, const struct op_error *err) {
    struct range *g = REQ_OF_TASK(t)->data;

    page_free(&g->page);
    list_read_fail(t, err);
}

#define READ_OP(id, encoder, end, failure) \
    OPERATION(id, .alone = true, .encode = encoder, .on_end = end, .fail = failure)

READ_OP(list_first, list_list_encode, list_list_done, list_list_fail);
READ_OP(list_last, list_list_encode, list_list_done, list_list_fail);
READ_OP(whole_first, list_list_encode, list_list_done, list_list_fail);
READ_OP(whole_last, list_list_encode, list_list_done, list_list_fail);

/* In a client transaction a range that is larger than a page is refused, so the sizes of the rows are needed. */
static void range_start(struct range *g) {
    if (!g->one && !req_in_txn(g->look.req)) {
        g->look.at_front = &op_whole_first;
        g->look.at_back = &op_whole_last;
    }
    page_init(&g->page, g->look.req, g->look.q, g->limit < 0 ? INT64_MAX : g->limit);
    page_plan(&g->page, g->offset);
    list_read_start(&g->look);
}

/* Counts from the left, unless both indexes count from the right. If only the last index counts from the
 * right, reads up to the right end and drops elements there. */
static void set_range(struct range *g, int64_t first, int64_t last) {
    if (first < 0) {
        g->look.from = END_RIGHT;
        g->turned = true;
        g->offset = -last - 1;
        g->limit = last - first + 1;
        return;
    }
    g->offset = first;
    g->limit = last < 0 ? -1 : last - first + 1;
    g->drop = last < 0 ? -last - 1 : 0;
}

/* The first index counts from the right, and the last from the left. The statement finds the length. */
static void set_range_back(struct range *g, int64_t first, int64_t last) {
    g->back = -first;
    g->limit = g->back + last + 1;
}

void cmd_lrange(struct req *r) {
    struct range *g = req_alloc(r, sizeof *g);
    bool there = list_read_init(&g->look, r, &op_list_first, &op_list_last);
    int64_t first, last;

    if (!args_integer_or_reply(r, 2, &first) || !args_integer_or_reply(r, 3, &last))
        return;
    first = list_index(first);
    last = list_index(last);
    /* The range depends on the length, because one index counts from the left and the other from the right. */
    if (there && first < 0 && last >= 0 && !req_in_txn(g->look.req))
        first = int64_at_least_zero(first + queue_len(g->look.q));
    if (!there || ((first < 0) == (last < 0) && last < first)) {
        reply_array(r, 0);
        req_end(r);
        return;
    }
    if (first < 0 && last >= 0)
        set_range_back(g, first, last);
    else
        set_range(g, first, last);
    range_start(g);
}

void cmd_lindex(struct req *r) {
    struct range *g = req_alloc(r, sizeof *g);
    bool there = list_read_init(&g->look, r, &op_list_first, &op_list_last);
    int64_t index;

    if (!there || (!req_in_txn(g->look.req) && !queue_is_key(g->look.q))) {
        reply_null_bulk(r);
        req_end(r);
        return;
    }
    if (!args_integer_or_reply(r, 2, &index))
        return;
    g->one = true;
    set_range(g, list_index(index), list_index(index));
    range_start(g);
}

/* ---- LPOS ---- */

struct list_finding {
    struct list_read look;
    int64_t rank;   /* number of the match, from 1 on; less than 0: from the right */
    int64_t count;  /* number of matches to reply, 0: all; less than 0: one, not as an array */
    int64_t maxlen; /* number of elements to compare; 0: all */
};

#define NO_RANK_ZERO                                                                                         \
    "ERR RANK can't be zero: use 1 to start from the first match, 2 from the second ... or use negative to " \
    "start from the end of the list"

static const struct arg_option find_words[] = {
    { "RANK", ARG_REDIS_INT, offsetof(struct list_finding, rank), -INT64_MAX, INT64_MAX, NOT_AN_INTEGER },
    { "COUNT", ARG_REDIS_INT, offsetof(struct list_finding, count), 0, INT64_MAX,
      "ERR COUNT can't be negative" },
    { "MAXLEN", ARG_REDIS_INT, offsetof(struct list_finding, maxlen), 0, INT64_MAX,
      "ERR MAXLEN can't be negative" },
};

static const struct arg_spec find_spec = { find_words, LENGTH(find_words), NULL, NULL, NULL };

/* The indexes of one reply. */
#define PLACES_MOST 100000

/* With one index more than PLACES_MOST, the reply is refused. */
static int64_t places_wanted(const struct list_finding *f) {
    if (f->count < 0)
        return 1;
    return f->count == 0 || f->count > PLACES_MOST ? PLACES_MOST + 1 : f->count;
}

static void list_find_encode(struct params *p, struct task *t) {
    const struct req *r = REQ_OF_TASK(t);
    const struct list_finding *f = r->data;

    list_read_encode(p, &f->look);
    params_set_int8_or_null(p, 3, f->maxlen == 0 ? -1 : f->maxlen);
    params_set_time(p, 4, clock_db());
    params_bytea(p, 5, r->argv[2]);
    params_set_int8(p, 6, (f->rank < 0 ? -f->rank : f->rank) - 1);
    params_set_int8(p, 7, places_wanted(f));
    params_set_bool(p, 8, f->rank < 0);
}

/* Columns: place, total. */
static int64_t index_at(const struct list_finding *f, const PGresult *rows, int row) {
    int64_t place = row_int8(rows, row, COL_FIND_FIRST_PLACE);

    return f->rank < 0 ? row_int8(rows, row, COL_FIND_FIRST_TOTAL) - 1 - place : place;
}

static void find_nothing(struct req *r) {
    if (((const struct list_finding *)r->data)->count < 0)
        reply_null_bulk(r);
    else
        reply_array(r, 0);
    req_end(r);
}

static void list_find_done(struct task *t, const PGresult *rows) {
    struct req *r = REQ_OF_TASK(t);
    const struct list_finding *f = r->data;
    int n = PQntuples(rows);

    f->look.q->users--;
    if (n == 0) {
        find_nothing(r);
        return;
    }
    if (n > PLACES_MOST) {
        req_error(r, "LIMIT more than %d elements match: use COUNT and RANK, or MAXLEN", PLACES_MOST);
        return;
    }
    if (f->count >= 0)
        reply_array(r, (size_t)n);
    for (int i = 0; i < n; i++)
        reply_int(r, index_at(f, rows, i));
    req_end(r);
}

READ_OP(find_first, list_find_encode, list_find_done, list_read_fail);
READ_OP(find_last, list_find_encode, list_find_done, list_read_fail);

void cmd_lpos(struct req *r) {
    struct list_finding *f = req_alloc(r, sizeof *f);
    bool there = list_read_init(&f->look, r, &op_find_first, &op_find_last);
    int end;

    f->rank = 1;
    f->count = -1;
    if (!args_parse_or_reply(r, 3, &find_spec, f, &end))
        return;
    if (f->rank == 0) {
        req_error(r, NO_RANK_ZERO);
        return;
    }
    if (!there) {
        find_nothing(r);
        return;
    }
    f->look.from = f->rank < 0 ? END_RIGHT : END_LEFT;
    task_reads(&r->task,
               queue_rows_read(f->look.q, 0, f->maxlen == 0 || f->rank < 0 ? INT64_MAX : f->maxlen, false));
    list_read_start(&f->look);
}

/* ---- LREM ---- */

struct removal {
    struct list_read look;
    int32_t limit;
};

static void remove_encode(struct params *p, struct task *t) {
    const struct req *r = REQ_OF_TASK(t);
    struct removal *m = r->data;

    list_read_encode_change(p, &m->look);
    params_set_int4(p, 3, m->limit);
    params_set_time(p, 4, clock_db());
    params_bytea(p, 5, r->argv[3]);
}

static void remove_done(struct task *t, const PGresult *rows) {
    struct req *r = REQ_OF_TASK(t);
    const struct list_read *l = r->data;

    list_read_count_gone(l, rows);
    l->q->users--;
    req_int(r, PQntuples(rows));
}

#define REMOVE_OP(id)                                                                                    \
    OPERATION(id, .alone = true, .encode = remove_encode, .on_end = remove_done, .fail = list_read_fail, \
              .again = list_read_again, .answer_lost = list_read_answer_lost)

REMOVE_OP(remove_first);
REMOVE_OP(remove_last);

void cmd_lrem(struct req *r) {
    struct removal *m = req_alloc(r, sizeof *m);
    bool there = list_read_init(&m->look, r, &op_remove_first, &op_remove_last);
    int64_t count;

    if (!args_integer_or_reply(r, 2, &count))
        return;
    if (!there) {
        req_int(r, 0);
        return;
    }
    count = list_index(count);
    m->look.from = count < 0 ? END_RIGHT : END_LEFT;
    m->limit = (int32_t)(count == 0 ? INT32_MAX : count < 0 ? -count : count);
    task_reads(&r->task, queue_rows_read(m->look.q, 0, INT64_MAX, false));
    list_read_start(&m->look);
}
