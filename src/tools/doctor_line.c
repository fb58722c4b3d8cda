/* The subcommand doctor. */
#include "tools/doctor_line.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <event2/event.h>

#include "admin/doctor.h"
#include "base/clock.h"
#include "base/log.h"
#include "config/config.h"
#include "pg/conninfo_hosts.h"
#include "pg/embedded/postmaster.h"
#include "tools/line_options.h"

/* The time for the embedded Postgres to take connections, recovery included. */
#define START_US (60 * US_PER_S)
#define PAUSE_US (100 * US_PER_MS)

bool doctor_line_asked(int argc, char **argv) {
    return argc > 1 && strcmp(argv[1], "doctor") == 0;
}

/* Reads the arguments after "doctor". All except --lines are arguments of the server. */
static int doctor_line_read_words(int argc, char **argv, bool *lines) {
    char **rest = xcalloc((size_t)argc, sizeof *rest);
    int count = 1;
    int status;

    rest[0] = argv[0];
    for (int i = 2; i < argc; i++) {
        if (strcmp(argv[i], "--lines") == 0)
            *lines = true;
        else
            rest[count++] = argv[i];
    }
    status = line_read_config("doctor", count, rest, 2);
    free(rest);
    return status;
}

/* ---- embedded Postgres ---- */

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

/* The connection string of the embedded Postgres; starts it if it does not run. NULL after an error message. The caller
 * frees it. */
static char *private_postgres(struct event_base *base) {
    char err[512], *path = xasprintf("%s/postgres", config.dir), *running = embedded_visit();
    bool exists = access(path, F_OK) == 0;

    free(path);
    if (running != NULL)
        return running;
    if (!exists) {
        snprintf(err, sizeof err, "there is no private Postgres in %s, and no option database", config.dir);
        line_refuse("doctor", err, "");
        return NULL;
    }
    if (!embedded_start(base, err, sizeof err)) {
        line_refuse("doctor", err, "");
        return NULL;
    }
    wait_for_postgres(base, embedded_conninfo());
    return xstrdup(embedded_conninfo());
}

/* ---- the run ---- */

static void on_doctor_line_end(void *arg) {
    event_base_loopbreak(arg);
}

static int doctor_line_tell(const struct findings *f, bool lines) {
    struct buf text = { 0 };

    (lines ? findings_lines : findings_text)(f, &text);
    fwrite(buf_ptr(&text), 1, buf_len(&text), stdout);
    buf_free(&text);
    if (findings_of(f, SEVERITY_ERROR) > 0)
        return 2;
    return findings_of(f, SEVERITY_WARNING) > 0;
}

static int doctor_line_look(struct event_base *base, bool lines) {
    char *conninfo = config.database[0] != '\0' ? xstrdup(config.database) : private_postgres(base);
    struct doctor doctor = { 0 };
    int status;

    if (conninfo == NULL)
        return 2;
    hosts_init(conninfo);
    free(conninfo);
    doctor_init(base);
    doctor_start(&doctor, 0, on_doctor_line_end, base);
    event_base_dispatch(base);
    status = doctor_line_tell(&doctor.findings, lines);
    doctor_stop(&doctor);
    embedded_stop();
    return status;
}

int doctor_line(int argc, char **argv) {
    struct event_base *base;
    bool lines = false;
    int status = doctor_line_read_words(argc, argv, &lines);

    if (status != LINE_RUNS)
        return status;
    log_set_level(LOG_WARNING_);
    signal(SIGPIPE, SIG_IGN);
    base = event_base_new();
    status = doctor_line_look(base, lines);
    event_base_free(base);
    return status;
}
