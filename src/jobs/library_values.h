#ifndef LIBRARY_VALUES_H
#define LIBRARY_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <libpq-fe.h>
#include "net/request.h"

/*
 * Small values of client libraries: strings, hashes and sets, as rows of pgdisque.library_value. A string has one field
 * with an empty name. The fields of a set are its members. All servers of the database share them.
 */

/* Bounds. The table is measured every ten seconds. */
#define LIBRARY_NAME_MAX ((size_t)512)          /* bytes of a key, and of a field */
#define LIBRARY_VALUE_MAX ((size_t)1024 * 1024) /* bytes of a value */
#define LIBRARY_FIELDS_MAX 10000                /* fields of a key */
#define LIBRARY_TABLE_MAX (INT64_C(256) << 20)  /* bytes of the table */

enum put_mode {
    PUT_REPLACE,
    PUT_ABSENT, /* writes only an absent field */
    PUT_ADD,    /* adds integers */
};

struct library_field {
    struct slice key;
    struct slice field; /* ptr NULL: all fields of the key; not in a put */
    struct slice value; /* of a put */
};

/* A statement about fields. It is in the memory of its request. */
struct library_values {
    /* Set by the command. */
    struct req *req;
    struct library_field *fields;
    size_t count;
    enum put_mode mode;
    int64_t most;       /* PUT_ADD: the largest sum */
    int64_t expires_at; /* of a put or a date, clock_db(); 0: as the key has it */
    bool only_endless;  /* a date: only if the key does not expire */
    bool goes_on;       /* reply() ends the request itself, then or later */
    /* Writes the reply. The request ends after it. A put has written all fields, or none. If PUT_ADD finds a value that is
     * no integer, the request ends with an error in place of this, and the other fields are written. */
    void (*reply)(struct library_values *v, const PGresult *rows);
};

/* Tests the bounds. Of several fields with the same name the last one counts, and has the place of the first: v->count
 * becomes the number of different fields. */
void library_values_put(struct library_values *v);
/* The same field may be named twice. */
void library_values_drop(struct library_values *v);
/* v has one key. A time in the past deletes it. */
void library_values_date(struct library_values *v);
void library_values_read(struct library_values *v);

/* Deletes expired values, and measures the table. */
void library_values_prune(void);

#endif
