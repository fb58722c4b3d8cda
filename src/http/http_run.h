#ifndef HTTP_RUN_H
#define HTTP_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include "base/util.h"
#include "http/command_json.h"
#include "http/gateway.h"
#include "http/http_conn.h"

/*
 * Runs the commands of an HTTP request, as the user of its login: that of HTTP's Basic authentication, or else that of
 * the session whose cookie it has, or else the user of clients that have given no password.
 */

/* If so many connections run commands or receive events, further commands are refused. Connections of probes are
 * counted apart, up to HTTP_PROBES_MAX. The others of HTTP_CLIENTS_MAX are for new connections. Requests that arrive at
 * the same time may exceed these numbers, because a connection counts from its login on. */
#define HTTP_RUNS_MAX 192
#define HTTP_PROBES_MAX (HTTP_CLIENTS_MAX - 16)
/* If more than HTTP_FREE_RUNS connections run commands, a user may have at most so many of them, so that others find
 * room. */
#define HTTP_RUNS_OF_USER_MAX 32
#define HTTP_FREE_RUNS (HTTP_RUNS_MAX / 2)

void http_runs_init(struct event_base *base);
/* Opens the client of a request with the login of the call. NULL: the request has its reply. */
struct gateway *http_run_start(struct http_conn *c, struct gateway_call *call);
/* The same with the login of the request. */
struct gateway *http_run_open(struct http_conn *c,
                              void (*done)(void *arg, enum gateway_result result, struct slice replies));
/* True if the request has the login of a user who needs a password. The login is checked when its client is opened. */
bool http_run_has_password(struct http_conn *c);
/* The status for an error of a command. */
int http_error_status(struct slice error);
/* The text for an error of a command: that of NOAUTH names the login of HTTP in place of HELLO. */
struct slice http_error_text(struct slice error);
/* Replies the result of a run, which is not GATEWAY_REPLIED. */
void http_run_reply_failure(struct http_conn *c, enum gateway_result result, struct slice replies);
/* Runs a command. answer replies to the request; if the command has failed, it is not called. */
void http_run_words(struct http_conn *c, const struct slice *words, size_t count,
                    void (*answer)(struct http_conn *c, struct slice replies));
/* Logs the request in, and calls run, which runs commands by http_run_words() or http_run_list(), or replies. If the login
 * fails, or if the user has too many runs, the request has its reply, and run is not called. */
void http_run_begin(struct http_conn *c, void (*run)(struct http_conn *c));
/* Runs the commands of the list. answer gets the replies, errors of several commands included. */
void http_run_list(struct http_conn *c, const struct command_list *list,
                   void (*answer)(struct http_conn *c, struct slice replies));
/* The name of the cookie of this server's sessions, which no server at another port of the machine uses. */
void http_cookie_name(const struct http_conn *c, char *name, size_t size);
/* The session of the request's cookie, or NULL. */
struct page_session *http_run_session(struct http_conn *c);
/* Ends the run of a connection, if there is one. */
void http_run_cancel(struct http_conn *c);
/* Replies 503 and returns false if so many connections run commands. */
bool http_run_has_room_or_reply(struct http_conn *c, size_t most) MUST_CHECK;

#endif
