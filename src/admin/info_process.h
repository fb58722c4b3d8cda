#ifndef INFO_PROCESS_H
#define INFO_PROCESS_H

#include <stdint.h>
#include "base/buf.h"

/* INFO: sections of lines "name:value". All figures are in memory. */

/* Call when the server starts: uptime counts from here. */
void info_init(void);

/* Time since info_init(), and the resident memory of this process in bytes; 0 if the system does not report it. */
int64_t info_uptime_us(void);
size_t info_resident(void);

/* The sections about the process and Postgres. */
void info_server(struct buf *out);
void info_memory(struct buf *out);
void info_cpu(struct buf *out);
void info_pgdisque(struct buf *out);

#endif
