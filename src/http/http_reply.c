/* Replies to HTTP requests. */
#include "http/http_reply.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_bytes.h"

static const char *reason_of_status(int status) {
    static const struct {
        int status;
        const char *reason;
    } reasons[] = {
#define X(status, reason) { status, reason },
        HTTP_STATUSES(X)
#undef X
    };

    for (size_t i = 0; i < LENGTH(reasons); i++) {
        if (reasons[i].status == status)
            return reasons[i].reason;
    }
    return "";
}

void http_set_header(struct http_conn *c, const char *name, const char *value) {
    struct evkeyvalq *headers = evhttp_request_get_output_headers(c->req);

    evhttp_remove_header(headers, name);
    evhttp_add_header(headers, name, value);
}

const char *http_header(const struct http_conn *c, const char *name) {
    return evhttp_find_header(evhttp_request_get_input_headers(c->req), name);
}

void http_set_safe_headers(struct http_conn *c) {
    static const char *const headers[][2] = {
        { "Cache-Control", "no-store" },
        { "X-Content-Type-Options", "nosniff" },
        { "X-Frame-Options", "DENY" },
        { "Referrer-Policy", "same-origin" },
        { "Cross-Origin-Opener-Policy", "same-origin" },
        { "Cross-Origin-Resource-Policy", "same-origin" },
        { "Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src "
                                     "'self' data:; connect-src 'self'; "
                                     "base-uri 'none'; form-action 'none'; frame-ancestors 'none'" },
    };

    for (size_t i = 0; i < LENGTH(headers); i++)
        http_set_header(c, headers[i][0], headers[i][1]);
}

void http_reply(struct http_conn *c, int status, const char *type, struct evbuffer *body) {
    bool is_head = evhttp_request_get_command(c->req) == EVHTTP_REQ_HEAD;
    char length[24];

    if (type != NULL)
        http_set_header(c, "Content-Type", type);
    /* evhttp would send the body in the reply to HEAD. */
    if (is_head) {
        snprintf(length, sizeof length, "%zu", evbuffer_get_length(body));
        http_set_header(c, "Content-Length", length);
        evbuffer_drain(body, evbuffer_get_length(body));
    }
    evhttp_send_reply(http_conn_end(c, evbuffer_get_length(body)), status, reason_of_status(status), body);
    evbuffer_free(body);
}

static void free_text(const void *text, size_t len, void *arg) {
    (void)text;
    (void)len;
    free(arg);
}

void http_reply_json_text(struct http_conn *c, int status, struct buf *json) {
    struct evbuffer *body = evbuffer_new();

    evbuffer_add_reference(body, buf_ptr(json), buf_len(json), free_text, json->data);
    evbuffer_add(body, "\n", 1);
    *json = (struct buf){ 0 };
    http_reply(c, status, "application/json", body);
}

void http_reply_json(struct http_conn *c, int status, json_t *value) {
    struct buf text = { 0 };
    char *dump = value == NULL ? NULL : json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);

    if (dump == NULL)
        status = 500;
    buf_append_str(&text, dump != NULL ? dump : "{\"error\":\"the reply cannot be written as JSON\"}");
    free(dump);
    json_decref(value);
    http_reply_json_text(c, status, &text);
}

void http_reply_problem(struct http_conn *c, int status, const char *text) {
    http_reply_json(c, status, json_pack("{s:o}", "error", json_of_bytes(slice_str(text))));
}
