#ifndef BENCH_COMMON_H
#define BENCH_COMMON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What every file of the load generator needs: memory, the clock, a way out. */

#define MUST_CHECK __attribute__((warn_unused_result))
#define PRINTF_LIKE(fmt, args) __attribute__((format(printf, fmt, args)))
#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

#define NS_PER_SEC INT64_C(1000000000)
#define NS_PER_MS INT64_C(1000000)

/* Exit statuses: what a script may rely on. */
enum { EXIT_CLEAN = 0, EXIT_WRONG_JOBS = 1, EXIT_BROKEN = 2 };

/* Bytes that belong to somebody else; any byte may occur, NUL included. */
struct slice {
    const char *ptr;
    size_t len;
};

/* Prints "load: ..." on stderr and exits with EXIT_BROKEN. */
void die(const char *fmt, ...) PRINTF_LIKE(1, 2) __attribute__((noreturn));

/* Memory that is never NULL and, from xcalloc, zeroed. */
void *xcalloc(size_t count, size_t size);
void *xrealloc(void *ptr, size_t size);

/* CLOCK_MONOTONIC in nanoseconds: the same for all processes since boot, so
 * that one process can time what another one sent. */
int64_t now_ns(void);

#endif
