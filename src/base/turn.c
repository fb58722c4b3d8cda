/* The longest turn of the event loop, and its longest command. */
#include "base/turn.h"

#include <time.h>

#include "base/clock.h"

#define SHORT_US US_PER_MS

static struct turn current = { .command = "" };
static struct turn longest = { .command = "" };
static int64_t measured_us, measured_cpu_us; /* monotonic clock and CPU time at the last measurement */

/* The CPU time of this thread. Reading it takes a system call, unlike the other clocks. */
static int64_t cpu_now(void) {
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * US_PER_S + now.tv_nsec / 1000;
}

void turn_note_command(const char *name, int64_t us) {
    if (us < current.command_us)
        return;
    current.command = name;
    current.command_us = us;
}

static void measure(int64_t now_us) {
    int64_t cpu = cpu_now();

    current.cpu_us = cpu - measured_cpu_us;
    if (measured_us != 0 && current.cpu_us > longest.cpu_us)
        longest = current;
    measured_us = now_us;
    measured_cpu_us = cpu;
    current = (struct turn){ .command = "" };
}

/* Uses the last reading of the clock. Work after that reading counts in the next turn. */
void turn_end(void) {
    int64_t now = clock_latest();

    if (now - measured_us >= SHORT_US)
        measure(now);
}

const struct turn *turn_longest(void) {
    return &longest;
}

void turn_reset(void) {
    longest = (struct turn){ .command = "" };
}
