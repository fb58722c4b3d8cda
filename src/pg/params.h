#ifndef PARAMS_H
#define PARAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <libpq-fe.h>
#include "base/buf.h"
#include "base/job_key.h"
#include "base/util.h"

/*
 * Parameters and results of statements, in Postgres' binary format. No I/O.
 *
 * A column is either an array, to which every row appends one element, or a scalar, which is set once. The memory is
 * reused for the next statement. Times are microseconds since 1970; TIME_NEVER is Postgres' infinity, TIME_BEGINNING
 * its -infinity. A column number of PARAMS_MAX or more ends the process.
 */
#define PARAMS_MAX 26
#define TIME_NEVER INT64_MAX
#define TIME_BEGINNING INT64_MIN
/* In place of the time since which a job was queued: it was delayed, or it waited for its turn (left_since.sql). */
#define TIME_DELAYED INT64_C(9089348860800000000)
#define TIME_WAITING INT64_C(9089380483200000000)

struct param {
    struct buf bytes;
    Oid elem;      /* element type of an array; 0: scalar or unused */
    int32_t count; /* elements */
    bool nulls;    /* some element is null */
    bool null;     /* a scalar that is null */
};

struct params {
    struct param column[PARAMS_MAX];
    int columns;  /* columns in use: 1 + the highest */
    size_t rows;  /* rows that were encoded; the batch counts them */
    size_t bytes; /* approximate size of these rows; the batch counts it */
};

/* Empties p for the next statement. Columns of more than 1 MB free their memory. */
void params_reset(struct params *p);
/* Keeps the first columns, and removes the others. */
void params_keep(struct params *p, int columns);
void params_free(struct params *p);

/* The number of elements of array column col. */
static inline int32_t params_elements(const struct params *p, int col) {
    return p->column[col].count;
}

/* Append an element to array column col. */
void params_int2(struct params *p, int col, int16_t value);
void params_int4(struct params *p, int col, int32_t value);
void params_int8(struct params *p, int col, int64_t value);
void params_time(struct params *p, int col, int64_t us);
void params_bytea(struct params *p, int col, struct slice value);
/* A tid: block number times 65536, plus offset. */
void params_place(struct params *p, int col, uint64_t place);
/* Appends a null. oid is the element type; it is used if the null is the first element. */
void params_null(struct params *p, int col, Oid oid);
/* Append the value, or a null for 0, for TIME_NEVER, or for a NULL pointer. */
void params_int2_or_null(struct params *p, int col, int16_t value);
void params_int4_or_null(struct params *p, int col, int32_t value);
void params_time_or_null(struct params *p, int col, int64_t us);
void params_bytea_or_null(struct params *p, int col, struct slice value);
/* The same for jsonb. value: its text. */
void params_jsonb_or_null(struct params *p, int col, struct slice value);
#define PARAM_INT2 21
#define PARAM_BYTEA 17
#define PARAM_INT8 20
#define PARAM_INT4 23
#define PARAM_TIME 1184

/* Set scalar column col. */
void params_set_int2(struct params *p, int col, int16_t value);
void params_set_int4(struct params *p, int col, int32_t value);
void params_set_int8(struct params *p, int col, int64_t value);
void params_set_bool(struct params *p, int col, bool value);
void params_set_time(struct params *p, int col, int64_t us);
void params_set_text(struct params *p, int col, const char *value);
void params_set_bytea(struct params *p, int col, struct slice value);
void params_set_null(struct params *p, int col);
/* The same, or null for a negative value, for TIME_NEVER, or for ptr NULL. */
void params_set_int4_or_null(struct params *p, int col, int64_t value);
void params_set_int8_or_null(struct params *p, int col, int64_t value);
void params_set_time_or_null(struct params *p, int col, int64_t us);
void params_set_bytea_or_null(struct params *p, int col, struct slice value);
void params_set_jsonb_or_null(struct params *p, int col, struct slice value);
/* An empty array of int4, for a column to which no element was appended. */
void params_ensure_int4_array(struct params *p, int col);

/* Does each array have one element? */
bool params_are_single(const struct params *p);
/* Makes each array a scalar, its only element, for a statement that takes one row (sql_text.single). */
void params_make_single(struct params *p);
/* Completes the array headers and fills the arguments of PQsendQueryPrepared(). The pointers are valid until p
 * changes. */
void params_finish(struct params *p, const char *values[PARAMS_MAX], int lengths[PARAMS_MAX],
                   int formats[PARAMS_MAX]);

/* Values of a result in binary format. The column must have this type and must not be null. */
static inline bool row_null(const PGresult *res, int row, int col) {
    return PQgetisnull(res, row, col) != 0;
}
int16_t row_int2(const PGresult *res, int row, int col);
int32_t row_int4(const PGresult *res, int row, int col);
int64_t row_int8(const PGresult *res, int row, int col);
bool row_bool(const PGresult *res, int row, int col);
int64_t row_time(const PGresult *res, int row, int col);
struct slice row_bytes(const PGresult *res, int row, int col);
/* As in params_place(). */
uint64_t row_place(const PGresult *res, int row, int col);

/* The value, or the other value if the column is null. */
int32_t row_int4_or(const PGresult *res, int row, int col, int32_t other);
int64_t row_time_or(const PGresult *res, int row, int col, int64_t other);
/* .ptr is NULL if the column is null. */
struct slice row_bytes_or_null(const PGresult *res, int row, int col);
/* The text of a jsonb. */
struct slice row_jsonb_or_null(const PGresult *res, int row, int col);

/* The key in columns rank and id, of which col is the first. */
struct job_key row_key(int32_t queue_id, const PGresult *res, int row, int col);
/* The key in columns queue_id, rank and id, of which col is the first. */
struct job_key row_full_key(const PGresult *res, int row, int col);
/* Appends a key to the arrays queue_id, rank and id, of which col is the first. */
void params_key(struct params *p, int col, struct job_key key);

#endif
