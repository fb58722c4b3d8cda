#ifndef CMD_MULTI_H
#define CMD_MULTI_H

#include "net/client.h"

/*
 * EXEC runs the handlers of the commands that can be part of a transaction (CMD_JOINS). Their tasks become a
 * client transaction (client_txn.h). The other commands are answered from memory. They run after the commands
 * before them have been committed. The effect is that all commands run one after the other. Nothing in memory
 * changes before the commit.
 *
 * If a handler refuses its command, EXEC changes nothing at all.
 */
/* Call when c is closed. Its EXEC in progress is finished without a reply. */
void exec_client_gone(struct client *c);

#endif
