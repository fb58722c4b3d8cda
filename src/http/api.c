/* The paths below /api/: commands, and the sessions of the page. */
#include "http/api.h"

#include <stdio.h>
#include <string.h>
#include <event2/buffer.h>
#include <sodium.h>

#include "base/json_bytes.h"
#include "base/node.h"
#include "http/http_reply.h"
#include "http/http_run.h"
#include "http/page_session.h"
#include "http/reply_json.h"
#include "version.h"

/* The most bytes of a user and a password as JSON. */
#define LOGIN_BODY_MAX ((size_t)4 * 1024)

static size_t body_len(const struct http_conn *c) {
    return evbuffer_get_length(evhttp_request_get_input_buffer(c->req));
}

static void drop_body(const struct http_conn *c) {
    evbuffer_drain(evhttp_request_get_input_buffer(c->req), body_len(c));
}

static struct slice body_of(const struct http_conn *c) {
    struct evbuffer *body = evhttp_request_get_input_buffer(c->req);

    return (struct slice){ (char *)evbuffer_pullup(body, -1), evbuffer_get_length(body) };
}

/* ---- commands ---- */

/* Commands whose replies are no answer: they subscribe, stream, or turn replies off. */
static bool needs_connection(const struct command_words *c) {
    static const char *const names[] = { "subscribe", "psubscribe", "unsubscribe", "punsubscribe",
                                         "monitor" };

    for (size_t i = 0; i < LENGTH(names); i++) {
        if (slice_is(c->words[0], names[i]))
            return true;
    }
    return c->count > 1 && slice_is(c->words[0], "client") && slice_is(c->words[1], "reply");
}

static bool can_run(const struct command_list *list) {
    for (size_t i = 0; i < list->count; i++) {
        if (needs_connection(&list->commands[i]))
            return false;
    }
    return true;
}

static void answer_command(struct http_conn *c, struct slice replies) {
    struct buf text = { 0 };

    buf_append_str(&text, c->is_single ? "{\"reply\":" : "{\"replies\":[");
    while (replies.len > 0) {
        reply_to_json(&replies, &text);
        if (replies.len > 0)
            buf_append_str(&text, ",");
    }
    buf_append_str(&text, c->is_single ? "}" : "]}");
    http_reply_json_text(c, 200, &text);
}

static void refuse_commands(struct http_conn *c, const char *why) {
    http_run_cancel(c);
    http_reply_problem(c, 400, why);
}

static void run_body(struct http_conn *c) {
    struct command_list list;
    char err[256];

    if (!commands_from_json(body_of(c), &list, err, sizeof err)) {
        refuse_commands(c, err);
        return;
    }
    if (can_run(&list))
        http_run_list(c, &list, answer_command);
    else
        refuse_commands(c, "ERR this command needs a connection of RESP");
    command_list_free(&list);
    if (c->run != NULL)
        drop_body(c); /* the commands are on their way */
}

void api_command(struct http_conn *c) {
    http_run_begin(c, run_body);
}

/* ---- sessions ---- */

/* Without a path the cookie belongs to the folder of the request, also behind a proxy that adds a path. */
static void set_cookie(struct http_conn *c, const char *token, const char *age) {
    const char *scheme = http_header(c, "X-Forwarded-Proto");
    char name[32], cookie[256];

    http_cookie_name(c, name, sizeof name);
    snprintf(cookie, sizeof cookie, "%s=%s; HttpOnly; SameSite=Strict%s%s", name, token,
             scheme != NULL && evutil_ascii_strcasecmp(scheme, "https") == 0 ? "; Secure" : "", age);
    http_set_header(c, "Set-Cookie", cookie);
}

static void end_session(struct http_conn *c) {
    struct page_session *s = http_run_session(c);

    if (s != NULL)
        page_session_end(s);
}

/* The user is NULL if it was removed during the login. */
static void answer_login(struct http_conn *c, struct user *u) {
    char token[PAGE_TOKEN_SIZE];

    if (u == NULL || !user_accepts(u, c->password)) {
        http_reply_problem(c, 401, "the user was changed during the login");
        return;
    }
    end_session(c);
    page_session_begin(u, c->password, token);
    set_cookie(c, token, "");
    http_reply_json(c, 200, json_pack("{s:o}", "user", json_of_bytes(user_name(u))));
    sodium_memzero(token, sizeof token);
}

static void on_login_end(void *arg, enum gateway_result result, struct slice replies) {
    struct http_conn *c = arg;
    struct gateway *run = c->run;

    c->run = NULL;
    if (result == GATEWAY_REPLIED)
        answer_login(c, gateway_user(run));
    else
        http_run_reply_failure(c, result, replies);
    sodium_memzero(c->password, sizeof c->password);
    gateway_close(run);
}

/* The login is that of a client, so wrong passwords are delayed and logged in the same way. */
static void login(struct http_conn *c, const json_t *user, const json_t *password) {
    struct gateway_call call = {
        .user = { json_string_value(user), json_string_length(user) },
        .password = { json_string_value(password), json_string_length(password) },
        .done = on_login_end,
    };

    password_hash(call.password, c->password);
    (void)http_run_start(c, &call);
}

static void login_from_body(struct http_conn *c, struct slice text) {
    json_t *body = json_loadb(text.ptr, text.len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
    const json_t *user = json_object_get(body, "user");
    const json_t *password = json_object_get(body, "password");

    if (json_string_length(user) > 0 && json_is_string(password))
        login(c, user, password);
    else
        http_reply_problem(c, 400, "expected {\"user\": \"...\", \"password\": \"...\"}");
    json_decref(body);
}

void api_login(struct http_conn *c) {
    if (body_len(c) > LOGIN_BODY_MAX)
        http_reply_problem(c, 413, "the body of a login has at most 4096 bytes");
    else
        login_from_body(c, body_of(c));
}

void api_logout(struct http_conn *c) {
    end_session(c);
    set_cookie(c, "", "; Max-Age=0");
    http_reply_json(c, 200, json_object());
}

static void answer_session(struct http_conn *c, const struct user *u) {
    if (u == NULL)
        http_reply_json(c, 200, json_pack("{s:n,s:b,s:n,s:n}", "user", "login", 1, "version", "node"));
    else
        http_reply_json(c, 200,
                        json_pack("{s:o,s:b,s:b,s:s,s:s}", "user", json_of_bytes(user_name(u)), "login", 0,
                                  "cookie", c->has_session, "version", PGDISQUE_VERSION, "node",
                                  node_self()->id));
}

static void on_session_end(void *arg, enum gateway_result result, struct slice replies) {
    struct http_conn *c = arg;
    struct gateway *run = c->run;
    struct slice error = SLICE("");

    c->run = NULL;
    if (result == GATEWAY_REPLIED)
        answer_session(c, gateway_user(run));
    else if (result == GATEWAY_REFUSED && reply_is_error(replies, &error) && http_error_status(error) == 401)
        answer_session(c, NULL);
    else
        http_run_reply_failure(c, result, replies);
    gateway_close(run);
}

void api_session(struct http_conn *c) {
    (void)http_run_open(c, on_session_end);
}
