/* Clients without their password or handshake: an epoll set of their own, and a share of each turn. */
#include "net/unproven.h"

#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/log.h"
#include "base/time_budget.h"

/* The share of all these clients in a turn. */
#define UNPROVEN_US 200
/* The clients between two looks at the clock. The kernel returns the events of each client in turn. */
#define EVENTS_AT_ONCE 4

static struct {
    int fd;
    struct event *readable; /* an event of the set */
    bool has_events;        /* from such an event until the set was found empty */
    struct list all;        /* in the order of their arrival */
    struct list ready;      /* by in_ready */
    void (*on_event)(struct client *c, unsigned events);
    void (*on_ready)(struct client *c);
} unproven;

static void on_set_readable(evutil_socket_t fd, short what, void *arg) {
    (void)fd;
    (void)what;
    (void)arg;
    unproven.has_events = true;
}

void unproven_init(struct event_base *base, void (*on_event)(struct client *c, unsigned events),
                   void (*on_ready)(struct client *c)) {
    unproven.fd = epoll_create1(EPOLL_CLOEXEC);
    if (unproven.fd < 0) {
        log_warning("server", "cannot make an epoll set: %s", strerror(errno));
        abort();
    }
    list_init(&unproven.all);
    list_init(&unproven.ready);
    unproven.on_event = on_event;
    unproven.on_ready = on_ready;
    unproven.readable = event_new(base, unproven.fd, EV_READ | EV_PERSIST | EV_ET, on_set_readable, NULL);
    event_add(unproven.readable, NULL);
}

void unproven_stop(void) {
    if (unproven.readable == NULL)
        return;
    event_free(unproven.readable);
    unproven.readable = NULL;
    close(unproven.fd);
}

static void control(struct client *c, int operation, unsigned events) {
    struct epoll_event e = { .events = events, .data.ptr = c };

    if (epoll_ctl(unproven.fd, operation, c->fd, &e) != 0)
        client_kill(c, strerror(errno));
}

void unproven_add(struct client *c) {
    list_push_back(&unproven.all, &c->in_unproven);
    control(c, EPOLL_CTL_ADD, EPOLLIN);
}

void unproven_remove(struct client *c) {
    list_remove(&c->in_unproven);
    (void)epoll_ctl(unproven.fd, EPOLL_CTL_DEL, c->fd, NULL);
}

void unproven_watch(struct client *c, bool read, bool write) {
    control(c, EPOLL_CTL_MOD, (read ? EPOLLIN : 0U) | (write ? EPOLLOUT : 0U));
}

void unproven_make_ready(struct client *c) {
    list_push_back(&unproven.ready, &c->in_ready);
}

struct client *unproven_oldest(void) {
    return list_empty(&unproven.all) ? NULL : LIST_ENTRY(unproven.all.next, struct client, in_unproven);
}

static bool serve_some(void) {
    struct epoll_event events[EVENTS_AT_ONCE];
    int count = epoll_wait(unproven.fd, events, EVENTS_AT_ONCE, 0);

    for (int i = 0; i < count; i++) {
        struct client *c = events[i].data.ptr;

        /* An event of another client may have closed this client. */
        if (c->state != CLIENT_DEAD)
            unproven.on_event(c, events[i].events);
    }
    return count > 0;
}

bool unproven_pending(void) {
    return unproven.has_events || !list_empty(&unproven.ready);
}

void unproven_turn(void) {
    struct budget share;

    if (!unproven_pending())
        return;
    share = budget_of(UNPROVEN_US);
    while (!list_empty(&unproven.ready) && !budget_is_over(&share))
        unproven.on_ready(LIST_ENTRY(list_pop_front(&unproven.ready), struct client, in_ready));
    while (unproven.has_events && !budget_is_over(&share))
        unproven.has_events = serve_some();
}
