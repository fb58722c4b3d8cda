/* Connections: made, read, written, lost; and all of a run laid out at the start. */
#include "conn.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "options.h"
#include "run.h"

enum { READ_ROOM = 16 * 1024, CONNECT_SECONDS = 5 };

static char **names;
static int epoll_fd = -1;

int conns_epoll(void) {
    return epoll_fd;
}

const char *queue_name(int i) {
    return names[i];
}

size_t conn_token_size(void) {
    return (size_t)options.body > 64 ? (size_t)options.body : 64;
}

char *conn_token(const struct conn *c, int i) {
    return c->tokens + (size_t)i * conn_token_size();
}

static int connect_unix(void) {
    struct sockaddr_un addr = { .sun_family = AF_UNIX };
    if (strlen(options.unix_path) >= sizeof(addr.sun_path))
        die("the path of the unix socket is too long");
    strcpy(addr.sun_path, options.unix_path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&addr, sizeof(addr)) != 0) {
        close(fd);
        return -1;
    }
    return fd;
}

/* Resolved once: a name service must not slow down ten thousand connections. */
static const struct addrinfo *addresses(void) {
    static struct addrinfo *found;
    char port[16];
    struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
    if (found)
        return found;
    snprintf(port, sizeof(port), "%d", options.port ? (int)options.port : run.target->port);
    int rc = getaddrinfo(options.host, port, &hints, &found);
    if (rc != 0)
        die("%s: %s", options.host, gai_strerror(rc));
    return found;
}

static int connect_tcp(void) {
    struct timeval limit = { .tv_sec = CONNECT_SECONDS };
    int one = 1;
    for (const struct addrinfo *a = addresses(); a; a = a->ai_next) {
        int fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (fd < 0)
            return -1;
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
        if (connect(fd, a->ai_addr, a->ai_addrlen) == 0)
            return fd;
        int error = errno;
        close(fd);
        errno = error;
    }
    return -1;
}

void conn_setup(struct conn *c) {
    if (c->setup_replies > 0)
        wire_append(&c->out, wire_ptr(&c->setup), wire_len(&c->setup));
    c->setup_due = c->setup_replies;
    c->setup_failed = false;
}

bool conn_open(struct conn *c) {
    c->fd = options.unix_path ? connect_unix() : connect_tcp();
    if (c->fd < 0)
        return false;
    if (options.tls && !(c->tls = secure_open(c->fd))) {
        close(c->fd);
        c->fd = -1;
        return false;
    }
    if (fcntl(c->fd, F_SETFL, O_NONBLOCK) != 0)
        die("fcntl: %s", strerror(errno));
    struct epoll_event event = { .events = EPOLLIN, .data.ptr = c };
    if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, c->fd, &event) != 0)
        die("epoll_ctl: %s", strerror(errno));
    conn_setup(c);
    return true;
}

void conn_close(struct conn *c) {
    secure_close(c->tls);
    c->tls = NULL;
    close(c->fd);
    c->fd = -1;
    c->wants_write = c->stalled = false;
    c->setup_due = c->get_due = c->ack_due = 0;
    wire_reset(&c->in);
    wire_reset(&c->out);
}

int conn_read(struct conn *c) {
    size_t room = READ_ROOM;
    if (c->in.need > wire_len(&c->in) + room)
        room = c->in.need - wire_len(&c->in);
    wire_reserve(&c->in, room);
    char *to = c->in.data + c->in.end;
    size_t space = c->in.cap - c->in.end;
    ssize_t n = c->tls ? secure_read(c->tls, to, space) : recv(c->fd, to, space, 0);
    if (n > 0) {
        c->in.end += (size_t)n;
        return 1;
    }
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (n == 0)
        errno = 0;
    return -1;
}

bool conn_has_more(const struct conn *c) {
    return c->tls && secure_has_more(c->tls);
}

static void watch_writes(struct conn *c, bool on) {
    struct epoll_event event = { .events = EPOLLIN | (on ? EPOLLOUT : 0), .data.ptr = c };
    if (c->wants_write == on)
        return;
    c->wants_write = on;
    if (epoll_ctl(epoll_fd, EPOLL_CTL_MOD, c->fd, &event) != 0)
        die("epoll_ctl: %s", strerror(errno));
}

bool conn_flush(struct conn *c) {
    while (wire_len(&c->out) > 0) {
        const char *from = wire_ptr(&c->out);
        size_t len = wire_len(&c->out);
        ssize_t n = c->tls ? secure_write(c->tls, from, len) : send(c->fd, from, len, MSG_NOSIGNAL);
        if (n < 0 && errno == EAGAIN)
            break;
        if (n < 0 && errno != EINTR)
            return false;
        if (n > 0)
            wire_consume(&c->out, (size_t)n);
    }
    watch_writes(c, wire_len(&c->out) > 0);
    return true;
}

/* The idle queue's name with %d replaced by the waiter's number. */
static char *idle_name(int index) {
    const char *mark = strstr(options.idle_queue, "%d");
    size_t size = strlen(options.idle_queue) + 24;
    char *name = xcalloc(1, size);
    int before = mark ? (int)(mark - options.idle_queue) : (int)strlen(options.idle_queue);
    if (mark)
        snprintf(name, size, "%.*s%d%s", before, options.idle_queue, index, mark + 2);
    else
        snprintf(name, size, "%s", options.idle_queue);
    return name;
}

static void create_names(void) {
    int queues = (int)options.queues;
    int idle = (int)options.idle_waiters;
    names = xcalloc((size_t)(queues + idle), sizeof(*names));
    for (int i = 0; i < queues; i++) {
        size_t size = strlen(options.queue) + 24;
        names[i] = xcalloc(1, size);
        if (queues == 1)
            snprintf(names[i], size, "%s", options.queue);
        else
            snprintf(names[i], size, "%s%d", options.queue, i);
    }
    for (int i = 0; i < idle; i++)
        names[queues + i] = idle_name(i);
}

/* With more queues than consumers each consumer waits on several; otherwise
 * several consumers share a queue. */
static void assign_queues(struct conn *c) {
    int queues = (int)options.queues;
    int step = (int)options.consumers;
    c->queues = xcalloc((size_t)(queues / step + 1), sizeof(int));
    if (step >= queues) {
        c->queues[c->queue_count++] = c->index % queues;
        return;
    }
    for (int q = c->index; q < queues; q += step)
        c->queues[c->queue_count++] = q;
    if (c->queue_count > 1 && run.target->one_queue_get)
        die("%s: a consumer can wait on one queue only; use as many consumers as queues", run.target->name);
}

static void prepare(struct conn *c, enum role role, int index) {
    c->fd = -1;
    c->role = role;
    c->index = index;
    if (role == ROLE_PRODUCER) {
        c->txns = xcalloc((size_t)options.pipeline, sizeof(*c->txns));
    } else if (role == ROLE_CONSUMER) {
        assign_queues(c);
        c->held = xcalloc((size_t)options.count, sizeof(*c->held));
        c->tokens = xcalloc((size_t)options.count, conn_token_size());
    } else {
        c->queues = xcalloc(1, sizeof(int));
        c->queues[c->queue_count++] = (int)options.queues + index;
    }
    c->setup_replies = run.target->make_setup(c, &c->setup);
    if (role != ROLE_PRODUCER)
        c->get_replies = run.target->make_get(c, &c->get);
}

static void allow_descriptors(int wanted) {
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur < (rlim_t)wanted)
        die("%d connections need more than the %llu descriptors that ulimit -n allows", wanted,
            (unsigned long long)limit.rlim_cur);
}

int conns_create(struct conn **all) {
    static const enum role order[] = { ROLE_IDLE, ROLE_CONSUMER, ROLE_PRODUCER };
    const int64_t counts[] = { options.idle_waiters, options.consumers, options.producers };
    int total = (int)(counts[0] + counts[1] + counts[2]);
    struct conn *c = *all = xcalloc((size_t)total, sizeof(**all));
    allow_descriptors(total + 16);
    epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (epoll_fd < 0)
        die("epoll: %s", strerror(errno));
    create_names();
    for (size_t kind = 0; kind < LENGTH(order); kind++)
        for (int i = 0; i < counts[kind]; i++)
            prepare(c++, order[kind], i);
    return total;
}
