#ifndef INFO_H
#define INFO_H

#include "base/buf.h"

/* INFO: sections of lines "name:value". Every figure is at hand in memory. */

/* The server starts now: uptime counts from here. */
void info_init(void);

/* Appends "name:value" with what could be taken for structure made harmless:
 * some clients split the whole text at every #. */
void info_line(struct buf *out, const char *name, const char *value);
/* Bytes for people: 1.06M. */
void info_human(struct buf *out, const char *name, size_t bytes);

/* The sections that tell of the process and of Postgres. */
void info_server(struct buf *out);
void info_memory(struct buf *out);
void info_cpu(struct buf *out);
void info_pgdisque(struct buf *out);

#endif
