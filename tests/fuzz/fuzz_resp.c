/* Feeds resp_next() with arbitrary bytes, whole and in pieces, and compares; for libFuzzer. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "net/resp.h"

/* `make fuzz` builds and runs it. The low seven bits of the first byte, plus one, are the size of the pieces. Its
 * highest bit selects the limits before AUTH. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A large body is of no use here, only slow. */
static const struct resp_limits limits[] = {
    { RESP_MAX_ARGS, 1 << 20 },
    { RESP_UNAUTH_MAX_ARGS, RESP_UNAUTH_MAX_BULK },
};

static void require(bool holds) {
    if (!holds)
        abort();
}

static void write_down(const struct resp_parser *p, const struct buf *in, struct buf *said) {
    require(p->argc > 0 && p->consumed > 0 && p->consumed <= buf_len(in));
    for (int i = 0; i < p->argc; i++) {
        require(p->argv[i].ptr >= buf_ptr(in));
        require(p->argv[i].ptr + p->argv[i].len <= buf_ptr(in) + p->consumed);
        buf_printf(said, "%zu:", p->argv[i].len);
        buf_append(said, p->argv[i].ptr, p->argv[i].len);
    }
    buf_append_str(said, "\n");
}

/* Appends to memory of the exact size, which moves each time. */
static void add_piece(struct buf *in, const uint8_t *bytes, size_t len) {
    struct buf moved = { 0 };

    moved.data = xmalloc(buf_len(in) + len);
    moved.cap = moved.end = buf_len(in) + len;
    if (buf_len(in) > 0)
        memcpy(moved.data, buf_ptr(in), buf_len(in));
    memcpy(moved.data + buf_len(in), bytes, len);
    buf_free(in);
    *in = moved;
}

static void read_all(const uint8_t *bytes, size_t size, size_t piece, const struct resp_limits *lim,
                     struct buf *said) {
    enum resp_status status = RESP_MORE;
    struct resp_parser p = { 0 };
    struct buf in = { 0 };

    for (size_t sent = 0; sent < size && status != RESP_ERROR; sent += piece) {
        add_piece(&in, bytes + sent, size - sent < piece ? size - sent : piece);
        while ((status = resp_next(&p, &in, lim)) == RESP_COMMAND) {
            write_down(&p, &in, said);
            buf_consume(&in, p.consumed);
        }
        require(resp_wanted(&p, &in) <= lim->max_bulk + 2);
    }
    if (status == RESP_ERROR)
        buf_append_str(said, p.error);
    resp_parser_free(&p);
    buf_free(&in);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct buf whole = { 0 }, pieces = { 0 };
    const struct resp_limits *lim;

    if (size < 2)
        return 0;
    lim = &limits[data[0] >> 7];
    read_all(data + 1, size - 1, size - 1, lim, &whole);
    read_all(data + 1, size - 1, (size_t)(data[0] & 127) + 1, lim, &pieces);
    require(slice_equal((struct slice){ buf_ptr(&whole), buf_len(&whole) },
                        (struct slice){ buf_ptr(&pieces), buf_len(&pieces) }));
    buf_free(&whole);
    buf_free(&pieces);
    return 0;
}
