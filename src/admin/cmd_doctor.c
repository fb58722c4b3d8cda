/* DOCTOR: reports problems of the database and of this server, with advice. */
#include "admin/doctor.h"

#include <stdlib.h>

#include "admin/doctor_here.h"
#include "base/list.h"
#include "base/log.h"
#include "cluster/peers.h"
#include "commands/dispatch.h"
#include "config/config.h"
#include "config/fd_limit.h"
#include "net/sockets.h"
#include "net/tls_server.h"
#include "net/usage.h"
#include "pg/db.h"
#include "pg/notify_bus.h"
#include "pg/primary_select.h"
#include "queue/queue.h"

/* The most bytes of a user name in a finding. */
#define USER_SHOWN 64

struct doctor_waiter {
    struct list node;
    struct req *r;
    void (*tell)(const struct findings *f, struct buf *out);
};

/* All requests that arrive during a run share it, so that many DOCTORs use a single connection. */
static struct {
    struct doctor doctor;
    bool runs;
    struct list waiters;
} doctor_run = { .waiters = { &doctor_run.waiters, &doctor_run.waiters } };

/* A pooler in the wrong mode breaks the session of LISTEN first. */
static void look_at_channel(struct findings *f) {
    f->checks++;
    if (notify_bus_is_failing())
        findings_addf(
            f, SEVERITY_WARNING, "channel",
            "give LISTEN its own session: connect directly, or through a pooler in session mode; see the log",
            "notifications from other servers do not arrive (%s): a job that another server adds may be "
            "delivered here a second late",
            peers_state());
}

static void look_at_files(struct findings *f) {
    int wanted = fd_limit_clients();

    f->checks++;
    if (wanted > config.maxclients)
        findings_addf(f, SEVERITY_WARNING, "files",
                      "raise the limit of open files: ulimit -n, LimitNOFILE= in the systemd unit",
                      "the limit of open files allows %d clients; maxclients was %d", config.maxclients,
                      wanted);
}

static void look_at_certificate(struct findings *f) {
    int days;

    if (tls_server_days_left(&days))
        doctor_note_certificate(f, days);
}

/* Protected mode refuses other machines while the default user needs no password. */
static void look_at_users(struct findings *f) {
    bool reached = sockets_reach_others() && !(config.protected_mode && users_need_no_login());
    struct user **all = users_sorted();

    f->checks++;
    for (size_t i = 0; i < users_count() && reached; i++) {
        if (all[i]->grants.on && all[i]->grants.nopass)
            findings_addf(f, SEVERITY_WARNING, "users",
                          "give the user a password (ACL SETUSER name resetpass >password), or turn it off",
                          "other machines reach this server, and user %s needs no password",
                          log_escape(user_name(all[i]), USER_SHOWN));
    }
    free(all);
}

/* The alerts name the queues that have figures. With metrics-queues 0 no queue has them on purpose. */
static void look_at_metrics(struct findings *f) {
    f->checks++;
    if (config.metrics_queues > 0 && queue_shown() > (size_t)config.metrics_queues)
        findings_addf(
            f, SEVERITY_NOTE, "metrics",
            "raise metrics-queues, or find old and long queues by QSCAN ORDER age and QSCAN ORDER len",
            "METRICS has figures of %d of the %zu queues: no alert names the others", config.metrics_queues,
            queue_shown());
}

static void on_doctor_end(void *arg) {
    struct findings *f = &doctor_run.doctor.findings;
    struct list *node;

    (void)arg;
    look_at_channel(f);
    look_at_files(f);
    look_at_certificate(f);
    look_at_users(f);
    look_at_metrics(f);
    while ((node = list_pop_front(&doctor_run.waiters)) != NULL) {
        struct doctor_waiter *p = LIST_ENTRY(node, struct doctor_waiter, node);
        struct buf text = { 0 };

        p->tell(f, &text);
        req_text(p->r, &text);
    }
    doctor_stop(&doctor_run.doctor);
    doctor_run.runs = false;
}

void cmd_doctor(struct req *r) {
    bool lines = r->argc == 2 && slice_is(r->argv[1], "lines");
    struct doctor_waiter *p;

    if (r->argc > 2 || (r->argc == 2 && !lines && !slice_is(r->argv[1], "text"))) {
        usage_unexpected(r, lines ? 2 : 1);
        return;
    }
    p = req_alloc(r, sizeof *p);
    p->r = r;
    p->tell = lines ? findings_lines : findings_text;
    list_push_back(&doctor_run.waiters, &p->node);
    if (doctor_run.runs)
        return;
    doctor_run.runs = true;
    doctor_start(&doctor_run.doctor, primary_host_number(), on_doctor_end, NULL);
}
