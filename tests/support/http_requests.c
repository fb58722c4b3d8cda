/* HTTP requests to the server of a test. */
#include "http_requests.h"

#include <stdio.h>
#include <string.h>

#include "base/util.h"
#include "fixture.h"

int http_port;
char http_reply[512 * 1024];

const char *const *http_options(const char *const *others) {
    static char number[16];
    static const char *options[16];
    size_t count = 2;

    http_port = server_free_port();
    snprintf(number, sizeof number, "%d", http_port);
    options[0] = "--http-port";
    options[1] = number;
    for (; others != NULL && *others != NULL; others++) {
        assert_true(count < LENGTH(options) - 1);
        options[count++] = *others;
    }
    options[count] = NULL;
    return options;
}

const char *http_read_all(struct wire *w) {
    size_t len;

    if (!wire_wait_eof(w, patience(30000)) && !w->eof)
        fail_msg("the connection stays open after %zu bytes", wire_pending(w));
    len = w->end - w->start;
    assert_true(len < sizeof http_reply);
    memcpy(http_reply, w->data + w->start, len);
    http_reply[len] = '\0';
    wire_close(w);
    return http_reply;
}

const char *request_from(const char *host, const char *line, const char *headers, const char *body) {
    struct wire w;

    wire_open(&w, "127.0.0.1", http_port);
    wire_send_text(&w,
                   text_of("%s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n%sContent-Length: %zu\r\n\r\n%s",
                           line, host, headers, strlen(body), body));
    return http_read_all(&w);
}

const char *http_get(const char *path) {
    return request_from("127.0.0.1", text_of("GET %s", path), "", "");
}

const char *http_post(const char *path, const char *headers, const char *body) {
    return request_from("localhost", text_of("POST %s", path), text_of(JSON_TYPE "%s", headers), body);
}

const char *http_run(const char *command) {
    return http_post("/api/command", "", command);
}

void expect_http(const char *reply, int status, const char *part) {
    const char *first = text_of("HTTP/1.1 %d ", status);

    if (strncmp(reply, first, strlen(first)) != 0 || strstr(reply, part) == NULL)
        fail_msg("not %d with %s: %s", status, part, reply);
}
