/* A server that ends leases a second early. wraps: lease_take_ended params_set_time */
#include "base/clock.h"
#include "pg/params.h"
#include "queue/lease.h"

bool __real_lease_take_ended(int64_t now_us, struct job_key *key);
bool __wrap_lease_take_ended(int64_t now_us, struct job_key *key);
void __real_params_set_time(struct params *p, int column, int64_t us);
void __wrap_params_set_time(struct params *p, int column, int64_t us);

bool __wrap_lease_take_ended(int64_t now_us, struct job_key *key) {
    return __real_lease_take_ended(now_us + US_PER_S, key);
}

/* Column 3 is the time by which claims by key judge. */
void __wrap_params_set_time(struct params *p, int column, int64_t us) {
    __real_params_set_time(p, column, us + (column == 3 ? US_PER_S : 0));
}
