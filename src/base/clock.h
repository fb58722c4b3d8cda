#ifndef CLOCK_H
#define CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#define US_PER_MS INT64_C(1000)
#define US_PER_S INT64_C(1000000)

/*
 * Three clocks, all in microseconds. The first call after clock_turn() reads mono and unix; later calls return the same
 * values.
 *
 * - mono: never steps; for timeouts, ages and leases held in memory.
 * - unix: this machine's wall clock; for logs and TIME only.
 * - db: the estimate of the database's clock, since 1970. All servers of a database use this clock for delays, leases
 *   and expiry. The estimate is mono plus an offset that clock_sync_db() sets.
 */
/* The clocks are read again at their next use. Call it immediately before waiting for events, and again after them. The
 * time of a statement is then after the reads of its commands, also if the machine stood still during these reads. */
void clock_turn(void);
int64_t clock_mono(void);
int64_t clock_unix(void);
int64_t clock_db(void);

/* Reads the monotonic clock now instead of once per turn: for measurements. */
int64_t clock_mono_now(void);
/* The last value that was read from the monotonic clock. Reads nothing. */
int64_t clock_latest(void);

/* clock_mono() at the end of the rest after a search that began at began_us: `times` its duration, at most most_us. A
 * server or a database that stood still makes the duration long, although the search took no work. */
int64_t clock_rest_end(int64_t began_us, int64_t times, int64_t most_us);

/* A movement of the estimate by this or more means that the database's clock was set. clock_db() keeps its value after a
 * smaller movement back, and follows a step. */
#define CLOCK_STEP_US US_PER_S
static inline bool clock_is_step(int64_t moved_us) {
    return moved_us >= CLOCK_STEP_US || moved_us <= -CLOCK_STEP_US;
}

/* Corrects the estimate: the database's clock was db_us at some time between the two monotonic times. The first answer
 * sets the estimate to the end that is not early, so that no lease ends too soon. A later answer moves the estimate only
 * as far as the answer proves, so a slow answer moves it little. Returns the movement in microseconds. Logs a step. */
int64_t clock_sync_db(int64_t db_us, int64_t asked_mono_us, int64_t answered_mono_us);
/* The same for the queries after a connect. True when no further query is needed: the answer took at most 3 ms, 8 answers
 * were given, or the first answer agrees with the estimate of an earlier connect to a second. */
bool clock_sync_first(int64_t db_us, int64_t asked_mono_us, int64_t answered_mono_us);
/* Moves clock_db() forward to db_us, a time by the estimate of another server. A lease that has ended there has then
 * ended here, too. Estimates differ by some milliseconds. A time that is 250 ms or more ahead is ignored. */
void clock_db_reached(int64_t db_us);

/* Is db_us at most ten seconds away from clock_db()? A sealed message with a time further away is a replay of an old
 * message, or is very late. */
bool clock_db_is_near(int64_t db_us);

#endif
