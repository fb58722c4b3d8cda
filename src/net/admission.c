/* Decides which accepted sockets become clients. */
#include "net/admission.h"

#include <string.h>
#include <unistd.h>

#include "base/stats.h"
#include "config/config.h"
#include "config/fd_limit.h"
#include "net/client.h"
#include "net/client_tls.h"

#define TOO_MANY_CLIENTS "ERR max number of clients reached"

static bool is_from(const struct client *c, const char *addr) {
    size_t host = strlen(addr) - strlen(strrchr(addr, ':'));

    return strncmp(c->addr, addr, host + 1) == 0;
}

/* Clients of this machine are not counted, because a proxy may connect many. */
static bool has_too_many(int fd, bool unix_socket) {
    char addr[sizeof((struct client *)0)->addr], own[sizeof addr];
    int64_t count = 0;

    if (config.maxclients_per_address == 0 || unix_socket || socket_is_local(fd))
        return false;
    socket_names(fd, unix_socket, addr, own, sizeof addr);
    LIST_EACH(node, client_list(CLIENT_OPEN))
        count += is_from(LIST_ENTRY(node, struct client, in_state), addr);
    return count >= config.maxclients_per_address;
}

/* True if all places are taken, also that of a client that has not logged in, and those for administrators. */
static bool is_full(void) {
    size_t extra = users_need_no_login() ? 0 : ADMISSION_EXTRA;

    return client_count() >= (size_t)config.maxclients && !client_make_room() &&
           client_count() >= (size_t)config.maxclients + extra;
}

/* The reply that refuses the socket, or NULL. */
static const char *refusal_of(int fd, bool unix_socket) {
    if (is_full() || fd_limit_is_low(fd))
        return "-" TOO_MANY_CLIENTS "\r\n";
    if (has_too_many(fd, unix_socket))
        return "-ERR max number of clients of one address reached\r\n";
    if (socket_is_denied(fd, unix_socket))
        return "-" SOCKET_DENIED "\r\n";
    return NULL;
}

bool admission_or_close(int fd, enum socket_kind kind) {
    const char *error = refusal_of(fd, kind == SOCKET_UNIX);
    ssize_t ignored = 0;

    if (error == NULL)
        return true;
    if (kind == SOCKET_TLS)
        client_tls_refuse(fd);
    else
        ignored = write(fd, error, strlen(error));
    (void)ignored;
    close(fd);
    stats.connections_rejected++;
    return false;
}

static bool is_administrator(const struct user *u) {
    int right = right_find(SLICE("client|kill"));

    return right >= 0 && user_may_run(u, (unsigned)right);
}

static int64_t logins_of(const struct user *u, const struct client *but) {
    int64_t count = 0;

    LIST_EACH(node, client_list(CLIENT_OPEN)) {
        const struct client *c = LIST_ENTRY(node, struct client, in_state);

        count += c != but && c->authenticated && c->user == u;
    }
    return count;
}

static const char *login_refusal(const struct client *c, const struct user *u) {
    if (c->is_extra && client_count() > (size_t)config.maxclients && !is_administrator(u))
        return TOO_MANY_CLIENTS;
    if (config.maxclients_per_user > 0 && logins_of(u, c) >= config.maxclients_per_user)
        return "ERR max number of clients of one user reached";
    return NULL;
}

const char *admission_refuse_login(const struct client *c, const struct user *u) {
    const char *refusal = login_refusal(c, u);

    stats.connections_rejected += refusal != NULL;
    return refusal;
}
