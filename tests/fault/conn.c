/* A client's connection: commands out, replies in, both into the history. */
#include "conn.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "generator.h"
#include "history.h"

#define AGAIN_US 30000
#define AFTER_ERROR_US 20000
/* Away from home at least so long. */
#define AWAY_US 1500000
#define PATIENCE_US 6000000

uint64_t conn_sent, conn_good;
unsigned conn_servers;

static struct event_base *base;
static struct sockaddr_in addresses[CONN_SERVERS_MOST];
static uint64_t ops;
static unsigned numbers;

static void on_event(evutil_socket_t fd, short what, void *arg);

void conn_init(struct event_base *event_base, const char *host, const int *ports, unsigned count) {
    base = event_base;
    conn_servers = count;
    for (unsigned i = 0; i < count; i++) {
        addresses[i] = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons((uint16_t)ports[i]) };
        if (inet_pton(AF_INET, host, &addresses[i].sin_addr) != 1) {
            fprintf(stderr, "%s is no address\n", host);
            exit(2);
        }
    }
}

void conn_wake_at(struct conn *c, int64_t at) {
    int64_t wait = at - history_clock();
    struct timeval tv = { 0, 0 };

    if (wait > 0)
        tv = (struct timeval){ wait / 1000000, wait % 1000000 };
    event_add(c->timer, &tv);
}

bool conn_idle(const struct conn *c) {
    return c->count == 0;
}

/* ---- connecting and breaking ---- */

static void watch(struct conn *c, bool write) {
    if (c->io != NULL)
        event_free(c->io);
    c->io = event_new(base, c->fd, (short)(EV_PERSIST | EV_READ | (write ? EV_WRITE : 0)), on_event, c);
    event_add(c->io, NULL);
}

static void open_socket(struct conn *c) {
    const struct sockaddr_in *address = &addresses[c->server];
    int one = 1;

    c->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (c->fd < 0) {
        perror("socket");
        exit(2);
    }
    setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    c->number = ++numbers;
    history_line('s', history_clock(), c->number);
    history_print(" %u", c->server);
    history_end();
    c->reader = redisReaderCreate();
    if (connect(c->fd, (const struct sockaddr *)address, sizeof *address) == 0 || errno == EINPROGRESS)
        watch(c, true);
    else
        conn_kill(c, "cannot connect");
}

static void forget_pending(struct conn *c, const char *why) {
    int64_t now = history_clock();

    for (; c->count > 0; c->count--, c->first++) {
        const struct pending *p = &c->pending[c->first % CONN_DEPTH];

        if (p->is_quiet)
            continue;
        for (uint64_t op = p->op; op != 0; op = op == p->op ? p->second : 0) {
            history_line('u', now, op);
            history_print(" %s", why);
            history_end();
        }
    }
}

static void hang_up(struct conn *c, const char *why) {
    event_free(c->io);
    c->io = NULL;
    close(c->fd);
    c->fd = -1;
    c->connected = false;
    redisReaderFree(c->reader);
    c->reader = NULL;
    buf_reset(&c->out, 65536);
    forget_pending(c, why);
    c->role->lost(c);
    c->not_before = 0;
}

void conn_kill(struct conn *c, const char *why) {
    int64_t now = history_clock();

    if (c->fd < 0)
        return;
    hang_up(c, why);
    c->server = (c->server + 1) % conn_servers;
    c->home_at = now + AWAY_US + c->serial % 8 * AWAY_US / 8;
    conn_wake_at(c, now + AGAIN_US);
}

void conn_go_home(struct conn *c) {
    if (c->server == c->home || !c->connected || c->count > 0)
        return;
    hang_up(c, "goes home");
    c->server = c->home;
    conn_wake_at(c, history_clock());
}

void conn_lose_patience(struct conn *c) {
    const struct pending *first = &c->pending[c->first % CONN_DEPTH];

    if (conn_servers > 1 && c->count > 0 && history_clock() - first->begun > PATIENCE_US)
        conn_kill(c, "gave up");
}

/* ---- reading ---- */

static void log_element(const redisReply *job) {
    const struct redisReply *id = job->element[1];

    history_print(" %d:%s:%lld", generator_queue(job->element[0]->str, job->element[0]->len), id->str,
                  generator_token(job->element[2]->str, job->element[2]->len));
    if (job->elements >= 7)
        history_print(":%lld:%lld", job->element[4]->integer, job->element[6]->integer);
}

static void log_reply(uint64_t op, const redisReply *r) {
    bool failed = r->type == REDIS_REPLY_ERROR;
    bool unknown = failed && (strncmp(r->str, "UNKNOWN", 7) == 0 || strncmp(r->str, "CRASHED", 7) == 0);

    history_line(unknown ? 'u' : failed ? 'f' : 'o', history_clock(), op);
    if (r->type == REDIS_REPLY_INTEGER)
        history_print(" %lld", r->integer);
    else if (r->type == REDIS_REPLY_STATUS || failed)
        history_print(" %s", r->str);
    else if (r->type == REDIS_REPLY_ARRAY)
        for (size_t i = 0; i < r->elements; i++)
            log_element(r->element[i]);
    history_end();
}

/* Logs the ends of both commands of an EXEC. */
static const redisReply *log_both(const struct pending *p, const redisReply *r) {
    bool done = r->type == REDIS_REPLY_ARRAY && r->elements == 2;

    log_reply(p->op, done ? r->element[0] : r);
    log_reply(p->second, done ? r->element[1] : r);
    return done ? r->element[0] : r;
}

static void take_reply(struct conn *c, const redisReply *r) {
    struct pending p = c->pending[c->first % CONN_DEPTH];

    if (p.is_quiet) {
        c->first++;
        c->count--;
        return;
    }
    if (p.second != 0)
        r = log_both(&p, r);
    else
        log_reply(p.op, r);
    c->first++;
    c->count--;
    if (r->type == REDIS_REPLY_ERROR) {
        c->not_before = history_clock() + AFTER_ERROR_US;
        c->role->lost(c);
        if (conn_servers > 1 && strncmp(r->str, "LOADING", 7) == 0)
            conn_kill(c, "loading");
        return;
    }
    conn_good++;
    c->role->reply(c, p.verb, r);
}

/* False when the connection is gone. */
static bool take_replies(struct conn *c) {
    void *reply;

    while (c->fd >= 0) {
        if (redisReaderGetReply(c->reader, &reply) != REDIS_OK || (reply != NULL && c->count == 0)) {
            conn_kill(c, "broken framing");
            return false;
        }
        if (reply == NULL)
            return true;
        take_reply(c, reply);
        freeReplyObject(reply);
    }
    return false;
}

static bool read_some(struct conn *c) {
    char bytes[65536];
    ssize_t n = read(c->fd, bytes, sizeof bytes);

    if (n < 0 && errno == EAGAIN)
        return true;
    if (n <= 0) {
        conn_kill(c, n == 0 ? "closed" : strerror(errno));
        return false;
    }
    redisReaderFeed(c->reader, bytes, (size_t)n);
    return take_replies(c);
}

/* ---- writing ---- */

static bool write_some(struct conn *c) {
    while (buf_len(&c->out) > 0) {
        ssize_t n = write(c->fd, buf_ptr(&c->out), buf_len(&c->out));

        if (n < 0 && errno == EAGAIN) {
            watch(c, true);
            return true;
        }
        if (n <= 0) {
            conn_kill(c, strerror(errno));
            return false;
        }
        buf_consume(&c->out, (size_t)n);
    }
    return true;
}

void conn_begin(struct conn *c, char verb, uint64_t token) {
    struct pending *p = &c->pending[(c->first + c->count++) % CONN_DEPTH];

    *p = (struct pending){ .op = ++ops, .verb = verb, .token = token, .begun = history_clock() };
    conn_sent++;
    history_line('i', p->begun, p->op);
    history_print(" %u %c", c->number, verb);
}

void conn_begin_second(struct conn *c, char verb) {
    struct pending *p = &c->pending[(c->first + c->count - 1) % CONN_DEPTH];

    p->second = ++ops;
    conn_sent++;
    history_end();
    history_line('t', p->begun, p->op);
    history_print(" %llu", (unsigned long long)p->second);
    history_end();
    history_line('i', p->begun, p->second);
    history_print(" %u %c", c->number, verb);
}

static void append(struct conn *c, int argc, const struct slice *argv);

void conn_send_quietly(struct conn *c, int argc, const struct slice *argv) {
    c->pending[(c->first + c->count++) % CONN_DEPTH] =
        (struct pending){ .is_quiet = true, .begun = history_clock() };
    append(c, argc, argv);
}

void conn_send(struct conn *c, int argc, const struct slice *argv) {
    history_end();
    append(c, argc, argv);
}

static void append(struct conn *c, int argc, const struct slice *argv) {
    buf_printf(&c->out, "*%d\r\n", argc);
    for (int i = 0; i < argc; i++) {
        buf_printf(&c->out, "$%zu\r\n", argv[i].len);
        buf_append(&c->out, argv[i].ptr, argv[i].len);
        buf_append(&c->out, "\r\n", 2);
    }
}

/* ---- events ---- */

static bool finish_connect(struct conn *c) {
    int error = 0;
    socklen_t size = sizeof error;

    getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0) {
        conn_kill(c, "cannot connect");
        return false;
    }
    c->connected = true;
    return true;
}

static void step(struct conn *c) {
    if (c->home_at <= history_clock())
        conn_go_home(c);
    if (!c->connected)
        return;
    if (c->not_before > history_clock()) {
        conn_wake_at(c, c->not_before);
        return;
    }
    c->role->step(c);
    if (c->connected)
        write_some(c);
}

static void on_event(evutil_socket_t fd, short what, void *arg) {
    struct conn *c = arg;

    (void)fd;
    if (!c->connected && !finish_connect(c))
        return;
    if (what & EV_WRITE) {
        watch(c, false);
        if (!write_some(c))
            return;
    }
    if ((what & EV_READ) && !read_some(c))
        return;
    step(c);
}

static void on_timer(evutil_socket_t fd, short what, void *arg) {
    struct conn *c = arg;

    (void)fd;
    (void)what;
    if (c->fd < 0)
        open_socket(c);
    else
        step(c);
}

struct conn *conn_new(const struct conn_role *role, unsigned serial, void *data) {
    struct conn *c = xcalloc(1, sizeof *c);

    c->role = role;
    c->serial = serial;
    c->home = c->server = serial % conn_servers;
    c->data = data;
    c->fd = -1;
    c->timer = event_new(base, -1, 0, on_timer, c);
    conn_wake_at(c, history_clock());
    return c;
}

void conn_free(struct conn *c) {
    conn_kill(c, "end");
    event_free(c->timer);
    buf_free(&c->out);
    free(c);
}
