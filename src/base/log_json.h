#ifndef LOG_JSON_H
#define LOG_JSON_H

#include <stddef.h>
#include <stdint.h>
#include "base/util.h"

/*
 * A line of the log as a JSON object:
 *
 *     {"time":"2026-11-20T18:30:00.123Z","level":"notice","pid":7711,"node":"dcb833cf...","subject":"client",
 *      "client":12,"address":"127.0.0.1:4711","message":"connected"}
 *
 * node is left out until the ID of the server is known. client and address are there if the subject is a client. If it is
 * a job, job is its ID, and traceparent is its header of that name.
 */
struct log_record {
    int64_t unix_ms;
    const char *level;
    int pid;
    const char *node;    /* "": not known yet */
    const char *subject; /* as in log_line() */
    struct slice message;
};

/* The least room that log_json() needs. */
#define LOG_JSON_MIN 1024

/* Writes the object without a line end, at most room bytes with a NUL. Returns its length. A message that is too long is
 * cut; the object is complete. Bytes that are not UTF-8 become U+FFFD. */
size_t log_json(char *out, size_t room, const struct log_record *r);

#endif
