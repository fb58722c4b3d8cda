/* Starts the server and runs the turn: wait, collect results, flush batches, flush clients, reap. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>
#include <event2/event.h>

#include "acl/acl_file.h"
#include "admin/cmd_server.h"
#include "admin/doctor.h"
#include "admin/info_process.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/node.h"
#include "base/spelling.h"
#include "base/system_user.h"
#include "base/tls.h"
#include "base/turn.h"
#include "batch/batch.h"
#include "batch/commit_marker.h"
#include "batch/operations.h"
#include "cluster/peers.h"
#include "commands/cmd_monitor.h"
#include "commands/cmd_multi.h"
#include "commands/dispatch.h"
#include "commands/multi.h"
#include "config/config.h"
#include "config/fd_limit.h"
#include "config/memory_budget.h"
#include "config/secret_args.h"
#include "http/http.h"
#include "jobs/bootstrap.h"
#include "jobs/bulk.h"
#include "jobs/claim_ahead.h"
#include "jobs/schedule.h"
#include "jobs/take.h"
#include "jobs/undelivered.h"
#include "jobs/waitjob.h"
#include "net/client.h"
#include "net/client_memory.h"
#include "net/long_work.h"
#include "net/pubsub.h"
#include "net/sockets.h"
#include "net/tls_server.h"
#include "net/worker.h"
#include "pg/db.h"
#include "pg/embedded/postmaster.h"
#include "pg/primary_select.h"
#include "queue/queue.h"
#include "queue/queue_history.h"
#include "queue/queue_restore.h"
#include "queue/queue_store.h"
#include "queue/waiters.h"
#include "server/check.h"
#include "server/maintenance.h"
#include "server/ready.h"
#include "tools/tool.h"

#define DRAIN_US (5 * US_PER_S)
#define CHECK_US (10 * US_PER_S)
/* A server that has listened for so long counts as started even if the database is away. */
#define READY_US (10 * US_PER_S)

static struct op *const operations[] = {
#define OP_WITH(name, statement, phase, conn) &op_##name,
#include "batch/operations.def"
    NULL,
};

enum server_phase {
    SERVER_STARTING, /* the start was not reported yet */
    SERVER_SERVING,
    SERVER_STOPPING,
    SERVER_CHECKING, /* --check: serves no clients */
    SERVER_CHECKED,  /* --check: the database was reached */
};

static struct {
    enum server_phase phase;
    struct system_user user;
    FILE *pidfile; /* stays open, because the user may not open it again */
    struct event_base *base;
    struct event *timer;
    bool logs;        /* the log is open */
    int64_t deadline; /* clock_mono(): the latest end of the start, the stop or the check */
} server;

/* ---- hooks between the layers ---- */

static bool main_is_waiting(const struct client *c) {
    return waiters_has(c) || waitjob_has(c);
}

static void on_client_close(struct client *c) {
    waiters_client_gone(c);
    waitjob_client_gone(c);
    exec_client_gone(c);
    multi_discard(c);
    pubsub_unsubscribe_all(c);
    undelivered_return_unsent(c);
    undelivered_forget(c);
    worker_leave(c);
    monitor_stop(c);
}

static const struct client_hooks client_hooks = {
    .on_command = command_offer,
    .is_waiting = main_is_waiting,
    .on_close = on_client_close,
    .on_written = undelivered_written,
    .on_placed = deliveries_placed,
};

static void on_conn_ready(struct db_conn *conn) {
    if (conn->kind != CONN_WRITE)
        return;
    if (server.phase == SERVER_CHECKING) {
        bootstrap_start();
        return;
    }
    if (primary_was_promoted())
        queue_restore();
    bootstrap_start();
    peers_reconnected();
    schedule_look();
}

static const struct db_hooks db_hooks = { on_conn_ready, postmaster_trouble };

/* ---- stopping ---- */

/* Stops the server in good order. It accepts no new clients, and requests that wait for jobs get an empty reply. Requests
 * in progress are committed and answered. Takes at most a few seconds. */
static void main_begin_stop(void) {
    enum server_phase before = server.phase;

    if (before == SERVER_STOPPING)
        return;
    server.phase = SERVER_STOPPING;
    if (before == SERVER_CHECKING)
        return;
    log_notice("server", "stopping: %zu clients, %zu of them waiting for jobs", client_count(),
               waiters_blocked() + waitjob_count());
    ready_stopping();
    server.deadline = clock_mono() + DRAIN_US;
    sockets_stop_listening();
    http_stop_listening();
    waiters_end_all(NULL);
    waitjob_end_all();
    claim_ahead_stop();
    LIST_EACH_SAFE(node, client_list(CLIENT_OPEN))
        client_close_after_replies(LIST_ENTRY(node, struct client, in_state));
    (void)queue_save_counters();
}

/* After the last client, saves the counters with the changes of that client. After the last transaction, leaves. */
static void main_continue_stop(void) {
    if (client_count() > 0)
        return;
    (void)queue_save_counters();
    if (batch_idle())
        peers_leave();
}

static bool main_has_stopped(void) {
    bool database_is_done = (batch_idle() && peers_idle()) || !batch_connected(CONN_WRITE);

    return clock_mono() > server.deadline || (client_count() == 0 && http_is_idle() && database_is_done);
}

static void on_stop_signal(evutil_socket_t number, short what, void *arg) {
    (void)what;
    (void)arg;
    log_notice("server", "received %s", strsignal((int)number));
    main_begin_stop();
}

static bool main_open_log(void) {
    log_set_level((enum log_level)config.loglevel);
    log_set_format((enum log_format)config.log_format);
    log_set_syslog(config.syslog_enabled ? config.syslog_ident : NULL, config.syslog_facility);
    return log_set_file(config.logfile);
}

static void on_hangup(evutil_socket_t number, short what, void *arg) {
    char err[512];

    (void)number;
    (void)what;
    (void)arg;
    ready_reloading();
    if (!tls_server_load(err, sizeof err))
        log_warning("tls", "the previous certificates stay in use: %s", err);
    if (!main_open_log())
        log_warning("log", "cannot open %s: %s", config.logfile, strerror(errno));
    ready_reloaded();
}

/* ---- the turn ---- */

static void on_main_timer(evutil_socket_t fd, short what, void *arg) {
    (void)fd;
    (void)what;
    (void)arg;
}

static bool is_pending(void) {
    return clients_pending() || long_works_pending() || takes_pending() || batch_pending() || http_pending();
}

static void wait_for_events(void) {
    int64_t wait = is_pending() ? 0 : maintenance_wait();
    struct timeval tv = { wait / US_PER_S, wait % US_PER_S };

    event_add(server.timer, &tv);
    clock_turn();
    event_base_loop(server.base, EVLOOP_ONCE);
    clock_turn();
}

/* Reports the start after READY_US, if the database is not reached until then. */
static void report_late_start(void) {
    char status[600];

    if (server.phase != SERVER_STARTING || clock_mono() < server.deadline)
        return;
    server.phase = SERVER_SERVING;
    snprintf(status, sizeof status, "waiting for the database: %s", db_last_error());
    fprintf(stderr, "pgdisque: %s\n", status);
    ready_tell(status);
}

static void main_run(void) {
    for (;;) {
        if (server.phase == SERVER_STOPPING) {
            main_continue_stop();
            if (main_has_stopped())
                return;
        }
        report_late_start();
        wait_for_events();
        maintenance_turn();
        http_turn();
        clients_resume();
        long_works_turn();
        batch_flush();
        clients_flush();
        clients_evict();
        peers_turn();
        /* Freed clients leave many names of queues. More of them go after these are forgotten. */
        if (queues_forget_rowless())
            clients_reap();
        memory_return_free();
        turn_end();
    }
}

/* ---- starting ---- */

static _Noreturn void refuse(const char *why) {
    fprintf(stderr, "pgdisque: %s\n", why);
    if (server.logs && config.logfile[0] != '\0')
        log_warning("server", "%s", why);
    exit(1);
}

static void limit_clients(void) {
    char err[256];

    if (!fd_limit_prepare(err, sizeof err))
        refuse(err);
}

static void on_log_changed(void) {
    log_set_level((enum log_level)config.loglevel);
    log_set_format((enum log_format)config.log_format);
}

static void add_signal(int number, event_callback_fn fn) {
    event_add(evsignal_new(server.base, number, fn, NULL), NULL);
}

static void write_pidfile(void) {
    if (config.pidfile[0] == '\0')
        return;
    server.pidfile = fopen(config.pidfile, "we");
    if (server.pidfile == NULL || fprintf(server.pidfile, "%d\n", (int)getpid()) < 0 ||
        fflush(server.pidfile) != 0)
        log_warning("server", "cannot write the pid file %s", config.pidfile);
}

/* The user may not remove a file from a directory of root. The file is then empty. */
static void remove_pidfile(void) {
    if (server.pidfile != NULL && unlink(config.pidfile) != 0)
        (void)!ftruncate(fileno(server.pidfile), 0);
}

/* The flag also closes the memory to other processes of the user. The change of the user resets the flag. */
static void choose_core_dumps(void) {
    static const struct rlimit none = { 0, 0 };

    (void)prctl(PR_SET_DUMPABLE, config.core_dumps ? 1 : 0);
    if (!config.core_dumps)
        (void)setrlimit(RLIMIT_CORE, &none);
}

/* Call it when nothing else needs root, and before the first client is read. */
static void give_up_root(void) {
    char err[512];

    ready_open();
    if (server.user.change && config.logfile[0] != '\0')
        log_give_file(server.user.uid, server.user.gid);
    if (!system_user_become(&server.user, err, sizeof err))
        refuse(err);
    if (server.user.change)
        log_notice("server", "root has become user %s", server.user.name);
    choose_core_dumps();
}

/* Does not use libevent's precise timer, which takes a system call in each turn. */
static void start_loop(void) {
    event_set_mem_functions(xmalloc, xrealloc, free);
    server.base = event_base_new();
    if (server.base == NULL)
        refuse("cannot make an event loop");
    server.timer = evtimer_new(server.base, on_main_timer, NULL);
    signal(SIGPIPE, SIG_IGN);
    add_signal(SIGTERM, on_stop_signal);
    add_signal(SIGINT, on_stop_signal);
    add_signal(SIGHUP, on_hangup);
}

static const char *start_database(void) {
    char err[512];

    if (config.database[0] != '\0')
        return config.database;
    if (!postmaster_start(server.base, err, sizeof err))
        refuse(err);
    return postmaster_conninfo();
}

static void on_loaded(void) {
    const char *host = strchr(config.bind, ' ') == NULL ? config.bind : "127.0.0.1";

    queue_history_start();
    peers_loaded();
    if (server.phase == SERVER_STARTING)
        server.phase = SERVER_SERVING;
    ready_tell("ready");
    if (config_own_port() != 0)
        log_notice("server", "ready on %s port %d; try: redis-cli %s-p %d ADDJOB hello world 0", host,
                   config_own_port(), config.port == 0 ? "--tls " : "", config_own_port());
    else
        log_notice("server", "ready on %s", config.unixsocket);
    if (http_page_address()[0] != '\0')
        log_notice("server", "the web page is at %s", http_page_address());
}

/* After a lost connection the peers must read again what this server has changed. */
static void on_jobs_counted(bool first) {
    if (!first)
        peers_announce_unknown();
}

static void on_nothing(void) {
}

static void on_checked(bool first) {
    (void)first;
    server.phase = SERVER_CHECKED;
}

static void start_mechanism(void) {
    start_loop();
    clock_turn();
    queue_init();
    waiters_init();
    batch_init(operations, take_plan);
}

static void load_users(void) {
    struct buf err = { 0 };

    if (!acl_file_start(&err)) {
        buf_append(&err, "", 1);
        refuse(buf_ptr(&err));
    }
    buf_free(&err);
}

static void main_start(void) {
    char err[512];
    const char *conninfo;

    memory_init();
    memory_budget_set();
    limit_clients();
    if (!system_user_choose(&server.user, config.user, err, sizeof err))
        refuse(err);
    client_init(server.base, &client_hooks);
    if (!tls_server_start(err, sizeof err) || !sockets_listen(server.base, client_accept, err, sizeof err) ||
        !http_start(server.base, err, sizeof err))
        refuse(err);
    if (!system_user_make_dir(&server.user, config.dir, 0711)) {
        snprintf(err, sizeof err, "cannot make the directory %s: %s", config.dir, strerror(errno));
        refuse(err);
    }
    conninfo = start_database();
    if (!node_load(config.dir, config_own_port(), err, sizeof err))
        refuse(err);
    write_pidfile();
    give_up_root();
    bootstrap_on(
        (struct bootstrap_hooks){ on_loaded, peers_note_snapshot, on_jobs_counted, clients_offer_again });
    config_on_change("loglevel", on_log_changed);
    config_on_change("log-format", on_log_changed);
    config_on_change("maxmemory", memory_budget_set);
    config_on_change("maxmemory-clients", memory_budget_set);
    config_on_change("proto-max-bulk-len", memory_budget_set);
    config_on_change("maxclients", limit_clients);
    command_init();
    load_users();
    info_init();
    shutdown_by(main_begin_stop);
    db_init(server.base, conninfo, &db_hooks);
    doctor_init(server.base);
    batch_start();
    peers_start(server.base);
    clock_turn();
    server.deadline = clock_mono() + READY_US;
}

static void main_stop(void) {
    http_stop();
    client_shutdown();
    peers_stop();
    batch_stop();
    postmaster_stop();
    remove_pidfile();
    log_notice("server", "stopped");
}

/* ---- --check ---- */

/* The connection string of the database. Sets *visited to that of the embedded Postgres of a running server; the caller
 * frees it. */
static const char *check_postgres(char **visited) {
    char err[512];
    const char *running = config.database;

    if (running[0] == '\0')
        running = *visited = postmaster_visit();

    if (running == NULL)
        return start_database();
    if (!check_login(running, err, sizeof err))
        refuse(err);
    return running;
}

static int main_check(void) {
    const char *conninfo;
    char *visited = NULL;
    char err[512];

    command_init();
    users_init();
    load_users();
    if (!check_here(err, sizeof err) || !node_make_guest(err, sizeof err) ||
        !system_user_choose(&server.user, config.user, err, sizeof err))
        refuse(err);
    bootstrap_only_read();
    bootstrap_on((struct bootstrap_hooks){
        .on_counted = on_checked, .on_snapshot = on_nothing, .offer_again = on_nothing });
    conninfo = check_postgres(&visited);
    give_up_root();
    db_init(server.base, conninfo, &db_hooks);
    batch_start();
    clock_turn();
    server.deadline = clock_mono() + CHECK_US;
    while (server.phase == SERVER_CHECKING && clock_mono() < server.deadline) {
        wait_for_events();
        batch_flush();
    }
    if (server.phase == SERVER_CHECKED)
        printf("configuration and database are fine: PostgreSQL %d, queues: %zu, jobs: %lld\n",
               db_server_version() / 10000, queue_count(), (long long)queue_jobs_total());
    else
        fprintf(stderr, "pgdisque: the database cannot be reached: %s\n", db_last_error());
    batch_stop();
    postmaster_stop();
    free(visited);
    return server.phase == SERVER_CHECKED ? 0 : 1;
}

/* ---- the command line ---- */

/* A word that is neither a file nor a subcommand is a mistyped subcommand. */
static void refuse_unknown_word(const char *word) {
    char err[512], question[SPELLING_QUESTION_SIZE];

    if (word[0] == '-' || strchr(word, '/') != NULL || access(word, F_OK) == 0)
        return;
    spelling_question(tool_nearest(word), question);
    snprintf(err, sizeof err, "%.100s is neither a configuration file nor a tool%s", word,
             question[0] != '\0' ? question
                                 : "; to serve, name a file or nothing; `pgdisque --help` lists the tools");
    refuse(err);
}

static void go_to_background(void) {
    if (config.daemonize && !ready_detach())
        refuse("cannot become a daemon");
}

static void begin_log(void) {
    char err[512];

    if (!main_open_log()) {
        snprintf(err, sizeof err, "cannot open the log file %.300s: %s", config.logfile, strerror(errno));
        refuse(err);
    }
    server.logs = true;
    if (config.daemonize && config.logfile[0] == '\0' && !config.syslog_enabled)
        log_warning("server", "the log ends after the start: a server in the background needs logfile or "
                              "syslog-enabled");
}

int main(int argc, char **argv) {
    enum config_action action;
    const struct tool *tool;
    char err[512];

    tls_count_memory();
    argv = secret_args_take(argc, argv);
    tool = tool_named(argc, argv);
    if (tool != NULL)
        return tool_run(tool, argc, argv);
    if (argc > 1)
        refuse_unknown_word(argv[1]);
    if (!config_parse_args(argc, argv, &action, err, sizeof err))
        refuse(err);
    if (line_print(action))
        return 0;
    server.phase = action == CONFIG_CHECK ? SERVER_CHECKING : SERVER_STARTING;
    if (server.phase == SERVER_STARTING) {
        go_to_background();
        begin_log();
    }
    start_mechanism();
    if (server.phase == SERVER_CHECKING)
        return main_check();
    main_start();
    main_run();
    main_stop();
    return 0;
}
