#ifndef WIRE_H
#define WIRE_H

#include <stdbool.h>
#include <stddef.h>

/*
 * A client that sends exactly the bytes it is told and sees exactly the bytes
 * that come back; and replies of RESP2 and RESP3 as trees.
 */
struct wire {
    int fd;     /* -1: closed */
    char *data; /* received and not yet read: data[start .. end) */
    size_t start;
    size_t end;
    size_t cap;
    bool eof;
};

/* Connects to 127.0.0.1. False if no server listens there. */
bool wire_try_open(struct wire *w, int port);
/* The same for any host; the test ends when it cannot. */
void wire_open(struct wire *w, const char *host, int port);
void wire_close(struct wire *w);
/* Closes with a reset instead of an orderly end. */
void wire_reset(struct wire *w);

/* All bytes are sent when it returns; false when the peer has gone. */
bool wire_send(struct wire *w, const void *bytes, size_t len);
bool wire_send_text(struct wire *w, const char *text);
/* A command as an array of bulks. lens may be NULL for NUL-terminated words. */
bool wire_command(struct wire *w, int argc, const char *const *argv, const size_t *lens);
/* The same from a list of words; NULL at the end. */
bool wire_words(struct wire *w, const char *first, ...) __attribute__((sentinel));

/* Reads the bytes that have arrived. Returns the number of bytes that wait in the buffer. */
size_t wire_pending(struct wire *w);
/* Waits for that many bytes, at most ms (before patience). */
bool wire_wait_bytes(struct wire *w, size_t count, int ms);
/* Has the peer closed, with nothing left to read? Waits at most ms for it. */
bool wire_wait_eof(struct wire *w, int ms);
/* Reads a line without its CRLF, cut to size. False if no line came within ms. */
bool wire_read_line(struct wire *w, char *line, size_t size, int ms);

/* A reply. */
struct value {
    char type;        /* the first byte on the wire: + - : $ * % ~ > _ # , ( */
    bool null;        /* $-1, *-1, _ */
    long long number; /* of : and # */
    char *text;       /* of + - $ and other scalars, NUL-terminated; may hold NULs */
    size_t len;
    struct value **items; /* of * ~ >, and of % with keys and values in turn */
    size_t count;
};

/* Reads the next reply within ms. NULL if the reply did not come whole, or is not RESP. */
struct value *wire_reply(struct wire *w, int ms);
void value_free(struct value *v);
/* For messages: +OK :1 "bulk" nil [a b]; the caller frees it. */
char *value_text(const struct value *v);

#endif
