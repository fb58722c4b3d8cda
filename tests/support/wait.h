#ifndef WAIT_H
#define WAIT_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Time for tests. Nothing here sleeps in the hope that something has happened:
 * a test states a condition and how long it may take to become true.
 */
int64_t now_ms(void);

/* PGDISQUE_TEST_SLOW is set: a sanitizer, or a slow machine. Figures of memory and speed mean nothing then. */
bool is_slow(void);

/* ms, made longer when PGDISQUE_TEST_SLOW is set (sanitizers, slow machines), and by the machine's load average
 * at this moment, up to ten times. It is a minute at least: a deadline ends a test that hangs, and measures nothing. */
int64_t patience(int64_t ms);

/* Gives the processor away for a moment between two looks at a condition. */
void pause_briefly(void);

/* Tests cond until it is true or ms are over. The value is the last result of cond. Load makes the deadline longer. */
#define WAIT_UNTIL(cond, ms)                                                  \
    ({                                                                        \
        int64_t wait_begin_ = now_ms();                                       \
        bool wait_ok_;                                                        \
        while (!(wait_ok_ = (cond)) && now_ms() < wait_begin_ + patience(ms)) \
            pause_briefly();                                                  \
        wait_ok_;                                                             \
    })

#endif
