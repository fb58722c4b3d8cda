#ifndef HTTP_REPLY_H
#define HTTP_REPLY_H

#include <jansson.h>
#include <event2/buffer.h>
#include "base/buf.h"
#include "http/http_conn.h"

/* Replies to HTTP requests. Each function ends the request of the connection. */

/* The statuses that this server replies, with their reasons. */
#define HTTP_STATUSES(X)             \
    X(200, "OK")                     \
    X(304, "Not Modified")           \
    X(400, "Bad Request")            \
    X(401, "Unauthorized")           \
    X(403, "Forbidden")              \
    X(404, "Not Found")              \
    X(405, "Method Not Allowed")     \
    X(413, "Content Too Large")      \
    X(415, "Unsupported Media Type") \
    X(500, "Internal Server Error")  \
    X(503, "Service Unavailable")

/* The header of a reply, set before the reply is sent. */
void http_set_header(struct http_conn *c, const char *name, const char *value);
/* The header of the request, or NULL. */
const char *http_header(const struct http_conn *c, const char *name);
/* The headers of every reply. They keep the pages of other sites from reading or framing it. */
void http_set_safe_headers(struct http_conn *c);

/* Takes body over. type: NULL means that there is no body. */
void http_reply(struct http_conn *c, int status, const char *type, struct evbuffer *body);
/* Takes value over. NULL, or a value that has no text, becomes the status 500. */
void http_reply_json(struct http_conn *c, int status, json_t *value);
/* The same for the text of a value. */
void http_reply_json_text(struct http_conn *c, int status, struct buf *json);
/* {"error": text} */
void http_reply_problem(struct http_conn *c, int status, const char *text);

#endif
