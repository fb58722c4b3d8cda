#ifndef BENCH_OPTIONS_H
#define BENCH_OPTIONS_H

#include "common.h"

/* The values of the command line. A table in options.c has the name, the bounds and the help of every option. A missing
 * number has its default. A missing text without a default is NULL. */
struct options {
    const char *target;
    const char *host;
    const char *unix_path;
    const char *auth;
    const char *queue;
    const char *idle_queue;
    const char *label;
    const char *journal;
    const char *verify;
    int64_t port; /* 0: the target's own default */
    int64_t producers;
    int64_t consumers;
    int64_t pipeline;
    int64_t count;
    int64_t jobs; /* 0: no limit */
    int64_t body;
    int64_t queues;
    int64_t retry;  /* seconds; -1: not sent */
    int64_t delay;  /* seconds; 0: not sent */
    int64_t window; /* 0: no limit */
    int64_t idle_waiters;
    int64_t run; /* 0: made up at start, or taken over from the first job seen */
    double seconds;
    double warmup;
    double rate;  /* 0: closed loop */
    double quiet; /* seconds; -1: chosen from retry */
    double linger;
    bool tls;
    bool overlap;
    bool fill;
    bool drain;
    bool json;
    bool csv;
    bool csv_header;
    bool progress;
    bool reconnect;
};

extern struct options options;

/* Reads the command line into options; a mistake or --help ends the program. */
void options_parse(int argc, char **argv);

/* Computes the values that depend on other options, and refuses contradicting options. */
void options_settle(void);

#endif
