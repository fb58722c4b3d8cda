#ifndef GENERATOR_H
#define GENERATOR_H

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
struct slice generator_name(int queue);
/* The number of the queue with that name, or -1. */
int generator_queue(const char *name, size_t len);

/* A new job's number; each is used once. */
uint64_t generator_new_token(void);
/* The body of that job, valid until the next call. */
struct slice generator_body(uint64_t token);
/* The number of the job with exactly that body, or -1 if no job has it. */
long long generator_token(const char *body, size_t len);

/* Random numbers from the seed of the run, below n. */
void generator_seed(uint64_t seed);
uint32_t generator_random(uint32_t n);
bool generator_one_in(uint32_t n);
/* Both included. */
int generator_between(int low, int high);

#endif
