/* The load generator: opens the connections, runs the loop, decides when the run is over. */
#define _GNU_SOURCE 1
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <time.h>

#include "conn.h"
#include "journal.h"
#include "options.h"
#include "report.h"
#include "run.h"
#include "worker.h"

/* A tick runs periodic work: reconnecting, resuming after an error, and checks without an exact time. */
enum { TICK_MS = 20, MAX_EVENTS = 256, MAX_LOSSES_SHOWN = 3 };

static const struct target *const targets[] = {
    &target_disque,
    &target_redis_list,
    &target_redis_stream,
    &target_beanstalkd,
};

struct run run;

static struct conn *conns;
static int conn_count;
static volatile sig_atomic_t interrupts;

void run_fail(const char *fmt, ...) {
    static char reason[256];
    va_list args;
    if (run.fatal)
        return;
    va_start(args, fmt);
    vsnprintf(reason, sizeof(reason), fmt, args);
    va_end(args);
    run.fatal = reason;
}

static void on_signal(int number) {
    (void)number;
    interrupts++;
}

static const struct target *find_target(const char *name) {
    for (size_t i = 0; i < LENGTH(targets); i++)
        if (strcmp(targets[i]->name, name) == 0)
            return targets[i];
    die("no target %s; there are disque, redis-list, redis-stream, beanstalkd", name);
}

static void lose(struct conn *c, const char *doing) {
    const char *why = errno ? strerror(errno) : "closed by the server";
    run.losses++;
    if (!options.reconnect)
        run_fail("a connection was lost %s: %s", doing, why);
    else if (run.losses <= MAX_LOSSES_SHOWN)
        fprintf(stderr, "load: a connection was lost %s: %s\n", doing, why);
    worker_abandon(c);
    conn_close(c);
}

static void flush(struct conn *c) {
    if (c->fd >= 0 && wire_len(&c->out) > 0 && !conn_flush(c))
        lose(c, "while sending");
}

static void on_event(struct conn *c, uint32_t events) {
    if (c->fd < 0)
        return;
    run.now = now_ns();
    if (events & ~(uint32_t)EPOLLOUT) {
        int got;
        do {
            got = conn_read(c);
            if (got < 0) {
                lose(c, "while reading");
                return;
            }
            if (got > 0)
                worker_input(c);
        } while (got > 0 && conn_has_more(c));
    }
    flush(c);
}

static void feed(void) {
    struct conn *c;
    while ((c = worker_feed()) != NULL)
        flush(c);
}

/* A single failed attempt ends the attempts of a tick, because the server is not there. */
static bool reopen(struct conn *c) {
    if (!conn_open(c))
        return false;
    if (c->setup_due == 0)
        worker_resume(c);
    flush(c);
    return true;
}

static void tick(void) {
    bool reachable = options.reconnect;
    for (int i = 0; i < conn_count; i++) {
        struct conn *c = &conns[i];
        if (c->fd < 0) {
            reachable = reachable && reopen(c);
        } else if (c->stalled && c->setup_due == 0) {
            worker_resume(c);
            flush(c);
        }
    }
    if (interrupts)
        run.stopped = true;
}

/* Up to when to wait for events: the next tick, or the next job of the schedule. */
static struct timespec patience(int64_t next_tick) {
    int64_t wait = next_tick - run.now;
    int64_t due = worker_next_due();
    if (due < wait)
        wait = due;
    if (wait < 0)
        wait = 0;
    return (struct timespec){ .tv_sec = wait / NS_PER_SEC, .tv_nsec = wait % NS_PER_SEC };
}

static void turn(void) {
    static int64_t next_tick;
    struct epoll_event events[MAX_EVENTS];
    struct timespec wait = patience(next_tick);
    int n = epoll_pwait2(conns_epoll(), events, MAX_EVENTS, &wait, NULL);
    if (n < 0 && errno != EINTR)
        die("epoll_pwait2: %s", strerror(errno));
    run.now = now_ns();
    for (int i = 0; i < n; i++)
        on_event(events[i].data.ptr, events[i].events);
    feed();
    if (run.now >= next_tick) {
        next_tick = run.now + TICK_MS * NS_PER_MS;
        tick();
    }
}

static void watch_clock(void) {
    static int64_t next_second;
    if (!run.measuring && run.now >= run.start + (int64_t)(options.warmup * 1e9)) {
        run.measuring = true;
        run.begin = report_mark();
    }
    if (run.now < next_second)
        return;
    if (next_second > 0) {
        journal_flush();
        if (options.progress)
            report_progress();
    }
    next_second = run.now + NS_PER_SEC;
}

static void open_all(void) {
    for (int i = 0; i < conn_count; i++) {
        struct conn *c = &conns[i];
        if (!conn_open(c))
            die("cannot connect to %s: %s", options.unix_path ? options.unix_path : options.host,
                strerror(errno));
        if (c->setup_due == 0)
            worker_resume(c);
        flush(c);
    }
}

static bool all_ready(void) {
    for (int i = 0; i < conn_count; i++)
        if (conns[i].setup_due > 0)
            return false;
    return true;
}

/* The start comes when every connection is set up, so that connecting is not measured. */
static void make_ready(void) {
    int64_t give_up = now_ns() + 30 * NS_PER_SEC;
    run.now = now_ns();
    open_all();
    while (!all_ready() && !run.fatal && run.now < give_up)
        turn();
    if (!all_ready())
        die("the server did not get ready: %s", run.fatal ? run.fatal : "no reply to the first commands");
    run.now = run.start = now_ns();
    run.deadline = INT64_MAX;
    if (options.seconds > 0)
        run.deadline = run.start + (int64_t)((options.warmup + options.seconds) * 1e9);
    watch_clock();
    tick();
}

static void loop_while(bool (*going)(void)) {
    while (!run.fatal && interrupts < 2 && going()) {
        watch_clock();
        turn();
    }
}

static bool producing(void) {
    return !worker_exhausted() || run.in_flight > 0;
}

/* The jobs a drain was asked for, or all that are known to be in the queue. */
static bool drained(void) {
    if (options.fill)
        return true;
    if (options.drain && !options.verify)
        return options.jobs > 0 && ledger.acked >= (uint64_t)options.jobs;
    return ledger.open == 0 && ledger.unseen == 0;
}

static bool quiet(int64_t since) {
    int64_t last = run.last_delivery > since ? run.last_delivery : since;
    if (run.last_ack > last)
        last = run.last_ack;
    return run.now - last > (int64_t)(options.quiet * 1e9);
}

static int64_t phase_start;

static bool draining(void) {
    if (drained() || (options.drain && run.now >= run.deadline))
        return false;
    return !quiet(phase_start) && !(options.drain && run.stopped);
}

static bool lingering(void) {
    return run.now < phase_start + (int64_t)(options.linger * 1e9);
}

static bool idling(void) {
    return options.idle_waiters > 0 && options.producers + options.consumers == 0 && !run.stopped &&
           run.now < run.deadline;
}

/* True when the run ended because nothing came any more. */
static bool run_through(void) {
    loop_while(producing);
    loop_while(idling);
    phase_start = run.now;
    if (options.consumers > 0)
        loop_while(draining);
    bool complete = options.consumers > 0 && quiet(phase_start);
    phase_start = run.now;
    if (options.linger > 0)
        loop_while(lingering);
    if (interrupts > 1)
        run_fail("interrupted");
    return complete;
}

static void prepare_books(void) {
    int64_t lease = options.retry >= 0 ? options.retry : run.target->default_lease;
    ledger_init(run.target->default_lease > 0 ? lease * 1000 : 0, run.target->releases_on_close);
    if (options.verify) {
        journal_load_events(options.verify);
        journal_continue(options.verify);
    } else if (options.journal) {
        journal_create(options.journal);
    }
}

static void prepare_process(void) {
    struct sigaction action = { .sa_handler = on_signal };
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    /* Or the kernel wakes us up to 50 us late, which the schedule of --rate would show. */
    prctl(PR_SET_TIMERSLACK, 1);
}

int main(int argc, char **argv) {
    options_parse(argc, argv);
    if (options.verify)
        journal_load_options(options.verify);
    options_settle();
    run.target = find_target(options.target);
    if (options.csv_header) {
        report_csv_header();
        return EXIT_CLEAN;
    }
    prepare_process();
    prepare_books();
    conn_count = conns_create(&conns);
    worker_init();
    make_ready();
    bool complete = run_through();
    journal_flush();
    return report_result(complete);
}
