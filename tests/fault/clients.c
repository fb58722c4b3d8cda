/* Clients that send all kinds of commands, and record their commands and replies. */
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <event2/event.h>

#include "conn.h"
#include "generator.h"
#include "history.h"
#include "roles.h"
#include "workload.h"

static const char usage[] =
    "usage: clients --port n [--port n]... --history file [option n]...\n"
    "  One port for each server on the database.\n"
    "  --host address  --seed n  --producers n  --consumers n  --hands n  --queues n\n"
    "  --key-clients n  --flow-clients n  --life-clients n  --burst-clients n\n"
    "  --rate jobs-a-second  --retry-max seconds\n"
    "  --quiet seconds  --gentle 1\n"
    "Reads words from standard input: stop (begin nothing new; `stopped` is printed when\n"
    "nothing is under way), drain (take all that is left; `drained` is printed when none\n"
    "came for the seconds of --quiet), end. Prints `at added taken acked` twice a second.\n";

struct options {
    const char *host;
    int ports[CONN_SERVERS_MOST];
    unsigned servers;
    const char *history;
    uint64_t seed;
    int quiet_s;
    struct plan plan;
};

static struct {
    struct event_base *base;
    struct options opt;
    enum phase phase;
    bool told; /* stopped or drained */
} program;

static const struct option names[] = {
    { "host", 1, NULL, 'h' },
    { "port", 1, NULL, 'p' },
    { "history", 1, NULL, 'f' },
    { "seed", 1, NULL, 's' },
    { "producers", 1, NULL, 'P' },
    { "consumers", 1, NULL, 'C' },
    { "hands", 1, NULL, 'H' },
    { "queues", 1, NULL, 'Q' },
    { "rate", 1, NULL, 'r' },
    { "key-clients", 1, NULL, 'A' },
    { "retry-max", 1, NULL, 'R' },
    { "quiet", 1, NULL, 'q' },
    { "gentle", 1, NULL, 'g' },
    { "flow-clients", 1, NULL, 'F' },
    { "life-clients", 1, NULL, 'L' },
    { "burst-clients", 1, NULL, 'B' },
    { NULL, 0, NULL, 0 },
};

static int *number_option(struct options *o, int letter) {
    switch (letter) {
    case 'p':
        if (o->servers < CONN_SERVERS_MOST)
            return &o->ports[o->servers++];
        break;
    case 'P':
        return &o->plan.producers;
    case 'C':
        return &o->plan.consumers;
    case 'H':
        return &o->plan.hands;
    case 'Q':
        return &o->plan.queues;
    case 'r':
        return &o->plan.rate;
    case 'R':
        return &o->plan.retry_max;
    case 'A':
        return &o->plan.key_clients;
    case 'F':
        return &o->plan.flow_clients;
    case 'L':
        return &o->plan.life_clients;
    case 'B':
        return &o->plan.burst_clients;
    case 'q':
        return &o->quiet_s;
    default:
        break;
    }
    fputs(usage, stderr);
    exit(2);
}

static struct options parse(int argc, char **argv) {
    struct options o = { .host = "127.0.0.1",
                         .seed = 1,
                         .quiet_s = 4,
                         .plan = { .producers = 8,
                                   .consumers = 12,
                                   .hands = 4,
                                   .flow_clients = 2,
                                   .life_clients = 4,
                                   .queues = 6,
                                   .rate = 1500,
                                   .retry_max = 3 } };
    int letter;

    while ((letter = getopt_long(argc, argv, "", names, NULL)) != -1) {
        if (letter == 'h')
            o.host = optarg;
        else if (letter == 'f')
            o.history = optarg;
        else if (letter == 's')
            o.seed = strtoull(optarg, NULL, 10);
        else if (letter == 'g')
            o.plan.gentle = atoi(optarg) != 0;
        else
            *number_option(&o, letter) = atoi(optarg);
    }
    if (o.history == NULL || o.servers == 0 || o.plan.queues + SPECIAL_QUEUES > BOOKS_QUEUES_MOST) {
        fputs(usage, stderr);
        exit(2);
    }
    return o;
}

static void tell(const char *what) {
    if (program.told)
        return;
    program.told = true;
    history_flush();
    puts(what);
    fflush(stdout);
}

static void set_phase(enum phase phase) {
    program.phase = phase;
    program.told = false;
    roles_set_phase(phase);
}

static void obey(const char *word) {
    if (strcmp(word, "stop") == 0)
        set_phase(PHASE_STOP);
    else if (strcmp(word, "drain") == 0)
        set_phase(PHASE_DRAIN);
    else
        event_base_loopbreak(program.base);
}

static void on_input(evutil_socket_t fd, short what, void *arg) {
    char text[256];
    ssize_t n = read(fd, text, sizeof text - 1);

    (void)what;
    (void)arg;
    if (n <= 0) {
        event_base_loopbreak(program.base);
        return;
    }
    text[n] = '\0';
    for (char *word = strtok(text, "\n"); word != NULL; word = strtok(NULL, "\n"))
        obey(word);
}

static void on_tick(evutil_socket_t fd, short what, void *arg) {
    static unsigned ticks;

    (void)fd;
    (void)what;
    (void)arg;
    roles_lose_patience();
    if (program.phase == PHASE_STOP && roles_idle())
        tell("stopped");
    if (program.phase == PHASE_DRAIN && roles_quiet_s() > program.opt.quiet_s)
        tell("drained");
    if (++ticks % 10 == 0) {
        printf("at %llu %llu %llu\n", (unsigned long long)roles_added, (unsigned long long)roles_taken,
               (unsigned long long)roles_acked);
        fflush(stdout);
        history_flush();
    }
}

static void run(void) {
    struct timeval tick = { 0, 50000 };
    struct event *input = event_new(program.base, STDIN_FILENO, EV_READ | EV_PERSIST, on_input, NULL);
    struct event *timer = event_new(program.base, -1, EV_PERSIST, on_tick, NULL);

    event_add(input, NULL);
    event_add(timer, &tick);
    event_base_dispatch(program.base);
    event_free(input);
    event_free(timer);
}

int main(int argc, char **argv) {
    program.opt = parse(argc, argv);
    signal(SIGPIPE, SIG_IGN);
    program.base = event_base_new();
    generator_seed(program.opt.seed);
    history_open(program.opt.history);
    conn_init(program.base, program.opt.host, program.opt.ports, program.opt.servers);
    roles_start(&program.opt.plan);
    run();
    roles_free();
    history_close();
    event_base_free(program.base);
    return 0;
}
