/* The tool peek: shows jobs of a queue without taking them. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/json_bytes.h"
#include "tools/line_access.h"
#include "tools/records.h"
#include "tools/redis_reply.h"
#include "tools/tool.h"

#define DEFAULT_COUNT 10
#define CURSOR_SIZE 64
/* Jobs in a pipeline of SHOW. */
#define SHOW_BATCH 100

struct peek_line_words {
    struct line_server server;
    struct line_form form;
    char *state;
    int64_t count;
    bool last;
    struct line_list names;
};

#define FIELD(member) offsetof(struct peek_line_words, member)

static const struct line_option peek_options[] = {
    { "--count", LINE_NUMBER, "count", FIELD(count), 1, 100000, "show at most so many jobs (10)" },
    { "--last", LINE_FLAG, NULL, FIELD(last), 0, 0, "show the last jobs, the newest first" },
    { "--state", LINE_WORD, "queued|active|dead|done", FIELD(state), 0, 0,
      "show jobs in this state; active jobs are delivered or in their delay (queued)" },
    LINE_FORM_OPTIONS(struct peek_line_words, form),
    LINE_SERVER_OPTIONS(struct peek_line_words, server),
};

/* The cells of add_job_row(). */
#define PEEK_COLUMNS(state, priority, next, error)                                                           \
    {                                                                                                        \
        { "id", "ID", RECORD_TEXT }, { "state", state, RECORD_TEXT }, { "created", "CREATED", RECORD_TEXT }, \
            { "priority", priority, RECORD_NUMBER }, { "nacks", "NACKS", RECORD_NUMBER },                    \
            { "redeliveries", "MORE", RECORD_NUMBER }, { "next", next, RECORD_SECONDS },                     \
            { "body", "BODY", RECORD_TEXT }, { "error", error, RECORD_TEXT },                                \
            { "group", NULL, RECORD_TEXT }, { "headers", NULL, RECORD_JSON },                                \
    }

static const struct record_column peek_columns[] = PEEK_COLUMNS("STATE", "PRIO", "NEXT", NULL);
static const struct record_column peek_dead_columns[] = PEEK_COLUMNS(NULL, NULL, NULL, "ERROR");

struct peek {
    const struct peek_line_words *w;
    struct redis_pipe pipe;
    struct records rows;
    int64_t left; /* jobs to show */
};

/* ---- rows ---- */

static void peek_number(struct records *r, const redisReply *job, const char *name, double unit) {
    const redisReply *value = redis_reply_field(job, name);

    if (value != NULL && redis_reply_fits(value, "i"))
        records_add_number(r, (double)value->integer / unit);
    else
        records_add_none(r);
}

static void peek_text(struct records *r, const redisReply *job, const char *name) {
    const redisReply *value = redis_reply_field(job, name);

    if (value != NULL && redis_reply_fits(value, "s"))
        records_add_text(r, (struct slice){ value->str, value->len });
    else
        records_add_none(r);
}

static void peek_time(struct records *r, const redisReply *job) {
    const redisReply *created = redis_reply_field(job, "ctime");
    char text[40] = "";
    struct tm tm;
    time_t t;

    if (created == NULL || !redis_reply_fits(created, "i")) {
        records_add_none(r);
        return;
    }
    t = (time_t)(created->integer / 1000000000);
    if (gmtime_r(&t, &tm) != NULL)
        strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &tm);
    records_add_text(r, slice_str(text));
}

/* A queued job needs no time until it is queued. */
static void peek_next(struct records *r, const redisReply *job) {
    const char *state = redis_reply_text(job, "state");

    if (state != NULL && strcmp(state, "active") == 0)
        peek_number(r, job, "next-requeue-within", 1000);
    else
        records_add_none(r);
}

/* SHOW has the headers as names and texts in turn. */
static void peek_headers(struct records *r, const redisReply *job) {
    const redisReply *headers = redis_reply_field(job, "headers");
    json_t *object;
    char *text;

    if (headers == NULL || !redis_reply_fits(headers, "[(ss)*]")) {
        records_add_none(r);
        return;
    }
    object = json_object();
    for (size_t i = 0; i + 1 < headers->elements; i += 2) {
        const redisReply *value = headers->element[i + 1];

        json_object_set_new(object, headers->element[i]->str,
                            json_of_bytes((struct slice){ value->str, value->len }));
    }
    text = json_dumps(object, JSON_COMPACT);
    records_add_text(r, slice_str(text));
    free(text);
    json_decref(object);
}

static void add_job_row(struct peek *k, const redisReply *job) {
    peek_text(&k->rows, job, "id");
    peek_text(&k->rows, job, "state");
    peek_time(&k->rows, job);
    peek_number(&k->rows, job, "priority", 1);
    peek_number(&k->rows, job, "nacks", 1);
    peek_number(&k->rows, job, "additional-deliveries", 1);
    peek_next(&k->rows, job);
    peek_text(&k->rows, job, "body");
    peek_text(&k->rows, job, "error");
    peek_text(&k->rows, job, "group");
    peek_headers(&k->rows, job);
    k->left--;
}

/* ---- queued jobs ---- */

/* Jobs that are taken between QPEEK and SHOW are left out. */
static bool show_jobs(struct peek *k, redisReply *const *jobs, size_t count) {
    for (size_t i = 0; i < count; i++)
        redis_pipe_put(&k->pipe, "SHOW %s", jobs[i]->element[1]->str);
    for (size_t i = 0; i < count; i++) {
        redisReply *job = redis_pipe_take(&k->pipe, "SHOW", "[(sa)*]?");

        if (job == NULL)
            return false;
        if (job->type == REDIS_REPLY_ARRAY)
            add_job_row(k, job);
        freeReplyObject(job);
    }
    return true;
}

static bool peek_queued(struct peek *k, const char *queue) {
    redisReply *jobs;
    bool good = true;

    redis_pipe_put(&k->pipe, "QPEEK %s %lld", queue, (long long)(k->w->last ? -k->left : k->left));
    jobs = redis_pipe_take(&k->pipe, "QPEEK", "[[sss]*]");
    if (jobs == NULL)
        return false;
    for (size_t at = 0; at < jobs->elements && good; at += SHOW_BATCH) {
        size_t count = jobs->elements - at < SHOW_BATCH ? jobs->elements - at : SHOW_BATCH;

        good = show_jobs(k, jobs->element + at, count);
    }
    freeReplyObject(jobs);
    return good;
}

/* ---- jobs in other states ---- */

static bool peek_state(struct peek *k, const char *queue) {
    char cursor[CURSOR_SIZE] = "0";

    do {
        redisReply *page;

        redis_pipe_put(&k->pipe, "JSCAN %s QUEUE %s STATE %s REPLY ALL", cursor, queue, k->w->state);
        page = redis_pipe_take(&k->pipe, "JSCAN", "[s[[(sa)*]*]]");
        if (page == NULL)
            return false;
        snprintf(cursor, sizeof cursor, "%s", page->element[0]->str);
        for (size_t i = 0; i < page->element[1]->elements && k->left > 0; i++)
            add_job_row(k, page->element[1]->element[i]);
        freeReplyObject(page);
    } while (k->left > 0 && strcmp(cursor, "0") != 0);
    return true;
}

/* ---- the run ---- */

/* A user without the right to use QSTAT gets an error reply, and an empty table. */
static bool peek_finds_queue(struct peek *k, const char *queue) {
    redisReply *stat;
    bool found;

    redis_pipe_put(&k->pipe, "QSTAT %s", queue);
    stat = redis_pipe_take_or_error(&k->pipe, "QSTAT", "[(sa)*]?");
    if (stat == NULL)
        return line_refuse_reply("peek", k->pipe.err);
    found = stat->type != REDIS_REPLY_NIL;
    freeReplyObject(stat);
    if (found)
        return true;
    return line_refuse("peek", "the queue does not exist", queue);
}

static bool peek_show(struct peek *k) {
    const char *queue = k->w->names.items[0];
    bool dead = strcmp(k->w->state, "dead") == 0, good;

    records_begin(&k->rows, dead ? peek_dead_columns : peek_columns, LENGTH(peek_columns));
    good = strcmp(k->w->state, "queued") == 0 ? peek_queued(k, queue) : peek_state(k, queue);
    if (!good)
        line_refuse_reply("peek", k->pipe.err);
    else if (k->rows.count == 0 && !peek_finds_queue(k, queue))
        good = false;
    else if (!records_print(&k->rows, &k->w->form))
        good = line_refuse("peek", "cannot write the output", "");
    records_free(&k->rows);
    return good;
}

static bool peek_read_words(const struct tool *tool, int argc, char **argv, struct peek_line_words *w) {
    if (!line_options_read(tool, argc, argv, w, &w->names))
        return false;
    if (w->names.count != 1)
        return line_refuse(tool->name, "exactly one queue must be named; see --help", "");
    if (w->last && strcmp(w->state, "queued") != 0)
        return line_refuse(tool->name, "--last is only for queued jobs", "");
    return true;
}

static int peek_line(const struct tool *tool, int argc, char **argv) {
    struct peek_line_words w = { .state = "queued", .count = DEFAULT_COUNT };
    struct peek k = { .w = &w };
    bool good = peek_read_words(tool, argc, argv, &w);

    signal(SIGPIPE, SIG_IGN);
    k.left = w.count;
    good = good && line_server_connect(tool->name, &w.server, &k.pipe) && peek_show(&k);
    redis_pipe_close(&k.pipe);
    line_list_free(&w.names);
    return good ? 0 : tool->error;
}

const struct tool tool_peek = {
    .name = "peek",
    .arguments = "[option]... queue",
    .summary = "Shows jobs of a queue without taking them.",
    .text =
        "MORE is the number of deliveries after the first one, NEXT the time until an active job is queued "
        "again, and ERROR the last error of a dead letter. Control characters of bodies and errors are "
        "escaped. The user needs QPEEK and SHOW, or with --state "
        "JSCAN; and QSTAT to see that a queue does not exist.\n\n" LINE_ADDRESS_TEXT,
    .example = "pgdisque peek --state dead mail",
    TOOL_OPTIONS(peek_options),
    .error = 1,
    TOOL_STATUSES({ 0, "the jobs are printed" },
                  { 1, "an argument is wrong, the queue does not exist, or the server refused" }),
    .run = peek_line,
};
