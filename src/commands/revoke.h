#ifndef REVOKE_H
#define REVOKE_H

#include "net/client.h"

/*
 * Call after users have changed. Disconnects the clients whose user was removed or turned off, and those that wait,
 * subscribe or monitor without the right. The next command of every other client is checked anyway. me is the client
 * that made the change: it is closed only after its replies, and stays connected if its user was turned off. NULL: none.
 * The check of many clients takes several turns, in the share of long work.
 */
void revoke_lost_rights(struct client *me);

#endif
