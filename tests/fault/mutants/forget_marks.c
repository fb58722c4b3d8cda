/* A server that does not ask whether a flight was committed whose answer got lost. wraps: flight_ask */
#include "batch/flight_mark.h"

void __real_flight_ask(struct lost_task *l);
void __wrap_flight_ask(struct lost_task *l);

void __wrap_flight_ask(struct lost_task *l) {
    list_init(&l->node);
    l->on_known(l, FLIGHT_UNKNOWN);
}
