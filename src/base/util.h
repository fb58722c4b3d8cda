#ifndef UTIL_H
#define UTIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Memory, byte slices and strict integers.
 *
 * All durable state is in Postgres. A failed allocation therefore ends the process with a log line, and no caller tests
 * for NULL.
 */

#define MUST_CHECK __attribute__((warn_unused_result))
#define PRINTF_LIKE(fmt, args) __attribute__((format(printf, fmt, args)))
#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))
#define CONTAINER_OF(ptr, type, member) ((type *)(void *)((char *)(ptr)-offsetof(type, member)))

/* Bytes that the slice does not own. Any byte may occur, NUL included. */
struct slice {
    const char *ptr;
    size_t len;
};

#define SLICE(literal) ((struct slice){ literal, sizeof(literal) - 1 })

struct slice slice_str(const char *text);
bool slice_equal(struct slice a, struct slice b);
/* Compares with a word and ignores the case of ASCII letters: for commands and options. */
bool slice_is(struct slice s, const char *word);

/* Takes the next word off *rest: the bytes up to one of the separators. False if there is none. */
bool slice_next_word(struct slice *rest, const char *separators, struct slice *word);

void *xmalloc(size_t size);
void *xcalloc(size_t count, size_t size);
void *xrealloc(void *ptr, size_t size);
char *xstrdup(const char *text);
void *xmemdup(const void *ptr, size_t size);
/* A copy of all bytes of s and a NUL; the caller frees it. */
char *slice_dup(struct slice s);
char *xasprintf(const char *fmt, ...) PRINTF_LIKE(1, 2);

/*
 * Parses a decimal without blanks, leading zeros or a plus sign; a minus sign is allowed. False for any other text or
 * a value outside 64 bits, as in Redis' string2ll().
 */
bool parse_int_strict(struct slice s, int64_t *out) MUST_CHECK;

/*
 * Parses a number as Disque's commands do (strtoll up to the first NUL). A sign and leading zeros are allowed, and the
 * empty string is 0. Blanks, other characters and values outside 64 bits are refused.
 */
bool parse_int_disque(struct slice s, int64_t *out) MUST_CHECK;

/* Parses a size such as "64mb", "1gb", "4k", "512", in Redis' units: k is 1000, kb is 1024. */
bool parse_size(struct slice s, int64_t *out) MUST_CHECK;

/* Fills out with 2 * len lower-case hex digits and a NUL. */
void hex_encode(const unsigned char *bytes, size_t len, char *out);

/* The length in bytes of the UTF-8 character at s.ptr[at], 1 to 4. 0 if the bytes are not valid UTF-8: overlong forms,
 * surrogates and code points above U+10FFFF are invalid. `at` must be less than s.len. */
size_t utf8_character_len(struct slice s, size_t at);
bool utf8_is_valid(struct slice s);

#endif
