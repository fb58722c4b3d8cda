/* Time for tests: deadlines and polling. */
#include "wait.h"

#include <stdlib.h>
#include <time.h>

#define SLOW_FACTOR 5

int64_t now_ms(void) {
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

int64_t patience(int64_t ms) {
    const char *slow = getenv("PGDISQUE_TEST_SLOW");

    return slow && *slow && *slow != '0' ? ms * SLOW_FACTOR : ms;
}

void pause_briefly(void) {
    struct timespec ts = { 0, 5 * 1000000 };

    nanosleep(&ts, NULL);
}
