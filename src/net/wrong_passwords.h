#ifndef WRONG_PASSWORDS_H
#define WRONG_PASSWORDS_H

#include <stdint.h>
#include "base/util.h"

/*
 * The delay of the reply to a wrong password. It grows with the wrong passwords of the last seconds from the same
 * address, and for the same user from any address. The tables have a fixed size: names with the same place share their
 * delay.
 */

/* Counts a wrong password. addr is "host:port". Returns the delay in microseconds. */
int64_t wrong_password_delay(const char *addr, struct slice user);
/* For tests: forgets all wrong passwords. */
void wrong_passwords_reset(void);

#endif
