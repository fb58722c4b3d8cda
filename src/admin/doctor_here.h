#ifndef DOCTOR_HERE_H
#define DOCTOR_HERE_H

#include <stdint.h>
#include "admin/findings.h"

/* Checks this machine. Needs no connection. */
void doctor_look_here(struct findings *f);

/* ---- parts, for tests ---- */

/* Compares the clocks. db_us: the database's clock in its result. before_us, after_us: this machine's clock
 * before the statement was sent and after the result arrived. */
void doctor_note_clock(struct findings *f, int64_t db_us, int64_t before_us, int64_t after_us);
/* Checks the free space on the disk of the embedded Postgres. */
void doctor_note_disk(struct findings *f, const char *dir, int64_t free_bytes, int64_t total_bytes);
/* Checks the days until the certificate of the server expires. */
void doctor_note_certificate(struct findings *f, int days);

#endif
