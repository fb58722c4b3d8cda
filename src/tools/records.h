#ifndef RECORDS_H
#define RECORDS_H

#include <jansson.h>
#include <stdio.h>
#include "base/buf.h"
#include "tools/line_options.h"

/*
 * The output of tools: rows with the same columns. They become a table on a terminal, or a JSON array of objects. Texts
 * may have any bytes: a table escapes hostile characters, and JSON has {"base64": "..."} for bytes that are not UTF-8.
 */
enum record_type {
    RECORD_TEXT,
    RECORD_NUMBER,
    RECORD_RATE,    /* a second */
    RECORD_SECONDS, /* a duration: "2d 3h" in a table */
    RECORD_MS,      /* a duration in milliseconds: "850ms" in a table, or as above */
    RECORD_JSON,    /* the text is a JSON value */
};

struct record_column {
    const char *name;  /* of the field in JSON */
    const char *title; /* of the column; NULL: only in JSON */
    enum record_type type;
};

struct record_cell {
    char *text; /* NULL: none */
    size_t len;
    double number; /* NAN: none */
};

struct records {
    const struct record_column *columns;
    size_t width; /* number of columns */
    struct record_cell *cells;
    size_t count; /* of cells */
};

void records_begin(struct records *r, const struct record_column *columns, size_t width);
/* Append the next cell. Each row needs a cell for each column. */
void records_add_text(struct records *r, struct slice text);
void records_add_number(struct records *r, double number);
/* The same for a figure that is -1 if it is not known. */
void records_add_if_known(struct records *r, int64_t number);
void records_add_none(struct records *r);
void records_free(struct records *r);

/* Appends a line with the titles and a line for each row, at most `most` rows. Columns are left out from the right until
 * no line is longer than `columns`; a last column of texts stays longest, as the bodies of jobs. If columns is 0, all
 * columns are there. */
void records_table(const struct records *r, size_t columns, size_t most, struct buf *out);
/* Appends a JSON array. */
void records_json(const struct records *r, struct buf *out);

/* Appends a value in one line, without characters that are hostile to a terminal. Frees the value. */
void records_append_json(json_t *value, struct buf *out);

/* The form of the output. */
struct line_form {
    bool json, table;
};

#define LINE_FORM_OPTIONS(type, member)                                      \
    { "--json",                                                              \
      LINE_FLAG,                                                             \
      NULL,                                                                  \
      offsetof(type, member.json),                                           \
      0,                                                                     \
      0,                                                                     \
      "print JSON (this is the default unless the "                          \
      "output is a terminal)" },                                             \
    {                                                                        \
        "--table", LINE_FLAG, NULL, offsetof(type, member.table), 0, 0,      \
            "print a table or sentences (this is the default on a terminal)" \
    }

/* Is JSON to be printed to stdout? */
bool line_form_is_json(const struct line_form *form);
/* Prints the rows to stdout. False if they cannot be written. */
bool records_print(const struct records *r, const struct line_form *form) MUST_CHECK;
/* Writes all bytes to stdout. False if they cannot be written. */
bool records_write(const struct buf *out) MUST_CHECK;

#endif
