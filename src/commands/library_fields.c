/* Fields of the values of client libraries: collects those of a command, and replies them. */
#include "commands/library_fields.h"

#include "batch/operations.h"
#include "commands/library_keys.h"
#include "net/args.h"

struct library_values *library_fields(struct req *r,
                                      void (*reply)(struct library_values *v, const PGresult *rows)) {
    struct library_values *v = req_alloc(r, sizeof *v);

    v->req = r;
    v->fields = req_alloc(r, (size_t)r->argc * sizeof *v->fields);
    v->most = INT64_MAX;
    v->reply = reply;
    return v;
}

struct library_values *library_fields_or_end(struct req *r,
                                             void (*reply)(struct library_values *v, const PGresult *rows)) {
    return library_keys_or_end(r) ? library_fields(r, reply) : NULL;
}

void library_fields_ask(struct library_values *v, struct slice key, struct slice field) {
    v->fields[v->count++] = (struct library_field){ .key = key, .field = field };
}

void library_fields_add(struct library_values *v, struct slice key, struct slice field, struct slice value) {
    v->fields[v->count++] = (struct library_field){ key, field, value };
}

int64_t library_fields_new(const struct library_values *v, const PGresult *rows) {
    int64_t count = (int64_t)v->count;

    for (int i = 0; i < PQntuples(rows); i++)
        count -= row_bool(rows, i, COL_PUT_VALUES_EXISTED);
    return count;
}

static void reply_sum(struct library_values *v, const PGresult *rows) {
    int64_t sum;

    if (parse_int_strict(row_bytes(rows, 0, COL_PUT_VALUES_VALUE), &sum))
        reply_int(v->req, sum);
    else
        reply_error(v->req, NOT_AN_INTEGER);
}

void library_fields_increment(struct req *r, struct slice field, int at) {
    struct library_values *v = library_fields(r, reply_sum);
    int64_t n;

    if (!args_integer_or_reply(r, at, &n))
        return;
    v->mode = PUT_ADD;
    library_fields_add(v, r->argv[1], field, r->argv[at]);
    library_values_put(v);
}

static void reply_row(struct req *r, const PGresult *rows, int row) {
    if (row < 0)
        reply_null_bulk(r);
    else
        reply_bulk(r, row_bytes(rows, row, COL_READ_VALUES_VALUE));
}

void library_fields_reply_first(struct library_values *v, const PGresult *rows) {
    reply_row(v->req, rows, PQntuples(rows) > 0 ? 0 : -1);
}

void library_fields_reply_all(struct library_values *v, const PGresult *rows) {
    int *row_of = req_alloc(v->req, v->count * sizeof *row_of);

    for (int i = 0; i < PQntuples(rows); i++)
        row_of[row_int4(rows, i, COL_READ_VALUES_ORDINAL) - 1] = i + 1;
    reply_array(v->req, v->count);
    for (size_t i = 0; i < v->count; i++)
        reply_row(v->req, rows, row_of[i] - 1);
}
