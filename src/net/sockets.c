/* Listening sockets, as configured; options and names of accepted sockets. */
#include "net/sockets.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <libgen.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <event2/listener.h>

#include "acl/user.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/time_budget.h"
#include "config/config.h"

#define MAX_LISTENERS 32
/* The share of new connections in a turn, so that connected clients are served while thousands connect. */
#define ACCEPT_US 200
#define ACCEPT_AGAIN_US (100 * US_PER_MS)

static struct {
    struct event_base *base;
    void (*on_accept)(int fd, enum socket_kind kind);
    struct evconnlistener *listeners[MAX_LISTENERS];
    size_t count;
    struct event *again; /* accepts again after a pause */
    bool failing;        /* the last accept() failed */
    int64_t turn;        /* clock_mono() of the turn of `share` */
    struct budget share;
    bool only_check;  /* bind, but do not listen */
    struct stat file; /* the unix socket of this server */
} sockets;

/* Accepts no connection for that time. */
static void pause_all(int64_t us) {
    struct timeval pause = { us / US_PER_S, us % US_PER_S };

    for (size_t i = 0; i < sockets.count; i++)
        evconnlistener_disable(sockets.listeners[i]);
    event_add(sockets.again, &pause);
}

static void on_connection(struct evconnlistener *l, evutil_socket_t fd, struct sockaddr *sa, int len,
                          void *arg) {
    const enum socket_kind *kind = arg;

    (void)l;
    (void)sa;
    (void)len;
    sockets.failing = false;
    if (sockets.turn != clock_mono())
        sockets.share = budget_of(ACCEPT_US);
    sockets.turn = clock_mono();
    sockets.on_accept(fd, *kind);
    if (budget_is_over(&sockets.share))
        pause_all(0);
}

static void enable_all(evutil_socket_t fd, short what, void *arg) {
    (void)fd;
    (void)what;
    (void)arg;
    for (size_t i = 0; i < sockets.count; i++)
        evconnlistener_enable(sockets.listeners[i]);
}

/* Without file descriptors, accept() fails until a client disconnects. A pause keeps the loop from spinning.
 * New clients wait, and one log line reports it. */
static void on_accept_error(struct evconnlistener *l, void *arg) {
    (void)l;
    (void)arg;
    if (!sockets.failing)
        log_warning("listen", "cannot accept connections: %s; retrying every 100 ms", strerror(errno));
    sockets.failing = true;
    pause_all(ACCEPT_AGAIN_US);
}

static bool sockets_fail(char *err, size_t size, const char *where, const char *advice) {
    snprintf(err, size, "cannot listen on %s: %s%s", where, strerror(errno),
             errno == EADDRINUSE ? advice : "");
    return false;
}

static bool add_listener(int fd, enum socket_kind kind) {
    static enum socket_kind kinds[] = { SOCKET_TCP, SOCKET_UNIX, SOCKET_TLS };
    struct evconnlistener *l =
        evconnlistener_new(sockets.base, on_connection, &kinds[kind],
                           LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC, config.tcp_backlog, fd);

    if (l == NULL)
        return false;
    evconnlistener_set_error_cb(l, on_accept_error);
    sockets.listeners[sockets.count++] = l;
    return true;
}

static bool listen_at(const struct addrinfo *ai, enum socket_kind kind) {
    int one = 1;
    int fd = socket(ai->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return false;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (ai->ai_family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof one);
    if (!sockets.only_check && bind(fd, ai->ai_addr, ai->ai_addrlen) == 0 &&
        listen(fd, config.tcp_backlog) == 0 && add_listener(fd, kind))
        return true;
    if (sockets.only_check && bind(fd, ai->ai_addr, ai->ai_addrlen) == 0)
        errno = 0;
    one = errno;
    close(fd);
    errno = one;
    return sockets.only_check && (one == 0 || one == EADDRINUSE);
}

/* host "*" means all IPv4 addresses, "::*" all IPv6 addresses, as in redis.conf. */
static bool listen_tcp(const char *host, enum socket_kind kind, char *err, size_t err_size) {
    struct addrinfo hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE };
    struct addrinfo *found;
    char port[8], where[128];
    const char *name = strcmp(host, "*") == 0 ? "0.0.0.0" : strcmp(host, "::*") == 0 ? "::" : host;
    bool ok = false;

    snprintf(port, sizeof port, "%d", kind == SOCKET_TLS ? config.tls_port : config.port);
    snprintf(where, sizeof where, "%s port %s", host, port);
    if (getaddrinfo(name, port, &hints, &found) != 0) {
        errno = EADDRNOTAVAIL;
        return sockets_fail(err, err_size, where, "");
    }
    for (struct addrinfo *ai = found; ai != NULL && !ok && sockets.count < MAX_LISTENERS; ai = ai->ai_next)
        ok = listen_at(ai, kind);
    if (!ok)
        sockets_fail(err, err_size, where,
                     kind == SOCKET_TLS
                         ? "; another server uses it: choose another with --tls-port"
                         : "; another server uses it: choose another with --port, such as --port 7712");
    freeaddrinfo(found);
    return ok;
}

/* "-host" may fail if another address works. */
static bool listen_all_of(enum socket_kind kind, char *err, size_t err_size) {
    char *copy = xstrdup(config.bind);
    char *rest = copy;
    bool ok = true;

    for (char *host; ok && (host = strsep(&rest, " \t")) != NULL;) {
        if (*host == '\0')
            continue;
        if (*host != '-')
            ok = listen_tcp(host, kind, err, err_size);
        else if (!listen_tcp(host + 1, kind, err, err_size))
            log_verbose("listen", "%s", err);
    }
    free(copy);
    return ok;
}

static bool listen_all_tcp(char *err, size_t err_size) {
    return (config.port == 0 || listen_all_of(SOCKET_TCP, err, err_size)) &&
           (config.tls_port == 0 || listen_all_of(SOCKET_TLS, err, err_size));
}

static bool check_unix(const char *path, char *err, size_t err_size) {
    char *copy = xstrdup(path);
    bool ok;

    errno = ENAMETOOLONG;
    ok = strlen(path) < sizeof((struct sockaddr_un *)0)->sun_path && access(dirname(copy), W_OK | X_OK) == 0;
    free(copy);
    return ok || sockets_fail(err, err_size, path, "");
}

bool sockets_check(char *err, size_t err_size) {
    sockets.only_check = true;
    return listen_all_tcp(err, err_size) &&
           (config.unixsocket[0] == '\0' || check_unix(config.unixsocket, err, err_size));
}

/* Another server listens there, or the file of a server that was killed is left. */
static bool unix_is_in_use(int fd, const struct sockaddr_un *sa) {
    return connect(fd, (const struct sockaddr *)sa, sizeof *sa) == 0 || errno == EAGAIN;
}

/* False, with errno: another server listens there. */
static bool remove_old_unix(const struct sockaddr_un *sa) {
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    bool in_use = fd >= 0 && unix_is_in_use(fd, sa);

    if (fd >= 0)
        close(fd);
    if (!in_use)
        unlink(sa->sun_path);
    errno = EADDRINUSE;
    return !in_use;
}

/* No client can connect between bind and chmod, because listen comes last. */
static bool listen_unix(const char *path, char *err, size_t err_size) {
    struct sockaddr_un sa = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    if (strlen(path) >= sizeof sa.sun_path) {
        errno = ENAMETOOLONG;
        return sockets_fail(err, err_size, path, "");
    }
    strcpy(sa.sun_path, path);
    if (fd >= 0 && remove_old_unix(&sa) && bind(fd, (struct sockaddr *)&sa, sizeof sa) == 0 &&
        chmod(path, (mode_t)config.unixsocketperm) == 0 && listen(fd, config.tcp_backlog) == 0 &&
        add_listener(fd, SOCKET_UNIX) && stat(path, &sockets.file) == 0)
        return true;
    sockets_fail(err, err_size, path, "; another server uses it: choose another with --unixsocket");
    if (fd >= 0)
        close(fd);
    return false;
}

bool sockets_listen(struct event_base *base, void (*on_accept)(int fd, enum socket_kind kind), char *err,
                    size_t err_size) {
    sockets.base = base;
    sockets.on_accept = on_accept;
    sockets.again = evtimer_new(base, enable_all, NULL);
    if (!listen_all_tcp(err, err_size))
        return false;
    if (config.unixsocket[0] != '\0' && !listen_unix(config.unixsocket, err, err_size))
        return false;
    if (sockets.count > 0)
        return true;
    snprintf(err, err_size, "nothing to listen on: set port, tls-port or unixsocket");
    return false;
}

/* Another server may have made a socket of that name since. */
static void remove_own_unix(void) {
    struct stat st;

    if (config.unixsocket[0] != '\0' && lstat(config.unixsocket, &st) == 0 &&
        st.st_dev == sockets.file.st_dev && st.st_ino == sockets.file.st_ino)
        unlink(config.unixsocket);
}

void sockets_stop_listening(void) {
    for (size_t i = 0; i < sockets.count; i++)
        evconnlistener_free(sockets.listeners[i]);
    sockets.count = 0;
    if (sockets.again != NULL) {
        event_free(sockets.again);
        sockets.again = NULL;
    }
    remove_own_unix();
}

static void sockets_write_name(const struct sockaddr_storage *sa, char *out, size_t size) {
    char ip[INET6_ADDRSTRLEN] = "";

    if (sa->ss_family == AF_INET6) {
        const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)sa;

        inet_ntop(AF_INET6, &in6->sin6_addr, ip, sizeof ip);
        snprintf(out, size, "[%s]:%d", ip, ntohs(in6->sin6_port));
    } else {
        const struct sockaddr_in *in = (const struct sockaddr_in *)sa;

        inet_ntop(AF_INET, &in->sin_addr, ip, sizeof ip);
        snprintf(out, size, "%s:%d", ip, ntohs(in->sin_port));
    }
}

void socket_names(int fd, bool unix_socket, char *peer, char *own, size_t size) {
    const char *path = unix_socket ? config.unixsocket : "";
    struct sockaddr_storage sa = { 0 };
    socklen_t len = sizeof sa;

    snprintf(peer, size, "%s:0", path);
    snprintf(own, size, "%s:0", path);
    if (unix_socket)
        return;
    if (getpeername(fd, (struct sockaddr *)&sa, &len) == 0)
        sockets_write_name(&sa, peer, size);
    len = sizeof sa;
    if (getsockname(fd, (struct sockaddr *)&sa, &len) == 0)
        sockets_write_name(&sa, own, size);
}

static bool is_loopback_address(const struct sockaddr_storage *sa) {
    const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)sa;

    if (sa->ss_family == AF_INET)
        return ntohl(((const struct sockaddr_in *)sa)->sin_addr.s_addr) >> 24 == 127;
    return sa->ss_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&in6->sin6_addr);
}

bool socket_is_local(int fd) {
    struct sockaddr_storage sa = { 0 };
    socklen_t len = sizeof sa;

    return getpeername(fd, (struct sockaddr *)&sa, &len) == 0 && is_loopback_address(&sa);
}

bool sockets_reach_others(void) {
    for (size_t i = 0; i < sockets.count; i++) {
        struct sockaddr_storage sa = { 0 };
        socklen_t len = sizeof sa;

        if (getsockname(evconnlistener_get_fd(sockets.listeners[i]), (struct sockaddr *)&sa, &len) == 0 &&
            sa.ss_family != AF_UNIX && !is_loopback_address(&sa))
            return true;
    }
    return false;
}

bool socket_is_denied(int fd, bool unix_socket) {
    return config.protected_mode && users_need_no_login() && !unix_socket && !socket_is_local(fd);
}

void socket_tune(int fd, bool unix_socket) {
    int on = 1;
    int idle = config.tcp_keepalive;
    int interval = idle / 3 > 0 ? idle / 3 : 1;
    int probes = 3;

    if (unix_socket)
        return;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (idle == 0)
        return;
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof interval);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
}

/* ---- this server's address ---- */

static bool is_wildcard(const struct sockaddr *sa) {
    if (sa->sa_family == AF_INET)
        return ((const struct sockaddr_in *)(const void *)sa)->sin_addr.s_addr == htonl(INADDR_ANY);
    return IN6_IS_ADDR_UNSPECIFIED(&((const struct sockaddr_in6 *)(const void *)sa)->sin6_addr);
}

static void write_address(const struct sockaddr *sa, char *out, size_t size) {
    socklen_t len = sa->sa_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);

    if (getnameinfo(sa, len, out, (socklen_t)size, NULL, 0, NI_NUMERICHOST) != 0)
        out[0] = '\0';
}

/* The first address that is not of the loopback interface. */
static void machine_address(int family, char *out, size_t size) {
    struct ifaddrs *all;

    if (getifaddrs(&all) != 0)
        return;
    for (const struct ifaddrs *i = all; i != NULL && out[0] == '\0'; i = i->ifa_next)
        if (i->ifa_addr != NULL && i->ifa_addr->sa_family == family && (i->ifa_flags & IFF_UP) &&
            !(i->ifa_flags & IFF_LOOPBACK))
            write_address(i->ifa_addr, out, size);
    freeifaddrs(all);
}

void sockets_address(char *out, size_t size) {
    struct sockaddr_storage storage;
    struct sockaddr *sa = (struct sockaddr *)&storage;

    snprintf(out, size, "%s", config.announce_ip);
    for (size_t i = 0; i < sockets.count && out[0] == '\0'; i++) {
        socklen_t len = sizeof storage;

        if (getsockname(evconnlistener_get_fd(sockets.listeners[i]), sa, &len) != 0 ||
            sa->sa_family == AF_UNIX)
            continue;
        if (is_wildcard(sa))
            machine_address(sa->sa_family, out, size);
        else
            write_address(sa, out, size);
    }
}
