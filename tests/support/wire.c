/* A client that sends and sees exact bytes. */
#include "wire.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "process.h"
#include "wait.h"

#define READ_SIZE 65536
#define MAX_WORDS 64

static void start_wire(struct wire *w, int fd) {
    int on = 1;

    memset(w, 0, sizeof(*w));
    w->fd = fd;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

bool wire_try_open(struct wire *w, int port) {
    struct sockaddr_in addr = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd < 0 || connect(fd, (struct sockaddr *)&addr, sizeof(addr)) != 0) {
        if (fd >= 0)
            close(fd);
        return false;
    }
    start_wire(w, fd);
    return true;
}

void wire_open(struct wire *w, const char *host, int port) {
    struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *found, *a;
    char service[16];
    int fd = -1, err;

    snprintf(service, sizeof(service), "%d", port);
    err = getaddrinfo(host, service, &hints, &found);
    if (err)
        die("%s: %s", host, gai_strerror(err));
    for (a = found; a && fd < 0; a = a->ai_next) {
        fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (fd >= 0 && connect(fd, a->ai_addr, a->ai_addrlen) != 0) {
            close(fd);
            fd = -1;
        }
    }
    freeaddrinfo(found);
    if (fd < 0)
        die("cannot connect to %s:%d: %s", host, port, strerror(errno));
    start_wire(w, fd);
}

void wire_close(struct wire *w) {
    if (w->fd >= 0)
        close(w->fd);
    free(w->data);
    memset(w, 0, sizeof(*w));
    w->fd = -1;
}

void wire_reset(struct wire *w) {
    struct linger hard = { .l_onoff = 1, .l_linger = 0 };

    setsockopt(w->fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
    wire_close(w);
}

bool wire_send(struct wire *w, const void *bytes, size_t len) {
    const char *p = bytes;

    while (len > 0) {
        ssize_t n = send(w->fd, p, len, MSG_NOSIGNAL);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        p += n;
        len -= (size_t)n;
    }
    return true;
}

bool wire_send_text(struct wire *w, const char *text) {
    return wire_send(w, text, strlen(text));
}

bool wire_command(struct wire *w, int argc, const char *const *argv, const size_t *lens) {
    char *bytes = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&bytes, &size);
    bool ok;

    fprintf(f, "*%d\r\n", argc);
    for (int i = 0; i < argc; i++) {
        size_t len = lens ? lens[i] : strlen(argv[i]);

        fprintf(f, "$%zu\r\n", len);
        fwrite(argv[i], 1, len, f);
        fputs("\r\n", f);
    }
    fclose(f);
    ok = wire_send(w, bytes, size);
    free(bytes);
    return ok;
}

bool wire_words(struct wire *w, const char *first, ...) {
    const char *argv[MAX_WORDS];
    int argc = 0;
    va_list ap;

    va_start(ap, first);
    for (const char *word = first; word && argc < MAX_WORDS; word = va_arg(ap, const char *))
        argv[argc++] = word;
    va_end(ap);
    return wire_command(w, argc, argv, NULL);
}

/* Reads once. False when nothing came within ms. */
static bool receive(struct wire *w, int ms) {
    struct pollfd p = { .fd = w->fd, .events = POLLIN };
    ssize_t n;

    if (w->eof || w->fd < 0 || poll(&p, 1, ms) <= 0)
        return false;
    if (w->start > 0 && w->cap - w->end < READ_SIZE) {
        memmove(w->data, w->data + w->start, w->end - w->start);
        w->end -= w->start;
        w->start = 0;
    }
    if (w->cap - w->end < READ_SIZE) {
        w->cap = w->cap * 2 + READ_SIZE;
        w->data = realloc(w->data, w->cap);
    }
    n = recv(w->fd, w->data + w->end, w->cap - w->end, MSG_DONTWAIT);
    if (n > 0)
        w->end += (size_t)n;
    else if (n == 0 || (errno != EAGAIN && errno != EINTR))
        w->eof = true;
    return true;
}

static bool receive_until(struct wire *w, int64_t end_ms) {
    int64_t left = end_ms - now_ms();

    return left > 0 && receive(w, (int)left);
}

size_t wire_pending(struct wire *w) {
    while (receive(w, 0))
        continue;
    return w->end - w->start;
}

bool wire_wait_bytes(struct wire *w, size_t count, int ms) {
    int64_t end = now_ms() + patience(ms);

    while (w->end - w->start < count)
        if (!receive_until(w, end))
            return false;
    return true;
}

bool wire_wait_eof(struct wire *w, int ms) {
    int64_t end = now_ms() + patience(ms);

    while (!w->eof && receive_until(w, end))
        continue;
    return w->eof && w->start == w->end;
}

bool wire_read_line(struct wire *w, char *line, size_t size, int ms) {
    int64_t end = now_ms() + patience(ms);
    char *stop;
    size_t len;

    while (!(stop = w->end > w->start ? memmem(w->data + w->start, w->end - w->start, "\r\n", 2) : NULL))
        if (!receive_until(w, end))
            return false;
    len = (size_t)(stop - (w->data + w->start));
    snprintf(line, size, "%.*s", (int)len, w->data + w->start);
    w->start += len + 2;
    return true;
}
