/* The tool add: adds jobs to a queue. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/line_access.h"
#include "tools/line_progress.h"
#include "tools/records.h"
#include "tools/tool.h"

/* Jobs of a pipeline. */
#define BATCH 500
#define BATCH_BYTES ((size_t)4 << 20)
/* The longest body that the tool reads from its input. */
#define BODY_MAX ((size_t)1 << 30)

struct add_line_words {
    struct line_server server;
    struct line_form form;
    int64_t delay, retry, ttl, priority, attempts; /* INT64_MIN: not given */
    char *unique, *group;
    struct line_list headers; /* name=text */
    bool lines;
    struct line_list names;
};

#define FIELD(member) offsetof(struct add_line_words, member)

static const struct line_option add_options[] = {
    { "--lines", LINE_FLAG, NULL, FIELD(lines), 0, 0, "add a job for each line of the input" },
    { "--delay", LINE_NUMBER, "seconds", FIELD(delay), 0, INT32_MAX, "deliver the job after this time" },
    { "--retry", LINE_NUMBER, "seconds", FIELD(retry), 0, INT32_MAX,
      "deliver the job again if it is not acknowledged within this time" },
    { "--ttl", LINE_NUMBER, "seconds", FIELD(ttl), 1, INT32_MAX, "delete the job after this time" },
    { "--priority", LINE_NUMBER, "number", FIELD(priority), 0, 255,
      "jobs with a higher priority are delivered first" },
    { "--attempts", LINE_NUMBER, "count", FIELD(attempts), 1, INT32_MAX,
      "make the job a dead letter after so many deliveries" },
    { "--unique", LINE_TEXT, "key", FIELD(unique), 0, 0, "add no job if one with this key exists" },
    { "--group", LINE_TEXT, "key", FIELD(group), 0, 0, "jobs with this key run one after the other" },
    { "--header", LINE_LIST, "name=text", FIELD(headers), 0, 0,
      "give the job a header, which travels with it; may be repeated" },
    LINE_FORM_OPTIONS(struct add_line_words, form),
    LINE_SERVER_OPTIONS(struct add_line_words, server),
};

static const struct record_column add_columns[] = { { "id", "ID", RECORD_TEXT } };

/* The most words of ADDJOB before the headers. */
#define FIXED_WORDS 18

struct adder {
    const struct add_line_words *w;
    struct slice *words; /* of ADDJOB; words[2] is the body of each job */
    size_t count;
    char texts[5][24]; /* of the numbers among them */
    struct redis_pipe pipe;
    struct records ids;
    struct line_progress progress;
    size_t put, put_bytes; /* in the pipeline */
    int64_t read_bytes;
};

/* ---- jobs ---- */

static void add_put_word(struct adder *a, struct slice word) {
    a->words[a->count++] = word;
}

static void add_number_word(struct adder *a, const char *name, int64_t value, char text[24]) {
    if (value == INT64_MIN)
        return;
    snprintf(text, 24, "%lld", (long long)value);
    add_put_word(a, slice_str(name));
    add_put_word(a, slice_str(text));
}

static void add_text_word(struct adder *a, const char *name, const char *value) {
    if (value == NULL)
        return;
    add_put_word(a, slice_str(name));
    add_put_word(a, slice_str(value));
}

/* The words of each ADDJOB, without its body. The headers were checked. */
static void add_make_words(struct adder *a) {
    const struct add_line_words *w = a->w;

    a->words = xcalloc(FIXED_WORDS + 3 * w->headers.count, sizeof *a->words);
    add_put_word(a, SLICE("ADDJOB"));
    add_put_word(a, slice_str(w->names.items[0]));
    add_put_word(a, (struct slice){ NULL, 0 });
    add_put_word(a, SLICE("0"));
    add_number_word(a, "DELAY", w->delay, a->texts[0]);
    add_number_word(a, "RETRY", w->retry, a->texts[1]);
    add_number_word(a, "TTL", w->ttl, a->texts[2]);
    add_number_word(a, "PRIORITY", w->priority, a->texts[3]);
    add_number_word(a, "ATTEMPTS", w->attempts, a->texts[4]);
    add_text_word(a, "UNIQUE", w->unique);
    add_text_word(a, "GROUP", w->group);
    for (size_t i = 0; i < w->headers.count; i++) {
        const char *header = w->headers.items[i], *sign = strchr(header, '=');

        add_put_word(a, SLICE("HEADER"));
        add_put_word(a, (struct slice){ header, (size_t)(sign - header) });
        add_put_word(a, slice_str(sign + 1));
    }
}

static void add_put(struct adder *a, struct slice body) {
    a->words[2] = body;
    redis_pipe_put_slices(&a->pipe, a->words, a->count);
    a->put++;
    a->put_bytes += body.len;
}

/* Takes the replies of the pipeline. */
static bool add_take(struct adder *a) {
    for (; a->put > 0; a->put--) {
        redisReply *r = redis_pipe_take(&a->pipe, "ADDJOB", "s");

        if (r == NULL)
            return false;
        records_add_text(&a->ids, (struct slice){ r->str, r->len });
        freeReplyObject(r);
    }
    a->put_bytes = 0;
    line_progress_tell(&a->progress, a->read_bytes);
    return true;
}

static bool add_full(const struct adder *a) {
    return a->put >= BATCH || a->put_bytes >= BATCH_BYTES;
}

/* ---- input ---- */

static bool add_lines(struct adder *a) {
    char *line = NULL;
    size_t room = 0;
    ssize_t len;
    bool good = true;

    while (good && !line_ended() && (len = getline(&line, &room, stdin)) >= 0) {
        a->read_bytes += len;
        if (len > 0 && line[len - 1] == '\n')
            len--;
        add_put(a, (struct slice){ line, (size_t)len });
        good = !add_full(a) || add_take(a);
    }
    free(line);
    return good && add_take(a);
}

static bool add_input(struct adder *a) {
    struct buf body = { 0 };
    bool good = true;
    size_t got;

    do {
        char *to = buf_reserve(&body, 64 * 1024);

        got = fread(to, 1, 64 * 1024, stdin);
        buf_added(&body, got);
    } while (got > 0 && buf_len(&body) <= BODY_MAX);
    if (buf_len(&body) > BODY_MAX) {
        redis_pipe_fail(&a->pipe, "the input is too large for a job");
        good = false;
    } else {
        add_put(a, (struct slice){ buf_len(&body) > 0 ? buf_ptr(&body) : "", buf_len(&body) });
        good = add_take(a);
    }
    buf_free(&body);
    return good;
}

static bool add_all(struct adder *a) {
    if (a->w->lines)
        return add_lines(a);
    if (a->w->names.count < 2)
        return add_input(a);
    add_put(a, slice_str(a->w->names.items[1]));
    return add_take(a);
}

/* ---- the run ---- */

/* The size of a file is known; that of a pipe is not. */
static void adder_begin(struct adder *a) {
    struct stat st;

    add_make_words(a);
    records_begin(&a->ids, add_columns, LENGTH(add_columns));
    line_progress_begin(&a->progress, "bytes");
    if (fstat(STDIN_FILENO, &st) == 0 && S_ISREG(st.st_mode))
        a->progress.total = st.st_size;
}

static bool add_work(struct adder *a) {
    bool good, printed;

    adder_begin(a);
    good = add_all(a);
    line_progress_clear(&a->progress);
    /* The IDs of the jobs that were added are printed in any case. */
    printed = records_print(&a->ids, &a->w->form);
    if (!good)
        line_refuse_reply("add", a->pipe.err);
    else if (!printed)
        good = line_refuse("add", "cannot write the output", "");
    else if (line_ended())
        good = line_refuse("add", "it was interrupted; the jobs that are listed were added", "");
    records_free(&a->ids);
    free(a->words);
    return good;
}

static bool add_read_words(const struct tool *tool, int argc, char **argv, struct add_line_words *w) {
    if (!line_options_read(tool, argc, argv, w, &w->names))
        return false;
    if (w->names.count == 0)
        return line_refuse(tool->name, "the queue is missing; see --help", "");
    if (w->names.count > (w->lines ? 1 : 2))
        return line_refuse(tool->name, "there are too many arguments; quote a body that has blanks",
                           w->names.items[w->names.count - 1]);
    for (size_t i = 0; i < w->headers.count; i++) {
        if (strchr(w->headers.items[i], '=') == NULL)
            return line_refuse(tool->name, "--header needs a name, an equals sign and a text",
                               w->headers.items[i]);
    }
    return true;
}

static int add_line(const struct tool *tool, int argc, char **argv) {
    struct add_line_words w = {
        .delay = INT64_MIN, .retry = INT64_MIN, .ttl = INT64_MIN, .priority = INT64_MIN, .attempts = INT64_MIN
    };
    struct adder a = { .w = &w };
    bool good = add_read_words(tool, argc, argv, &w);

    if (w.lines)
        line_signals();
    signal(SIGPIPE, SIG_IGN);
    good = good && line_server_connect(tool->name, &w.server, &a.pipe) && add_work(&a);
    redis_pipe_close(&a.pipe);
    line_list_free(&w.names);
    line_list_free(&w.headers);
    return good ? 0 : tool->error;
}

const struct tool tool_add = {
    .name = "add",
    .arguments = "[option]... queue [body]",
    .summary = "Adds jobs to a queue, and prints their IDs.",
    .text = "Without a body, the input is the body. `--` before the queue ends the options, for a body that "
            "begins with two dashes. If the connection is lost, jobs whose IDs are not printed may have been "
            "added, too. The user needs ADDJOB.\n\n" LINE_ADDRESS_TEXT,
    .example = "pgdisque add mail 'to: you' --delay 60 --header tenant=acme",
    TOOL_OPTIONS(add_options),
    .error = 1,
    TOOL_STATUSES({ 0, "the jobs are added" }, { 1, "an argument is wrong, or some jobs are not added" }),
    .run = add_line,
};
