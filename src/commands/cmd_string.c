/* GET SET MGET MSET INCRBY: strings of client libraries. */
#include "base/clock.h"
#include "commands/dispatch.h"
#include "commands/library_fields.h"
#include "commands/library_keys.h"
#include "net/args.h"
#include "pg/params.h"

/* A string is a value with one field, which has no name. */
#define STRING_FIELD SLICE("")

void cmd_get(struct req *r) {
    struct library_values *v = library_fields_or_end(r, library_fields_reply_first);

    if (v == NULL)
        return;
    library_fields_ask(v, r->argv[1], STRING_FIELD);
    library_values_read(v);
}

void cmd_mget(struct req *r) {
    struct library_values *v = library_fields_or_end(r, library_fields_reply_all);

    if (v == NULL)
        return;
    for (int i = 1; i < r->argc; i++)
        library_fields_ask(v, r->argv[i], STRING_FIELD);
    library_values_read(v);
}

/* With NX, nothing may have been written. */
static void reply_set(struct library_values *v, const PGresult *rows) {
    if (PQntuples(rows) > 0)
        reply_status(v->req, "OK");
    else
        reply_null_bulk(v->req);
}

struct set_options {
    bool nx;
    int64_t ex;
    int64_t px;
};

#define SET_TIME_MAX (INT64_C(1) << 40)
#define INVALID_EXPIRE "ERR invalid expire time in 'set' command"

static const struct arg_option set_words[] = {
    { "NX", ARG_FLAG, offsetof(struct set_options, nx), 0, 0, NULL },
    { "EX", ARG_REDIS_INT, offsetof(struct set_options, ex), 1, SET_TIME_MAX / 1000, INVALID_EXPIRE },
    { "PX", ARG_REDIS_INT, offsetof(struct set_options, px), 1, SET_TIME_MAX, INVALID_EXPIRE },
};

static const struct arg_spec set_spec = { set_words, LENGTH(set_words), NULL, NULL, NULL };

void cmd_set(struct req *r) {
    struct set_options o = { 0 };
    struct library_values *v;
    int64_t life_us;
    int end;

    if (!library_keys_or_end(r) || !args_parse_or_reply(r, 3, &set_spec, &o, &end))
        return;
    life_us = o.ex * US_PER_S + o.px * US_PER_MS;
    v = library_fields(r, reply_set);
    v->mode = o.nx ? PUT_ABSENT : PUT_REPLACE;
    v->expires_at = life_us > 0 ? clock_db() + life_us : TIME_NEVER;
    library_fields_add(v, r->argv[1], STRING_FIELD, r->argv[2]);
    library_values_put(v);
}

void cmd_mset(struct req *r) {
    struct library_values *v;

    if (r->argc % 2 == 0) {
        usage_reply_arity(r);
        req_end(r);
        return;
    }
    if (!library_keys_or_end(r))
        return;
    v = library_fields(r, reply_set);
    v->expires_at = TIME_NEVER;
    for (int i = 1; i + 1 < r->argc; i += 2)
        library_fields_add(v, r->argv[i], STRING_FIELD, r->argv[i + 1]);
    library_values_put(v);
}

void cmd_incrby(struct req *r) {
    if (library_keys_or_end(r))
        library_fields_increment(r, STRING_FIELD, 2);
}
