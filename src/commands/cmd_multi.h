#ifndef CMD_MULTI_H
#define CMD_MULTI_H

#include "net/client.h"

/*
 * At EXEC the handlers of those commands whose statements can be part of a transaction (CMD_JOINS) run, and their
 * tasks become one bundle (bundle.h). The others, answered from memory, run when what stands before them has been
 * committed. So all act as if they ran one after the other, and nothing in memory changes before the commit.
 *
 * When a command is refused by its handler, nothing is done at all.
 */

/* c is closed: what is under way is done without it. */
void exec_client_gone(struct client *c);

#endif
