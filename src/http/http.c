/* Listens on http-port, checks requests, and passes them to the functions of their paths. */
#include "http/http.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <event2/http.h>
#include <event2/listener.h>

#include "base/log.h"
#include "base/time_budget.h"
#include "batch/batch.h"
#include "config/config.h"
#include "http/api.h"
#include "http/events.h"
#include "http/http_conn.h"
#include "http/http_reply.h"
#include "http/http_run.h"
#include "http/page_file.h"
#include "http/reply_json.h"
#include "jobs/bootstrap.h"
#include "net/sockets.h"
#include "pg/db.h"

#define HTTP_HEADERS_MAX (8 * 1024)
/* The share of all requests in a turn. */
#define HTTP_SHARE_US 300
/* To a method without a bit, evhttp replies a page of its own. Unknown methods share a bit. */
#define ALL_METHODS UINT16_MAX

/* Which requests must name the server by a known host: host_is_known(). */
enum host_check {
    HOST_ALWAYS,
    HOST_UNLESS_PASSWORD, /* those whose login needs no password */
    HOST_NEVER,
};

struct http_route {
    const char *path;
    enum evhttp_cmd_type method;
    enum host_check host;
    void (*serve)(struct http_conn *c);
    size_t most_runs; /* connections with commands, beside which the path is served */
};

static struct {
    struct evhttp *server;
    struct evhttp_bound_socket *bound[HTTP_LISTENERS_MAX];
    size_t bound_count;
    int port;
    bool stopping;
    char address[128];   /* of the page */
    struct list waiting; /* struct http_conn: requests that are not served yet, in their order */
} http = { .waiting = { &http.waiting, &http.waiting } };

/* ---- probes ---- */

/* True if the header Accept names the type. */
static bool accepts(const struct http_conn *c, const char *type) {
    const char *header = http_header(c, "Accept");
    struct slice rest = slice_str(header == NULL ? "" : header), range, name;

    while (slice_next_word(&rest, ", ", &range)) {
        if (slice_next_word(&range, ";", &name) && slice_is(name, type))
            return true;
    }
    return false;
}

/* Prometheus and most agents accept both formats. Some older ones know the text format only. */
static bool wants_text_format(const struct http_conn *c) {
    return accepts(c, "text/plain") && !accepts(c, "application/openmetrics-text");
}

static void answer_metrics(struct http_conn *c, struct slice reply) {
    struct evbuffer *body = evbuffer_new();
    struct slice text = reply_text(reply);

    evbuffer_add(body, text.ptr, text.len);
    http_reply(c, 200,
               wants_text_format(c) ? "text/plain; version=0.0.4; charset=utf-8"
                                    : "application/openmetrics-text; version=1.0.0; charset=utf-8",
               body);
}

static void run_metrics(struct http_conn *c) {
    const struct slice words[] = { SLICE("METRICS"), SLICE("TEXT") };

    http_set_header(c, "Vary", "Accept");
    http_run_words(c, words, wants_text_format(c) ? 2 : 1, answer_metrics);
}

static void serve_metrics(struct http_conn *c) {
    http_run_begin(c, run_metrics);
}

static void answer_health(struct http_conn *c, struct slice reply) {
    struct buf text = { 0 };

    buf_append_str(&text, "{\"milliseconds\":");
    reply_to_json(&reply, &text);
    buf_append_str(&text, "}");
    http_reply_json_text(c, 200, &text);
}

static void run_health(struct http_conn *c) {
    const struct slice word = SLICE("HEALTH");

    http_run_words(c, &word, 1, answer_health);
}

static void serve_health(struct http_conn *c) {
    http_run_begin(c, run_health);
}

/* Tells balancers whether to send clients here. It reveals nothing else, so it needs no login. */
static void serve_ready(struct http_conn *c) {
    bool ready = batch_connected(CONN_WRITE) && !bootstrap_is_under_way();

    http_reply_json(c, ready ? 200 : 503, json_pack("{s:b}", "ready", ready));
}

/* ---- requests ---- */

static const struct http_route routes[] = {
    { "/metrics", EVHTTP_REQ_GET, HOST_UNLESS_PASSWORD, serve_metrics, HTTP_PROBES_MAX },
    { "/health", EVHTTP_REQ_GET, HOST_NEVER, serve_health, HTTP_PROBES_MAX },
    { "/ready", EVHTTP_REQ_GET, HOST_NEVER, serve_ready, SIZE_MAX },
    { "/api/command", EVHTTP_REQ_POST, HOST_UNLESS_PASSWORD, api_command, HTTP_RUNS_MAX },
    { "/api/login", EVHTTP_REQ_POST, HOST_ALWAYS, api_login, HTTP_RUNS_MAX },
    { "/api/logout", EVHTTP_REQ_POST, HOST_ALWAYS, api_logout, HTTP_RUNS_MAX },
    { "/api/session", EVHTTP_REQ_GET, HOST_ALWAYS, api_session, HTTP_RUNS_MAX },
    { "/api/events", EVHTTP_REQ_GET, HOST_UNLESS_PASSWORD, events_serve, HTTP_RUNS_MAX },
};

static bool is_api(const struct http_route *route) {
    return strncmp(route->path, "/api/", 5) == 0;
}

/* A form of another site can send any body, but not with this type. */
static bool is_json_request(const struct http_conn *c) {
    const char *type = http_header(c, "Content-Type");

    return type != NULL && evutil_ascii_strncasecmp(type, "application/json", 16) == 0 &&
           (type[16] == '\0' || type[16] == ';' || type[16] == ' ');
}

static bool names_host(const char *names, struct slice host) {
    struct slice rest = slice_str(names), name;

    while (slice_next_word(&rest, " ", &name)) {
        if (name.len == host.len && evutil_ascii_strncasecmp(name.ptr, host.ptr, host.len) == 0)
            return true;
    }
    return false;
}

static bool is_ip6_in_brackets(struct slice host) {
    unsigned char address[sizeof(struct in6_addr)];
    char text[INET6_ADDRSTRLEN] = "";

    if (host.len < 2 || host.len - 2 >= sizeof text || host.ptr[0] != '[' || host.ptr[host.len - 1] != ']')
        return false;
    memcpy(text, host.ptr + 1, host.len - 2);
    return inet_pton(AF_INET6, text, address) == 1;
}

/* A page of another site can resolve its own name to this server's address. The header Host then has that name. So
 * only addresses, localhost and the names of http-hosts are accepted. */
static bool host_is_known(const char *host) {
    unsigned char address[sizeof(struct in6_addr)];

    return inet_pton(AF_INET, host, address) == 1 || inet_pton(AF_INET6, host, address) == 1 ||
           is_ip6_in_brackets(slice_str(host)) || slice_is(slice_str(host), "localhost") ||
           names_host(config.http_hosts, slice_str(host));
}

/* Connections of this machine are not counted, because a proxy may make many. */
static bool peer_has_too_many(const struct http_conn *c) {
    int limit = config.maxclients_per_address;

    return limit > 0 && !socket_is_local(http_conn_fd(c)) && http_conns_of_peer(c) > (size_t)limit;
}

/* A page of another site knows no password. But it can send any password, so a user without one does not count. route
 * NULL: a file of the page. */
static bool host_is_fine(struct http_conn *c, const struct http_route *route) {
    const char *host = evhttp_request_get_host(c->req);

    if (host != NULL && host_is_known(host))
        return true;
    if (route == NULL || route->host == HOST_ALWAYS)
        return false;
    return route->host == HOST_NEVER || http_run_has_password(c);
}

static bool may_ask_or_reply(struct http_conn *c, const struct http_route *route) {
    if (http.stopping)
        http_reply_problem(c, 503, "the server stops");
    else if (socket_is_denied(http_conn_fd(c), false))
        http_reply_problem(c, 403, SOCKET_DENIED);
    else if (peer_has_too_many(c))
        http_reply_problem(c, 503, "too many HTTP connections of one address");
    else if (!host_is_fine(c, route))
        http_reply_problem(c, 403, "the name in the header Host is unknown; add it to the option http-hosts");
    else
        return true;
    return false;
}

/* True if the origin "scheme://host" is that of the page, whose requests have the same host. */
static bool is_own_origin(const char *origin, const char *host) {
    const char *rest = strstr(origin, "://");

    return rest != NULL && host != NULL && evutil_ascii_strcasecmp(rest + 3, host) == 0;
}

/* A page of another site could let the browser add a cookie or a password that it has stored. Browsers tell the site of
 * the page in one of two headers, which the page cannot change. Programs have neither, and no cookie. Returns the
 * problem, or NULL. */
static const char *origin_problem(const struct http_conn *c) {
    static const char other_site[] = "the request comes from the page of another site";
    const char *site = http_header(c, "Sec-Fetch-Site");
    const char *origin = http_header(c, "Origin");

    if (site != NULL)
        return strcmp(site, "same-origin") == 0 || strcmp(site, "none") == 0 ? NULL : other_site;
    if (origin != NULL)
        return is_own_origin(origin, http_header(c, "Host")) ? NULL : other_site;
    if (http_header(c, "Cookie") == NULL || evhttp_request_get_command(c->req) != EVHTTP_REQ_POST)
        return NULL;
    return "a POST with a cookie needs the header Origin; programs use Basic authentication";
}

static bool method_fits(const struct http_conn *c, const struct http_route *route) {
    enum evhttp_cmd_type method = evhttp_request_get_command(c->req);

    return method == route->method || (method == EVHTTP_REQ_HEAD && route->method == EVHTTP_REQ_GET);
}

static void reply_wrong_method(struct http_conn *c, const struct http_route *route) {
    bool is_get = route->method == EVHTTP_REQ_GET;

    http_set_header(c, "Allow", is_get ? "GET, HEAD" : "POST");
    http_reply_problem(c, 405, is_get ? "this path takes GET" : "this path takes POST");
}

/* evhttp reads the body of these methods only. It would take any other body for the next request. */
static bool body_is_unread(const struct http_conn *c) {
    enum evhttp_cmd_type method = evhttp_request_get_command(c->req);
    const char *length = http_header(c, "Content-Length");

    if (method == EVHTTP_REQ_POST || method == EVHTTP_REQ_PUT || method == EVHTTP_REQ_PATCH)
        return false;
    return http_header(c, "Transfer-Encoding") != NULL || (length != NULL && strcmp(length, "0") != 0);
}

static void serve_route(struct http_conn *c, const struct http_route *route) {
    if (!method_fits(c, route))
        reply_wrong_method(c, route);
    else if (route->method == EVHTTP_REQ_POST && !is_json_request(c))
        http_reply_problem(c, 415, "the header Content-Type must be application/json");
    else if (is_api(route) && origin_problem(c) != NULL)
        http_reply_problem(c, 403, origin_problem(c));
    else if (http_run_has_room_or_reply(c, route->most_runs))
        route->serve(c);
}

static void serve_file(struct http_conn *c, const struct page_file *file) {
    static const struct http_route get = { "/", EVHTTP_REQ_GET, HOST_ALWAYS, NULL, SIZE_MAX };

    if (method_fits(c, &get))
        page_file_reply(c, file);
    else
        reply_wrong_method(c, &get);
}

static const struct http_route *find_route(const char *path) {
    for (size_t i = 0; i < LENGTH(routes); i++) {
        if (strcmp(path, routes[i].path) == 0)
            return &routes[i];
    }
    return NULL;
}

static void serve_request(struct http_conn *c) {
    const char *path = evhttp_uri_get_path(evhttp_request_get_evhttp_uri(c->req));
    const struct http_route *route = find_route(path == NULL ? "" : path);
    const struct page_file *file = page_file_find(path == NULL ? "" : path);

    http_set_safe_headers(c);
    if (body_is_unread(c))
        http_set_header(c, "Connection", "close");
    if (!may_ask_or_reply(c, route))
        return;
    if (route != NULL)
        serve_route(c, route);
    else if (file != NULL)
        serve_file(c, file);
    else
        http_reply_problem(c, 404, "the paths are /, /metrics, /health, /ready, and those below /api/");
}

/* evhttp reads no further request of the connection until this request has its reply. */
static void on_http_request(struct evhttp_request *req, void *arg) {
    struct http_conn *c = http_conn_begin(req);

    (void)arg;
    list_push_back(&http.waiting, &c->in_waiting);
}

bool http_pending(void) {
    return !list_empty(&http.waiting);
}

void http_turn(void) {
    struct budget share;

    http_conns_turn();
    if (!http_pending())
        return;
    share = budget_of(HTTP_SHARE_US);
    while (http_pending() && !budget_is_over(&share))
        serve_request(LIST_ENTRY(list_pop_front(&http.waiting), struct http_conn, in_waiting));
}

/* ---- start and stop ---- */

/* The address for a browser, of the first listener. */
static void note_address(const char *name) {
    bool is_any = strcmp(name, "0.0.0.0") == 0 || strcmp(name, "::") == 0;
    bool is_ip6 = !is_any && strchr(name, ':') != NULL;

    snprintf(http.address, sizeof http.address, "http://%s%s%s:%d/", is_ip6 ? "[" : "",
             is_any ? "127.0.0.1" : name, is_ip6 ? "]" : "", http.port);
}

static bool http_listen(const char *host, char *err, size_t err_size) {
    const char *name = strcmp(host, "*") == 0 ? "0.0.0.0" : strcmp(host, "::*") == 0 ? "::" : host;
    struct evhttp_bound_socket *bound;

    if (http.bound_count == HTTP_LISTENERS_MAX) {
        snprintf(err, err_size, "HTTP listens on at most %d addresses of bind", HTTP_LISTENERS_MAX);
        return false;
    }
    errno = EADDRNOTAVAIL; /* if the name has no address */
    bound = evhttp_bind_socket_with_handle(http.server, name, (ev_uint16_t)http.port);
    if (bound == NULL) {
        snprintf(err, err_size, "cannot listen on %s port %d for HTTP: %s; choose another with --http-port",
                 host, http.port, strerror(errno));
        return false;
    }
    if (http.bound_count == 0)
        note_address(name);
    http.bound[http.bound_count++] = bound;
    http_conns_watch(evhttp_bound_socket_get_listener(bound));
    return true;
}

static bool http_listen_all(char *err, size_t err_size) {
    char *copy = xstrdup(config.bind);
    char *rest = copy;
    bool ok = true;

    for (char *host; ok && (host = strsep(&rest, " \t")) != NULL;) {
        if (*host != '\0')
            ok = http_listen(host + (*host == '-'), err, err_size) || *host == '-';
    }
    free(copy);
    return ok;
}

static bool is_loopback_name(struct slice host) {
    if (host.len > 0 && host.ptr[0] == '-')
        host = (struct slice){ host.ptr + 1, host.len - 1 };
    return slice_is(host, "localhost") || slice_is(host, "::1") ||
           (host.len > 4 && memcmp(host.ptr, "127.", 4) == 0);
}

static bool binds_only_loopback(void) {
    struct slice rest = slice_str(config.bind), host;

    while (slice_next_word(&rest, " \t", &host)) {
        if (!is_loopback_name(host))
            return false;
    }
    return true;
}

static int http_port_in_force(void) {
    if (config.http_port != PORT_AUTO)
        return config.http_port;
    return config.database[0] == '\0' && binds_only_loopback() ? HTTP_PORT_AUTO : 0;
}

static void on_conn_close(struct http_conn *c) {
    events_forget(c);
    http_run_cancel(c);
}

static void http_make_server(struct event_base *base) {
    http.server = evhttp_new(base);
    http_runs_init(base);
    http_conns_init(base, http.server, on_conn_close);
    evhttp_set_allowed_methods(http.server, ALL_METHODS);
    evhttp_set_max_headers_size(http.server, HTTP_HEADERS_MAX);
    evhttp_set_max_body_size(http.server, HTTP_BODY_MAX);
    evhttp_set_timeout(http.server, HTTP_REQUEST_TIMEOUT_S);
    evhttp_set_gencb(http.server, on_http_request, NULL);
}

bool http_start(struct event_base *base, char *err, size_t err_size) {
    http.port = http_port_in_force();
    if (http.port == 0)
        return true;
    http_make_server(base);
    if (http_listen_all(err, err_size))
        return true;
    if (config.http_port != PORT_AUTO)
        return false;
    log_notice("http", "the web page is off: %s", err);
    http_stop();
    http.stopping = false;
    return true;
}

const char *http_page_address(void) {
    return http.address;
}

void http_stop_listening(void) {
    http.stopping = true;
    for (size_t i = 0; i < http.bound_count; i++)
        evhttp_del_accept_socket(http.server, http.bound[i]);
    http.bound_count = 0;
    http.address[0] = '\0';
    http_conns_unwatch();
}

bool http_is_idle(void) {
    return http_conns_are_idle();
}

void http_stop(void) {
    if (http.server == NULL)
        return;
    http_stop_listening();
    evhttp_free(http.server);
    http.server = NULL;
    http_conns_stop();
}
