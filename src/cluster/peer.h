#ifndef PEER_H
#define PEER_H

#include <stdbool.h>
#include <stdint.h>
#include "base/node.h"

/* A server, as its messages show it. */
struct peer {
    struct node *node;
    bool waiting;          /* has clients that wait for jobs */
    bool synced;           /* all its changes of this run were received */
    bool scans_reset;      /* scan positions were reset, because it may have added jobs without a message */
    uint64_t last_message; /* number of its last message */
    int64_t done_us;       /* the node's seen_us up to which its failure was handled */
};

/* The peer of the node; it is never freed. */
struct peer *peer_of(struct node *n);

#endif
