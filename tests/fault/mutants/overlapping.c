/* A server that stores schedules without their OVERLAP. wraps: params_int2 */
#include "pg/params.h"

/* The column of put_schedule. No other statement has small integers there. */
#define OVERLAP 17

void __real_params_int2(struct params *p, int col, int16_t value);
void __wrap_params_int2(struct params *p, int col, int16_t value);

void __wrap_params_int2(struct params *p, int col, int16_t value) {
    __real_params_int2(p, col, col == OVERLAP ? 0 : value);
}
