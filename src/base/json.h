#ifndef JSON_H
#define JSON_H

#include "base/buf.h"
#include "base/util.h"

/* Checks that a text is valid JSON. Objects and arrays may be nested to JSON_DEPTH levels. */
#define JSON_DEPTH 512

enum json_kind { JSON_NONE, JSON_OBJECT, JSON_ARRAY, JSON_STRING, JSON_NUMBER, JSON_WORD };

/* The kind of the value if text is exactly one JSON value by RFC 8259, with or without blanks around it. JSON_NONE for
 * any other text. JSON_WORD is true, false or null. */
enum json_kind json_kind_of(struct slice text);

/*
 * Finds single fields of a JSON object without building a tree. The text is checked only as far as the search needs it.
 * Nested objects and arrays are skipped.
 */
enum json_found { JSON_FOUND, JSON_ABSENT, JSON_BROKEN };

/* Sets *value to the bytes of the field's value in the outermost object; a string keeps its quotes. A field whose name
 * is written with escapes is not found. */
enum json_found json_field(struct slice object, const char *name, struct slice *value) MUST_CHECK;

/* Iterates over the members of an object or an array, which has no names: begin with `at` 0. *name and *value get the
 * bytes; strings keep their quotes. JSON_ABSENT: there are no more members. */
struct json_members {
    struct slice whole;
    bool is_array;
    size_t at;
};
enum json_found json_next(struct json_members *m, struct slice *name, struct slice *value) MUST_CHECK;

/* Sets *text to the characters of a JSON string, which are written to out[value.len]. False if value is no string. */
bool json_unescape(struct slice value, char *out, struct slice *text) MUST_CHECK;
/* Sets *text to the characters of a JSON string. False if value is not a string, or has escapes. */
bool json_plain_string(struct slice value, struct slice *text) MUST_CHECK;

/* Appends the text as a JSON string. False if it is not valid UTF-8: the string in b is then incomplete. */
bool json_add_string(struct buf *b, struct slice text) MUST_CHECK;
/*
 * Writes a JSON object: json_begin(), one call for each field, json_end(). A function returns false if a name or text
 * is not valid UTF-8. The bytes in b are then incomplete and must not be used.
 */
void json_begin(struct buf *b);
bool json_add_text(struct buf *b, struct slice name, struct slice text) MUST_CHECK;
/* Adds a value that is JSON already. False if it is not valid JSON. */
bool json_add_value(struct buf *b, struct slice name, struct slice value) MUST_CHECK;
void json_end(struct buf *b);

#endif
