#ifndef TURN_H
#define TURN_H

#include <stdint.h>

/*
 * The longest turn of the event loop. No other client is served while a turn lasts. The time is CPU time, so that other
 * programs on the machine do not count. Turns shorter than a millisecond are measured together, because reading the CPU
 * time is slow. So a time may include up to a millisecond of the turns before.
 */
struct turn {
    int64_t cpu_us;
    const char *command; /* the longest command of the turn; "": no command ran */
    int64_t command_us;  /* its duration by the monotonic clock */
};

/* Notes that the handler of the command has taken us microseconds. name must stay valid. */
void turn_note_command(const char *name, int64_t us);
/* Call it at the end of each turn. */
void turn_end(void);
/* The longest turn since the start, or since turn_reset(). */
const struct turn *turn_longest(void);
void turn_reset(void);

#endif
