#ifndef SERVER_H
#define SERVER_H

/* Stops the server in good order. It accepts no new clients, and requests that wait for jobs get an empty
 * reply. Requests in progress are committed and answered. Takes at most a few seconds. */
void server_stop(void);

#endif
