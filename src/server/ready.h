#ifndef READY_H
#define READY_H

#include <stdbool.h>
#include "base/util.h"

/*
 * Tells the starter of this process how the start went: a shell that starts a daemon, by an exit status, and
 * systemd (Type=notify), by a message to its socket.
 */

/* Goes to the background. The process that the shell waits for ends with status 0 at ready_tell(), and with 1
 * when the daemon ends before that. Until ready_tell() the daemon keeps its standard error; after it, too, when
 * keep_output is set. False with errno when the system refuses. */
bool ready_detach(bool keep_output) MUST_CHECK;

/* The start has succeeded. Later calls only change the text that `systemctl status` shows. */
void ready_tell(const char *status);

/* The server stops; systemd waits for its end. */
void ready_stopping(void);

#endif
