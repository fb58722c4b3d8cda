/* The tool top: shows the busiest queues again and again. */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "tools/line_access.h"
#include "tools/queue_list.h"
#include "tools/records.h"
#include "tools/screen.h"
#include "tools/terminal_text.h"
#include "tools/tool.h"

/* A reply that takes longer counts as a lost connection. */
#define REPLY_S 5
/* The length of the first lines outside a terminal. */
#define HEAD_COLUMNS 80
/* A reading takes at most one part in so many of the time, because the figures of many queues cost the server time. */
#define READING_PARTS 10

struct top_line_words {
    struct line_server server;
    struct line_form form;
    char *sort;
    int64_t interval, limit;
    struct line_list names;
};

#define FIELD(member) offsetof(struct top_line_words, member)

static const struct line_option top_options[] = {
    { "--interval", LINE_NUMBER, "seconds", FIELD(interval), 1, 3600,
      "the time between two readings (1); longer if a reading takes more than a tenth of it" },
    { "--sort", LINE_WORD, QUEUE_LIST_ORDERS, FIELD(sort), 0, 0,
      "the order: by name, or the largest figure first (in)" },
    { "--limit", LINE_NUMBER, "count", FIELD(limit), 1, 1000000, "show at most so many queues (100)" },
    LINE_FORM_OPTIONS(struct top_line_words, form),
    LINE_SERVER_OPTIONS(struct top_line_words, server),
};

/* Figures of INFO; NAN: the server did not give it. The counters are first. */
static const struct {
    const char *field; /* of INFO */
    const char *name;  /* in JSON */
    const char *title;
    bool is_counter;
} top_figures[] = {
    { "jobs_added", "added", "added", true },
    { "jobs_delivered", "delivered", "delivered", true },
    { "jobs_acked", "acknowledged", "acknowledged", true },
    { "registered_queues", "queues", "queues", false },
    { "registered_jobs", "jobs", "jobs", false },
    { "dead_jobs", "dead", "dead", false },
    { "connected_clients", "clients", "clients", false },
    { "blocked_clients", "waiting_clients", "waiting clients", false },
    { "uptime_in_seconds", "uptime", "uptime", false },
};

struct top_reading {
    struct queue_list queues;
    double figures[LENGTH(top_figures)];
    double rates[LENGTH(top_figures)]; /* a second, of the counters */
};

struct top {
    const struct top_line_words *w;
    struct redis_pipe pipe;
    struct top_reading before, now;
    bool compared;   /* now has rates */
    int64_t took_us; /* the duration of the last reading; 0: it failed */
    char err[500];   /* the last reading failed */
};

/* ---- readings ---- */

static double info_figure(const char *text, const char *field) {
    char *line = xasprintf("\n%s:", field);
    const char *at = strstr(text, line);
    double value = at == NULL ? NAN : strtod(at + strlen(line), NULL);

    free(line);
    return value;
}

/* A user without the right to use INFO sees no figures of the server. */
static bool read_info(struct redis_pipe *p, struct top_reading *out) {
    redisReply *r;
    bool known;

    redis_pipe_put(p, "INFO");
    r = redis_pipe_take_or_error(p, "INFO", "s");
    if (r == NULL)
        return false;
    known = r->type != REDIS_REPLY_ERROR;
    for (size_t i = 0; i < LENGTH(top_figures); i++)
        out->figures[i] = known ? info_figure(r->str, top_figures[i].field) : NAN;
    freeReplyObject(r);
    return true;
}

static void compare_readings(struct top *t) {
    double seconds = (double)(t->now.queues.at_us - t->before.queues.at_us) / US_PER_S;

    queue_list_compare(&t->now.queues, &t->before.queues);
    for (size_t i = 0; i < LENGTH(top_figures); i++)
        t->now.rates[i] = fmax(0, t->now.figures[i] - t->before.figures[i]) / seconds;
    t->compared = true;
}

static void top_lost(struct top *t) {
    snprintf(t->err, sizeof t->err, "%s", t->pipe.err);
    redis_pipe_close(&t->pipe);
}

/* Reads all figures, and compares them with those of the reading before. False with a sentence in t->err. */
static bool top_read(struct top *t) {
    struct top_reading now = { 0 };
    const struct line_list *names = &t->w->names;
    bool first = t->now.queues.at_us == 0;

    if (t->pipe.c == NULL && !line_server_reconnect(&t->w->server, &t->pipe)) {
        snprintf(t->err, sizeof t->err, "the server does not answer");
        return false;
    }
    redisSetTimeout(t->pipe.c, (struct timeval){ REPLY_S, 0 });
    if (!queue_list_read(&t->pipe, names->items, names->count, t->w->sort, (size_t)t->w->limit,
                         &now.queues) ||
        !read_info(&t->pipe, &now)) {
        queue_list_free(&now.queues);
        top_lost(t);
        return false;
    }
    t->err[0] = '\0';
    queue_list_free(&t->before.queues);
    t->before = t->now;
    t->now = now;
    if (!first)
        compare_readings(t);
    queue_list_sort(&t->now.queues, t->w->sort);
    return true;
}

/* ---- output ---- */

static const struct record_column top_columns[] = {
    { "queue", "QUEUE", RECORD_TEXT },    { "len", "LEN", RECORD_NUMBER },
    { "in_rate", "IN/S", RECORD_RATE },   { "out_rate", "OUT/S", RECORD_RATE },
    { "oldest_ms", "OLDEST", RECORD_MS }, { "dead", "DEAD", RECORD_NUMBER },
    { "pause", "PAUSE", RECORD_TEXT },    { "waiting_clients", "CLIENTS", RECORD_NUMBER },
    { "idle", "IDLE", RECORD_SECONDS },
};

static bool top_has_more(const struct top *t) {
    return t->now.queues.count > (size_t)t->w->limit;
}

/* A rate is not known in the first reading, and for a queue that was not in the list before. */
static void top_add_rate(struct records *r, double rate) {
    records_add_number(r, rate < 0 ? NAN : rate);
}

static void top_rows(const struct top *t, struct records *r) {
    size_t count = top_has_more(t) ? (size_t)t->w->limit : t->now.queues.count;

    records_begin(r, top_columns, LENGTH(top_columns));
    for (size_t i = 0; i < count; i++) {
        const struct queue_figures *row = &t->now.queues.rows[i];

        records_add_text(r, row->name);
        records_add_number(r, (double)row->len);
        top_add_rate(r, row->in_rate);
        top_add_rate(r, row->out_rate);
        records_add_if_known(r, row->oldest_ms);
        records_add_number(r, (double)row->dead);
        records_add_text(r, slice_str(row->pause));
        records_add_number(r, (double)row->blocked);
        records_add_number(r, (double)row->idle_s);
    }
}

/* Lines end before they are longer than `columns`. */
static void top_head(const struct top *t, size_t columns, struct buf *out) {
    size_t used = 0;

    for (size_t i = 0; i < LENGTH(top_figures); i++) {
        struct buf figure = { 0 };

        if (isnan(t->now.figures[i]))
            continue;
        buf_printf(&figure, "%s %.0f", top_figures[i].title, t->now.figures[i]);
        if (top_figures[i].is_counter && t->compared)
            buf_printf(&figure, " (%.1f/s)", t->now.rates[i]);
        if (used > 0) {
            bool fits = used + 2 + buf_len(&figure) <= columns;

            buf_append_str(out, fits ? "  " : "\n");
            used = fits ? used + 2 : 0;
        }
        used += buf_len(&figure);
        buf_append(out, buf_ptr(&figure), buf_len(&figure));
        buf_free(&figure);
    }
    buf_append_str(out, used > 0 ? "\n" : "");
    if (top_has_more(t))
        buf_printf(out, "These are %lld of the queues, see --limit.\n", (long long)t->w->limit);
}

static void top_table(const struct top *t, size_t columns, struct buf *out) {
    struct records r;

    top_head(t, columns > 0 ? columns : HEAD_COLUMNS, out);
    if (t->err[0] != '\0') {
        buf_append_str(out, "The figures are old, and the tool tries again: ");
        terminal_append(out, slice_str(t->err), columns > 50 ? columns - 50 : 0);
        buf_append_str(out, "\n");
    }
    buf_append_str(out, "\n");
    top_rows(t, &r);
    records_table(&r, columns, SIZE_MAX, out);
    records_free(&r);
}

static void top_json(const struct top *t, struct buf *out) {
    struct records r;

    buf_append_str(out, "{\"server\": {");
    for (size_t i = 0, printed = 0; i < LENGTH(top_figures); i++) {
        if (isnan(t->now.figures[i]))
            continue;
        buf_printf(out, "%s\"%s\": %.0f", printed++ > 0 ? ", " : "", top_figures[i].name, t->now.figures[i]);
        if (top_figures[i].is_counter)
            buf_printf(out, ", \"%s_rate\": %.3f", top_figures[i].name, t->now.rates[i]);
    }
    buf_printf(out, "}, \"more_queues\": %s, \"queues\": ", top_has_more(t) ? "true" : "false");
    top_rows(t, &r);
    records_json(&r, out);
    records_free(&r);
    buf_append_str(out, "}\n");
}

/* ---- the run ---- */

/* For a pipe: one output after two readings, so that it has rates. */
static bool top_once(struct top *t) {
    struct buf out = { 0 };
    bool good = top_read(t);

    if (good) {
        usleep((useconds_t)(t->w->interval * US_PER_S));
        good = top_read(t);
    }
    if (!good)
        return line_refuse_reply("top", t->err);
    if (line_form_is_json(&t->w->form))
        top_json(t, &out);
    else
        top_table(t, 0, &out);
    good = records_write(&out) || line_refuse("top", "cannot write the output", "");
    buf_free(&out);
    return good;
}

static void top_draw(const struct top *t) {
    struct buf out = { 0 };
    size_t columns, lines;

    terminal_size(STDOUT_FILENO, &columns, &lines);
    top_table(t, columns, &out);
    screen_show(&out);
    buf_free(&out);
}

/* Reads at this time, and notes the duration. After an error the tool tries again soon. */
static bool top_read_timed(struct top *t, int64_t now) {
    bool good = top_read(t);

    t->took_us = good ? clock_mono_now() - now : 0;
    return good;
}

static int64_t top_interval_us(const struct top *t) {
    int64_t least = READING_PARTS * t->took_us, asked = t->w->interval * US_PER_S;

    return asked > least ? asked : least;
}

static bool top_screen(struct top *t) {
    int64_t read_us = clock_mono_now();
    bool ended = false;
    char key = 0;

    if (!top_read_timed(t, read_us))
        return line_refuse_reply("top", t->err);
    if (!screen_open())
        return line_refuse("top", "cannot use the terminal", "");
    while (!ended) {
        int64_t left;

        top_draw(t);
        left = read_us + top_interval_us(t) - clock_mono_now();
        switch (screen_wait(left > 0 ? (int)(left / US_PER_MS) + 1 : 0, &key)) {
        case SCREEN_TIMEOUT:
            read_us = clock_mono_now();
            (void)top_read_timed(t, read_us);
            break;
        case SCREEN_KEY:
            ended = key == 'q' || key == 'Q';
            break;
        case SCREEN_END:
            ended = true;
            break;
        case SCREEN_REDRAW:
            break;
        }
    }
    screen_close();
    return true;
}

static bool top_work(const struct top_line_words *w) {
    struct top t = { .w = w };
    bool good = line_server_connect("top", &w->server, &t.pipe);

    if (good && isatty(STDOUT_FILENO) && !w->form.json)
        good = top_screen(&t);
    else
        good = good && top_once(&t);
    queue_list_free(&t.before.queues);
    queue_list_free(&t.now.queues);
    redis_pipe_close(&t.pipe);
    return good;
}

static int top_line(const struct tool *tool, int argc, char **argv) {
    struct top_line_words w = { .sort = "in", .interval = 1, .limit = 100 };
    bool good = line_options_read(tool, argc, argv, &w, &w.names);

    signal(SIGPIPE, SIG_IGN);
    good = good && top_work(&w);
    line_list_free(&w.names);
    return good ? 0 : tool->error;
}

const struct tool tool_top = {
    .name = "top",
    .arguments = "[option]... [pattern]...",
    .summary = "Shows the busiest queues, and refreshes them until q is pressed.",
    .text =
        "A pattern as in KEYS selects queues. IN/S and OUT/S are the jobs that enter the queue and the "
        "deliveries a second, OLDEST the time since the oldest queued job became due, and CLIENTS the "
        "clients that wait in GETJOB. If the output is no terminal, the tool prints one snapshot after two "
        "readings, and ends. The user needs QSCAN and QSTAT, and for the first lines "
        "INFO.\n\n" LINE_ADDRESS_TEXT,
    .example = "pgdisque top --sort len",
    TOOL_OPTIONS(top_options),
    .error = 1,
    TOOL_STATUSES({ 0, "the tool was ended by q or a signal, or the snapshot is printed" },
                  { 1, "an argument is wrong, or the server refused" }),
    .run = top_line,
};
