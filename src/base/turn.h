#ifndef TURN_H
#define TURN_H

#include <stdint.h>

/*
 * The longest turn of the loop: while a turn lasts, no other client is served. The time is that of the processor, so
 * that other programs on the machine do not count. Turns shorter than a millisecond are measured together, and the
 * clock of the processor is read once a millisecond. So a time includes up to a millisecond of the turns before it.
 */
struct turn {
    int64_t cpu_us;
    const char *command; /* the command that took longest in it; "" for none */
    int64_t command_us;  /* so long, by the clock */
};

/* The handler of the command has taken so long; name stays valid. */
void turn_note_command(const char *name, int64_t us);
/* The turn ends. */
void turn_end(void);
/* The longest one since the start, or since turn_reset(). */
const struct turn *turn_longest(void);
void turn_reset(void);

#endif
