#ifndef CLOCK_H
#define CLOCK_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Time is read once per turn, by whoever asks first. Three clocks, all in microseconds:
 *
 * - mono: never steps; for timeouts, ages and leases held in memory.
 * - unix: this machine's wall clock; for logs and TIME only.
 * - db: our estimate of the database's clock, Unix epoch. Delays, leases and
 *   expiry are by this clock, on every server of one database. It runs with
 *   mono and is set by clock_sync_db() from what the database tells.
 */
/* A new turn begins: call it right before waiting for events. */
void clock_turn(void);
int64_t clock_mono(void);
int64_t clock_unix(void);
int64_t clock_db(void);

/* The monotonic clock now, not at the turn's start: for measuring. */
int64_t clock_mono_now(void);
/* The monotonic clock as it was read last, for whatever reason. */
int64_t clock_latest(void);

/* The database's clock stood at db_us when ours stood at mono_us. */
void clock_sync_db(int64_t db_us, int64_t mono_us);
/* The same at the start, asked several times: the database's clock stood at db_us between the two times of ours.
 * The shortest answer counts. True when it was short enough, or nothing better is to be expected. */
bool clock_sync_first(int64_t db_us, int64_t asked_mono_us, int64_t answered_mono_us);
/* Another server says that by its estimate the database's clock has come as far: what is over by its clock is
 * over by ours. Estimates are some milliseconds apart; what is much further ahead is left alone. */
void clock_db_reached(int64_t db_us);

/* Is db_us at most ten seconds away from the database's time? A message that was sealed with a time further away
 * is a repeat of an old one, or was very late. */
bool clock_db_is_near(int64_t db_us);

#define US_PER_MS INT64_C(1000)
#define US_PER_S INT64_C(1000000)

#endif
