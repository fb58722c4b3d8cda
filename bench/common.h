#ifndef BENCH_COMMON_H
#define BENCH_COMMON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Shared by all files of the load generator: memory, the clock, errors that end the program. */

#define MUST_CHECK __attribute__((warn_unused_result))
#define PRINTF_LIKE(fmt, args) __attribute__((format(printf, fmt, args)))
#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

#define NS_PER_SEC INT64_C(1000000000)
#define NS_PER_MS INT64_C(1000000)

/* Exit statuses on which scripts may rely. */
enum { EXIT_CLEAN = 0, EXIT_WRONG_JOBS = 1, EXIT_BROKEN = 2 };

/* Bytes that another object owns. Any byte may occur, NUL included. */
struct slice {
    const char *ptr;
    size_t len;
};

/* Prints "load: ..." on stderr and exits with EXIT_BROKEN. */
void die(const char *fmt, ...) PRINTF_LIKE(1, 2) __attribute__((noreturn));

/* Memory that is never NULL and, from xcalloc, zeroed. */
void *xcalloc(size_t count, size_t size);
void *xrealloc(void *ptr, size_t size);

/* CLOCK_MONOTONIC in nanoseconds. All processes since boot share it, so that a process can time the jobs of another
 * one. */
int64_t now_ns(void);

#endif
