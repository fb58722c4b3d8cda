/* MONITOR: show every command to those who watch, as it starts. */
#include "monitor.h"

#include "clock.h"
#include "command.h"
#include "log.h"

/* A line longer than this does not keep its memory for the next one. */
#define LINE_KEPT (64 * 1024)

static struct list monitors = { &monitors, &monitors };

/* Redis' clients look for a database's number, for which Disque has no place. */
static void write_line(struct buf *line, const struct client *c, const struct req *r, bool redis) {
    int64_t now = clock_unix();

    buf_printf(line, "+%lld.%06lld [%s%s]", (long long)(now / US_PER_S), (long long)(now % US_PER_S),
               redis ? "0 " : "", c->addr);
    for (int i = 0; i < r->argc; i++) {
        buf_append(line, " ", 1);
        buf_append_str(line,
                       command_arg_is_secret(r, i) ? "\"(redacted)\"" : log_escape(r->argv[i], SIZE_MAX));
    }
    buf_append(line, "\r\n", 2);
}

void monitor_feed(const struct client *c, const struct req *r) {
    static struct buf lines[2];

    if (list_empty(&monitors))
        return;
    buf_reset(&lines[false], LINE_KEPT);
    buf_reset(&lines[true], LINE_KEPT);
    LIST_EACH(node, &monitors) {
        struct client *watcher = LIST_ENTRY(node, struct client, in_monitors);
        bool redis = watcher->redis_handshake;

        if (watcher == c && r->cmd->handler == cmd_reset)
            continue;
        if (buf_len(&lines[redis]) == 0)
            write_line(&lines[redis], c, r, redis);
        client_push(watcher, buf_ptr(&lines[redis]), buf_len(&lines[redis]));
    }
}

void monitor_start(struct client *c) {
    if (c->monitor)
        return;
    c->monitor = true;
    list_push_back(&monitors, &c->in_monitors);
}

void monitor_stop(struct client *c) {
    if (!c->monitor)
        return;
    c->monitor = false;
    list_remove(&c->in_monitors);
}

void cmd_monitor(struct req *r) {
    monitor_start(r->client);
    req_ok(r);
}
