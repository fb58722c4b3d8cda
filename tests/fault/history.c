/* The history of a run: a line per command sent and a line per end. */
#include "history.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static FILE *file;

void history_open(const char *path) {
    file = fopen(path, "w");
    if (file == NULL || setvbuf(file, NULL, _IOFBF, 1 << 20) != 0) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        exit(2);
    }
}

void history_close(void) {
    if (fclose(file) != 0) {
        perror("history");
        exit(2);
    }
}

void history_flush(void) {
    fflush(file);
}

int64_t history_clock(void) {
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

void history_line(char kind, int64_t at, uint64_t op) {
    fprintf(file, "%c %lld %llu", kind, (long long)at, (unsigned long long)op);
}

void history_print(const char *fmt, ...) {
    va_list args;

    va_start(args, fmt);
    vfprintf(file, fmt, args);
    va_end(args);
}

void history_end(void) {
    putc('\n', file);
}
