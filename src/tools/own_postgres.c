/* The database of the options for a tool: an external one, or the embedded Postgres. */
#include "tools/own_postgres.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <libpq-fe.h>

#include "base/clock.h"
#include "config/config.h"
#include "pg/embedded/postmaster.h"
#include "tools/line_options.h"

/* The time for the embedded Postgres to take connections, recovery included. */
#define START_US (60 * US_PER_S)
#define PAUSE_US (100 * US_PER_MS)

static void on_pause(evutil_socket_t fd, short what, void *arg) {
    (void)fd;
    (void)what;
    event_base_loopbreak(arg);
}

/* Waits until Postgres takes connections. The event loop runs, because it starts Postgres again if Postgres dies. */
static void wait_for_postgres(struct event_base *base, const char *conninfo) {
    struct event *timer = evtimer_new(base, on_pause, base);
    struct timeval tv = { 0, PAUSE_US };

    for (int64_t begin = clock_mono_now();
         PQping(conninfo) != PQPING_OK && clock_mono_now() < begin + START_US;) {
        event_add(timer, &tv);
        event_base_dispatch(base);
    }
    event_free(timer);
}

static char *start_own(const char *tool, struct event_base *base, bool make) {
    char err[512], *path = xasprintf("%s/postgres", config.dir), *running = postmaster_visit();
    bool exists = make || access(path, F_OK) == 0;

    free(path);
    if (running != NULL)
        return running;
    if (!exists) {
        snprintf(err, sizeof err, "there is no embedded Postgres in %s, and no option database", config.dir);
        line_refuse(tool, err, "");
        return NULL;
    }
    if (!postmaster_start(base, err, sizeof err)) {
        line_refuse(tool, err, "");
        return NULL;
    }
    own_postgres_wait(base);
    return xstrdup(postmaster_conninfo());
}

char *own_postgres_database(const char *tool, struct event_base *base, bool make) {
    return config.database[0] != '\0' ? xstrdup(config.database) : start_own(tool, base, make);
}

void own_postgres_wait(struct event_base *base) {
    wait_for_postgres(base, postmaster_conninfo());
}
