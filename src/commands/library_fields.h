#ifndef LIBRARY_FIELDS_H
#define LIBRARY_FIELDS_H

#include "jobs/library_values.h"

/* Statements about the values of client libraries, for the commands for strings, hashes and sets. */

/* A statement without fields. */
struct library_values *library_fields(struct req *r,
                                      void (*reply)(struct library_values *v, const PGresult *rows));
/* The same, after library_keys_or_end(). NULL: r has ended. */
struct library_values *library_fields_or_end(struct req *r,
                                             void (*reply)(struct library_values *v, const PGresult *rows));
/* Adds a field to write or to drop. Of several fields with the same name, a put writes the last one. At most as many
 * fields as r has arguments. */
void library_fields_add(struct library_values *v, struct slice key, struct slice field, struct slice value);
/* Adds a field to read. The same field may be read twice. field.ptr NULL: all fields. */
void library_fields_ask(struct library_values *v, struct slice key, struct slice field);
/* The number of fields that a put has added. */
int64_t library_fields_new(const struct library_values *v, const PGresult *rows);
/* Adds the integer argv[at] to a field of the key argv[1], and replies the sum. */
void library_fields_increment(struct req *r, struct slice field, int at);

/* Reply the value of the first field, or an array of the values of all fields; null for an absent field. */
void library_fields_reply_first(struct library_values *v, const PGresult *rows);
void library_fields_reply_all(struct library_values *v, const PGresult *rows);

#endif
