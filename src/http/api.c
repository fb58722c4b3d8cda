/* The paths below /api/: commands. */
#include "http/api.h"

#include <event2/buffer.h>

#include "http/http_reply.h"
#include "http/http_run.h"
#include "http/reply_json.h"

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
    json_t *all;

    if (c->is_single) {
        http_reply_json(c, 200, json_pack("{s:o}", "reply", reply_to_json(&replies)));
        return;
    }
    all = json_array();
    while (replies.len > 0)
        json_array_append_new(all, reply_to_json(&replies));
    http_reply_json(c, 200, json_pack("{s:o}", "replies", all));
}

void api_command(struct http_conn *c) {
    struct command_list list;
    char err[256];

    if (!commands_from_json(body_of(c), &list, err, sizeof err)) {
        http_reply_problem(c, 400, err);
        return;
    }
    if (can_run(&list))
        http_run_list(c, &list, answer_command);
    else
        http_reply_problem(c, 400, "ERR this command needs a connection of RESP");
    command_list_free(&list);
}
