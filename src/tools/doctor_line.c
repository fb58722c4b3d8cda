/* The subcommand doctor. */
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
#include "tools/tool.h"

/* The time for the embedded Postgres to take connections, recovery included. */
#define START_US (60 * US_PER_S)
#define PAUSE_US (100 * US_PER_MS)

struct doctor_line_words {
    bool lines;
};

static const struct line_option doctor_options[] = {
    { "--lines", LINE_FLAG, NULL, offsetof(struct doctor_line_words, lines), 0, 0,
      "print a line for each finding: severity, check, text, with tabs between them" },
};

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
        snprintf(err, sizeof err, "there is no embedded Postgres in %s, and no option database", config.dir);
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

static int doctor_line(const struct tool *tool, int argc, char **argv) {
    struct doctor_line_words w = { false };
    struct event_base *base;
    int status = line_config_read(tool, argc, argv, &w, 0, NULL);

    if (status != LINE_RUNS)
        return status;
    log_set_level(LOG_WARNING_);
    signal(SIGPIPE, SIG_IGN);
    base = event_base_new();
    status = doctor_line_look(base, w.lines);
    event_base_free(base);
    return status;
}

const struct tool tool_doctor = {
    .name = "doctor",
    .arguments = "[--lines] [conf-file] [--option value]...",
    .summary = "Lists problems of the database and their remedies.",
    .text =
        "The server may run or not. If the embedded Postgres does not run, the tool starts it and ends it "
        "again.",
    .example = "pgdisque doctor pgdisque.conf",
    TOOL_OPTIONS(doctor_options),
    .has_config = true,
    .error = 2,
    TOOL_STATUSES({ 0, "there is no finding" }, { 1, "there are warnings" },
                  { 2, "there are errors, or the check failed" }),
    .run = doctor_line,
};
