/* The delay of replies to wrong passwords, by address and by user. */
#include "net/wrong_passwords.h"

#include <string.h>

#include "base/clock.h"
#include "base/hash.h"

#define PLACES 1024
/* Each wrong password of the last ten seconds makes the delay after the next one longer. */
#define DELAY_STEP_US (100 * US_PER_MS)
#define DELAY_MAX_US (5 * US_PER_S)
#define DELAY_WINDOW_US (10 * US_PER_S)

struct wrong {
    int64_t last_us; /* clock_mono() of the last wrong password */
    int64_t delay_us;
};

static struct wrong by_address[PLACES], by_user[PLACES];

static int64_t wrong_password_count(struct wrong *table, struct slice name) {
    struct wrong *w = &table[hash_bytes(name.ptr, name.len) % PLACES];

    if (clock_mono() - w->last_us > DELAY_WINDOW_US)
        w->delay_us = 0;
    w->last_us = clock_mono();
    if (w->delay_us < DELAY_MAX_US)
        w->delay_us += DELAY_STEP_US;
    return w->delay_us;
}

int64_t wrong_password_delay(const char *addr, struct slice user) {
    const char *port = strrchr(addr, ':');
    struct slice host = { addr, port == NULL ? strlen(addr) : (size_t)(port - addr) };
    int64_t of_address = wrong_password_count(by_address, host),
            of_user = wrong_password_count(by_user, user);

    return of_address > of_user ? of_address : of_user;
}

void wrong_passwords_reset(void) {
    memset(by_address, 0, sizeof by_address);
    memset(by_user, 0, sizeof by_user);
}
