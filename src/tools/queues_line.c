/* The tool queues: lists the queues of a server. */
#include <signal.h>
#include <stdio.h>

#include "tools/line_access.h"
#include "tools/queue_list.h"
#include "tools/records.h"
#include "tools/tool.h"

struct queues_line_words {
    struct line_server server;
    struct line_form form;
    char *sort;
    int64_t limit;
    struct line_list names;
};

#define FIELD(member) offsetof(struct queues_line_words, member)

static const struct line_option queues_options[] = {
    { "--sort", LINE_WORD, QUEUE_LIST_ORDERS, FIELD(sort), 0, 0,
      "the order: by name, or the largest figure first (name)" },
    { "--limit", LINE_NUMBER, "count", FIELD(limit), 1, 100000000,
      "print the first queues in this order (all)" },
    LINE_FORM_OPTIONS(struct queues_line_words, form),
    LINE_SERVER_OPTIONS(struct queues_line_words, server),
};

static const struct record_column queues_columns[] = {
    { "queue", "QUEUE", RECORD_TEXT },
    { "len", "LEN", RECORD_NUMBER },
    { "active", "ACTIVE", RECORD_NUMBER },
    { "delayed", "DELAYED", RECORD_NUMBER },
    { "dead", "DEAD", RECORD_NUMBER },
    { "oldest_ms", "OLDEST", RECORD_MS },
    { "latency_p99_ms", "P99", RECORD_MS },
    { "pause", "PAUSE", RECORD_TEXT },
    { "waiting_clients", "CLIENTS", RECORD_NUMBER },
    { "jobs_in", "IN", RECORD_NUMBER },
    { "jobs_out", "OUT", RECORD_NUMBER },
    { "idle", "IDLE", RECORD_SECONDS },
    { "age", "AGE", RECORD_SECONDS },
    { "waiting_jobs", NULL, RECORD_NUMBER },
};

static bool queues_print(const struct queue_list *list, size_t most, const struct line_form *form) {
    struct records r;
    bool good;

    records_begin(&r, queues_columns, LENGTH(queues_columns));
    for (size_t i = 0; i < list->count && i < most; i++) {
        const struct queue_figures *row = &list->rows[i];

        records_add_text(&r, row->name);
        records_add_number(&r, (double)row->len);
        records_add_number(&r, (double)row->active);
        records_add_number(&r, (double)row->delayed);
        records_add_number(&r, (double)row->dead);
        records_add_if_known(&r, row->oldest_ms);
        records_add_if_known(&r, row->latency_p99_ms);
        records_add_text(&r, slice_str(row->pause));
        records_add_number(&r, (double)row->blocked);
        records_add_number(&r, (double)row->jobs_in);
        records_add_number(&r, (double)row->jobs_out);
        records_add_number(&r, (double)row->idle_s);
        records_add_number(&r, (double)row->age_s);
        records_add_number(&r, (double)row->waiting);
    }
    good = records_print(&r, form);
    records_free(&r);
    return good || line_refuse("queues", "cannot write the output", "");
}

static bool queues_show(struct redis_pipe *p, const struct queues_line_words *w) {
    size_t most = (size_t)w->limit;
    struct queue_list list;
    bool good = queue_list_read(p, w->names.items, w->names.count, w->sort, most, &list);

    if (!good)
        line_refuse_reply("queues", p->err);
    queue_list_sort(&list, w->sort);
    good = good && queues_print(&list, most, &w->form);
    if (good && list.count == 0 && w->names.count > 0)
        line_refuse("queues", "no queue matches", w->names.count == 1 ? w->names.items[0] : "");
    if (good && list.count > most)
        fputs("There are more queues, see --limit.\n", stderr);
    queue_list_free(&list);
    return good;
}

static int queues_line(const struct tool *tool, int argc, char **argv) {
    struct queues_line_words w = { .sort = "name", .limit = 100000000 };
    struct redis_pipe p = { .c = NULL };
    bool good = line_options_read(tool, argc, argv, &w, &w.names);

    signal(SIGPIPE, SIG_IGN);
    good = good && line_server_connect(tool->name, &w.server, &p) && queues_show(&p, &w);
    redis_pipe_close(&p);
    line_list_free(&w.names);
    return good ? 0 : tool->error;
}

const struct tool tool_queues = {
    .name = "queues",
    .arguments = "[option]... [pattern]...",
    .summary = "Lists the queues with their figures.",
    .text =
        "A pattern as in KEYS selects queues. LEN, ACTIVE, DELAYED and DEAD are the jobs in these states, "
        "and "
        "LEN those that are queued. OLDEST is the time since the oldest queued job became due. 99 of 100 "
        "jobs "
        "of the last minute were delivered within P99 at this server. CLIENTS is the number of clients that "
        "wait in GETJOB, IN and OUT the jobs that entered the queue and the deliveries. IDLE is the time "
        "since "
        "the last job came or went, and AGE that since the queue was created.\n\n"
        "The user needs QSCAN and QSTAT, and sees the queues that he may read.\n\n" LINE_ADDRESS_TEXT,
    .example = "pgdisque queues --sort len 'mail*'",
    TOOL_OPTIONS(queues_options),
    .error = 1,
    TOOL_STATUSES({ 0, "the queues are printed" }, { 1, "an argument is wrong, or the server refused" }),
    .run = queues_line,
};
