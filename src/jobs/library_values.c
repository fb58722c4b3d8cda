/* Small values of client libraries: written, read, deleted, expired. */
#include "jobs/library_values.h"

#include <string.h>

#include "base/clock.h"
#include "base/distinct.h"
#include "batch/batch.h"
#include "batch/commit_marker.h"
#include "batch/operations.h"
#include "net/args.h"

/* Rows deleted by one statement. The next run, ten seconds later, deletes more. */
#define VALUES_PRUNE_LIMIT 20000

/* Bytes of the table at the last prune. */
static int64_t table_bytes;

static struct library_values *library_values_of(const struct task *t) {
    return REQ_OF_TASK(t)->data;
}

/* ---- bounds ---- */

static bool field_fits_or_reply(struct req *r, const struct library_field *f) {
    if (f->value.len > LIBRARY_VALUE_MAX)
        req_error(r, "LIMIT a value of a library must be at most %zu bytes long", LIBRARY_VALUE_MAX);
    else
        return args_fit_or_reply(r, "a key of a library", f->key, LIBRARY_NAME_MAX) &&
               args_fit_or_reply(r, "a field of a library's key", f->field, LIBRARY_NAME_MAX);
    return false;
}

/* Tests the bounds of fields and values. False: the error has been replied, and the request has ended. */
static bool library_values_fit_or_reply(struct library_values *v) {
    if (v->count > LIBRARY_FIELDS_MAX) {
        req_error(v->req, "LIMIT a key of a library must have at most %d fields", LIBRARY_FIELDS_MAX);
        return false;
    }
    for (size_t i = 0; i < v->count; i++)
        if (!field_fits_or_reply(v->req, &v->fields[i]))
            return false;
    return true;
}

/* ---- different fields ---- */

/* Bytes that only fields of the same key and name have. */
static struct slice library_field_bytes(struct req *r, const struct library_field *f) {
    size_t len = sizeof f->key.len + f->key.len + f->field.len;
    char *bytes = req_alloc(r, len);

    memcpy(bytes, &f->key.len, sizeof f->key.len);
    memcpy(bytes + sizeof f->key.len, f->key.ptr, f->key.len);
    memcpy(bytes + len - f->field.len, f->field.ptr, f->field.len);
    return (struct slice){ bytes, len };
}

/* A statement writes no row twice. The bounds must hold before, because the names are copied. */
static void library_values_unite(struct library_values *v) {
    struct slice *names = req_alloc(v->req, v->count * sizeof *names);
    size_t *places = req_alloc(v->req, v->count * sizeof *places), different;

    for (size_t i = 0; i < v->count; i++)
        names[i] = library_field_bytes(v->req, &v->fields[i]);
    different = distinct_number(names, v->count, places);
    for (size_t i = 0; i < v->count; i++)
        v->fields[places[i]] = v->fields[i];
    v->count = different;
}

/* ---- statements ---- */

static void library_values_send(struct library_values *v, struct op *op) {
    struct req *r = v->req;

    r->data = v;
    r->task.op = op;
    r->task.rows = (uint32_t)v->count;
    r->task.bytes = 0;
    for (size_t i = 0; i < v->count; i++) {
        r->task.bytes += v->fields[i].key.len + v->fields[i].field.len + v->fields[i].value.len;
        if (v->fields[i].field.ptr == NULL)
            task_reads(&r->task, TASK_READS_MANY);
    }
    batch_add(&r->task);
}

static void encode_fields(struct params *p, const struct library_values *v) {
    for (size_t i = 0; i < v->count; i++) {
        params_bytea(p, 0, v->fields[i].key);
        params_bytea_or_null(p, 1, v->fields[i].field);
    }
}

static void library_values_done(struct task *t, const PGresult *rows) {
    struct library_values *v = library_values_of(t);
    struct req *r = v->req;
    bool goes_on = v->goes_on;

    /* reply() may end the request, which frees v. */
    v->reply(v, rows);
    if (!goes_on)
        req_end(r);
}

/* An increment must not run twice. */
static void values_put_encode(struct params *p, struct task *t) {
    const struct library_values *v = library_values_of(t);

    if (v->mode != PUT_REPLACE)
        commit_marker_always(t);
    encode_fields(p, v);
    for (size_t i = 0; i < v->count; i++)
        params_bytea(p, 2, v->fields[i].value);
    params_set_int2(p, 3, (int16_t)v->mode);
    if (v->expires_at == 0)
        params_set_null(p, 4);
    else
        params_set_time(p, 4, v->expires_at);
    params_set_time(p, 5, clock_db());
    params_set_int8(p, 6, v->most);
    params_set_int4(p, 7, LIBRARY_FIELDS_MAX);
}

/* The value of a field is no integer, or the sum has more than 64 bits. */
static bool values_add_up(const PGresult *rows) {
    for (int row = 0; row < PQntuples(rows); row++) {
        if (row_null(rows, row, COL_PUT_VALUES_EXISTED))
            return false;
    }
    return true;
}

static void values_put_done(struct task *t, const PGresult *rows) {
    struct library_values *v = library_values_of(t);

    if (PQntuples(rows) == 0 && v->mode != PUT_ABSENT)
        req_error(v->req, "LIMIT a key of a library must have at most %d fields", LIBRARY_FIELDS_MAX);
    else if (!values_add_up(rows))
        req_error(v->req, NOT_AN_INTEGER);
    else
        library_values_done(t, rows);
}

static bool put_again(struct task *t, bool unknown) {
    return library_values_of(t)->mode == PUT_REPLACE || req_again_if_undone(t, unknown);
}

OPERATION(put_values, .alone = true, .encode = values_put_encode, .on_end = values_put_done,
          .fail = req_fail_task, .again = put_again, .answer_lost = req_answer_lost_task);

void library_values_put(struct library_values *v) {
    if (!library_values_fit_or_reply(v))
        return;
    if (v->count > 1)
        library_values_unite(v);
    if (table_bytes > LIBRARY_TABLE_MAX)
        req_error(v->req, "LIMIT the values of libraries take more than %lld bytes",
                  (long long)LIBRARY_TABLE_MAX);
    else
        library_values_send(v, &op_put_values);
}

static void fields_encode(struct params *p, struct task *t) {
    encode_fields(p, library_values_of(t));
    params_set_time(p, 2, clock_db());
}

/* A second try would not find the fields that the first one has deleted. */
static void values_drop_encode(struct params *p, struct task *t) {
    commit_marker_always(t);
    fields_encode(p, t);
}

OPERATION(drop_values, .alone = true, .encode = values_drop_encode, .on_end = library_values_done,
          .fail = req_fail_task, .again = req_again_if_undone, .answer_lost = req_answer_lost_task);
OPERATION(read_values, .alone = true, .encode = fields_encode, .on_end = library_values_done,
          .fail = req_fail_task, .answer_lost = req_answer_lost_task);

void library_values_drop(struct library_values *v) {
    library_values_send(v, &op_drop_values);
}

void library_values_read(struct library_values *v) {
    library_values_send(v, &op_read_values);
}

static void values_date_encode(struct params *p, struct task *t) {
    const struct library_values *v = library_values_of(t);

    params_set_bytea(p, 0, v->fields[0].key);
    params_set_time(p, 1, v->expires_at);
    params_set_time(p, 2, clock_db());
    params_set_bool(p, 3, v->only_endless);
}

OPERATION(date_values, .alone = true, .encode = values_date_encode, .on_end = library_values_done,
          .fail = req_fail_task, .answer_lost = req_answer_lost_task);

void library_values_date(struct library_values *v) {
    library_values_send(v, &op_date_values);
}

/* ---- maintenance ---- */

static void values_prune_begin(struct params *p) {
    params_set_time(p, 0, clock_db());
    params_set_int4(p, 1, VALUES_PRUNE_LIMIT);
}

static void values_prune_end(struct task *t, const PGresult *rows) {
    (void)t;
    table_bytes = row_int8(rows, 0, COL_PRUNE_VALUES_BYTES);
}

OPERATION(prune_values, .alone = true, .begin = values_prune_begin, .on_end = values_prune_end);

void library_values_prune(void) {
    static struct task prune = { .op = &op_prune_values, .rows = 1 };

    batch_add_idle(&prune);
}
