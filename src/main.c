/* Start the server and run the turn: wait, collect results, flush batches, flush clients, reap. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <event2/event.h>

#include "admin.h"
#include "batch.h"
#include "claim.h"
#include "client.h"
#include "clock.h"
#include "cmd_job.h"
#include "cmd_queue.h"
#include "command.h"
#include "config.h"
#include "cron.h"
#include "db.h"
#include "dead_rows.h"
#include "embedded.h"
#include "job_expiry.h"
#include "latency.h"
#include "load.h"
#include "log.h"
#include "monitor.h"
#include "node.h"
#include "queue.h"
#include "queue_row.h"
#include "server.h"
#include "sockets.h"
#include "version.h"
#include "waiters.h"

#define DRAIN_US (5 * US_PER_S)
#define CHECK_US (10 * US_PER_S)
/* Files besides clients: listeners, log, database, the loop's own. */
#define SPARE_FILES 64

/* The order of statements within a transaction. Acks come before claims, so that
 * a client's pipelined commands take effect in its order. Claims come last: there
 * may be so many of them that other statements find no room behind. */
static struct op *const operations[] = {
    &op_load_clock,    &op_load_secret,     &op_register_node,  &op_load_nodes,
    &op_load_queues,   &op_flush_all,       &op_unpause_all,    &op_open_queues,
    &op_pause_queues,  &op_add_jobs,        &op_add_jobs_again, &op_ack_jobs,
    &op_requeue_again, &op_requeue_jobs,    &op_dequeue_jobs,   &op_working_jobs,
    &op_release,       &op_postpone,        &op_wake_expired,   &op_wake_due,
    &op_wake_next,     &op_expire_in_order, &op_drop_queues,    &op_load_leases,
    &op_load_counts,   &op_claim_keys,      &op_claim_walk,     &op_show_jobs,
    &op_peek_first,    &op_peek_last,       &op_scan_jobs,      &op_scan_queue,
    &op_save_counters, &op_clock,           &op_dead_rows,      NULL,
};

static struct {
    struct event_base *base;
    struct event *timer;
    bool check; /* --check: ends when the database was reached */
    bool stopping;
    bool failed;
    int64_t deadline; /* clock_mono(): of stopping, or of the check */
} server;

/* ---- hooks between the layers ---- */

static void on_client_close(struct client *c) {
    waiters_client_gone(c);
    claim_release_unsent(c);
    monitor_stop(c);
}

static void on_client_written(struct client *c) {
    c->unsent_count = 0;
}

static const struct client_hooks client_hooks = {
    .on_command = command_exec,
    .is_waiting = waiters_has,
    .on_close = on_client_close,
    .on_written = on_client_written,
};

static void on_lane_ready(struct db_lane *lane) {
    if (lane->kind == LANE_HOT)
        load_start();
}

static void on_lane_down(struct db_lane *lane) {
    (void)lane;
}

static const struct db_hooks db_hooks = { on_lane_ready, on_lane_down };

/* ---- stopping ---- */

void server_stop(void) {
    if (server.stopping)
        return;
    log_notice("server", "stopping: %zu clients, %zu of them waiting for jobs", client_count(),
               waiters_blocked());
    server.stopping = true;
    server.deadline = clock_mono() + DRAIN_US;
    sockets_stop_listening();
    waiters_end_all(NULL);
    LIST_EACH_SAFE(node, client_list(CLIENT_OPEN))
        client_close_after_replies(LIST_ENTRY(node, struct client, in_state));
    queue_save_counters();
}

static bool is_stopped(void) {
    if (server.check && clock_mono() > server.deadline) {
        fprintf(stderr, "pgdisque: the database cannot be reached: %s\n", db_last_error());
        server.failed = true;
        return true;
    }
    if (!server.stopping)
        return false;
    /* What the last clients did has to be counted, too. */
    if (client_count() == 0)
        queue_save_counters();
    return clock_mono() > server.deadline ||
           (client_count() == 0 && (batch_idle() || !batch_connected(LANE_HOT)));
}

static void on_stop_signal(evutil_socket_t number, short what, void *arg) {
    (void)what;
    (void)arg;
    log_notice("server", "received %s", strsignal((int)number));
    server_stop();
}

static void open_log(void) {
    log_set_level((enum log_level)config.loglevel);
    if (!log_set_file(config.logfile))
        log_warning("log", "cannot open %s", config.logfile);
    log_set_syslog(config.syslog_enabled ? config.syslog_ident : NULL, config.syslog_facility);
}

static void on_hangup(evutil_socket_t number, short what, void *arg) {
    (void)number;
    (void)what;
    (void)arg;
    open_log();
}

/* ---- the turn ---- */

static void on_timer(evutil_socket_t fd, short what, void *arg) {
    (void)fd;
    (void)what;
    (void)arg;
}

static void wait_for_events(void) {
    int64_t wait = clients_pending() ? 0 : cron_wait();
    struct timeval tv = { wait / US_PER_S, wait % US_PER_S };

    event_add(server.timer, &tv);
    clock_turn();
    event_base_loop(server.base, EVLOOP_ONCE);
}

static void run(void) {
    while (!is_stopped()) {
        wait_for_events();
        cron_turn();
        clients_resume();
        batch_flush();
        clients_flush();
        clients_reap();
    }
}

/* ---- starting ---- */

static _Noreturn void refuse(const char *why) {
    fprintf(stderr, "pgdisque: %s\n", why);
    exit(1);
}

static void raise_file_limit(void) {
    struct rlimit limit;
    rlim_t wanted = (rlim_t)config.maxclients + SPARE_FILES;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted)
        return;
    limit.rlim_cur = limit.rlim_max == RLIM_INFINITY || limit.rlim_max >= wanted ? wanted : limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_cur >= wanted)
        return;
    config.maxclients = (int)limit.rlim_cur - SPARE_FILES;
    log_warning("server", "the limit of open files allows only %d clients; raise it (ulimit -n %llu)",
                config.maxclients, (unsigned long long)wanted);
}

static void on_log_changed(void) {
    log_set_level((enum log_level)config.loglevel);
}

static void add_signal(int number, event_callback_fn fn) {
    event_add(evsignal_new(server.base, number, fn, NULL), NULL);
}

static void write_pidfile(void) {
    FILE *f;

    if (config.pidfile[0] == '\0')
        return;
    f = fopen(config.pidfile, "w");
    if (f == NULL || fprintf(f, "%d\n", (int)getpid()) < 0 || fclose(f) != 0)
        log_warning("server", "cannot write the pid file %s", config.pidfile);
}

/* Without libevent's precise timer, which is a system call in every turn. */
static void start_loop(void) {
    server.base = event_base_new();
    if (server.base == NULL)
        refuse("cannot make an event loop");
    server.timer = evtimer_new(server.base, on_timer, NULL);
    signal(SIGPIPE, SIG_IGN);
    add_signal(SIGTERM, on_stop_signal);
    add_signal(SIGINT, on_stop_signal);
    add_signal(SIGHUP, on_hangup);
}

static const char *start_database(void) {
    char err[512];

    if (config.database[0] != '\0')
        return config.database;
    if (!embedded_start(server.base, err, sizeof err))
        refuse(err);
    return embedded_conninfo();
}

static void on_loaded(void) {
    const char *host = strchr(config.bind, ' ') == NULL ? config.bind : "127.0.0.1";

    if (server.check) {
        printf("configuration and database are fine: PostgreSQL %d, %zu queues, %lld jobs\n",
               db_server_version() / 10000, queue_count(), (long long)queue_jobs_total());
        server_stop();
        return;
    }
    if (config.port != 0)
        log_notice("server", "ready on %s port %d; try: redis-cli -p %d ADDJOB hello world 0", host,
                   config.port, config.port);
    else
        log_notice("server", "ready on %s", config.unixsocket);
}

static void start(void) {
    char err[512];
    const char *conninfo;

    start_loop();
    clock_turn();
    raise_file_limit();
    client_init(server.base, &client_hooks);
    queue_init();
    waiters_init();
    batch_init(operations, claim_plan);
    if (!server.check && !sockets_listen(server.base, client_accept, err, sizeof err))
        refuse(err);
    if (mkdir(config.dir, 0711) != 0 && errno != EEXIST) {
        snprintf(err, sizeof err, "cannot make the directory %s: %s", config.dir, strerror(errno));
        refuse(err);
    }
    conninfo = start_database();
    if (!node_load(config.dir, config.port, err, sizeof err))
        refuse(err);
    load_on_loaded(on_loaded);
    config_on_change("loglevel", on_log_changed);
    command_init();
    db_init(server.base, conninfo, &db_hooks);
    batch_start();
    write_pidfile();
    clock_turn();
    if (server.check)
        server.deadline = clock_mono() + CHECK_US;
}

static void stop(void) {
    client_shutdown();
    batch_stop();
    embedded_stop();
    if (config.pidfile[0] != '\0')
        unlink(config.pidfile);
    log_notice("server", "stopped");
}

int main(int argc, char **argv) {
    enum config_action action;
    char err[512];

    if (!config_parse_args(argc, argv, &action, err, sizeof err))
        refuse(err);
    if (action == CONFIG_HELP) {
        config_help(stdout);
        return 0;
    }
    if (action == CONFIG_VERSION) {
        printf("pgdisque %s (%s%s)\n", PGDISQUE_VERSION, PGDISQUE_GIT_SHA1,
               PGDISQUE_GIT_DIRTY ? ", modified" : "");
        return 0;
    }
    server.check = action == CONFIG_CHECK;
    if (config.daemonize && !server.check && daemon(1, config.logfile[0] == '\0') != 0)
        refuse("cannot become a daemon");
    open_log();
    start();
    run();
    stop();
    return server.failed ? 1 : 0;
}
