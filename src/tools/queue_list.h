#ifndef QUEUE_LIST_H
#define QUEUE_LIST_H

#include "tools/redis_link.h"

/* The queues of a server with the figures of QSTAT. */
struct queue_figures {
    struct slice name; /* owned */
    char pause[8];
    int64_t len, active, delayed, waiting, dead; /* jobs */
    int64_t blocked;                             /* clients */
    int64_t jobs_in, jobs_out, age_s, idle_s;
    int64_t oldest_ms;        /* the age of the oldest queued job; -1: no job is queued */
    int64_t latency_p99_ms;   /* -1: not known */
    double in_rate, out_rate; /* a second, since an earlier list; -1: not known */
};

struct queue_list {
    struct queue_figures *rows;
    size_t count;
    int64_t at_us; /* clock_mono_now() */
};

/* The words of an option for the order of a list. */
#define QUEUE_LIST_ORDERS "name|len|oldest|in|out|dead|idle"

/* Reads the queues that match one of the patterns, or all queues if count is 0. The list has at least the first `most`
 * queues in this order, and one more if there are more. Its own order is not defined. False with a sentence in p->err;
 * call queue_list_free() then, too. */
bool queue_list_read(struct redis_pipe *p, char *const *patterns, size_t count, const char *order,
                     size_t most, struct queue_list *out) MUST_CHECK;
void queue_list_free(struct queue_list *list);

/* Sets the rates by the figures of an earlier list. Sorts both lists by name. */
void queue_list_compare(struct queue_list *list, struct queue_list *before);

/* Sorts by name, or with the largest first by the figure. in and out are rates if there are any, else totals. */
void queue_list_sort(struct queue_list *list, const char *order);

#endif
