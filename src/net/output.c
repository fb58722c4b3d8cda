/* Output in pieces: a client's own bytes, and messages shared by several clients. */
#include "net/output.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "config/memory_budget.h"

/* The most pieces of one write. */
#define OUTPUT_PIECES 64

struct piece {
    struct list node;
    struct message *message; /* NULL: the bytes are in own */
    size_t written;          /* bytes of the message that are written */
    struct buf own;
};

struct message *message_new(struct slice bytes) {
    struct message *m = xmalloc(sizeof *m + bytes.len);

    m->users = 1;
    m->len = bytes.len;
    memcpy(m->bytes, bytes.ptr, bytes.len);
    memory_change(NULL, MEMORY_OUTPUT, 0, sizeof *m + m->len);
    return m;
}

void message_release(struct message *m) {
    if (--m->users > 0)
        return;
    memory_change(NULL, MEMORY_OUTPUT, sizeof *m + m->len, 0);
    free(m);
}

void output_init(struct output *o) {
    *o = (struct output){ .len = 0 };
    list_init(&o->pieces);
}

static struct piece *add_piece(struct output *o) {
    struct piece *p = xcalloc(1, sizeof *p);

    list_push_back(&o->pieces, &p->node);
    o->own += sizeof *p;
    return p;
}

void output_take(struct output *o, struct buf *tail) {
    struct piece *p = add_piece(o);

    p->own = *tail;
    *tail = (struct buf){ 0 };
    o->own += p->own.cap;
    o->len += buf_len(&p->own);
}

void output_share(struct output *o, struct message *m) {
    struct piece *p = add_piece(o);

    m->users++;
    p->message = m;
    o->shared += m->len;
    o->len += m->len;
}

static struct piece *first_piece(const struct output *o) {
    return LIST_ENTRY(o->pieces.next, struct piece, node);
}

static size_t left_of(const struct piece *p) {
    return p->message != NULL ? p->message->len - p->written : buf_len(&p->own);
}

/* Fills v with the first pieces: at most count pieces, and about `most` bytes. Returns their number. */
static int output_vector(const struct output *o, struct iovec *v, int count, size_t most) {
    size_t bytes = 0;
    int n = 0;

    LIST_EACH(node, &o->pieces) {
        struct piece *p = LIST_ENTRY(node, struct piece, node);
        char *from = p->message != NULL ? p->message->bytes + p->written : buf_ptr(&p->own);

        if (n == count || bytes >= most)
            break;
        v[n++] = (struct iovec){ .iov_base = from, .iov_len = left_of(p) };
        bytes += left_of(p);
    }
    return n;
}

ssize_t output_send(const struct output *o, int fd, size_t most) {
    struct iovec vector[OUTPUT_PIECES];
    struct msghdr message = { .msg_iov = vector };

    message.msg_iovlen = (size_t)output_vector(o, vector, OUTPUT_PIECES, most);
    return sendmsg(fd, &message, MSG_NOSIGNAL);
}

size_t output_copy(const struct output *o, char *to, size_t room) {
    struct iovec vector[OUTPUT_PIECES];
    int count = output_vector(o, vector, OUTPUT_PIECES, room);
    size_t len = 0;

    for (int i = 0; i < count; i++) {
        size_t part = vector[i].iov_len < room - len ? vector[i].iov_len : room - len;

        memcpy(to + len, vector[i].iov_base, part);
        len += part;
    }
    return len;
}

static void drop_first(struct output *o) {
    struct piece *p = first_piece(o);

    list_remove(&p->node);
    o->own -= sizeof *p + p->own.cap;
    if (p->message != NULL) {
        o->shared -= p->message->len;
        message_release(p->message);
    }
    buf_free(&p->own);
    free(p);
}

static void consume_first(struct output *o, size_t bytes) {
    struct piece *p = first_piece(o);

    if (p->message != NULL)
        p->written += bytes;
    else
        buf_consume(&p->own, bytes);
    o->len -= bytes;
}

void output_consume(struct output *o, size_t bytes) {
    while (!list_empty(&o->pieces)) {
        size_t left = left_of(first_piece(o));

        if (bytes < left) {
            consume_first(o, bytes);
            return;
        }
        consume_first(o, left);
        bytes -= left;
        drop_first(o);
    }
}

void output_free(struct output *o) {
    while (!list_empty(&o->pieces)) {
        o->len -= left_of(first_piece(o));
        drop_first(o);
    }
}
