/* The line of a client, for CLIENT LIST and ACL LOG. */
#include "commands/client_line.h"

#include "base/clock.h"
#include "commands/dispatch.h"
#include "commands/multi.h"
#include "net/pubsub.h"

static void write_flags(const struct client *c, char *out) {
    const struct {
        bool set;
        char letter;
    } flags[] = {
        { c->monitor, 'O' },     { c->multi != NULL, 'x' },           { c->pubsub != NULL, 'P' },
        { c->blocked, 'b' },     { c->state == CLIENT_CLOSING, 'c' }, { c->state == CLIENT_DEAD, 'A' },
        { c->unix_socket, 'U' },
    };
    char *at = out;

    for (size_t i = 0; i < LENGTH(flags); i++) {
        if (flags[i].set)
            *at++ = flags[i].letter;
    }
    if (at == out)
        *at++ = 'N';
    *at = '\0';
}

static const char *text_or_empty(const char *text) {
    return text == NULL ? "" : text;
}

/* Disque's fields come first, in Disque's order. Clients find the other fields by name. */
void client_describe(struct buf *out, const struct client *c) {
    char flags[8];

    write_flags(c, flags);
    buf_printf(out, "id=%llu addr=%s fd=%d name=%s age=%lld idle=%lld flags=%s", (unsigned long long)c->id,
               c->addr, c->fd, text_or_empty(c->name), (long long)((clock_mono() - c->created_us) / US_PER_S),
               (long long)((clock_mono() - c->last_active_us) / US_PER_S), flags);
    buf_printf(out, " qbuf=%zu qbuf-free=%zu obl=%zu oll=0 omem=%zu events=%s cmd=%s", buf_len(&c->in),
               c->in.cap - buf_len(&c->in), client_unwritten(c), c->share.kinds[MEMORY_OUTPUT],
               c->write_armed ? "rw" : "r", c->last_cmd == NULL ? "NULL" : c->last_cmd->name);
    buf_printf(out, " laddr=%s db=0 sub=%zu psub=%zu ssub=0 multi=%d watch=0 tot-mem=%zu user=%s redir=-1",
               c->laddr, pubsub_count(c, PUBSUB_CHANNEL), pubsub_count(c, PUBSUB_PATTERN), multi_queued(c),
               c->share.total, c->user->name);
    buf_printf(out, " argv-mem=%zu multi-mem=%zu rbs=%zu rbp=%zu resp=%d", c->share.kinds[MEMORY_REQUESTS],
               c->share.kinds[MEMORY_MULTI], c->out.cap, buf_len(&c->out), c->proto);
    buf_printf(out, " lib-name=%s lib-ver=%s tot-net-in=%llu tot-net-out=%llu reqs=%d\n",
               text_or_empty(c->lib_name), text_or_empty(c->lib_ver), (unsigned long long)c->bytes_in,
               (unsigned long long)c->bytes_out, c->req_count);
}
