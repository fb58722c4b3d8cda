/* The subcommand health. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "config/config.h"
#include "tools/line_access.h"
#include "tools/line_report.h"
#include "tools/redis_link.h"
#include "tools/tool.h"

/* The timeout of each step. The server ends HEALTH earlier. */
#define PATIENCE_S 10

struct health_line_words {
    struct line_server server;
    struct line_form form;
};

static const struct line_option health_options[] = {
    LINE_SERVER_INSTEAD(struct health_line_words, server),
    LINE_FORM_OPTIONS(struct health_line_words, form),
};

/* The first address that the server listens on. A wildcard becomes the loopback address. */
static void find_host(char *out, size_t size) {
    const char *first = config.bind + (config.bind[0] == '-');
    int len = (int)strcspn(first, " ");

    snprintf(out, size, "%.*s", len, first);
    if (len == 0 || strcmp(out, "*") == 0 || strcmp(out, "0.0.0.0") == 0)
        snprintf(out, size, "127.0.0.1");
    else if (strcmp(out, "::") == 0 || strcmp(out, "::*") == 0)
        snprintf(out, size, "::1");
}

/* The server of these options is on this machine, so that its certificate is not checked. The server's own certificate
 * is that of this client. */
static bool begin_own_tls(struct redis_pipe *p, const char *host) {
    struct redis_tls how = { .insecure = true };

    if (config.tls_auth_clients != TLS_CLIENT_NO) {
        how.cert = config.tls_cert_file;
        how.key = config.tls_key_file;
    }
    return redis_pipe_begin_tls(p, host, &how);
}

/* address becomes the address of the server, for errors. */
static bool reach(struct redis_pipe *p, char *address, size_t size) {
    struct timeval patience = { PATIENCE_S, 0 };
    bool by_path = config.port == 0 && config.unixsocket[0] != '\0';
    char host[256];

    find_host(host, sizeof host);
    if (by_path)
        snprintf(address, size, "%s", config.unixsocket);
    else
        snprintf(address, size, "%s:%d", host, config_own_port());
    p->c = by_path ? redisConnectUnixWithTimeout(config.unixsocket, patience)
                   : redisConnectWithTimeout(host, config_own_port(), patience);
    if (p->c == NULL || p->c->err != 0)
        redis_pipe_fail(p, p->c == NULL ? "out of memory" : p->c->errstr);
    else if (config.port != 0 || by_path || begin_own_tls(p, host))
        redisSetTimeout(p->c, patience);
    return p->err[0] == '\0';
}

/* The duration of HEALTH in milliseconds; -1 with a sentence in p->err. */
static int64_t health_line_ask(struct redis_pipe *p) {
    if (p->err[0] != '\0')
        return -1;
    redis_pipe_put(p, "HEALTH");
    return redis_pipe_take_size(p, "HEALTH");
}

static void health_line_tell(int64_t ms, const struct line_form *form) {
    struct line_report out;

    line_report_begin(&out, form);
    line_report_flag(&out, "healthy", true);
    line_report_number(&out, "ms", ms);
    line_report_say(&out, xasprintf("healthy: a job went through in %lld ms", (long long)ms));
    line_report_end(&out, "health");
}

static void health_line_log_in(struct redis_pipe *p) {
    if (config.requirepass[0] == '\0')
        return;
    redis_pipe_put(p, "AUTH %s", config.requirepass);
    redis_pipe_skip(p, 1);
}

/* The server of an address. */
static int health_line_named(const struct health_line_words *w) {
    struct redis_pipe p = { .c = NULL };
    int64_t ms;

    if (!line_server_connect("health", &w->server, &p))
        return 1;
    redisSetTimeout(p.c, (struct timeval){ PATIENCE_S, 0 });
    ms = health_line_ask(&p);
    if (ms >= 0)
        health_line_tell(ms, &w->form);
    else
        line_refuse_reply("health", p.err);
    redis_pipe_close(&p);
    return ms < 0;
}

static int health_line_look(const struct line_form *form) {
    struct redis_pipe p = { .c = NULL };
    char address[300];
    int64_t ms = -1;

    if (reach(&p, address, sizeof address)) {
        health_line_log_in(&p);
        ms = health_line_ask(&p);
    }

    if (ms >= 0)
        health_line_tell(ms, form);
    else
        line_refuse_own("health", address, p.err);
    redis_pipe_close(&p);
    return ms < 0;
}

static int health_line(const struct tool *tool, int argc, char **argv) {
    struct health_line_words w = { 0 };
    int status = line_config_read(tool, argc, argv, &w, 0, NULL);

    if (status != LINE_RUNS)
        return status;
    if (!line_server_fits("health", &w.server))
        return tool->error;
    signal(SIGPIPE, SIG_IGN);
    return line_server_is_named(&w.server) ? health_line_named(&w) : health_line_look(&w.form);
}

const struct tool tool_health = {
    .name = "health",
    .arguments = "[--server address | conf-file] [--option value]...",
    .summary = "Sends a job through the running server.",
    .text =
        "Without --server, the options are those of the server: the tool finds the server by port, tls-port, "
        "bind and unixsocket, and logs in with requirepass. PGDISQUE_SERVER counts as --server if there are "
        "no such options.\n\n" LINE_ADDRESS_TEXT,
    .example = "pgdisque health pgdisque.conf",
    TOOL_OPTIONS(health_options),
    .has_config = true,
    .error = 1,
    TOOL_STATUSES({ 0, "a job was added, delivered and acknowledged" },
                  { 1, "an argument is wrong, or that failed" }),
    .run = health_line,
};
