/* The subcommand doctor. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <event2/event.h>

#include "admin/doctor.h"
#include "base/log.h"
#include "config/config.h"
#include "pg/conninfo_hosts.h"
#include "pg/embedded/postmaster.h"
#include "tools/line_access.h"
#include "tools/own_postgres.h"
#include "tools/records.h"
#include "tools/tool.h"

struct doctor_line_words {
    bool lines;
    struct line_server server;
    struct line_form form;
};

static const struct line_option doctor_options[] = {
    { "--lines", LINE_FLAG, NULL, offsetof(struct doctor_line_words, lines), 0, 0,
      "print a line for each finding: severity, check, text, with tabs between them" },
    LINE_SERVER_INSTEAD(struct doctor_line_words, server),
    LINE_FORM_OPTIONS(struct doctor_line_words, form),
};

static const struct record_column finding_columns[] = {
    { "severity", "SEVERITY", RECORD_TEXT },
    { "check", "CHECK", RECORD_TEXT },
    { "finding", "FINDING", RECORD_TEXT },
    { "advice", "ADVICE", RECORD_TEXT },
};

/* ---- the run ---- */

static void on_doctor_line_end(void *arg) {
    event_base_loopbreak(arg);
}

static void add_finding_row(const struct finding *one, void *arg) {
    struct records *r = arg;

    records_add_text(r, slice_str(severity_name(one->severity)));
    records_add_text(r, slice_str(one->check));
    records_add_text(r, slice_str(one->text));
    records_add_text(r, slice_str(one->advice));
}

static void findings_json(const struct findings *f, struct buf *out) {
    struct records r;

    records_begin(&r, finding_columns, LENGTH(finding_columns));
    findings_each(f, add_finding_row, &r);
    records_json(&r, out);
    records_free(&r);
}

/* People read paragraphs, because findings are too long for a table. */
static int doctor_line_tell(const struct findings *f, const struct doctor_line_words *w) {
    struct buf text = { 0 };

    if (w->lines)
        findings_lines(f, &text);
    else if (line_form_is_json(&w->form))
        findings_json(f, &text);
    else
        findings_text(f, &text);
    if (!records_write(&text))
        line_refuse("doctor", "cannot write the output", "");
    buf_free(&text);
    if (findings_of(f, SEVERITY_ERROR) > 0)
        return 2;
    return findings_of(f, SEVERITY_WARNING) > 0;
}

static int doctor_line_look(struct event_base *base, const struct doctor_line_words *w) {
    char *conninfo = own_postgres_database("doctor", base, false);
    struct doctor doctor = { 0 };
    int status;

    if (conninfo == NULL)
        return 2;
    hosts_init(conninfo);
    free(conninfo);
    doctor_init(base);
    doctor_start(&doctor, 0, on_doctor_line_end, base);
    event_base_dispatch(base);
    status = doctor_line_tell(&doctor.findings, w);
    doctor_stop(&doctor);
    postmaster_stop();
    return status;
}

/* ---- the findings of a server ---- */

/* The fields of a line of DOCTOR LINES; false for another line. The line is changed. */
static bool read_finding(char *line, struct findings *f) {
    const char *severity = strsep(&line, "\t"), *check = strsep(&line, "\t");
    const char *text = strsep(&line, "\t"), *advice = strsep(&line, "\t");
    enum severity value;

    if (advice == NULL || !severity_read(severity, &value))
        return false;
    findings_add(f, value, check, text, advice);
    return true;
}

static bool read_findings(char *lines, struct findings *f) {
    for (char *line; (line = strsep(&lines, "\n")) != NULL;) {
        if (*line != '\0' && !read_finding(line, f))
            return false;
    }
    return true;
}

static int doctor_line_of_server(const struct doctor_line_words *w) {
    struct redis_pipe p = { .c = NULL };
    struct findings f = { 0 };
    redisReply *reply;
    int status = 2;

    if (!line_server_connect("doctor", &w->server, &p))
        return 2;
    redis_pipe_put(&p, "DOCTOR LINES");
    reply = redis_pipe_take(&p, "DOCTOR", "s");
    if (reply != NULL && read_findings(reply->str, &f))
        status = doctor_line_tell(&f, w);
    else
        line_refuse_reply("doctor", reply == NULL ? p.err : "unexpected reply to DOCTOR");
    findings_free(&f);
    if (reply != NULL)
        freeReplyObject(reply);
    redis_pipe_close(&p);
    return status;
}

static int doctor_line(const struct tool *tool, int argc, char **argv) {
    struct doctor_line_words w = { 0 };
    struct event_base *base;
    int status = line_config_read(tool, argc, argv, &w, 0, NULL);

    if (status != LINE_RUNS)
        return status;
    if (!line_server_fits("doctor", &w.server))
        return tool->error;
    signal(SIGPIPE, SIG_IGN);
    if (line_server_is_named(&w.server))
        return doctor_line_of_server(&w);
    log_set_level(LOG_WARNING_);
    base = event_base_new();
    status = doctor_line_look(base, &w);
    event_base_free(base);
    return status;
}

const struct tool tool_doctor = {
    .name = "doctor",
    .arguments = "[--lines|--json|--table] [--server address | conf-file] [--option value]...",
    .summary = "Lists problems of the database and their remedies.",
    .text =
        "The server may run or not. If the embedded Postgres does not run, the tool starts it and ends it "
        "again.\n\nWith --server, a running server makes the checks, those of itself included. "
        "PGDISQUE_SERVER counts as "
        "--server if there is neither a conf-file nor an option of the server.\n\n" LINE_ADDRESS_TEXT,
    .example = "pgdisque doctor pgdisque.conf",
    TOOL_OPTIONS(doctor_options),
    .has_config = true,
    .error = 2,
    TOOL_STATUSES({ 0, "there is no finding" }, { 1, "there are warnings" },
                  { 2, "there are errors, or the check failed" }),
    .run = doctor_line,
};
