/* Runs the commands of an HTTP request, as the user of its login. */
#include "http/http_run.h"

#include <stdio.h>
#include <string.h>
#include <sodium.h>

#include "base/json_bytes.h"
#include "http/http_reply.h"
#include "http/reply_json.h"

/* The most bytes of a user and a password with a colon between them. */
#define LOGIN_MAX 1024

static struct event_base *runs_base;

void http_runs_init(struct event_base *base) {
    runs_base = base;
}

/* ---- failures ---- */

/* Error codes of commands that have a status of their own in HTTP; the others are 400. */
static const struct {
    const char *code;
    int status;
} error_statuses[] = {
    { "NOAUTH ", 401 }, { "WRONGPASS ", 401 }, { "NOPERM ", 403 }, { "LOADING ", 503 },
    { "NOREPL ", 503 }, { "DISKFULL ", 503 },  { "LOCKED ", 503 }, { "OOM ", 503 },
};

static bool has_code(struct slice error, const char *code) {
    return error.len >= strlen(code) && memcmp(error.ptr, code, strlen(code)) == 0;
}

int http_error_status(struct slice error) {
    for (size_t i = 0; i < LENGTH(error_statuses); i++) {
        if (has_code(error, error_statuses[i].code))
            return error_statuses[i].status;
    }
    return 400;
}

struct slice http_error_text(struct slice error) {
    static const char login[] =
        "NOAUTH Authentication required: send user and password with HTTP Basic authentication";

    return has_code(error, "NOAUTH ") ? slice_str(login) : error;
}

/* A browser would show a dialog of its own for this header. */
static void ask_for_login(struct http_conn *c) {
    if (http_header(c, "Origin") == NULL && http_header(c, "Sec-Fetch-Site") == NULL)
        http_set_header(c, "WWW-Authenticate", "Basic realm=\"pgdisque\", charset=\"UTF-8\"");
}

static void reply_error_of_command(struct http_conn *c, int status, struct slice error) {
    if (status == 401)
        ask_for_login(c);
    http_reply_json(c, status, json_pack("{s:o}", "error", json_of_bytes(http_error_text(error))));
}

void http_run_reply_failure(struct http_conn *c, enum gateway_result result, struct slice replies) {
    struct slice error = SLICE("");

    if (result == GATEWAY_TOO_LARGE)
        http_reply_problem(c, 500, "the reply is too large for HTTP; ask for less");
    else if (result == GATEWAY_CLOSED || !reply_is_error(replies, &error))
        http_reply_problem(c, 503,
                           "the connection ended before the reply; the command may have been executed");
    else
        /* The client did not run, for example because there are too many clients. */
        reply_error_of_command(c, has_code(error, "ERR ") ? 503 : http_error_status(error), error);
}

/* ---- logins ---- */

/* Reads the user and the password of Basic authentication into text, "user:password". Without the header, user
 * becomes empty. False if the header is something else. */
static bool http_read_login(struct http_conn *c, char *text, size_t size, struct gateway_call *call) {
    const char *header = http_header(c, "Authorization");
    size_t len;
    char *colon;

    call->user = call->password = SLICE("");
    if (header == NULL)
        return true;
    if (evutil_ascii_strncasecmp(header, "Basic ", 6) != 0 ||
        sodium_base642bin((unsigned char *)text, size - 1, header + 6, strlen(header + 6), " ", &len, NULL,
                          sodium_base64_VARIANT_ORIGINAL) != 0)
        return false;
    text[len] = '\0';
    colon = memchr(text, ':', len);
    if (colon == NULL)
        return false;
    call->user = (struct slice){ text, (size_t)(colon - text) };
    call->password = (struct slice){ colon + 1, len - call->user.len - 1 };
    return call->user.len > 0;
}

bool http_run_has_password(struct http_conn *c) {
    struct gateway_call call;
    char login[LOGIN_MAX];
    bool has = false;

    if (http_read_login(c, login, sizeof login, &call) && call.user.len > 0) {
        const struct user *u = user_find(call.user);

        has = u == NULL || !u->grants.nopass;
    }
    sodium_memzero(login, sizeof login);
    return has;
}

void http_cookie_name(const struct http_conn *c, char *name, size_t size) {
    snprintf(name, size, "pgdisque_%s", strrchr(c->own, ':') + 1);
}

/* The value of a cookie "name=value"; empty for a cookie of another name. */
static struct slice cookie_value(struct slice cookie, const char *name) {
    size_t len = strlen(name);

    if (cookie.len <= len || memcmp(cookie.ptr, name, len) != 0 || cookie.ptr[len] != '=')
        return SLICE("");
    return (struct slice){ cookie.ptr + len + 1, cookie.len - len - 1 };
}

struct page_session *http_run_session(struct http_conn *c) {
    const char *header = http_header(c, "Cookie");
    struct slice rest = slice_str(header == NULL ? "" : header), cookie;
    struct page_session *session = NULL;
    char name[32];

    http_cookie_name(c, name, sizeof name);
    while (session == NULL && slice_next_word(&rest, "; ", &cookie)) {
        if (page_session_key(cookie_value(cookie, name), c->session))
            session = page_session_use(c->session);
    }
    c->has_session = session != NULL;
    return session;
}

/* A call without a login has the session of the request. */
static void add_session(struct http_conn *c, struct gateway_call *call) {
    const struct page_session *session = call->user.len > 0 ? NULL : http_run_session(c);

    if (session != NULL)
        call->as = page_session_user(session);
}

struct gateway *http_run_start(struct http_conn *c, struct gateway_call *call) {
    call->arg = c;
    call->peer = c->peer;
    call->own = c->own;
    c->run = gateway_open(runs_base, call);
    if (c->run == NULL)
        http_reply_problem(c, 503, "the server has too few file descriptors");
    else
        event_add(c->readable, NULL);
    return c->run;
}

struct gateway *http_run_open(struct http_conn *c,
                              void (*done)(void *arg, enum gateway_result result, struct slice replies)) {
    struct gateway_call call = { .done = done };
    struct gateway *run = NULL;
    char login[LOGIN_MAX];

    if (http_read_login(c, login, sizeof login, &call)) {
        add_session(c, &call);
        run = http_run_start(c, &call);
    } else {
        http_reply_problem(c, 400, "the header Authorization must be Basic, with user and password");
    }
    sodium_memzero(login, sizeof login);
    return run;
}

/* ---- runs ---- */

static void run_answer(struct http_conn *c, struct gateway *run, struct slice replies) {
    struct slice error;

    gateway_take_unsent(run, &c->unsent);
    if (c->is_single && reply_is_error(replies, &error))
        reply_error_of_command(c, http_error_status(error), error);
    else
        c->answer(c, replies);
}

static void run_end(struct http_conn *c, enum gateway_result result, struct slice replies) {
    struct gateway *run = c->run;

    c->run = NULL;
    if (result == GATEWAY_REPLIED)
        run_answer(c, run, replies);
    else
        http_run_reply_failure(c, result, replies);
    gateway_close(run);
}

void http_run_cancel(struct http_conn *c) {
    if (c->run != NULL)
        gateway_close(c->run);
    c->run = NULL;
}

static bool user_has_too_many_runs(const struct http_conn *c) {
    return http_conns_running() > HTTP_FREE_RUNS &&
           http_conns_running_as(gateway_user(c->run)) > HTTP_RUNS_OF_USER_MAX;
}

static void run_after_login(struct http_conn *c, void (*run)(struct http_conn *c)) {
    if (!user_has_too_many_runs(c)) {
        run(c);
        return;
    }
    http_run_cancel(c);
    http_reply_problem(c, 503, "too many HTTP requests of this user run at the same time; try again later");
}

static void on_run_replies(void *arg, enum gateway_result result, struct slice replies) {
    struct http_conn *c = arg;
    void (*run)(struct http_conn * c) = c->on_login;

    c->on_login = NULL;
    if (run != NULL && result == GATEWAY_REPLIED)
        run_after_login(c, run);
    else
        run_end(c, result, replies);
}

void http_run_begin(struct http_conn *c, void (*run)(struct http_conn *c)) {
    if (http_run_open(c, on_run_replies) != NULL)
        c->on_login = run;
}

void http_run_words(struct http_conn *c, const struct slice *words, size_t count,
                    void (*answer)(struct http_conn *c, struct slice replies)) {
    c->is_single = true;
    c->answer = answer;
    gateway_send(c->run, words, count);
}

void http_run_list(struct http_conn *c, const struct command_list *list,
                   void (*answer)(struct http_conn *c, struct slice replies)) {
    c->is_single = list->is_single;
    c->answer = answer;
    for (size_t i = 0; i < list->count; i++)
        gateway_send(c->run, list->commands[i].words, list->commands[i].count);
}

bool http_run_has_room_or_reply(struct http_conn *c, size_t most) {
    if (http_conns_running() < most)
        return true;
    http_reply_problem(c, 503, "too many HTTP requests run at the same time; try again later");
    return false;
}
