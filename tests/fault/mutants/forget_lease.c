/* A server that forgets one lease in thirty: its job is not delivered again. wraps: lease_give */
#include "queue/lease.h"

void __real_lease_give(struct job_key key, int64_t until_us, int64_t row_until_us, struct worker *to);
void __wrap_lease_give(struct job_key key, int64_t until_us, int64_t row_until_us, struct worker *to);

void __wrap_lease_give(struct job_key key, int64_t until_us, int64_t row_until_us, struct worker *to) {
    static unsigned count;

    if (++count % 30 != 0)
        __real_lease_give(key, until_us, row_until_us, to);
}
