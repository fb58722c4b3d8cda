#ifndef JOB_FILTER_H
#define JOB_FILTER_H

#include "net/args.h"
#include "net/headers.h"

/* The options that select jobs by their headers and their last error: JSCAN, REVIVE, DELDEAD. sql/parts/matches.sql
 * compares. */
struct job_filter {
    struct slice error;            /* part of the last error; ptr NULL: any */
    struct arg_pairs header_pairs; /* without a text: the job has a header of that name */
    struct slice headers;          /* of header_pairs, by job_filter_or_reply() */
};

/* Rows of struct arg_option for the field of a struct that is a struct job_filter. */
#define JOB_FILTER_WORDS(type, field)                                                                    \
    { "ERROR", ARG_BYTES, offsetof(type, field.error), 1, 8192, "ERR ERROR must have 1 to 8192 bytes" }, \
        { "HEADER", ARG_PAIRS, offsetof(type, field.header_pairs), 0, HEADERS_MAX, HEADERS_TOO_MANY }, { \
        "HASHEADER", ARG_FIRSTS, offsetof(type, field.header_pairs), 0, HEADERS_MAX, HEADERS_TOO_MANY    \
    }

/* Checks the headers after the options were parsed. False if it has replied an error and ended the request. */
static inline bool MUST_CHECK job_filter_or_reply(struct req *r, struct job_filter *f) {
    return headers_or_reply(r, &f->header_pairs, &f->headers);
}

static inline bool job_filter_selects(const struct job_filter *f) {
    return f->error.ptr != NULL || f->headers.ptr != NULL;
}

#endif
