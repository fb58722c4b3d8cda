#ifndef READY_H
#define READY_H

#include <stdbool.h>
#include "base/util.h"

/*
 * Reports the result of the start: to the shell that starts a daemon, by an exit status, and to systemd (Type=notify),
 * by messages to its socket. The protocol of these messages is a datagram, so libsystemd is not needed.
 */

/* Goes to the background. The process that the shell waits for ends with status 0 at ready_tell(), and with status 1 if
 * the daemon ends before. The daemon keeps its standard output and error until ready_tell(). A shell that reads them waits
 * as long. False with errno if the system refuses. */
bool ready_detach(void) MUST_CHECK;

/* Connects to the socket of systemd, if there is one. The user that a server of root becomes may not open it. */
void ready_open(void);

/* Reports that the start has succeeded. Later calls only change the text that `systemctl status` shows. */
void ready_tell(const char *status);

/* Whether systemd waits for the next report. The watchdog of the unit (WatchdogSec) needs one in its time. Only the
 * event loop reports, so systemd terminates a server whose loop hangs. False until ready_tell(). */
bool ready_report_due(void);

/* Reports to systemd that the event loop runs, and the status that `systemctl status` shows. */
void ready_report(const char *status);

/* Reports the begin and the end of a reload. */
void ready_reloading(void);
void ready_reloaded(void);

/* Reports to systemd that the server stops. */
void ready_stopping(void);

#endif
