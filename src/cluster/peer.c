/* The peers: the state of the other servers, as their messages show it. */
#include "cluster/peer.h"

#include "base/util.h"

static struct peer *by_number[NODE_MAX_NUMBER + 1];

struct peer *peer_of(struct node *n) {
    struct peer **p = &by_number[n->number];

    if (*p == NULL)
        *p = xcalloc(1, sizeof **p);
    (*p)->node = n;
    return *p;
}
