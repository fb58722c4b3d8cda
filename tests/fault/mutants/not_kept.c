/* A server that keeps one finished job in ten for no time at all. wraps: setting_in_force */
#include "queue/settings.h"

int64_t __real_setting_in_force(const struct queue *q, enum setting which);
int64_t __wrap_setting_in_force(const struct queue *q, enum setting which);

int64_t __wrap_setting_in_force(const struct queue *q, enum setting which) {
    static unsigned count;

    if (which == SETTING_RETENTION && ++count % 10 == 0)
        return 0;
    return __real_setting_in_force(q, which);
}
