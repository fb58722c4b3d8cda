#ifndef PLAY_H
#define PLAY_H

#include <stdbool.h>
#include <stddef.h>

#include "server_process.h"
#include "transcript.h"

/*
 * Playing a case against a server.
 */
struct stage {
    const char *host;
    int port;
    struct server *own; /* the process, when we started it; else NULL */
};

/* Deletes all jobs and queues first. False with the error and its place in err. */
bool play_case(const struct stage *stage, const struct test_case *c, char *err, size_t size);

#endif
