/* Listens on http-port, checks requests, and answers the paths of the table. */
#include "http/http.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/http.h>
#include <event2/listener.h>
#include <sodium.h>

#include "base/clock.h"
#include "base/list.h"
#include "base/log.h"
#include "base/timer.h"
#include "batch/batch.h"
#include "config/config.h"
#include "http/gateway.h"
#include "http/reply_json.h"
#include "jobs/bootstrap.h"
#include "net/sockets.h"
#include "pg/db.h"

#define HTTP_LISTENERS_MAX 16
#define HEADERS_MAX (8 * 1024)
#define REQUEST_TIMEOUT_S 30
#define LOGIN_MAX 1024
#define SWEEP_US (US_PER_S / 2)

/* A connection. evhttp reads its next request after the reply to the last one. */
struct http_conn {
    struct list in_open;
    struct evhttp_connection *evcon;
    struct evhttp_request *req;     /* the request in progress; NULL: none */
    const struct http_route *route; /* of that request */
    struct gateway *run;            /* its commands; NULL: none */
    bool is_single;                 /* the request is one command, and the reply is that to the command */
    struct event *readable;         /* watches the socket while the command runs */
};

struct http_route {
    const char *path;
    enum evhttp_cmd_type method;
    void (*serve)(struct http_conn *c);
    void (*answer)(struct http_conn *c, struct slice replies);
};

static struct {
    struct event_base *base;
    struct evhttp *server;
    struct evconnlistener *listeners[HTTP_LISTENERS_MAX];
    size_t listener_count;
    struct list open; /* struct http_conn: the connections that have sent a request */
    struct bufferevent *streams[HTTP_CLIENTS_MAX]; /* of all connections */
    size_t count;
    struct timer sweep;
} http = { .open = { &http.open, &http.open } };

/* ---- replies ---- */

/* Takes body over. The page of another site must not read or guess the type of a reply. */
static void http_reply(struct http_conn *c, int code, const char *reason, const char *type,
                       struct evbuffer *body) {
    struct evkeyvalq *headers = evhttp_request_get_output_headers(c->req);
    struct evhttp_request *req = c->req;

    c->req = NULL;
    event_del(c->readable);
    evhttp_add_header(headers, "Content-Type", type);
    evhttp_add_header(headers, "Cache-Control", "no-store");
    evhttp_add_header(headers, "X-Content-Type-Options", "nosniff");
    evhttp_send_reply(req, code, reason, body);
    evbuffer_free(body);
}

static void reply_json(struct http_conn *c, int code, const char *reason, json_t *value) {
    struct evbuffer *body = evbuffer_new();
    char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);

    evbuffer_add_printf(body, "%s\n", text);
    free(text);
    json_decref(value);
    http_reply(c, code, reason, "application/json", body);
}

static void reply_problem(struct http_conn *c, int code, const char *reason, const char *text) {
    reply_json(c, code, reason, json_pack("{s:s}", "error", text));
}

static void reply_login_needed(struct http_conn *c, json_t *problem) {
    evhttp_add_header(evhttp_request_get_output_headers(c->req), "WWW-Authenticate",
                      "Basic realm=\"pgdisque\", charset=\"UTF-8\"");
    reply_json(c, 401, "Unauthorized", problem);
}

/* Error codes of commands that have a status of their own in HTTP; the others are 400. */
static const struct {
    const char *code;
    int status;
} error_statuses[] = {
    { "NOPERM ", 403 },   { "LOADING ", 503 }, { "NOREPL ", 503 },
    { "DISKFULL ", 503 }, { "LOCKED ", 503 },  { "OOM ", 503 },
};

static bool has_code(struct slice error, const char *code) {
    return error.len >= strlen(code) && memcmp(error.ptr, code, strlen(code)) == 0;
}

static int status_of_error(struct slice error) {
    for (size_t i = 0; i < LENGTH(error_statuses); i++) {
        if (has_code(error, error_statuses[i].code))
            return error_statuses[i].status;
    }
    return 400;
}

static const char *reason_of(int status) {
    return status == 403 ? "Forbidden" : status == 503 ? "Service Unavailable" : "Bad Request";
}

static void reply_error_of_command(struct http_conn *c, struct slice error, struct slice reply) {
    int status = status_of_error(error);

    if (has_code(error, "NOAUTH ") || has_code(error, "WRONGPASS "))
        reply_login_needed(c, reply_to_json(&reply));
    else
        reply_json(c, status, reason_of(status), reply_to_json(&reply));
}

/* ---- commands ---- */

/* The client of the request did not run, for example because there are too many clients. */
static void reply_refusal(struct http_conn *c, struct slice error, struct slice reply) {
    if (has_code(error, "ERR "))
        reply_json(c, 503, "Service Unavailable", reply_to_json(&reply));
    else
        reply_error_of_command(c, error, reply);
}

static void reply_result(struct http_conn *c, enum gateway_result result, struct slice replies) {
    struct slice error;

    if (result == GATEWAY_TOO_LARGE)
        reply_problem(c, 500, "Internal Server Error", "the reply is too large for HTTP; ask for less");
    else if (result == GATEWAY_CLOSED)
        reply_problem(c, 503, "Service Unavailable",
                      "the connection ended before the reply; the command may have been executed");
    else if (result == GATEWAY_REFUSED && reply_is_error(replies, &error))
        reply_refusal(c, error, replies);
    else if (c->is_single && reply_is_error(replies, &error))
        reply_error_of_command(c, error, replies);
    else
        c->route->answer(c, replies);
}

static void on_run_end(void *arg, enum gateway_result result, struct slice replies) {
    struct http_conn *c = arg;
    struct gateway *run = c->run;

    c->run = NULL;
    reply_result(c, result, replies);
    gateway_close(run);
}

/* Reads the user and the password of Basic authentication into text, "user:password". Without the header, user
 * becomes empty. False if the header is something else. */
static bool http_read_login(struct http_conn *c, char *text, size_t size, struct gateway_call *call) {
    const char *header = evhttp_find_header(evhttp_request_get_input_headers(c->req), "Authorization");
    size_t len;
    char *colon;

    call->user = call->password = SLICE("");
    if (header == NULL)
        return true;
    if (evutil_ascii_strncasecmp(header, "Basic ", 6) != 0 ||
        sodium_base642bin((unsigned char *)text, size - 1, header + 6, strlen(header + 6), " ", &len, NULL,
                          sodium_base64_VARIANT_ORIGINAL) != 0)
        return false;
    text[len] = '\0';
    colon = memchr(text, ':', len);
    if (colon == NULL)
        return false;
    call->user = (struct slice){ text, (size_t)(colon - text) };
    call->password = (struct slice){ colon + 1, len - call->user.len - 1 };
    return call->user.len > 0;
}

/* Opens the client of a request. NULL: the request has its reply. */
static struct gateway *open_run(struct http_conn *c) {
    struct gateway_call call = { .done = on_run_end, .arg = c };
    char login[LOGIN_MAX];

    if (!http_read_login(c, login, sizeof login, &call))
        reply_problem(c, 400, "Bad Request",
                      "the header Authorization must be Basic, with user and password");
    else if ((c->run = gateway_open(http.base, &call)) == NULL)
        reply_problem(c, 503, "Service Unavailable", "the server has too few file descriptors");
    else
        event_add(c->readable, NULL);
    sodium_memzero(login, sizeof login);
    return c->run;
}

static void run_word(struct http_conn *c, struct slice command) {
    struct gateway *g = open_run(c);

    c->is_single = true;
    if (g != NULL)
        gateway_send(g, &command, 1);
}

/* ---- the paths ---- */

static void serve_metrics(struct http_conn *c) {
    run_word(c, SLICE("METRICS"));
}

static void answer_metrics(struct http_conn *c, struct slice reply) {
    struct evbuffer *body = evbuffer_new();
    struct slice text = reply_text(reply);

    evbuffer_add(body, text.ptr, text.len);
    http_reply(c, 200, "OK", "application/openmetrics-text; version=1.0.0; charset=utf-8", body);
}

static void serve_health(struct http_conn *c) {
    run_word(c, SLICE("HEALTH"));
}

static void answer_health(struct http_conn *c, struct slice reply) {
    reply_json(c, 200, "OK", json_pack("{s:o}", "milliseconds", reply_to_json(&reply)));
}

/* Tells balancers whether to send clients here. It reveals nothing else, so it needs no login. */
static void serve_ready(struct http_conn *c) {
    if (batch_connected(CONN_WRITE) && !load_is_under_way())
        reply_json(c, 200, "OK", json_pack("{s:b}", "ready", 1));
    else
        reply_json(c, 503, "Service Unavailable", json_pack("{s:b}", "ready", 0));
}

/* A form of another site can send any body, but not with this type. */
static bool is_json_request(struct http_conn *c) {
    const char *type = evhttp_find_header(evhttp_request_get_input_headers(c->req), "Content-Type");

    return type != NULL && evutil_ascii_strncasecmp(type, "application/json", 16) == 0;
}

/* Commands whose replies are no answer: they subscribe, stream, or turn replies off. */
static bool needs_connection(const struct command_words *c) {
    static const char *const names[] = { "subscribe", "psubscribe", "unsubscribe", "punsubscribe",
                                         "monitor" };

    for (size_t i = 0; i < LENGTH(names); i++) {
        if (slice_is(c->words[0], names[i]))
            return true;
    }
    return c->count > 1 && slice_is(c->words[0], "client") && slice_is(c->words[1], "reply");
}

static bool can_run(const struct command_list *list) {
    for (size_t i = 0; i < list->count; i++) {
        if (needs_connection(&list->commands[i]))
            return false;
    }
    return true;
}

static void run_list(struct http_conn *c, const struct command_list *list) {
    struct gateway *g = open_run(c);

    c->is_single = list->is_single;
    for (size_t i = 0; g != NULL && i < list->count; i++)
        gateway_send(g, list->commands[i].words, list->commands[i].count);
}

static void serve_command(struct http_conn *c) {
    struct evbuffer *body = evhttp_request_get_input_buffer(c->req);
    struct slice text = { (char *)evbuffer_pullup(body, -1), evbuffer_get_length(body) };
    struct command_list list;
    char err[256];

    if (!is_json_request(c)) {
        reply_problem(c, 415, "Unsupported Media Type", "the header Content-Type must be application/json");
        return;
    }
    if (!commands_from_json(text, &list, err, sizeof err)) {
        reply_problem(c, 400, "Bad Request", err);
        return;
    }
    if (can_run(&list))
        run_list(c, &list);
    else
        reply_problem(c, 400, "Bad Request", "ERR this command needs a connection of RESP");
    command_list_free(&list);
}

static void answer_command(struct http_conn *c, struct slice replies) {
    json_t *all;

    if (c->is_single) {
        reply_json(c, 200, "OK", json_pack("{s:o}", "reply", reply_to_json(&replies)));
        return;
    }
    all = json_array();
    while (replies.len > 0)
        json_array_append_new(all, reply_to_json(&replies));
    reply_json(c, 200, "OK", json_pack("{s:o}", "replies", all));
}

static const struct http_route routes[] = {
    { "/metrics", EVHTTP_REQ_GET, serve_metrics, answer_metrics },
    { "/health", EVHTTP_REQ_GET, serve_health, answer_health },
    { "/ready", EVHTTP_REQ_GET, serve_ready, NULL },
    { "/api/command", EVHTTP_REQ_POST, serve_command, answer_command },
};

/* ---- requests ---- */

/* A page of another site can resolve its own name to this server's address. The header Host then has that name. So
 * only addresses, localhost and the names of http-hosts are accepted. */
static bool host_is_known(const char *host) {
    unsigned char address[sizeof(struct in6_addr)];
    struct slice name = slice_str(host);
    const char *known = config.http_hosts;

    if (inet_pton(AF_INET, host, address) == 1 || inet_pton(AF_INET6, host, address) == 1 || host[0] == '[' ||
        slice_is(name, "localhost"))
        return true;
    while (*known != '\0') {
        size_t len = strcspn(known, " ");

        if (len == name.len && evutil_ascii_strncasecmp(known, host, len) == 0)
            return true;
        known += len + strspn(known + len, " ");
    }
    return false;
}

static int http_fd(const struct http_conn *c) {
    return (int)bufferevent_getfd(evhttp_connection_get_bufferevent(c->evcon));
}

static void serve_request(struct http_conn *c) {
    const char *host = evhttp_request_get_host(c->req);
    const char *path = evhttp_uri_get_path(evhttp_request_get_evhttp_uri(c->req));

    if (socket_is_denied(http_fd(c), false)) {
        reply_problem(c, 403, "Forbidden", SOCKET_DENIED);
        return;
    }
    if (host == NULL || !host_is_known(host)) {
        reply_problem(c, 403, "Forbidden",
                      "the name in the header Host is unknown; add it to the option http-hosts");
        return;
    }
    for (size_t i = 0; path != NULL && i < LENGTH(routes); i++) {
        c->route = &routes[i];
        if (strcmp(path, c->route->path) != 0)
            continue;
        if (evhttp_request_get_command(c->req) == c->route->method)
            c->route->serve(c);
        else
            reply_problem(c, 405, "Method Not Allowed",
                          c->route->method == EVHTTP_REQ_GET ? "this path takes GET"
                                                             : "this path takes POST");
        return;
    }
    reply_problem(c, 404, "Not Found", "the paths are /metrics, /health, /ready and /api/command");
}

/* ---- connections ---- */

static struct http_conn *http_conn_of(const struct evhttp_connection *evcon) {
    LIST_EACH(node, &http.open) {
        struct http_conn *c = LIST_ENTRY(node, struct http_conn, in_open);

        if (c->evcon == evcon)
            return c;
    }
    return NULL;
}

static void on_http_close(struct evhttp_connection *evcon, void *arg) {
    struct http_conn *c = arg;

    (void)evcon;
    if (c->run != NULL)
        gateway_close(c->run);
    event_free(c->readable);
    list_remove(&c->in_open);
    free(c);
}

/* evhttp does not read during a request, so it does not notice that the client disconnects. The next request may arrive
 * during this one: the connection is not watched any longer then. */
static void on_http_readable(evutil_socket_t fd, short what, void *arg) {
    struct http_conn *c = arg;
    char byte;

    (void)what;
    if (recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) <= 0)
        evhttp_connection_free(c->evcon);
}

static struct http_conn *http_conn_add(struct evhttp_connection *evcon) {
    struct http_conn *c = xcalloc(1, sizeof *c);

    c->evcon = evcon;
    c->readable = event_new(http.base, http_fd(c), EV_READ, on_http_readable, c);
    list_push_back(&http.open, &c->in_open);
    evhttp_connection_set_closecb(evcon, on_http_close, c);
    return c;
}

static void on_http_request(struct evhttp_request *req, void *arg) {
    struct evhttp_connection *evcon = evhttp_request_get_connection(req);
    struct http_conn *c = http_conn_of(evcon);

    (void)arg;
    if (c == NULL)
        c = http_conn_add(evcon);
    c->req = req;
    serve_request(c);
}

/* ---- the bound of connections ---- */

/* With HTTP_CLIENTS_MAX connections, further ones wait in the kernel until one of these ends. */
static void http_accept_more(void) {
    for (size_t i = 0; i < http.listener_count; i++) {
        if (http.count < HTTP_CLIENTS_MAX)
            evconnlistener_enable(http.listeners[i]);
        else
            evconnlistener_disable(http.listeners[i]);
    }
}

/* evhttp reports the end of a connection only after its first request. Therefore this table has a reference to the
 * stream of each connection. evhttp removes the callbacks of a stream when it frees the stream. */
static void drop_ended_streams(void) {
    size_t kept = 0;

    for (size_t i = 0; i < http.count; i++) {
        bufferevent_data_cb on_read;

        bufferevent_getcb(http.streams[i], &on_read, NULL, NULL, NULL);
        if (on_read == NULL)
            bufferevent_decref(http.streams[i]);
        else
            http.streams[kept++] = http.streams[i];
    }
    http.count = kept;
    http_accept_more();
}

static void on_http_sweep(struct timer *t) {
    drop_ended_streams();
    if (http.count > 0)
        timer_set(t, clock_mono() + SWEEP_US, on_http_sweep);
}

/* Called by evhttp for each accepted connection. */
static struct bufferevent *new_stream(struct event_base *base, void *arg) {
    struct bufferevent *stream = bufferevent_socket_new(base, -1, BEV_OPT_CLOSE_ON_FREE);

    (void)arg;
    drop_ended_streams();
    bufferevent_incref(stream);
    http.streams[http.count++] = stream;
    http_accept_more();
    timer_set(&http.sweep, clock_mono() + SWEEP_US, on_http_sweep);
    return stream;
}

/* ---- start and stop ---- */

static bool http_listen(const char *host, char *err, size_t err_size) {
    const char *name = strcmp(host, "*") == 0 ? "0.0.0.0" : strcmp(host, "::*") == 0 ? "::" : host;

    struct evhttp_bound_socket *bound =
        http.listener_count == HTTP_LISTENERS_MAX
            ? NULL
            : evhttp_bind_socket_with_handle(http.server, name, (ev_uint16_t)config.http_port);

    if (bound != NULL) {
        http.listeners[http.listener_count++] = evhttp_bound_socket_get_listener(bound);
        return true;
    }
    snprintf(err, err_size, "cannot listen on %s port %d for HTTP: %s; choose another with --http-port", host,
             config.http_port, strerror(errno));
    return false;
}

bool http_start(struct event_base *base, char *err, size_t err_size) {
    char *copy, *rest;
    bool ok = true;

    if (config.http_port == 0)
        return true;
    http.base = base;
    http.server = evhttp_new(base);
    evhttp_set_allowed_methods(http.server, EVHTTP_REQ_GET | EVHTTP_REQ_POST);
    evhttp_set_max_headers_size(http.server, HEADERS_MAX);
    evhttp_set_max_body_size(http.server, HTTP_BODY_MAX);
    evhttp_set_timeout(http.server, REQUEST_TIMEOUT_S);
    evhttp_set_bevcb(http.server, new_stream, NULL);
    evhttp_set_gencb(http.server, on_http_request, NULL);
    copy = rest = xstrdup(config.bind);
    for (char *host; ok && (host = strsep(&rest, " \t")) != NULL;) {
        if (*host != '\0')
            ok = http_listen(host + (*host == '-'), err, err_size) || *host == '-';
    }
    free(copy);
    return ok;
}

void http_stop(void) {
    if (http.server == NULL)
        return;
    http.listener_count = 0;
    evhttp_free(http.server);
    http.server = NULL;
    drop_ended_streams();
    timer_stop(&http.sweep);
}
