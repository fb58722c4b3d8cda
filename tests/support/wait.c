/* Time for tests: deadlines and polling. */
#include "wait.h"

#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define SLOW_FACTOR 5
/* Most that a busy machine lengthens a deadline by. */
#define LOAD_FACTOR_MOST 10
#define LEAST_MS 60000

int64_t now_ms(void) {
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* Processes that want to run for each processor, at least 1. */
static double load_factor(void) {
    double load = 1, processors = (double)sysconf(_SC_NPROCESSORS_ONLN);

    if (getloadavg(&load, 1) != 1 || load < processors)
        return 1;
    return load < processors * LOAD_FACTOR_MOST ? load / processors : LOAD_FACTOR_MOST;
}

bool is_slow(void) {
    const char *slow = getenv("PGDISQUE_TEST_SLOW");

    return slow && *slow && *slow != '0';
}

int64_t patience(int64_t ms) {
    int64_t longer = (int64_t)((double)ms * load_factor()) * (is_slow() ? SLOW_FACTOR : 1);

    return longer > LEAST_MS ? longer : LEAST_MS;
}

void pause_briefly(void) {
    struct timespec ts = { 0, 5 * 1000000 };

    nanosleep(&ts, NULL);
}
