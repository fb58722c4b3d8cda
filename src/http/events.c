/* Streams of server-sent events: the figures of each second. */
#include "http/events.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <event2/buffer.h>

#include "base/clock.h"
#include "base/json_bytes.h"
#include "base/stats.h"
#include "base/timer.h"
#include "batch/batch.h"
#include "commands/rights.h"
#include "http/http_reply.h"
#include "http/http_run.h"
#include "http/reply_json.h"
#include "jobs/waiting_count.h"
#include "jobs/waitjob.h"
#include "queue/queue.h"
#include "queue/waiters.h"

#define TICK_US US_PER_S
/* A client with more unread output is disconnected. */
#define UNREAD_MAX ((size_t)64 * 1024)
/* The socket's own buffer, so that the unread output is known early. */
#define SEND_BUFFER (16 * 1024)

struct event_stream {
    struct list in_streams;
    struct http_conn *conn;
    struct slice queue; /* ptr is NULL: no queue */
    bool is_open;       /* the headers are sent */
    bool is_waiting;    /* for the reply to QSTAT */
};

static struct {
    struct list streams;
    size_t count;
    struct timer tick;
    char *server; /* the figures of the server as JSON */
} streams = { .streams = { &streams.streams, &streams.streams } };

/* ---- figures ---- */

static void read_server_figures(void) {
    json_t *figures = json_pack(
        "{s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:b}", "queues", (json_int_t)queue_shown(), "len",
        (json_int_t)queue_jobs_queued(), "active", (json_int_t)queue_jobs_active(), "delayed",
        (json_int_t)queue_jobs_delayed(), "waiting", (json_int_t)queue_jobs_waiting(), "after",
        (json_int_t)waiting_count_all(), "dead", (json_int_t)queue_jobs_dead(), "added",
        (json_int_t)stats.jobs_added, "delivered", (json_int_t)stats.jobs_delivered, "acknowledged",
        (json_int_t)stats.jobs_acked, "clients", (json_int_t)client_count(), "blocked",
        (json_int_t)(waiters_blocked() + waitjob_count()), "database_connected", batch_connected(CONN_WRITE));

    free(streams.server);
    streams.server = json_dumps(figures, JSON_COMPACT);
    json_decref(figures);
}

/* ---- the life of a stream ---- */

void events_forget(struct http_conn *c) {
    struct event_stream *s = c->events;

    if (s == NULL)
        return;
    c->events = NULL;
    list_remove(&s->in_streams);
    streams.count--;
    free((char *)s->queue.ptr);
    free(s);
    if (streams.count == 0)
        timer_stop(&streams.tick);
}

/* The browser reconnects, and then gets the reason. */
static void stream_end(struct event_stream *s) {
    struct http_conn *c = s->conn;

    http_run_cancel(c);
    events_forget(c);
    evhttp_send_reply_end(http_conn_end(c, 0));
}

/* The figures of the server are those of INFO. */
static bool sees_server(const struct event_stream *s) {
    const struct user *u = gateway_user(s->conn->run);

    return u != NULL && user_may_run(u, COMMAND_info);
}

static void stream_write(struct event_stream *s, const char *queue) {
    struct bufferevent *bev = evhttp_connection_get_bufferevent(s->conn->evcon);
    struct evbuffer *event = evbuffer_new();

    evbuffer_add_printf(event, "event: figures\ndata: {\"now\":%lld", (long long)(clock_unix() / US_PER_MS));
    if (sees_server(s))
        evbuffer_add_printf(event, ",\"server\":%s", streams.server);
    if (queue != NULL)
        evbuffer_add_printf(event, ",\"queue\":%s", queue);
    evbuffer_add(event, "}\n\n", 3);
    evhttp_send_reply_chunk(s->conn->req, event);
    evbuffer_free(event);
    if (evbuffer_get_length(bufferevent_get_output(bev)) > UNREAD_MAX)
        evhttp_connection_free(s->conn->evcon);
}

static void ask_queue(struct event_stream *s) {
    const struct slice words[] = { SLICE("QSTAT"), s->queue };

    s->is_waiting = true;
    gateway_send(s->conn->run, words, LENGTH(words));
}

/* QSTAT checks the right to the figures of a queue. */
static bool may_go_on_streaming(const struct event_stream *s) {
    return gateway_user(s->conn->run) != NULL && (s->queue.ptr != NULL || sees_server(s)) &&
           (!s->conn->has_session || page_session_use(s->conn->session) != NULL);
}

static void stream_tick(struct event_stream *s) {
    if (!may_go_on_streaming(s))
        stream_end(s);
    else if (s->queue.ptr == NULL)
        stream_write(s, NULL);
    else if (!s->is_waiting)
        ask_queue(s);
}

static void on_events_tick(struct timer *t) {
    timer_set(t, clock_mono() + TICK_US, on_events_tick);
    read_server_figures();
    LIST_EACH_SAFE(node, &streams.streams) {
        struct event_stream *s = LIST_ENTRY(node, struct event_stream, in_streams);

        if (s->is_open)
            stream_tick(s);
    }
}

/* ---- the start of a stream ---- */

static void stream_open(struct event_stream *s) {
    int size = SEND_BUFFER;

    setsockopt(http_conn_fd(s->conn), SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
    http_set_header(s->conn, "Content-Type", "text/event-stream");
    http_set_header(s->conn, "X-Accel-Buffering", "no"); /* nginx passes each event on at once */
    evhttp_send_reply_start(s->conn->req, 200, "OK");
    s->is_open = true;
}

/* Ends a request whose stream was not opened. */
static void refuse_stream(struct http_conn *c, int status, json_t *problem) {
    http_run_cancel(c);
    events_forget(c);
    http_reply_json(c, status, problem);
}

static void on_queue_figures(struct event_stream *s, struct slice reply) {
    struct slice error;
    bool failed = reply_is_error(reply, &error);
    struct buf text = { 0 };

    s->is_waiting = false;
    if (failed && !s->is_open) {
        refuse_stream(s->conn, http_error_status(error),
                      json_pack("{s:o}", "error", json_of_bytes(http_error_text(error))));
        return;
    }
    if (failed) {
        stream_end(s);
        return;
    }
    if (!s->is_open)
        stream_open(s);
    reply_pairs_to_json(&reply, &text); /* QSTAT replies names and values in turns */
    buf_append(&text, "", 1);
    stream_write(s, buf_ptr(&text));
    buf_free(&text);
}

static size_t streams_of(const struct user *u) {
    size_t count = 0;

    LIST_EACH(node, &streams.streams) {
        const struct event_stream *s = LIST_ENTRY(node, struct event_stream, in_streams);

        count += gateway_user(s->conn->run) == u;
    }
    return count;
}

/* The login of the stream is right. */
static void on_entered(struct event_stream *s) {
    if (!may_go_on_streaming(s)) {
        refuse_stream(
            s->conn, 403,
            json_pack("{s:s}", "error", "NOPERM the events of the server need the right to run INFO"));
    } else if (streams_of(gateway_user(s->conn->run)) > EVENTS_OF_USER_MAX) {
        refuse_stream(s->conn, 503, json_pack("{s:s}", "error", "too many streams of events of one user"));
    } else if (s->queue.ptr != NULL) {
        ask_queue(s);
    } else {
        stream_open(s);
        stream_write(s, NULL);
    }
}

static void on_stream_end(struct event_stream *s, enum gateway_result result, struct slice replies) {
    struct http_conn *c = s->conn;

    if (s->is_open) {
        stream_end(s);
        return;
    }
    events_forget(c);
    http_run_reply_failure(c, result, replies);
    http_run_cancel(c);
}

static void on_stream_replies(void *arg, enum gateway_result result, struct slice replies) {
    struct http_conn *c = arg;

    if (result != GATEWAY_REPLIED)
        on_stream_end(c->events, result, replies);
    else if (c->events->is_waiting)
        on_queue_figures(c->events, replies);
    else
        on_entered(c->events);
}

/* The value of the member "queue" of a query, which the caller frees; ptr is NULL if there is none. */
static struct slice queue_of_query(const char *query) {
    struct slice rest = slice_str(query == NULL ? "" : query), member;
    struct slice queue = { NULL, 0 };

    while (slice_next_word(&rest, "&", &member)) {
        char *text;

        if (member.len < 6 || memcmp(member.ptr, "queue=", 6) != 0)
            continue;
        free((char *)queue.ptr);
        text = slice_dup((struct slice){ member.ptr + 6, member.len - 6 });
        queue.ptr = evhttp_uridecode(text, 1, &queue.len);
        free(text);
    }
    return queue;
}

static void stream_begin(struct http_conn *c) {
    struct event_stream *s = xcalloc(1, sizeof *s);

    s->conn = c;
    s->queue = queue_of_query(evhttp_uri_get_query(evhttp_request_get_evhttp_uri(c->req)));
    c->events = s;
    list_push_back(&streams.streams, &s->in_streams);
    if (streams.count++ == 0)
        on_events_tick(&streams.tick);
}

void events_serve(struct http_conn *c) {
    if (evhttp_request_get_command(c->req) == EVHTTP_REQ_HEAD)
        http_reply(c, 200, "text/event-stream", evbuffer_new());
    else if (streams.count == EVENTS_MAX)
        http_reply_problem(c, 503, "too many streams of events");
    else if (http_run_open(c, on_stream_replies) != NULL)
        stream_begin(c);
}
