/* Plays the steps of a case on connections to the server. */
#include "play.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pattern.h"
#include "process.h"
#include "vars.h"
#include "wait.h"
#include "wire.h"

#define MAX_CONNS 16
#define MAX_WORDS 2100
#define REPLY_MS 8000

struct conn {
    char name[16];
    struct wire wire;
};

/* A case that is being played. */
struct play {
    const struct stage *stage;
    struct conn conns[MAX_CONNS];
    int conn_count;
    struct vars vars;
    struct value *last; /* the last reply */
    int64_t mark;
    char *err;
    size_t err_size;
};

static bool failed(struct play *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static bool failed(struct play *p, const char *fmt, ...) {
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(p->err, p->err_size, fmt, ap);
    va_end(ap);
    return false;
}

/* A connection is opened when it is named for the first time, or again. */
static struct wire *conn(struct play *p, const char *name) {
    struct conn *c = NULL;

    for (int i = 0; i < p->conn_count && !c; i++)
        if (strcmp(p->conns[i].name, name) == 0)
            c = &p->conns[i];
    if (!c) {
        if (p->conn_count == MAX_CONNS)
            die("too many connections in one case");
        c = &p->conns[p->conn_count++];
        strcpy(c->name, name);
        c->wire.fd = -1;
    }
    if (c->wire.fd < 0)
        wire_open(&c->wire, p->stage->host, p->stage->port);
    return &c->wire;
}

/* "..."*n: the text n times over. */
static void repeat(const char **at, struct text *t) {
    char *end, *bytes;
    size_t n;

    if (**at != '*')
        return;
    n = strtoul(*at + 1, &end, 10);
    bytes = malloc(t->len * n + 1);
    for (size_t i = 0; i < n; i++)
        memcpy(bytes + i * t->len, t->ptr, t->len);
    bytes[t->len * n] = '\0';
    free(t->ptr);
    t->ptr = bytes;
    t->len *= n;
    *at = end;
}

/* The next word of a step at *at; false at the end or on an error. */
static bool read_word(struct play *p, const char **at, struct text *word) {
    struct text raw;
    bool ok;

    *at += strspn(*at, " \t");
    if (!**at)
        return false;
    if (**at == '"') {
        if (!read_quoted(at, &raw))
            return failed(p, "quotes do not end");
    } else {
        size_t len = strcspn(*at, " \t");

        raw.ptr = strndup(*at, len);
        raw.len = len;
        *at += len;
    }
    ok = vars_expand(&p->vars, raw.ptr, raw.len, word, p->err, p->err_size);
    free(raw.ptr);
    if (ok)
        repeat(at, word);
    return ok;
}

static bool send_words(struct play *p, const char *conn_name, const char *text) {
    static const char *argv[MAX_WORDS];
    static size_t lens[MAX_WORDS];
    struct text word;
    int argc = 0;
    bool sent;

    p->err[0] = '\0';
    while (argc < MAX_WORDS && read_word(p, &text, &word)) {
        argv[argc] = word.ptr;
        lens[argc++] = word.len;
    }
    sent = !p->err[0] && wire_command(conn(p, conn_name), argc, argv, lens);
    for (int i = 0; i < argc; i++)
        free((char *)argv[i]);
    return sent || p->err[0] == '\0' || failed(p, "%s", p->err);
}

static bool take_reply(struct play *p, const char *conn_name) {
    value_free(p->last);
    p->last = wire_reply(conn(p, conn_name), REPLY_MS);
    return p->last != NULL;
}

static bool fits(struct play *p, const char *text) {
    struct pattern *pattern = pattern_parse(text, &p->vars, p->err, p->err_size);
    bool ok;

    if (!pattern)
        return false;
    ok = p->last && pattern_match(pattern, p->last, &p->vars);
    if (!ok) {
        char *got = value_text(p->last);

        failed(p, "got %.600s\n#   want %.300s", got, text);
        free(got);
    }
    pattern_free(pattern);
    return ok;
}

static bool step_reply(struct play *p, const struct step *s) {
    take_reply(p, s->conn);
    return fits(p, s->text);
}

static bool step_raw_send(struct play *p, const struct step *s) {
    const char *at = s->text;
    struct text bytes;

    p->err[0] = '\0';
    while (read_word(p, &at, &bytes)) {
        wire_send(conn(p, s->conn), bytes.ptr, bytes.len);
        free(bytes.ptr);
    }
    return !p->err[0];
}

static bool step_raw_reply(struct play *p, const struct step *s) {
    const char *at = s->text;
    struct wire *w = conn(p, s->conn);
    struct text want;
    size_t have;
    bool ok;

    if (!read_word(p, &at, &want))
        return false;
    wire_wait_bytes(w, want.len, REPLY_MS);
    have = w->end - w->start;
    ok = have >= want.len && memcmp(w->data + w->start, want.ptr, want.len) == 0;
    if (ok)
        w->start += want.len;
    else
        failed(p, "got %.*s", (int)(have > 500 ? 500 : have), have ? w->data + w->start : "");
    free(want.ptr);
    return ok;
}

static bool step_closed(struct play *p, const struct step *s) {
    struct wire *w = conn(p, s->conn);

    if (!wire_wait_eof(w, REPLY_MS))
        return failed(p, w->eof ? "closed, but something came before" : "still open");
    wire_close(w);
    return true;
}

static bool step_silent(struct play *p, const struct step *s) {
    struct wire *w = conn(p, s->conn);

    if (wire_pending(w) > 0)
        return failed(p, "something came: %.*s", (int)(w->end - w->start), w->data + w->start);
    return !w->eof || failed(p, "the connection is closed");
}

/* The patterns that follow an "until" or "holds" belong to it. */
static bool next_fits(struct play *p, const struct step *s, const struct step *end) {
    for (s++; s < end && (s->kind == STEP_REPLY || s->kind == STEP_SAME); s++) {
        if (s->kind == STEP_REPLY && !take_reply(p, s->conn))
            return failed(p, "no reply");
        if (!fits(p, s->text))
            return false;
    }
    return true;
}

static bool ask_and_fit(struct play *p, const struct step *s, const char *words, const struct step *end) {
    return send_words(p, s->conn, words) && next_fits(p, s, end);
}

static bool step_until(struct play *p, const struct step *s, const struct step *end) {
    return WAIT_UNTIL(ask_and_fit(p, s, s->text, end), REPLY_MS);
}

static bool step_holds(struct play *p, const struct step *s, const struct step *end) {
    char *words;
    int64_t until = now_ms() + strtol(s->text, &words, 10);

    while (now_ms() < until) {
        if (!ask_and_fit(p, s, words, end))
            return false;
        pause_briefly();
    }
    return true;
}

static bool blocked_is(struct play *p, const char *count) {
    char *pattern;
    bool ok;

    if (asprintf(&pattern, "/^blocked_clients:%s[^0-9]/", count) < 0)
        die("out of memory");
    ok = send_words(p, "watch", "INFO clients") && take_reply(p, "watch") && fits(p, pattern);
    free(pattern);
    return ok;
}

static bool step_elapsed(struct play *p, const struct step *s) {
    long low = 0, high = 0;
    int64_t ms = now_ms() - p->mark;

    if (sscanf(s->text, "%ld..%ld", &low, &high) != 2)
        return failed(p, "elapsed low..high");
    if (ms >= low && ms <= patience(high))
        return true;
    return failed(p, "%ld ms have gone by", (long)ms);
}

static void close_all(struct play *p) {
    for (int i = 0; i < p->conn_count; i++)
        if (p->conns[i].wire.fd >= 0)
            wire_close(&p->conns[i].wire);
}

static bool own_server_step(struct play *p, const struct step *s) {
    struct server *own = p->stage->own;
    int status = -1;

    if (!own)
        return failed(p, "needs a server of its own: a \"server\" line before the first case");
    if (s->kind == STEP_ENDED) {
        if (!WAIT_UNTIL(has_ended(own->pid, &status), REPLY_MS) || status != 0)
            return failed(p, "status of the server: %d", status);
    } else {
        close_all(p);
        if (server_stop(own) != 0)
            return failed(p, "the server did not stop cleanly");
    }
    own->pid = 0;
    server_resume(own);
    return true;
}

static bool play_step(struct play *p, const struct step *s, const struct step *end) {
    switch (s->kind) {
    case STEP_SEND:
        return send_words(p, s->conn, s->text);
    case STEP_REPLY:
        return step_reply(p, s);
    case STEP_SAME:
        return fits(p, s->text);
    case STEP_RAW_SEND:
        return step_raw_send(p, s);
    case STEP_RAW_REPLY:
        return step_raw_reply(p, s);
    case STEP_CLOSED:
        return step_closed(p, s);
    case STEP_CLOSE:
        wire_close(conn(p, s->conn));
        return true;
    case STEP_SILENT:
        return step_silent(p, s);
    case STEP_UNTIL:
        return step_until(p, s, end);
    case STEP_HOLDS:
        return step_holds(p, s, end);
    case STEP_BLOCKED:
        return WAIT_UNTIL(blocked_is(p, s->text), REPLY_MS);
    case STEP_MARK:
        p->mark = now_ms();
        return true;
    case STEP_ELAPSED:
        return step_elapsed(p, s);
    default:
        return own_server_step(p, s);
    }
}

static bool nothing_left(struct play *p) {
    for (int i = 0; i < p->conn_count; i++) {
        struct wire *w = &p->conns[i].wire;

        if (w->fd >= 0 && wire_pending(w) > 0)
            return failed(p, "[%s] has an unread reply: %.*s", p->conns[i].name,
                          (int)(w->end - w->start > 300 ? 300 : w->end - w->start), w->data + w->start);
    }
    return true;
}

static bool play_steps(struct play *p, const struct test_case *c, const struct step **at) {
    const struct step *end = c->steps + c->count;

    for (*at = c->steps; *at < end; (*at)++) {
        const struct step *s = *at;

        if (!play_step(p, s, end))
            return false;
        if (s->kind == STEP_UNTIL || s->kind == STEP_HOLDS)
            while (*at + 1 < end && ((*at)[1].kind == STEP_REPLY || (*at)[1].kind == STEP_SAME))
                (*at)++;
    }
    return true;
}

/* The server has executed all commands of the case before, whose clients have closed their connections. */
static bool is_alone(struct play *p) {
    return send_words(p, "main", "INFO clients") && take_reply(p, "main") &&
           fits(p, "/^connected_clients:1[^0-9]/");
}

static bool start_empty(struct play *p) {
    if (p->stage->own != NULL && !WAIT_UNTIL(is_alone(p), REPLY_MS))
        return failed(p, "clients of the case before are still connected");
    return send_words(p, "main", "DEBUG FLUSHALL") && take_reply(p, "main") && fits(p, "+OK");
}

bool play_case(const struct stage *stage, const struct test_case *c, char *err, size_t size) {
    char why[1200] = "";
    struct play p = { .stage = stage, .err = why, .err_size = sizeof(why) };
    const struct step *at = NULL;
    bool ok = start_empty(&p) && play_steps(&p, c, &at) && nothing_left(&p);

    if (!ok)
        snprintf(err, size, "line %d: %s", at && at < c->steps + c->count ? at->line : c->line, why);
    close_all(&p);
    vars_clear(&p.vars);
    value_free(p.last);
    return ok;
}
