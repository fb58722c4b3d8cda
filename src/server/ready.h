#ifndef READY_H
#define READY_H

#include <stdbool.h>
#include "base/util.h"

/*
 * Reports the result of the start: to the shell that starts a daemon, by an exit status, and to systemd (Type=notify),
 * by a message to its socket.
 */

/* Goes to the background. The process that the shell waits for ends with status 0 at ready_tell(), and with status 1 if
 * the daemon ends before. The daemon keeps its standard error until ready_tell(), and for ever if keep_output is set.
 * False with errno if the system refuses. */
bool ready_detach(bool keep_output) MUST_CHECK;

/* Connects to the socket of systemd, if there is one. The user that a server of root becomes may not open it. */
void ready_open(void);

/* Reports that the start has succeeded. Later calls only change the text that `systemctl status` shows. */
void ready_tell(const char *status);

/* Reports to systemd that the server stops. */
void ready_stopping(void);

#endif
