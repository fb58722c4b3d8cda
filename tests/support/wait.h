#ifndef WAIT_H
#define WAIT_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Time for tests. Nothing here sleeps in the hope that something has happened:
 * a test states a condition and how long it may take to become true.
 */
int64_t now_ms(void);

/* ms, made longer when PGDISQUE_TEST_SLOW is set (sanitizers, slow machines). */
int64_t patience(int64_t ms);

/* Gives the processor away for a moment between two looks at a condition. */
void pause_briefly(void);

/* Looks at cond until it is true or ms (before patience) are over; the value
 * says which. */
#define WAIT_UNTIL(cond, ms)                                 \
    ({                                                       \
        int64_t wait_end_ = now_ms() + patience(ms);         \
        bool wait_ok_;                                       \
        while (!(wait_ok_ = (cond)) && now_ms() < wait_end_) \
            pause_briefly();                                 \
        wait_ok_;                                            \
    })

#endif
