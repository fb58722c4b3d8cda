/* Parameters and results of statements in Postgres' binary format. */
#include "pg/params.h"

#include <endian.h>
#include <string.h>

#include "base/log.h"
#include "base/saturate.h"

#define OID_BYTEA 17
#define OID_JSONB 3802
#define OID_INT8 20
#define OID_INT4 23
#define OID_TID 27
/* Dimensions, null flag, element type, length, lower bound. */
#define ARRAY_HEADER 20
/* Length. */
#define ELEMENT_HEADER 4
#define PG_EPOCH_US INT64_C(946684800000000)
#define KEEP_BYTES ((size_t)1024 * 1024)

static void put_int4(char *at, int32_t value) {
    uint32_t wire = htobe32((uint32_t)value);

    memcpy(at, &wire, sizeof wire);
}

static void put_int8(char *at, int64_t value) {
    uint64_t wire = htobe64((uint64_t)value);

    memcpy(at, &wire, sizeof wire);
}

static int64_t to_pg_time(int64_t us) {
    return us == TIME_NEVER || us == TIME_BEGINNING ? us : int64_minus(us, PG_EPOCH_US);
}

void params_keep(struct params *p, int columns) {
    for (int i = columns; i < p->columns; i++) {
        buf_reset(&p->column[i].bytes, KEEP_BYTES);
        p->column[i].elem = 0;
        p->column[i].count = 0;
        p->column[i].nulls = false;
        p->column[i].null = false;
    }
    if (p->columns > columns)
        p->columns = columns;
}

void params_reset(struct params *p) {
    params_keep(p, 0);
    p->rows = 0;
    p->bytes = 0;
}

void params_free(struct params *p) {
    for (int i = 0; i < PARAMS_MAX; i++)
        buf_free(&p->column[i].bytes);
    memset(p, 0, sizeof *p);
}

/* Ends the process if the column is out of range, instead of writing past the array. */
static struct param *use_column(struct params *p, int col) {
    if (col < 0 || col >= PARAMS_MAX)
        log_fatal("params", "no room for parameter %d of a statement: PARAMS_MAX is %d", col + 1, PARAMS_MAX);
    if (col >= p->columns)
        p->columns = col + 1;
    return &p->column[col];
}

static struct param *array_column(struct params *p, int col, Oid elem) {
    struct param *c = use_column(p, col);

    if (buf_len(&c->bytes) == 0) {
        buf_reserve(&c->bytes, ARRAY_HEADER);
        buf_added(&c->bytes, ARRAY_HEADER);
        c->elem = elem;
    }
    return c;
}

/* Appends an element's length and returns the room for its len bytes. */
static char *params_element(struct params *p, int col, Oid elem, size_t len) {
    struct param *c = array_column(p, col, elem);
    char *at = buf_reserve(&c->bytes, len + ELEMENT_HEADER);

    put_int4(at, (int32_t)len);
    buf_added(&c->bytes, len + ELEMENT_HEADER);
    c->count++;
    return at + ELEMENT_HEADER;
}

void params_int2(struct params *p, int col, int16_t value) {
    uint16_t wire = htobe16((uint16_t)value);

    memcpy(params_element(p, col, PARAM_INT2, sizeof wire), &wire, sizeof wire);
}

void params_int4(struct params *p, int col, int32_t value) {
    put_int4(params_element(p, col, OID_INT4, 4), value);
}

void params_int8(struct params *p, int col, int64_t value) {
    put_int8(params_element(p, col, OID_INT8, 8), value);
}

void params_time(struct params *p, int col, int64_t us) {
    put_int8(params_element(p, col, PARAM_TIME, 8), to_pg_time(us));
}

void params_bytea(struct params *p, int col, struct slice value) {
    char *at = params_element(p, col, OID_BYTEA, value.len);

    if (value.len > 0) /* memcpy() must not get NULL, not even for 0 bytes */
        memcpy(at, value.ptr, value.len);
}

void params_place(struct params *p, int col, uint64_t place) {
    char *at = params_element(p, col, OID_TID, 6);
    uint16_t offset = htobe16((uint16_t)place);

    put_int4(at, (int32_t)(uint32_t)(place >> 16));
    memcpy(at + 4, &offset, sizeof offset);
}

void params_null(struct params *p, int col, Oid oid) {
    struct param *c = array_column(p, col, oid);

    put_int4(buf_reserve(&c->bytes, 4), -1);
    buf_added(&c->bytes, 4);
    c->count++;
    c->nulls = true;
}

void params_int2_or_null(struct params *p, int col, int16_t value) {
    value == 0 ? params_null(p, col, PARAM_INT2) : params_int2(p, col, value);
}

void params_int4_or_null(struct params *p, int col, int32_t value) {
    value == 0 ? params_null(p, col, PARAM_INT4) : params_int4(p, col, value);
}

void params_time_or_null(struct params *p, int col, int64_t us) {
    us == TIME_NEVER ? params_null(p, col, PARAM_TIME) : params_time(p, col, us);
}

void params_bytea_or_null(struct params *p, int col, struct slice value) {
    value.ptr == NULL ? params_null(p, col, PARAM_BYTEA) : params_bytea(p, col, value);
}

/* The binary format is a version and the text. */
void params_jsonb_or_null(struct params *p, int col, struct slice value) {
    char *at;

    if (value.ptr == NULL) {
        params_null(p, col, OID_JSONB);
        return;
    }
    at = params_element(p, col, OID_JSONB, value.len + 1);
    *at = 1;
    memcpy(at + 1, value.ptr, value.len);
}

static void set_scalar(struct params *p, int col, const void *bytes, size_t len) {
    struct param *c = use_column(p, col);

    c->bytes.start = c->bytes.end = 0;
    buf_append(&c->bytes, bytes, len);
}

void params_set_int2(struct params *p, int col, int16_t value) {
    uint16_t wire = htobe16((uint16_t)value);

    set_scalar(p, col, &wire, sizeof wire);
}

void params_set_int4(struct params *p, int col, int32_t value) {
    uint32_t wire = htobe32((uint32_t)value);

    set_scalar(p, col, &wire, sizeof wire);
}

void params_set_int8(struct params *p, int col, int64_t value) {
    uint64_t wire = htobe64((uint64_t)value);

    set_scalar(p, col, &wire, sizeof wire);
}

void params_set_bool(struct params *p, int col, bool value) {
    char wire = value ? 1 : 0;

    set_scalar(p, col, &wire, 1);
}

void params_set_time(struct params *p, int col, int64_t us) {
    params_set_int8(p, col, to_pg_time(us));
}

void params_set_text(struct params *p, int col, const char *value) {
    set_scalar(p, col, value, strlen(value));
}

void params_set_bytea(struct params *p, int col, struct slice value) {
    set_scalar(p, col, value.ptr, value.len);
}

void params_set_null(struct params *p, int col) {
    use_column(p, col)->null = true;
}

void params_set_int4_or_null(struct params *p, int col, int64_t value) {
    value < 0 ? params_set_null(p, col) : params_set_int4(p, col, (int32_t)value);
}

void params_set_int8_or_null(struct params *p, int col, int64_t value) {
    value < 0 ? params_set_null(p, col) : params_set_int8(p, col, value);
}

void params_set_time_or_null(struct params *p, int col, int64_t us) {
    us == TIME_NEVER ? params_set_null(p, col) : params_set_time(p, col, us);
}

void params_set_bytea_or_null(struct params *p, int col, struct slice value) {
    if (value.ptr == NULL)
        params_set_null(p, col);
    else
        set_scalar(p, col, value.ptr, value.len);
}

void params_set_jsonb_or_null(struct params *p, int col, struct slice value) {
    const char version = 1;

    if (value.ptr == NULL) {
        params_set_null(p, col);
        return;
    }
    set_scalar(p, col, &version, 1);
    buf_append(&use_column(p, col)->bytes, value.ptr, value.len);
}

void params_ensure_int4_array(struct params *p, int col) {
    array_column(p, col, OID_INT4);
}

static void finish_array(struct param *c) {
    char *header = buf_ptr(&c->bytes);

    put_int4(header, 1);
    put_int4(header + 4, c->nulls ? 1 : 0);
    put_int4(header + 8, (int32_t)c->elem);
    put_int4(header + 12, c->count);
    put_int4(header + 16, 1);
}

bool params_are_single(const struct params *p) {
    for (int i = 0; i < p->columns; i++)
        if (p->column[i].elem != 0 && p->column[i].count != 1)
            return false;
    return true;
}

void params_make_single(struct params *p) {
    for (int i = 0; i < p->columns; i++) {
        struct param *c = &p->column[i];

        if (c->elem == 0)
            continue;
        c->null = c->nulls;
        c->elem = 0;
        buf_consume(&c->bytes, ARRAY_HEADER + ELEMENT_HEADER);
    }
}

void params_finish(struct params *p, const char *values[PARAMS_MAX], int lengths[PARAMS_MAX],
                   int formats[PARAMS_MAX]) {
    for (int i = 0; i < p->columns; i++) {
        struct param *c = &p->column[i];

        if (c->elem != 0)
            finish_array(c);
        /* libpq takes a NULL value for SQL's null: an empty text is not that. */
        values[i] = c->null ? NULL : c->bytes.data != NULL ? buf_ptr(&c->bytes) : "";
        lengths[i] = (int)buf_len(&c->bytes);
        formats[i] = 1;
    }
}

int16_t row_int2(const PGresult *res, int row, int col) {
    uint16_t wire;

    memcpy(&wire, PQgetvalue(res, row, col), sizeof wire);
    return (int16_t)be16toh(wire);
}

int32_t row_int4(const PGresult *res, int row, int col) {
    uint32_t wire;

    memcpy(&wire, PQgetvalue(res, row, col), sizeof wire);
    return (int32_t)be32toh(wire);
}

int64_t row_int8(const PGresult *res, int row, int col) {
    uint64_t wire;

    memcpy(&wire, PQgetvalue(res, row, col), sizeof wire);
    return (int64_t)be64toh(wire);
}

bool row_bool(const PGresult *res, int row, int col) {
    return PQgetvalue(res, row, col)[0] != 0;
}

int64_t row_time(const PGresult *res, int row, int col) {
    int64_t us = row_int8(res, row, col);

    return us == TIME_NEVER || us == TIME_BEGINNING ? us : int64_minus(us, -PG_EPOCH_US);
}

struct slice row_bytes(const PGresult *res, int row, int col) {
    return (struct slice){ PQgetvalue(res, row, col), (size_t)PQgetlength(res, row, col) };
}

uint64_t row_place(const PGresult *res, int row, int col) {
    uint16_t offset;

    memcpy(&offset, PQgetvalue(res, row, col) + 4, sizeof offset);
    return (uint64_t)(uint32_t)row_int4(res, row, col) << 16 | be16toh(offset);
}

int32_t row_int4_or(const PGresult *res, int row, int col, int32_t other) {
    return row_null(res, row, col) ? other : row_int4(res, row, col);
}

int64_t row_time_or(const PGresult *res, int row, int col, int64_t other) {
    return row_null(res, row, col) ? other : row_time(res, row, col);
}

struct slice row_bytes_or_null(const PGresult *res, int row, int col) {
    return row_null(res, row, col) ? (struct slice){ NULL, 0 } : row_bytes(res, row, col);
}

struct slice row_jsonb_or_null(const PGresult *res, int row, int col) {
    struct slice bytes = row_bytes_or_null(res, row, col);

    return bytes.len == 0 ? (struct slice){ NULL, 0 } : (struct slice){ bytes.ptr + 1, bytes.len - 1 };
}

struct job_key row_key(int32_t queue_id, const PGresult *res, int row, int col) {
    return (struct job_key){ queue_id, row_int2(res, row, col), row_int8(res, row, col + 1) };
}

void params_key(struct params *p, int col, struct job_key key) {
    params_int4(p, col, key.queue_id);
    params_int2(p, col + 1, key.rank);
    params_int8(p, col + 2, key.id);
}

struct job_key row_full_key(const PGresult *res, int row, int col) {
    return row_key(row_int4(res, row, col), res, row, col + 1);
}
