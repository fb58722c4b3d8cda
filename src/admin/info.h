#ifndef INFO_H
#define INFO_H

#include <stdint.h>
#include "base/buf.h"

/* INFO: sections of lines "name:value". All figures are in memory. */

/* Call when the server starts: uptime counts from here. */
void info_init(void);

/* Appends "name:value". Replaces # and line ends in value, because some clients split the whole text at every
 * #. */
void info_line(struct buf *out, const char *name, const char *value);
/* A number of bytes for people, such as 1.06M. */
void info_human(struct buf *out, const char *name, size_t bytes);

/* Time since info_init(), and the resident memory of this process in bytes; 0 if the system does not report it. */
int64_t info_uptime_us(void);
size_t info_resident(void);

/* The sections about the process and Postgres. */
void info_server(struct buf *out);
void info_memory(struct buf *out);
void info_cpu(struct buf *out);
void info_pgdisque(struct buf *out);

#endif
