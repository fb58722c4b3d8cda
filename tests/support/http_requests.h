#ifndef HTTP_REQUESTS_H
#define HTTP_REQUESTS_H

#include "wire.h"

/* HTTP requests to the server of a test, each on a connection of its own. The reply is valid until the next request. */

#define JSON_TYPE "Content-Type: application/json\r\n"

/* The port of the server on 127.0.0.1, and the last reply. */
extern int http_port;
extern char http_reply[512 * 1024];

/* Sets http_port to a free port. Returns the options of a server with this port, and with `others`, which end with NULL;
 * NULL: none. They are valid until the next call. */
const char *const *http_options(const char *const *others);
/* Sends a request. headers: lines that end in CRLF, without Host. */
const char *request_from(const char *host, const char *line, const char *headers, const char *body);
const char *http_get(const char *path);
const char *http_post(const char *path, const char *headers, const char *body);
/* Runs a command as JSON. */
const char *http_run(const char *command);
/* Reads until the server closes the connection. */
const char *http_read_all(struct wire *w);
/* Fails unless the reply has the status and the part. */
void expect_http(const char *reply, int status, const char *part);

#endif
