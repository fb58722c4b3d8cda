/* Client connections: reads them, passes on complete requests, writes replies in order. */
#include "net/client.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/stats.h"
#include "base/time_budget.h"
#include "batch/batch.h"
#include "config/config.h"
#include "net/admission.h"
#include "net/client_iter.h"
#include "net/client_memory.h"
#include "net/client_tls.h"
#include "net/output_limits.h"
#include "net/tls_server.h"
#include "net/unproven.h"
#include "net/wrong_passwords.h"

#define READ_BYTES ((size_t)16 * 1024)
/* The most bytes of one read. A large argument may take many. */
#define READ_MOST ((size_t)1024 * 1024)
/* A client with a held command is read until it has this much input, so that its end is noticed. */
#define HELD_INPUT ((size_t)64 * 1024)
/* Commands of at least this size take over the input buffer instead of being copied. */
#define STEAL_BYTES ((size_t)64 * 1024)
#define KEEP_BYTES ((size_t)16 * 1024)
/* Longer input is processed after the events of the turn, so that many large commands do not delay small ones. */
#define SMALL_INPUT ((size_t)8 * 1024)
/* A client that has sent nothing for this time keeps no buffer for replies. */
#define IDLE_US US_PER_S
/* The share of one client in a turn. */
#define SLICE_US 500
/* The share of all clients with input that is left. It is small, because clients without such input wait for it. */
#define RESUME_US (1 * US_PER_MS)
/* The share of all clients that send, and of all that have replies to write. */
#define SHARE_US (3 * US_PER_MS)
/* clients_cron() checks this part of the clients, and a few more. */
#define CRON_PARTS 10
#define CRON_LEAST 16
/* The share of closing sockets. It is small, because connections that end may be an attack. */
#define REAP_US 200
/* The most bytes of one write. Otherwise a fast reader could keep the server in the write. */
#define WRITE_BYTES ((size_t)1024 * 1024)
/* A reply that is made in steps pauses when this many bytes of output are unread. */
#define UNREAD_BYTES ((size_t)1024 * 1024)
/* When memory is short, a client goes on if it uses at most its part of 1/MODEST_PART of the budget. */
#define MODEST_PART 8
/* Room for an argument and its header. */
#define UNAUTH_INPUT (RESP_UNAUTH_MAX_BULK + (size_t)1024)
/* Their share of the time is small, so a read of theirs is small. */
#define UNAUTH_READ_BYTES ((size_t)1024)

/* The error that ends the tasks of an evicted client. It is not sent. */
static const struct op_error evicted = { "53200", "the client was disconnected to free memory" };

static struct {
    struct event_base *base;
    const struct client_hooks *hooks;
    struct client *by_id;
    struct list states[CLIENT_DEAD + 1];
    struct list dirty;
    struct list ready;
    uint64_t last_id;
    size_t count; /* number of open and closing clients */
    struct client_iter checks;
    int64_t pause_until;
    bool pause_writes_only;
} clients;

static void on_readable(evutil_socket_t fd, short what, void *arg);
static void on_writable(evutil_socket_t fd, short what, void *arg);
static void on_request_end(struct req *r);
static void on_unproven_event(struct client *c, unsigned events);
static void on_unproven_ready(struct client *c);

void client_init(struct event_base *base, const struct client_hooks *hooks) {
    clients.base = base;
    clients.hooks = hooks;
    users_init();
    for (size_t i = 0; i < LENGTH(clients.states); i++)
        list_init(&clients.states[i]);
    list_init(&clients.dirty);
    list_init(&clients.ready);
    client_iter_begin(&clients.checks);
    unproven_init(base, on_unproven_event, on_unproven_ready);
}

const char *client_ident(const struct client *c) {
    static char text[128];

    snprintf(text, sizeof text, "client %llu %s", (unsigned long long)c->id, c->addr);
    return text;
}

struct client *client_by_id(uint64_t id) {
    struct client *c;

    HASH_FIND(by_id, clients.by_id, &id, sizeof id, c);
    return c;
}

struct list *client_list(enum client_state state) {
    return &clients.states[state];
}

size_t client_count(void) {
    return clients.count;
}

static void make_ready(struct client *c) {
    bool waits = c->held != NULL || buf_len(&c->in) > 0 || c->eof || c->paused || client_has_unread(c);

    if (!waits || c->state != CLIENT_OPEN || !list_empty(&c->in_ready))
        return;
    if (unproven_has(c))
        unproven_make_ready(c);
    else
        list_push_back(&clients.ready, &c->in_ready);
}

bool clients_are_paused(void) {
    return clock_mono() < clients.pause_until;
}

void clients_offer_again(void) {
    LIST_EACH(node, &clients.states[CLIENT_OPEN])
        make_ready(LIST_ENTRY(node, struct client, in_state));
}

void client_pause_until(int64_t mono_us, bool writes_only) {
    clients.pause_until = mono_us;
    clients.pause_writes_only = writes_only;
    if (mono_us == 0)
        clients_offer_again();
}

void client_touch(struct client *c) {
    if (c->state != CLIENT_DEAD && list_empty(&c->in_dirty))
        list_push_back(&clients.dirty, &c->in_dirty);
}

/* ---- life of a client ---- */

static void set_state(struct client *c, enum client_state state) {
    c->state = state;
    client_iters_leave(c);
    list_remove(&c->in_state);
    list_push_back(&clients.states[state], &c->in_state);
}

static struct client *client_new(int fd, bool unix_socket) {
    struct client *c = xcalloc(1, sizeof *c);

    c->id = ++clients.last_id;
    c->fd = fd;
    c->unix_socket = unix_socket;
    c->proto = 2;
    c->user = user_hold(default_user);
    c->created_us = c->last_active_us = clock_mono();
    list_init(&c->in_state);
    list_init(&c->in_dirty);
    list_init(&c->in_ready);
    list_init(&c->in_unproven);
    list_init(&c->in_monitors);
    list_init(&c->reqs);
    output_init(&c->ahead);
    memory_change(&c->share, MEMORY_CLIENTS, 0, sizeof *c);
    socket_names(fd, unix_socket, c->addr, c->laddr, sizeof c->addr);
    HASH_ADD(by_id, clients.by_id, id, sizeof c->id, c);
    set_state(c, CLIENT_OPEN);
    clients.count++;
    return c;
}

/* Takes commands from now on, without a share with others. */
static void serve(struct client *c) {
    event_assign(&c->read_event, clients.base, c->fd, EV_READ | EV_PERSIST, on_readable, c);
    event_assign(&c->write_event, clients.base, c->fd, EV_WRITE | EV_PERSIST, on_writable, c);
    c->paused = false;
    if (!c->eof)
        event_add(&c->read_event, NULL);
    if (c->write_armed)
        event_add(&c->write_event, NULL);
    make_ready(c);
}

static void prove(struct client *c) {
    unproven_remove(c);
    serve(c);
}

bool client_make_room(void) {
    struct client *c;

    while ((c = unproven_oldest()) != NULL) {
        if (client_is_unproven(c)) {
            client_kill(c, "not authenticated, and maxclients is reached");
            return true;
        }
        prove(c);
    }
    return false;
}

/* Lets an accepted client begin. */
static void begin(struct client *c, bool with_tls) {
    stats.connections_received++;
    c->is_extra = client_count() > (size_t)config.maxclients;
    if (with_tls)
        c->tls = tls_server_accept(c->fd);
    if (client_is_unproven(c))
        unproven_add(c);
    else
        serve(c);
    log_debug(client_ident(c), "accepted");
}

void client_accept(int fd, enum socket_kind kind) {
    if (!admission_or_close(fd, kind))
        return;
    socket_tune(fd, kind == SOCKET_UNIX);
    begin(client_new(fd, kind == SOCKET_UNIX), kind == SOCKET_TLS);
}

struct client *client_accept_for(int fd, const char *peer, const char *own) {
    struct client *c;

    if (!admission_or_close(fd, SOCKET_UNIX))
        return NULL;
    c = client_new(fd, true);
    c->unix_socket = false;
    snprintf(c->addr, sizeof c->addr, "%s", peer);
    snprintf(c->laddr, sizeof c->laddr, "%s", own);
    begin(c, false);
    return c;
}

void client_kill(struct client *c, const char *reason) {
    if (c->state == CLIENT_DEAD)
        return;
    log_verbose(client_ident(c), "closing after %llds: %s",
                (long long)((clock_mono() - c->created_us) / US_PER_S), reason);
    list_remove(&c->in_dirty);
    list_remove(&c->in_ready);
    set_state(c, CLIENT_DEAD);
    clients.count--;
    if (unproven_has(c)) {
        unproven_remove(c);
        return;
    }
    event_del(&c->read_event);
    event_del(&c->write_event);
}

void client_close_after_replies(struct client *c) {
    if (c->state != CLIENT_OPEN)
        return;
    set_state(c, CLIENT_CLOSING);
    if (c->held != NULL) {
        list_remove(&c->held->in_client);
        req_free(c->held);
        c->held = NULL;
    }
    client_touch(c);
}

static void orphan(struct req *r) {
    list_remove(&r->in_client);
    req_leave(r);
    r->client = NULL;
    r->out = &r->own;
    if (r->done)
        req_free(r);
}

/* Resumes the work that makes a long reply. The work checks whether its client has disconnected. */
static void go_on_replying(struct client *c) {
    struct long_work *w = c->unread;

    c->unread = NULL;
    if (w != NULL)
        long_work_go_on(w);
}

bool client_takes_more(struct client *c, struct long_work *w) {
    client_touch(c);
    if (client_unwritten(c) <= UNREAD_BYTES)
        return true;
    c->unread = w;
    long_work_wait(w);
    return false;
}

/* The requests of c go on as orphans. Requests of an evicted client end, unless they are sent. */
static void leave_requests(struct client *c) {
    while (!list_empty(&c->reqs)) {
        struct req *r = LIST_ENTRY(c->reqs.next, struct req, in_client);
        bool withdrawn = c->evicted && !r->done && batch_withdraw(&r->task);

        orphan(r);
        if (withdrawn)
            r->task.op->fail(&r->task, &evicted);
    }
}

static void client_free(struct client *c) {
    clients.hooks->on_close(c);
    assert(c->unsent_count == 0);
    go_on_replying(c);
    if (c->held != NULL)
        req_free(c->held);
    leave_requests(c);
    tls_free(c->tls);
    c->tls = NULL;
    close(c->fd);
    HASH_DELETE(by_id, clients.by_id, c);
    list_remove(&c->in_state);
    list_remove(&c->in_monitors);
    resp_parser_free(&c->parser);
    buf_free(&c->in);
    buf_free(&c->out);
    output_free(&c->ahead);
    client_count_replies(c, 0);
    memory_change(&c->share, MEMORY_CLIENTS, c->share.kinds[MEMORY_CLIENTS], 0);
    memory_change(&c->share, MEMORY_TLS, c->share.kinds[MEMORY_TLS], 0);
    free(c->unsent);
    free(c->name);
    free(c->lib_name);
    free(c->lib_ver);
    user_release(c->user);
    free(c);
}

static void free_dead(void) {
    client_free(LIST_ENTRY(clients.states[CLIENT_DEAD].next, struct client, in_state));
}

void clients_reap(void) {
    struct budget share;

    if (list_empty(&clients.states[CLIENT_DEAD]))
        return;
    share = budget_of(REAP_US);
    while (!list_empty(&clients.states[CLIENT_DEAD]) && !budget_is_over(&share))
        free_dead();
}

/* ---- requests ---- */

/* Lets the oldest request build its reply in the client's output directly. */
static void promote_head(struct client *c) {
    struct req *head = LIST_ENTRY(c->reqs.next, struct req, in_client);

    if (head->silent || head->out == &c->out)
        return;
    if (head->has_jobs)
        clients.hooks->on_placed(c, head);
    if (head->own.cap > 0) {
        buf_append(&c->out, buf_ptr(&head->own), buf_len(&head->own));
        buf_free(&head->own);
        req_settle(head);
    }
    head->out = &c->out;
}

static void client_pop_done(struct client *c) {
    while (!list_empty(&c->reqs)) {
        struct req *head = LIST_ENTRY(c->reqs.next, struct req, in_client);

        promote_head(c);
        if (!head->done)
            break;
        list_remove(&head->in_client);
        c->req_count--;
        req_free(head);
    }
    client_touch(c);
    make_ready(c);
}

static void on_request_end(struct req *r) {
    if (r->client == NULL)
        req_free(r);
    else
        client_pop_done(r->client);
}

void client_detach(struct req *r) {
    struct client *c = r->client;
    struct req *shadow;

    if (c == NULL)
        return;
    /* A finished request with the reply takes the place of r in the order. */
    shadow = req_new(0, NULL, NULL, on_request_end);
    shadow->client = c;
    shadow->done = true;
    shadow->silent = r->silent;
    if (r->out == &c->out)
        shadow->out = &c->out;
    else
        shadow->own = r->own;
    r->own = (struct buf){ 0 };
    req_settle(r);
    req_join(shadow, &c->share, MEMORY_REQUESTS);
    req_settle(shadow);
    list_insert_before(&r->in_client, &shadow->in_client);
    orphan(r);
    client_pop_done(c);
}

static void start_request(struct client *c, struct req *r) {
    r->client = c;
    if (r->share == NULL)
        req_join(r, &c->share, MEMORY_REQUESTS);
    list_push_back(&c->reqs, &r->in_client);
    c->req_count++;
    promote_head(c);
}

static struct resp_limits client_parse_limits(const struct client *c) {
    if (client_is_limited(c))
        return (struct resp_limits){ RESP_UNAUTH_MAX_ARGS, RESP_UNAUTH_MAX_BULK };
    return (struct resp_limits){ RESP_MAX_ARGS, config.proto_max_bulk_len };
}

static struct req *take_request(struct client *c) {
    struct resp_parser *p = &c->parser;
    bool whole = p->consumed == buf_len(&c->in) && p->consumed >= STEAL_BYTES;
    struct req *r = req_new(p->argc, p->argv, whole ? &c->in : NULL, on_request_end);

    if (!whole)
        buf_consume(&c->in, p->consumed);
    return r;
}

static void protocol_error(struct client *c) {
    static struct log_kind framing;
    struct req *r = req_new(0, NULL, NULL, on_request_end);

    stats.protocol_errors++;
    log_sometimes(&framing, LOG_VERBOSE_, client_ident(c), "broken framing: %s",
                  log_escape(slice_str(c->parser.error), 128));
    start_request(c, r);
    reply_error(r, "ERR %s", c->parser.error);
    client_close_after_replies(c);
    req_end(r);
}

/* Offers r to the commands. If r must wait, it is held, and no input after it is parsed. */
static bool offer(struct client *c, struct req *r) {
    c->held = NULL;
    list_remove(&r->in_client);
    start_request(c, r);
    if (clients.hooks->on_command(c, r))
        return true;
    if (c->state != CLIENT_OPEN) {
        req_end(r);
        return false;
    }
    list_remove(&r->in_client);
    c->req_count--;
    r->client = NULL;
    r->out = &r->own;
    c->held = r;
    return false;
}

/* When memory is short, a client that uses much must first read its output, and wait for its requests. A client
 * without output and requests is read again, because with an incomplete command it would wait forever. */
static bool must_wait(const struct client *c) {
    return memory_is_short() && (c->req_count > 0 || client_unwritten(c) > 0) &&
           c->share.total > memory_budget / MODEST_PART / (clients.count + 1);
}

static bool may_take(const struct client *c) {
    return c->state == CLIENT_OPEN && c->mute_until_us == 0 && c->req_count < config.client_pipeline_max &&
           !output_is_flooded(c) && !must_wait(c) && (clients.pause_writes_only || !clients_are_paused());
}

/* False if there is no complete command, or if it must wait. */
static bool take_next(struct client *c) {
    struct resp_limits limits = client_parse_limits(c);
    enum resp_status status = resp_next(&c->parser, &c->in, &limits);

    if (status == RESP_ERROR)
        protocol_error(c);
    return status == RESP_COMMAND && offer(c, take_request(c));
}

/* The input that is left at the end of the slice is processed after the other ready clients. */
static void process_input(struct client *c) {
    struct budget slice = budget_from_latest(SLICE_US);

    if (c->held != NULL && (!may_take(c) || !offer(c, c->held)))
        return;
    while (may_take(c) && take_next(c)) {
        if (budget_is_spent(&slice)) {
            make_ready(c);
            return;
        }
    }
}

/* ---- reading ---- */

static size_t input_limit(const struct client *c) {
    return client_is_limited(c) ? UNAUTH_INPUT : config.client_query_buffer_limit;
}

/* Reads the client, or only watches it for its end. */
static void read_or_watch(struct client *c, bool read) {
    short what = (short)(EV_PERSIST | (read ? EV_READ : EV_CLOSED));

    c->paused = !read;
    if (unproven_has(c)) {
        unproven_watch(c, read, c->write_armed);
        return;
    }
    event_del(&c->read_event);
    event_assign(&c->read_event, clients.base, c->fd, what, on_readable, c);
    event_add(&c->read_event, NULL);
}

static bool reads_on(const struct client *c) {
    bool busy = c->held != NULL || !list_empty(&c->in_ready) || !may_take(c);
    bool only_writes = unproven_has(c) && c->write_armed;

    return !only_writes &&
           (!busy || buf_len(&c->in) < (client_is_limited(c) ? UNAUTH_READ_BYTES : HELD_INPUT));
}

/* The client sends no more. Its commands still run and reply, as `printf ... | nc` needs, but get no job. */
static void on_eof(struct client *c) {
    c->eof = true;
    if (unproven_has(c))
        unproven_watch(c, false, c->write_armed);
    else
        event_del(&c->read_event);
    make_ready(c);
}

/* After the end of input: true if nothing is left to execute or to write. Input that is left is no complete command. */
static bool is_finished(const struct client *c) {
    return c->req_count == 0 && c->held == NULL && client_unwritten(c) == 0 && may_take(c);
}

static void kill_if_waiting(struct client *c) {
    if (clients.hooks->is_waiting(c))
        client_kill(c, "peer closed while it waited for a job");
}

static void after_eof(struct client *c) {
    if (c->state == CLIENT_OPEN)
        kill_if_waiting(c);
    if (c->state == CLIENT_OPEN && is_finished(c))
        client_kill(c, "peer closed");
}

static ssize_t read_some(struct client *c) {
    size_t wanted = resp_wanted(&c->parser, &c->in);
    size_t least = client_is_limited(c) ? UNAUTH_READ_BYTES : READ_BYTES;
    size_t room = wanted > READ_MOST ? READ_MOST : wanted > least ? wanted : least;
    char *to = buf_reserve(&c->in, room);
    ssize_t got = c->tls != NULL ? tls_read(c->tls, to, room) : read(c->fd, to, room);

    if (got > 0) {
        buf_added(&c->in, (size_t)got);
        c->bytes_in += (uint64_t)got;
        stats.net_input_bytes += (uint64_t)got;
        c->last_active_us = clock_mono();
    }
    return got;
}

/* Idle clients keep no input buffer. The buffer of a slow client has only the bytes that it has sent. */
static void shrink_input(struct client *c) {
    if (buf_len(&c->in) == 0)
        buf_reset(&c->in, c->req_count > 0 ? KEEP_BYTES : 0);
    else
        buf_fit(&c->in);
    client_count_buffers(c);
}

/* Ends the round of events if its share is over. The remaining events come first in the next turn. Only each
 * sixteenth event reads the clock, because a client that sends parts of commands causes many events. An event of TLS may
 * take long without any command. */
static void yield_to_turn(const struct client *c) {
    static unsigned events;
    int64_t now = ++events % 16 == 0 || c->tls != NULL ? clock_mono_now() : clock_latest();

    if (now - clock_mono() > SHARE_US)
        event_base_loopbreak(clients.base);
}

static void read_input(struct client *c) {
    ssize_t got = read_some(c);

    if (got < 0) {
        if (errno != EAGAIN && errno != EINTR)
            client_kill(c, client_io_error(c));
    } else if (buf_len(&c->in) > SMALL_INPUT && !client_is_limited(c)) {
        make_ready(c);
    } else {
        process_input(c);
    }
    if (got == 0 && c->state != CLIENT_DEAD)
        on_eof(c);
    else if (buf_len(&c->in) > input_limit(c))
        client_kill(c, "query buffer over its limit");
    else if (c->state == CLIENT_OPEN && !c->paused && !reads_on(c))
        read_or_watch(c, false);
    else if (client_has_unread(c))
        make_ready(c);
    shrink_input(c);
}

static void on_readable(evutil_socket_t fd, short what, void *arg) {
    struct client *c = arg;

    (void)fd;
    yield_to_turn(c);
    if (c->state == CLIENT_DEAD)
        return;
    /* The client is not being read now. The input that it sent before its end is read later. */
    if (what & EV_CLOSED) {
        event_del(&c->read_event);
        kill_if_waiting(c);
        return;
    }
    read_input(c);
}

static void resume(struct client *c) {
    process_input(c);
    shrink_input(c);
    if (c->eof)
        after_eof(c);
    else if (c->state == CLIENT_OPEN && c->paused && reads_on(c))
        read_or_watch(c, true);
    if (c->state == CLIENT_OPEN && !c->paused && !c->eof && client_has_unread(c))
        read_input(c);
}

/* The list may grow while it is processed, because commands that end at once make their client ready again. */
void clients_resume(void) {
    struct budget share;

    unproven_turn();
    if (list_empty(&clients.ready))
        return;
    share = budget_of(RESUME_US);
    while (!list_empty(&clients.ready) && !budget_is_over(&share))
        resume(LIST_ENTRY(list_pop_front(&clients.ready), struct client, in_ready));
}

bool clients_pending(void) {
    return !list_empty(&clients.ready) || !list_empty(&clients.dirty) ||
           !list_empty(&clients.states[CLIENT_DEAD]) || unproven_pending();
}

/* ---- writing ---- */

static void kill_slow_reader(struct client *c) {
    stats.output_limit_kills++;
    client_kill(c, "it does not read its replies: output buffer over its limit");
}

static void arm_write(struct client *c, bool arm) {
    if (arm == c->write_armed)
        return;
    c->write_armed = arm;
    if (unproven_has(c))
        unproven_watch(c, !c->paused && !c->eof, arm);
    else if (arm)
        event_add(&c->write_event, NULL);
    else
        event_del(&c->write_event);
}

static void all_written(struct client *c) {
    arm_write(c, false);
    buf_reset(&c->out, KEEP_BYTES);
    clients.hooks->on_written(c);
    go_on_replying(c);
    make_ready(c);
    if (c->state == CLIENT_CLOSING && c->req_count == 0)
        client_kill(c, "done");
}

static ssize_t send_some(const struct client *c) {
    size_t len = buf_len(&c->out) < WRITE_BYTES ? buf_len(&c->out) : WRITE_BYTES;

    if (c->tls != NULL)
        return client_tls_send(c);
    if (c->ahead.len > 0)
        return output_send(&c->ahead, c->fd, WRITE_BYTES);
    return len == 0 ? 0 : send(c->fd, buf_ptr(&c->out), len, MSG_NOSIGNAL);
}

static void client_note_sent(struct client *c, size_t bytes) {
    size_t ahead = bytes < c->ahead.len ? bytes : c->ahead.len;

    output_consume(&c->ahead, ahead);
    buf_consume(&c->out, bytes - ahead);
    c->bytes_out += bytes;
    stats.net_output_bytes += bytes;
    c->stalled_us = 0;
}

static void write_out(struct client *c) {
    ssize_t sent;

    if (c->mute_until_us != 0)
        return;
    sent = send_some(c);
    if (sent < 0 && errno != EAGAIN && errno != EINTR) {
        client_kill(c, client_io_error(c));
        return;
    }
    if (sent > 0)
        client_note_sent(c, (size_t)sent);
    if (client_unwritten(c) > 0 && c->stalled_us == 0)
        c->stalled_us = clock_mono();
    if (client_unwritten(c) == 0) {
        all_written(c);
    } else if (output_is_over_limit(c)) {
        kill_slow_reader(c);
    } else {
        arm_write(c, true);
    }
}

static void on_writable(evutil_socket_t fd, short what, void *arg) {
    struct client *c = arg;

    (void)fd;
    (void)what;
    if (c->state == CLIENT_DEAD)
        return;
    write_out(c);
    client_touch(c);
}

/* ---- before the password ---- */

/* The replies are written within the share of these clients. A client that does not read its replies is not read. */
static void end_unproven_step(struct client *c) {
    if (c->state == CLIENT_DEAD || !unproven_has(c))
        return;
    if (!client_is_unproven(c)) {
        prove(c);
        return;
    }
    if (!list_empty(&c->in_dirty)) {
        list_remove(&c->in_dirty);
        write_out(c);
        client_count_buffers(c);
    }
    if (c->state == CLIENT_OPEN && c->write_armed && !c->paused)
        read_or_watch(c, false);
}

/* Without an event that was asked for, the socket has failed. */
static void on_unproven_event(struct client *c, unsigned events) {
    if (client_in_handshake(c)) {
        client_tls_continue(c);
        if (!client_in_handshake(c))
            make_ready(c);
    } else if (events & EPOLLOUT)
        write_out(c);
    else if (events & EPOLLIN)
        read_input(c);
    else
        client_kill(c, "peer closed");
    end_unproven_step(c);
}

static void on_unproven_ready(struct client *c) {
    resume(c);
    end_unproven_step(c);
}

/* ---- the end of the turn ---- */

void clients_flush(void) {
    struct budget share = budget_of(SHARE_US);

    while (!list_empty(&clients.dirty) && !budget_is_spent(&share)) {
        struct client *c = LIST_ENTRY(list_pop_front(&clients.dirty), struct client, in_dirty);

        if (!c->write_armed || client_unwritten(c) == 0)
            write_out(c);
        else if (output_is_over_limit(c))
            kill_slow_reader(c);
        client_count_buffers(c);
    }
}

void client_push(struct client *c, const void *bytes, size_t len) {
    buf_append(&c->out, bytes, len);
    client_touch(c);
}

void client_push_shared(struct client *c, struct message *m) {
    if (buf_len(&c->out) > 0)
        output_take(&c->ahead, &c->out);
    output_share(&c->ahead, m);
    client_touch(c);
}

/* ---- time ---- */

/* Frees the buffer of an idle client. The next reply gets a new one. */
static void drop_idle_buffer(struct client *c) {
    buf_free(&c->out);
    client_count_buffers(c);
}

void client_mute(struct client *c, struct slice user) {
    c->mute_until_us = clock_mono() + wrong_password_delay(c->addr, user);
    arm_write(c, false);
}

static void check_mute(struct client *c) {
    if (c->mute_until_us == 0 || clock_mono() < c->mute_until_us)
        return;
    c->mute_until_us = 0;
    make_ready(c);
    client_touch(c);
}

/* After RESET a client must authenticate again, and its time starts then. */
static bool owes_password_too_long(struct client *c) {
    if (!client_is_unproven(c) || config.auth_timeout == 0)
        c->unauthenticated_us = 0;
    else if (c->unauthenticated_us == 0)
        c->unauthenticated_us = clock_mono();
    return c->unauthenticated_us != 0 &&
           clock_mono() - c->unauthenticated_us > config.auth_timeout * US_PER_S;
}

static void check_client(struct client *c) {
    bool waits = c->taker != NULL || c->monitor || c->pubsub != NULL;

    check_mute(c);
    if (owes_password_too_long(c))
        client_kill(c, client_in_handshake(c) ? "no TLS handshake within auth-timeout"
                                              : "no password within auth-timeout");
    else if (config.timeout > 0 && !waits && c->req_count == 0 &&
             clock_mono() - c->last_active_us > config.timeout * US_PER_S)
        client_kill(c, "idle for longer than timeout");
    else if (client_unwritten(c) > 0 && output_is_over_limit(c))
        kill_slow_reader(c);
    else if (client_unwritten(c) == 0 && c->out.cap > 0 && clock_mono() - c->last_active_us > IDLE_US)
        drop_idle_buffer(c);
}

static size_t cron_share(void) {
    size_t share = clients.count / CRON_PARTS + CRON_LEAST;

    return share < clients.count ? share : clients.count;
}

/* The iteration begins again at its end. There is a client. */
static struct client *next_to_check(void) {
    struct client *c = client_iter_next(&clients.checks);

    if (c != NULL)
        return c;
    client_iter_begin(&clients.checks);
    return client_iter_next(&clients.checks);
}

void clients_cron(void) {
    bool resumed = clients.pause_until != 0 && clock_mono() >= clients.pause_until;

    for (size_t left = cron_share(); left > 0 && clients.count > 0; left--)
        check_client(next_to_check());
    if (resumed)
        client_pause_until(0, false);
}

void client_shutdown(void) {
    for (int state = CLIENT_OPEN; state < CLIENT_DEAD; state++)
        LIST_EACH_SAFE(node, &clients.states[state])
            client_kill(LIST_ENTRY(node, struct client, in_state), "the server stops");
    while (!list_empty(&clients.states[CLIENT_DEAD]))
        free_dead();
    unproven_stop();
}
