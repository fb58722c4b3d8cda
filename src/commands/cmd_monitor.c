/* MONITOR: shows each command to the monitoring clients when it starts. */
#include "commands/cmd_monitor.h"

#include "base/clock.h"
#include "base/log.h"
#include "commands/dispatch.h"

/* The memory of a longer line is not kept for the next line. */
#define LINE_KEPT (64 * 1024)
/* Maximum bytes shown of an argument, and of all arguments together. */
#define ARG_SHOWN 1024
#define LINE_SHOWN ((size_t)32 * 1024)

static struct list monitors = { &monitors, &monitors };

static void write_arg(struct buf *line, const struct req *r, int i) {
    struct slice arg = r->argv[i];
    size_t shown = arg.len < ARG_SHOWN ? arg.len : ARG_SHOWN;

    if (command_arg_is_secret(r, i)) {
        buf_append_str(line, "\"(redacted)\"");
        return;
    }
    buf_append_str(line, log_escape((struct slice){ arg.ptr, shown }, SIZE_MAX));
    if (shown < arg.len)
        buf_printf(line, "... (%zu more bytes)", arg.len - shown);
}

/* Redis' clients expect the number of a database. Disque's format does not have it. */
static void write_line(struct buf *line, const struct client *c, const struct req *r, bool redis) {
    int64_t now = clock_unix();

    buf_printf(line, "+%lld.%06lld [%s%s]", (long long)(now / US_PER_S), (long long)(now % US_PER_S),
               redis ? "0 " : "", c->addr);
    for (int i = 0; i < r->argc; i++) {
        if (buf_len(line) > LINE_SHOWN) {
            buf_printf(line, " ... (%d more arguments)", r->argc - i);
            break;
        }
        buf_append(line, " ", 1);
        write_arg(line, r, i);
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

static void monitor_start(struct client *c) {
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
