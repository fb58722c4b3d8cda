/* A server that forgets one lease in thirty: its job is not given out again. wraps: lease_add */
#include "queue/lease.h"

void __real_lease_add(struct job_key key, int64_t until_us);
void __wrap_lease_add(struct job_key key, int64_t until_us);

void __wrap_lease_add(struct job_key key, int64_t until_us) {
    static unsigned count;

    if (++count % 30 != 0)
        __real_lease_add(key, until_us);
}
