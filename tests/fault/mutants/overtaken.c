/* A server that holds one job in twenty back for three seconds, and lets younger ones go before. wraps: cmd_addjob */
#include <string.h>

#include "net/request.h"

void __real_cmd_addjob(struct req *r);
void __wrap_cmd_addjob(struct req *r);

/* The jobs with a RETRY and no other option. */
#define ARGC 6

void __wrap_cmd_addjob(struct req *r) {
    static unsigned count;
    struct slice *argv;

    if (r->argc == ARGC && ++count % 20 == 0) {
        argv = req_alloc(r, (ARGC + 2) * sizeof *argv);
        memcpy(argv, r->argv, ARGC * sizeof *argv);
        argv[ARGC] = SLICE("DELAY");
        argv[ARGC + 1] = SLICE("3");
        r->argv = argv;
        r->argc = ARGC + 2;
    }
    __real_cmd_addjob(r);
}
