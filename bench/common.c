/* Memory, the clock and the way out, shared by the files of the load generator. */
#include "common.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

void die(const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    fputs("load: ", stderr);
    vfprintf(stderr, fmt, args);
    fputc('\n', stderr);
    va_end(args);
    exit(EXIT_BROKEN);
}

void *xcalloc(size_t count, size_t size) {
    void *ptr = calloc(count ? count : 1, size);
    if (!ptr)
        die("out of memory");
    return ptr;
}

void *xrealloc(void *ptr, size_t size) {
    ptr = realloc(ptr, size);
    if (!ptr)
        die("out of memory");
    return ptr;
}

int64_t now_ns(void) {
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec * NS_PER_SEC + ts.tv_nsec;
}
