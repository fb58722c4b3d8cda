#ifndef CMD_SERVER_H
#define CMD_SERVER_H

/* stop() is called by SHUTDOWN. It begins the end of the server, and returns. Set it before clients are read. */
void shutdown_by(void (*stop)(void));

#endif
