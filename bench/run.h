#ifndef BENCH_RUN_H
#define BENCH_RUN_H

#include "common.h"
#include "histogram.h"
#include "ledger.h"
#include "target.h"

/* Counters at a moment. The difference of two marks is a measurement. */
struct mark {
    int64_t time;
    uint64_t added;
    uint64_t delivered;
    uint64_t acked;
    int64_t cpu; /* nanoseconds this process has used */
};

/* The state of the run that all parts share. Times are those of now_ns(). */
struct run {
    const struct target *target;
    int64_t now;       /* read once per event */
    int64_t start;     /* producers may send; 0 before that */
    int64_t deadline;  /* producers stop; INT64_MAX without --seconds */
    bool measuring;    /* the warm-up is over */
    bool stopped;      /* no further adds: interrupted */
    const char *fatal; /* why the run cannot go on; NULL if it can */

    uint64_t sent;      /* adds */
    uint64_t in_flight; /* adds without reply */
    uint64_t gets;      /* without reply, of consumers */
    uint64_t deliveries;
    uint64_t stale_acks; /* acks of jobs that the server did not know any more */
    uint64_t foreign;    /* deliveries of other runs' jobs */
    uint64_t damaged;    /* deliveries of bodies that differ from the sent ones */
    uint64_t errors;     /* error replies */
    uint64_t losses;     /* connections lost */
    uint64_t idle_replies;
    int64_t last_add;
    int64_t last_delivery;
    int64_t last_ack;

    struct mark begin; /* when measuring began */
    struct histogram add;
    struct histogram deliver;
    struct histogram get; /* that brought a job, the wait for it included */
    struct histogram ack;
};

extern struct run run;

/* Ends the run as soon as the loop looks; the first reason stays. */
void run_fail(const char *fmt, ...) PRINTF_LIKE(1, 2);

#endif
