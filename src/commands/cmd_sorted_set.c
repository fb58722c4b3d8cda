/* ZADD ZINCRBY ZREM ZREMRANGE... ZPOPMIN ZCARD ZRANGE ZREVRANGE ZRANGEBYSCORE ZSCAN: sorted sets of libraries. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/distinct.h"
#include "base/glob.h"
#include "base/json.h"
#include "batch/operations.h"
#include "commands/dispatch.h"
#include "commands/laravel.h"
#include "commands/library_keys.h"
#include "commands/member_scan.h"
#include "jobs/sorted_set.h"
#include "net/args.h"
#include "queue/queue_rights.h"

/* ---- scores ---- */

/* A score is a Unix time in seconds. It is kept in microseconds. */
#define SCORE_TEXT_MAX 64
#define SCORE_MOST 9e9 /* the year 2255 */
#define NOT_A_SCORE "ERR value is not a valid float"
#define NOT_A_TIME "ERR a score is a Unix time in seconds between 0 and 9000000000"

static bool parse_score(struct slice text, double *score) {
    char copy[SCORE_TEXT_MAX + 1];
    char *end;

    if (text.len == 0 || text.len > SCORE_TEXT_MAX)
        return false;
    memcpy(copy, text.ptr, text.len);
    copy[text.len] = '\0';
    *score = strtod(copy, &end);
    return end == copy + text.len && copy[0] != ' ' && !isnan(*score);
}

static int64_t score_us(double score) {
    return llround(score * (double)US_PER_S);
}

static bool score_or_reply(struct req *r, int at, bool may_be_negative, int64_t *us) {
    double score;

    if (!parse_score(r->argv[at], &score))
        usage_invalid(r, at, NOT_A_SCORE);
    else if (fabs(score) > SCORE_MOST || (score < 0 && !may_be_negative))
        usage_invalid(r, at, NOT_A_TIME);
    else {
        *us = score_us(score);
        return true;
    }
    return false;
}

/* A bound of a range: a score, (score for an excluded one, -inf, +inf. side: 1 for the lower bound, -1 for the upper. */
static bool bound_or_reply(struct req *r, int at, int side, int64_t *us) {
    struct slice text = r->argv[at];
    bool excluded = text.len > 1 && text.ptr[0] == '(';
    double score;

    if (excluded)
        text = (struct slice){ text.ptr + 1, text.len - 1 };
    if (!parse_score(text, &score)) {
        usage_error(r, "ERR min or max is not a float");
        return false;
    }
    if (fabs(score) > SCORE_MOST)
        *us = score > 0 ? TIME_NEVER : TIME_BEGINNING;
    else
        *us = score_us(score) + (excluded ? side : 0);
    return true;
}

static const char *score_text(int64_t us, char text[SCORE_TEXT_MAX]) {
    size_t len;

    snprintf(text, SCORE_TEXT_MAX, "%s%lld.%06lld", us < 0 ? "-" : "", llabs(us) / US_PER_S,
             llabs(us) % US_PER_S);
    for (len = strlen(text); text[len - 1] == '0'; len--)
        continue;
    text[text[len - 1] == '.' ? len - 1 : len] = '\0';
    return text;
}

static void reply_score(struct req *r, int64_t us) {
    char text[SCORE_TEXT_MAX];

    if (r->proto == 3)
        buf_printf(reply_buf(r), ",%s\r\n", score_text(us, text));
    else
        reply_bulk_str(r, score_text(us, text));
}

/* ---- ZADD, ZINCRBY ---- */

static struct sorted_set *sorted_set_new(struct req *r,
                                         void (*reply)(struct sorted_set *s, const PGresult *rows,
                                                       int64_t changed)) {
    struct sorted_set *s = req_alloc(r, sizeof *s);

    *s = (struct sorted_set){ .req = r, .name = r->argv[1], .range = SET_RANGE_ALL, .reply = reply };
    s->dead = library_key_find(r->argv[1])->kind == KIND_DEAD_JOBS;
    return s;
}

static void reply_changed(struct sorted_set *s, const PGresult *rows, int64_t changed) {
    (void)rows;
    reply_int(s->req, changed);
}

/* The list of a member: queue:NAME, if the member is an object with "queue":"NAME". ptr NULL: there is none. */
static struct slice list_of_member(struct req *r, struct slice member) {
    static const struct slice word = { "queue:", 6 };
    struct slice value, name;
    char *list;

    if (json_kind_of(member) != JSON_OBJECT || json_field(member, "queue", &value) != JSON_FOUND ||
        !json_plain_string(value, &name) || name.len == 0 || name.len > NAME_MAX_BYTES - word.len)
        return (struct slice){ 0 };
    list = req_alloc(r, word.len + name.len);
    memcpy(list, word.ptr, word.len);
    memcpy(list + word.len, name.ptr, name.len);
    return (struct slice){ list, word.len + name.len };
}

/* Finds the queue of all members. */
static bool queue_of_members_or_reply(struct sorted_set *s) {
    struct slice list = list_of_member(s->req, s->bodies[0]);

    for (size_t i = 1; i < s->count && list.ptr != NULL; i++) {
        if (!slice_equal(list_of_member(s->req, s->bodies[i]), list)) {
            req_error(s->req, "ERR all members of a ZADD must have the same queue");
            return false;
        }
    }
    if (list.ptr == NULL) {
        req_error(s->req, "ERR a member must be a JSON object with a field queue");
        return false;
    }
    if (!queue_rights_allow_or_reply(s->req, ACL_WRITE, list))
        return false;
    s->q = queue_get(list);
    return true;
}

/* The last score of a member counts, at the place of the member's first one. */
static void add_pairs(struct req *r, struct sorted_set *s) {
    size_t pairs = ((size_t)r->argc - 2) / 2, *places = req_alloc(r, pairs * sizeof *places);
    struct slice *bodies = req_alloc(r, pairs * sizeof *bodies);
    int64_t *times = req_alloc(r, pairs * sizeof *times);

    for (size_t i = 0; i < pairs; i++) {
        if (!score_or_reply(r, 2 + 2 * (int)i, s->adds, &times[i]))
            return;
        bodies[i] = r->argv[3 + 2 * i];
    }
    s->count = distinct_number(bodies, pairs, places);
    for (size_t i = 0; i < pairs; i++) {
        bodies[places[i]] = bodies[i];
        times[places[i]] = times[i];
    }
    s->bodies = bodies;
    s->times = times;
    if (queue_of_members_or_reply(s))
        sorted_set_add(s);
}

void cmd_zadd(struct req *r) {
    if (!library_keys_or_end(r) || laravel_runs(r))
        return;
    if (r->argc % 2 != 0)
        usage_error(r, SYNTAX_ERROR ": pgdisque supports no options of ZADD");
    else if ((r->argc - 2) / 2 > SET_MEMBERS_MAX)
        req_error(r, "LIMIT a ZADD must have at most %d members", SET_MEMBERS_MAX);
    else
        add_pairs(r, sorted_set_new(r, reply_changed));
}

static void reply_new_score(struct sorted_set *s, const PGresult *rows, int64_t changed) {
    (void)changed;
    for (int i = 0; i < PQntuples(rows); i++)
        if (row_bool(rows, i, COL_ADD_MEMBERS_ADDED))
            reply_score(s->req, row_time(rows, i, COL_ADD_MEMBERS_READY_AT));
}

void cmd_zincrby(struct req *r) {
    struct sorted_set *s;

    if (!library_keys_or_end(r))
        return;
    s = sorted_set_new(r, reply_new_score);
    s->adds = true;
    add_pairs(r, s);
}

/* ---- ZREM ---- */

void cmd_zrem(struct req *r) {
    struct sorted_set *s;

    if (!library_keys_or_end(r) || laravel_runs(r))
        return;
    if (r->argc - 2 > SET_MEMBERS_MAX) {
        req_error(r, "LIMIT a ZREM must have at most %d members", SET_MEMBERS_MAX);
        return;
    }
    s = sorted_set_new(r, reply_changed);
    s->bodies = r->argv + 2;
    s->count = (size_t)r->argc - 2;
    sorted_set_remove(s);
}

/* ---- ranges ---- */

struct set_view {
    struct sorted_set set;
    bool turned; /* the rows come in reverse order */
    bool empty;  /* the ranks tell that there are no members */
    bool withscores;
    bool byscore;
    bool rev;
    int64_t offset;
    int64_t limit;
    bool limited;
};

/* Translates ranks, which count from the end if they are negative. False: the error has been replied. */
static bool ranks_or_reply(struct req *r, struct set_view *v, bool rev) {
    struct set_range *g = &v->set.range;
    int64_t start, stop;

    if (!args_integer_or_reply(r, 2, &start) || !args_integer_or_reply(r, 3, &stop))
        return false;
    start = start < -INT32_MAX ? -INT32_MAX : start;
    stop = stop > INT32_MAX ? INT32_MAX : stop < -INT32_MAX ? -INT32_MAX - 1 : stop;
    v->empty = start > INT32_MAX || ((start < 0) == (stop < 0) && start > stop);
    if (start < 0 && stop >= 0) {
        usage_error(r, "ERR a negative start needs a negative stop here");
        return false;
    }
    v->turned = start < 0 || (start == 0 && stop < -1);
    if (v->turned) {
        g->offset = -stop - 1;
        g->limit = start < 0 ? stop - start + 1 : -1;
    } else {
        g->offset = start;
        g->drop = stop < 0 ? -stop - 1 : 0;
        g->limit = stop < 0 ? -1 : stop - start + 1;
    }
    g->backwards = v->turned != rev;
    return true;
}

static bool scores_or_reply(struct req *r, struct set_view *v) {
    int low = v->rev ? 3 : 2;

    v->set.range.backwards = v->rev;
    v->set.range.offset = v->limited ? v->offset : 0;
    v->set.range.limit = v->limited ? v->limit : -1;
    v->empty = v->set.range.offset < 0;
    return bound_or_reply(r, low, 1, &v->set.range.from) && bound_or_reply(r, 5 - low, -1, &v->set.range.to);
}

static struct set_view *set_view_new(struct req *r, void (*reply)(struct sorted_set *s, const PGresult *rows,
                                                                  int64_t changed)) {
    struct set_view *v = req_alloc(r, sizeof *v);

    v->set = *sorted_set_new(r, reply);
    return v;
}

static bool limit_or_reply(struct req *r, int *at, void *out) {
    struct set_view *v = out;

    if (!slice_is(r->argv[*at], "limit") || *at + 2 >= r->argc ||
        !parse_int_strict(r->argv[*at + 1], &v->offset) || !parse_int_strict(r->argv[*at + 2], &v->limit)) {
        usage_error(r, SYNTAX_ERROR);
        return false;
    }
    v->limited = true;
    *at += 3;
    return true;
}

static const struct arg_option range_words[] = {
    { "WITHSCORES", ARG_FLAG, offsetof(struct set_view, withscores), 0, 0, NULL },
    { "BYSCORE", ARG_FLAG, offsetof(struct set_view, byscore), 0, 0, NULL },
    { "REV", ARG_FLAG, offsetof(struct set_view, rev), 0, 0, NULL },
};

static const struct arg_spec range_spec = { range_words, LENGTH(range_words), NULL, NULL, limit_or_reply };

/* In RESP3 a member and its score are an array. */
static void reply_set_member(struct req *r, const PGresult *rows, int row, int at, int body,
                             bool withscores) {
    if (withscores && r->proto == 3)
        reply_array(r, 2);
    reply_bulk(r, row_bytes(rows, row, body));
    if (withscores)
        reply_score(r, row_time(rows, row, at));
}

static void reply_range(struct sorted_set *s, const PGresult *rows, int64_t changed) {
    const struct set_view *v = CONTAINER_OF(s, struct set_view, set);
    int n = PQntuples(rows);

    (void)changed;
    reply_array(s->req, (size_t)n * (v->withscores && s->req->proto == 2 ? 2 : 1));
    for (int i = 0; i < n; i++)
        reply_set_member(s->req, rows, v->turned ? n - 1 - i : i, COL_READ_MEMBERS_AT, COL_READ_MEMBERS_BODY,
                         v->withscores);
}

static void set_view_read(struct set_view *v) {
    if (!v->empty) {
        sorted_set_read(&v->set);
        return;
    }
    reply_array(v->set.req, 0);
    req_end(v->set.req);
}

/* The options of a range; NULL: the request has ended with an error. */
static struct set_view *range_or_end(struct req *r) {
    struct set_view *v;
    int end;

    if (!library_keys_or_end(r))
        return NULL;
    v = set_view_new(r, reply_range);
    return args_parse_or_reply(r, 4, &range_spec, v, &end) ? v : NULL;
}

void cmd_zrange(struct req *r) {
    struct set_view *v = range_or_end(r);

    if (v == NULL)
        return;
    if (v->limited && !v->byscore)
        usage_error(r, SYNTAX_ERROR ": LIMIT needs BYSCORE");
    else if (v->byscore ? scores_or_reply(r, v) : ranks_or_reply(r, v, v->rev))
        set_view_read(v);
}

static void old_range(struct req *r, bool byscore) {
    struct set_view *v = range_or_end(r);

    if (v == NULL)
        return;
    if (v->rev || v->byscore || (v->limited && !byscore))
        usage_error(r, SYNTAX_ERROR);
    else if (byscore ? scores_or_reply(r, v) : ranks_or_reply(r, v, true))
        set_view_read(v);
}

void cmd_zrevrange(struct req *r) {
    old_range(r, false);
}

void cmd_zrangebyscore(struct req *r) {
    old_range(r, true);
}

/* ---- removal of ranges ---- */

static void set_view_remove(struct set_view *v) {
    if (v->empty)
        req_int(v->set.req, 0);
    else
        sorted_set_remove_range(&v->set);
}

void cmd_zremrangebyscore(struct req *r) {
    struct set_view *v;

    if (!library_keys_or_end(r))
        return;
    v = set_view_new(r, reply_changed);
    if (scores_or_reply(r, v))
        set_view_remove(v);
}

void cmd_zremrangebyrank(struct req *r) {
    struct set_view *v;

    if (!library_keys_or_end(r))
        return;
    v = set_view_new(r, reply_changed);
    if (ranks_or_reply(r, v, false))
        set_view_remove(v);
}

static void reply_popped(struct sorted_set *s, const PGresult *rows, int64_t changed) {
    struct req *r = s->req;
    bool pairs = r->proto == 3 && r->argc == 3;
    int n = PQntuples(rows);

    (void)changed;
    reply_array(r, (size_t)n * (pairs ? 1 : 2));
    for (int i = 0; i < n; i++) {
        if (pairs)
            reply_array(r, 2);
        reply_bulk(r, row_bytes(rows, i, COL_REMOVE_RANGE_BODY));
        reply_score(r, row_time(rows, i, COL_REMOVE_RANGE_AT));
    }
}

void cmd_zpopmin(struct req *r) {
    struct set_view *v;
    int64_t count = 1;

    if (!library_keys_or_end(r) || (r->argc == 3 && !args_integer_or_reply(r, 2, &count)))
        return;
    if (r->argc > 3 || count < 0 || count > SET_MEMBERS_MAX) {
        usage_error(r, "ERR value is out of range, must be positive, and at most %d", SET_MEMBERS_MAX);
        return;
    }
    v = set_view_new(r, reply_popped);
    v->set.range.limit = count;
    sorted_set_remove_range(&v->set);
}

/* ---- ZCARD, ZSCAN ---- */

void cmd_zcard(struct req *r) {
    if (library_keys_or_end(r) && !laravel_runs(r))
        sorted_set_count(sorted_set_new(r, reply_changed));
}

/* The cursor has the score of the next member in microseconds, and in its last bits the pages of members with that score
 * that were replied. */
#define SCAN_PAGE 1000
#define SCAN_PAGE_BITS 10

struct set_scan {
    struct sorted_set set;
    struct slice match; /* ptr NULL: all */
    int64_t count;
    int64_t pages;
};

/* How many of the rows belong to this step. A page that is full leaves off the members with its last score, unless all
 * have that score. */
static int rows_of_step(struct set_scan *z, const PGresult *rows, int64_t *cursor) {
    int n = PQntuples(rows), kept = n;
    int64_t last = n > 0 ? row_time(rows, n - 1, COL_READ_MEMBERS_AT) : 0;

    *cursor = 0;
    if (n < SCAN_PAGE)
        return n;
    while (kept > 0 && row_time(rows, kept - 1, COL_READ_MEMBERS_AT) == last)
        kept--;
    *cursor = last * (1 << SCAN_PAGE_BITS);
    if (kept > 0)
        return kept;
    *cursor += z->pages + 1;
    return n;
}

static void reply_set_scan(struct sorted_set *s, const PGresult *rows, int64_t changed) {
    struct set_scan *z = CONTAINER_OF(s, struct set_scan, set);
    struct member_scan *found;
    int64_t cursor;
    int n = rows_of_step(z, rows, &cursor);

    (void)changed;
    found = member_scan_new(s->req, z->match, cursor, (size_t)n);
    for (int i = 0; i < n; i++) {
        char *text = req_alloc(s->req, SCORE_TEXT_MAX);

        member_scan_add(found, row_bytes(rows, i, COL_READ_MEMBERS_BODY),
                        slice_str(score_text(row_time(rows, i, COL_READ_MEMBERS_AT), text)));
    }
    member_scan_reply(found);
}

static const struct arg_option zscan_words[] = {
    { "MATCH", ARG_BYTES, offsetof(struct set_scan, match), 0, PATTERN_MAX,
      "LIMIT a pattern must be at most 1024 bytes long" },
    { "COUNT", ARG_REDIS_INT, offsetof(struct set_scan, count), 1, INT64_MAX, SYNTAX_ERROR },
};

static const struct arg_spec zscan_spec = { zscan_words, LENGTH(zscan_words), NULL, NULL, NULL };

void cmd_zscan(struct req *r) {
    struct set_scan *z = req_alloc(r, sizeof *z);
    int64_t cursor;

    if (!library_scan_or_end(r, &zscan_spec, z, &cursor))
        return;
    z->set = *sorted_set_new(r, reply_set_scan);
    z->set.goes_on = true;
    z->pages = cursor % (1 << SCAN_PAGE_BITS);
    if (cursor > 0)
        z->set.range.from = cursor >> SCAN_PAGE_BITS;
    z->set.range.offset = z->pages * SCAN_PAGE;
    z->set.range.limit = SCAN_PAGE;
    sorted_set_read(&z->set);
}
