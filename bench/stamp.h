#ifndef BENCH_STAMP_H
#define BENCH_STAMP_H

#include "common.h"

/* The 40 bytes at the front of a body. The other bytes are the same for every job of that length. The stamp therefore
 * tells a cut, mixed or damaged body from a good one. */
enum { STAMP_SIZE = 40 };

struct stamp {
    uint64_t run; /* number of the run, so that a run knows its own jobs */
    uint32_t producer;
    uint64_t seq;  /* counts from 0 for each producer */
    int64_t since; /* now_ns() when the job was sent, or was due by the schedule */
};

/* Prepares for bodies of up to len bytes. */
void stamp_init(size_t len);

/* Writes a body of exactly len bytes, STAMP_SIZE or more. */
void stamp_write(char *body, size_t len, const struct stamp *stamp);

/* False if stamp_write() did not make the body. */
bool stamp_read(struct slice body, struct stamp *stamp) MUST_CHECK;

#endif
