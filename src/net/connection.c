/* Functions for the commands about connections: names of clients, addresses of servers. */
#include "net/connection.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "config/config.h"
#include "net/admission.h"
#include "net/args.h"

static bool connection_is_plain(struct slice name) {
    for (size_t i = 0; i < name.len; i++) {
        if (name.ptr[i] < '!' || name.ptr[i] > '~')
            return false;
    }
    return true;
}

bool connection_name_or_reply(struct req *r, const char *what, struct slice name) {
    if (!args_fit_or_reply(r, what, name, LABEL_MAX_BYTES))
        return false;
    if (connection_is_plain(name))
        return true;
    req_error(r, "ERR %s cannot contain spaces, newlines or special characters.", what);
    return false;
}

void connection_set_text(char **text, struct slice value) {
    free(*text);
    *text = value.len == 0 ? NULL : slice_dup(value);
}

/* The host of "host:port" or "[host]:port". */
static void copy_host(char *out, size_t size, const char *addr) {
    const char *end = strrchr(addr, ':');
    size_t len = end == NULL ? strlen(addr) : (size_t)(end - addr);

    if (len >= 2 && addr[0] == '[' && addr[len - 1] == ']') {
        addr++;
        len -= 2;
    }
    snprintf(out, size, "%.*s", (int)len, addr);
}

static int own_port(void) {
    return config.announce_port != 0 ? config.announce_port : config_own_port();
}

struct node_address connection_node_address(const struct client *c, const struct node *n) {
    struct node_address a = { 0 };
    bool self = n == node_self();

    if (!self)
        snprintf(a.host, sizeof a.host, "%s", n->addr);
    else if (config.announce_ip[0] != '\0')
        snprintf(a.host, sizeof a.host, "%s", config.announce_ip);
    else if (!c->unix_socket)
        copy_host(a.host, sizeof a.host, c->laddr);
    snprintf(a.port, sizeof a.port, "%u", (unsigned)(uint16_t)(self ? own_port() : n->port));
    return a;
}

static bool is_loopback(const char *addr) {
    return strncmp(addr, "127.", 4) == 0 || strncmp(addr, "[::1]", 5) == 0 || strncmp(addr, "::1:", 4) == 0 ||
           strncmp(addr, "[::ffff:127.", 12) == 0;
}

static bool connection_is_local(const struct client *c) {
    return c->unix_socket || is_loopback(c->addr);
}

bool connection_may_debug(const struct client *c) {
    return config.enable_debug_command == DEBUG_YES ||
           (config.enable_debug_command == DEBUG_LOCAL && connection_is_local(c));
}

static void connection_set_user(struct client *c, struct user *u) {
    user_hold(u);
    user_release(c->user);
    c->user = u;
}

void connection_log_in(struct client *c, struct user *u) {
    connection_set_user(c, u);
    c->authenticated = true;
}

void connection_log_in_or_close(struct client *c, struct user *u) {
    const char *refusal = admission_refuse_login(c, u);

    if (refusal != NULL)
        client_kill(c, refusal);
    else
        connection_log_in(c, u);
}

void connection_log_out(struct client *c) {
    connection_set_user(c, default_user);
    c->authenticated = false;
}
