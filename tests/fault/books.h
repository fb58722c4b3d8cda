#ifndef BOOKS_H
#define BOOKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/util.h"

/*
 * Names of queues and bodies of jobs, made from a number so that both can be compared byte by byte
 * with what comes back.
 */
#define BOOKS_QUEUES_MOST 64
/* The largest body. */
#define BOOKS_BODY_MOST 70000

/* The name of a queue; some hold NUL, blanks and bytes that are no text. */
struct slice books_name(int queue);
/* The number of the queue with that name, or -1. */
int books_queue(const char *name, size_t len);

/* A new job's number; each is used once. */
uint64_t books_new_token(void);
/* The body of that job, valid until the next call. */
struct slice books_body(uint64_t token);
/* The number of the job with exactly that body, or -1 when nobody made it. */
long long books_token(const char *body, size_t len);

/* Random numbers from the seed of the run, below n. */
void books_seed(uint64_t seed);
uint32_t books_random(uint32_t n);
bool books_one_in(uint32_t n);
/* Both included. */
int books_between(int low, int high);

#endif
