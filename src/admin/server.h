#ifndef SERVER_H
#define SERVER_H

/* Stops the server in good order: no new clients, waiting ones get nothing, what
 * is under way is committed and answered. Takes at most a few seconds. */
void server_stop(void);

#endif
