/* HSET HMSET HSETNX HINCRBY HGET HMGET HGETALL: hashes of client libraries. BITFIELD BITFIELD_RO: their counters. */
#include <string.h>

#include "base/distinct.h"
#include "batch/operations.h"
#include "commands/dispatch.h"
#include "commands/library_fields.h"
#include "commands/library_keys.h"
#include "net/args.h"

/* ---- writes ---- */

static void reply_new_fields(struct library_values *v, const PGresult *rows) {
    reply_int(v->req, library_fields_new(v, rows));
}

static void reply_ok_to_put(struct library_values *v, const PGresult *rows) {
    (void)rows;
    reply_status(v->req, "OK");
}

static void hash_put(struct req *r, void (*reply)(struct library_values *, const PGresult *)) {
    struct library_values *v;

    if (!library_keys_or_end(r))
        return;
    if (r->argc % 2 != 0) {
        usage_reply_arity(r);
        req_end(r);
        return;
    }
    v = library_fields(r, reply);
    for (int i = 2; i + 1 < r->argc; i += 2)
        library_fields_add(v, r->argv[1], r->argv[i], r->argv[i + 1]);
    library_values_put(v);
}

void cmd_hset(struct req *r) {
    hash_put(r, reply_new_fields);
}

void cmd_hmset(struct req *r) {
    hash_put(r, reply_ok_to_put);
}

static void reply_written(struct library_values *v, const PGresult *rows) {
    reply_int(v->req, PQntuples(rows));
}

void cmd_hsetnx(struct req *r) {
    struct library_values *v = library_fields_or_end(r, reply_written);

    if (v == NULL)
        return;
    v->mode = PUT_ABSENT;
    library_fields_add(v, r->argv[1], r->argv[2], r->argv[3]);
    library_values_put(v);
}

void cmd_hincrby(struct req *r) {
    if (library_keys_or_end(r))
        library_fields_increment(r, r->argv[2], 3);
}

/* ---- reads ---- */

void cmd_hget(struct req *r) {
    struct library_values *v = library_fields_or_end(r, library_fields_reply_first);

    if (v == NULL)
        return;
    library_fields_ask(v, r->argv[1], r->argv[2]);
    library_values_read(v);
}

void cmd_hmget(struct req *r) {
    struct library_values *v = library_fields_or_end(r, library_fields_reply_all);

    if (v == NULL)
        return;
    for (int i = 2; i < r->argc; i++)
        library_fields_ask(v, r->argv[1], r->argv[i]);
    library_values_read(v);
}

static void reply_hash(struct library_values *v, const PGresult *rows) {
    reply_map(v->req, (size_t)PQntuples(rows));
    for (int i = 0; i < PQntuples(rows); i++) {
        reply_bulk(v->req, row_bytes(rows, i, COL_READ_VALUES_FIELD));
        reply_bulk(v->req, row_bytes(rows, i, COL_READ_VALUES_VALUE));
    }
}

void cmd_hgetall(struct req *r) {
    struct library_values *v = library_fields_or_end(r, reply_hash);

    if (v == NULL)
        return;
    library_fields_ask(v, r->argv[1], (struct slice){ 0 });
    library_values_read(v);
}

/* ---- BITFIELD ---- */

#define COUNTER_MOST 65535
#define COUNTER_FORM                                                                                        \
    "ERR syntax error: the server supports only counters: [OVERFLOW SAT] INCRBY u16 #index n, and GET u16 " \
    "#index"

/* The counter at argv[at] and argv[at + 1]: u16 #index. */
static bool is_counter(const struct req *r, int at) {
    return at + 1 < r->argc && slice_is(r->argv[at], "u16") && r->argv[at + 1].len > 1 &&
           r->argv[at + 1].ptr[0] == '#';
}

/* Returns the row of each field, from 1 on; 0: it has none. The rows are in no order. */
static const int *rows_of_fields(struct library_values *v, const PGresult *rows, int column) {
    size_t count = (size_t)PQntuples(rows), all = v->count + count;
    struct slice *names = req_alloc(v->req, all * sizeof *names);
    size_t *numbers = req_alloc(v->req, all * sizeof *numbers);
    int *row_of_number = req_alloc(v->req, all * sizeof *row_of_number);
    int *row_of = req_alloc(v->req, v->count * sizeof *row_of);

    for (size_t i = 0; i < v->count; i++)
        names[i] = v->fields[i].field;
    for (size_t row = 0; row < count; row++)
        names[v->count + row] = row_bytes(rows, (int)row, column);
    distinct_number(names, all, numbers);
    for (size_t row = 0; row < count; row++)
        row_of_number[numbers[v->count + row]] = (int)row + 1;
    for (size_t i = 0; i < v->count; i++)
        row_of[i] = row_of_number[numbers[i]];
    return row_of;
}

/* The columns field and value of both statements are side by side. */
static void reply_counters(struct library_values *v, const PGresult *rows, int column) {
    const int *row_of = rows_of_fields(v, rows, column);
    int64_t value = 0;

    reply_array(v->req, v->count);
    for (size_t i = 0; i < v->count; i++) {
        if (row_of[i] == 0 || !parse_int_strict(row_bytes(rows, row_of[i] - 1, column + 1), &value))
            value = 0;
        reply_int(v->req, value);
    }
}

static void reply_added_counters(struct library_values *v, const PGresult *rows) {
    reply_counters(v, rows, COL_PUT_VALUES_FIELD);
}

static void reply_read_counters(struct library_values *v, const PGresult *rows) {
    reply_counters(v, rows, COL_READ_VALUES_FIELD);
}

static bool counter_step_or_reply(struct library_values *v, int *at) {
    struct req *r = v->req;
    int64_t n;

    if (*at + 1 < r->argc && slice_is(r->argv[*at], "overflow") && slice_is(r->argv[*at + 1], "sat")) {
        *at += 2;
    } else if (slice_is(r->argv[*at], "incrby") && is_counter(r, *at + 1) && *at + 3 < r->argc &&
               parse_int_strict(r->argv[*at + 3], &n) && n >= 0 && n <= COUNTER_MOST) {
        library_fields_add(v, r->argv[1], r->argv[*at + 2], r->argv[*at + 3]);
        *at += 4;
    } else {
        req_error(r, COUNTER_FORM);
        return false;
    }
    return true;
}

void cmd_bitfield(struct req *r) {
    struct library_values *v = library_fields_or_end(r, reply_added_counters);
    int at = 2;

    if (v == NULL)
        return;
    v->mode = PUT_ADD;
    v->most = COUNTER_MOST;
    while (at < r->argc)
        if (!counter_step_or_reply(v, &at))
            return;
    if (v->count == 0)
        req_error(r, COUNTER_FORM);
    else
        library_values_put(v);
}

void cmd_bitfield_ro(struct req *r) {
    struct library_values *v = library_fields_or_end(r, reply_read_counters);

    if (v == NULL)
        return;
    for (int at = 2; at < r->argc; at += 3) {
        if (!slice_is(r->argv[at], "get") || !is_counter(r, at + 1)) {
            req_error(r, COUNTER_FORM);
            return;
        }
        library_fields_ask(v, r->argv[1], r->argv[at + 2]);
    }
    library_values_read(v);
}
