/* The reply to SSCAN and ZSCAN: compares members with a pattern, in several turns if needed. */
#include "commands/member_scan.h"

#include <stdio.h>
#include <string.h>

#include "base/glob.h"
#include "base/time_budget.h"
#include "net/client.h"
#include "net/long_work.h"

/* A longer member is compared in pieces of this size. */
#define PIECE_BYTES ((size_t)64 * 1024)

struct scanned_member {
    struct slice text;
    struct slice score;
};

struct member_scan {
    struct long_work work;
    struct req *req;
    struct slice pattern;
    int64_t cursor;
    struct scanned_member *members;
    size_t count;
    size_t next;          /* the members before it were compared */
    size_t found;         /* those of them that match are members[0 .. found) */
    bool is_copy;         /* the members are in the memory of the request */
    struct glob_run *run; /* compares the next member in pieces; NULL: it has not begun */
    size_t compared;      /* bytes of the next member that run has read */
};

struct member_scan *member_scan_new(struct req *r, struct slice pattern, int64_t cursor, size_t most) {
    struct member_scan *m = req_alloc(r, sizeof *m);

    *m = (struct member_scan){ .req = r, .pattern = pattern, .cursor = cursor };
    m->members = req_alloc(r, most * sizeof *m->members);
    return m;
}

void member_scan_add(struct member_scan *m, struct slice member, struct slice score) {
    m->members[m->count++] = (struct scanned_member){ member, score };
}

static void member_scan_keep(struct member_scan *m, size_t from, size_t to) {
    for (size_t i = from; i < to; i++) {
        struct slice *text = &m->members[i].text;
        char *copy = req_alloc(m->req, text->len);

        memcpy(copy, text->ptr, text->len);
        text->ptr = copy;
    }
}

/* Copies the members that are still needed, because the rows of the statement end with the first step. */
static void member_scan_copy(struct member_scan *m) {
    member_scan_keep(m, 0, m->found);
    member_scan_keep(m, m->next, m->count);
    m->is_copy = true;
}

static void member_scan_end(struct member_scan *m) {
    struct req *r = m->req;
    char cursor[24];

    if (m->run != NULL)
        (void)glob_run_end(m->run);
    snprintf(cursor, sizeof cursor, "%lld", (long long)m->cursor);
    reply_array(r, 2);
    reply_bulk_str(r, cursor);
    reply_array(r, m->found * (m->count > 0 && m->members[0].score.ptr != NULL ? 2 : 1));
    for (size_t i = 0; i < m->found; i++) {
        reply_bulk(r, m->members[i].text);
        if (m->members[i].score.ptr != NULL)
            reply_bulk(r, m->members[i].score);
    }
    req_end(r);
}

/* Compares a piece of the next member. True if the member is compared. */
static bool member_compare_piece(struct member_scan *m, bool *matches) {
    struct slice text = m->members[m->next].text, piece = { text.ptr + m->compared, text.len - m->compared };

    if (m->run == NULL)
        m->run = glob_run_begin(m->pattern, false);
    if (piece.len > PIECE_BYTES)
        piece.len = PIECE_BYTES;
    m->compared += piece.len;
    if (glob_run_read(m->run, piece) && m->compared < text.len)
        return false;
    *matches = glob_run_end(m->run);
    m->run = NULL;
    m->compared = 0;
    return true;
}

static bool member_compare(struct member_scan *m, bool *matches) {
    struct slice text = m->members[m->next].text;

    if (text.len > PIECE_BYTES && m->pattern.ptr != NULL)
        return member_compare_piece(m, matches);
    *matches = m->pattern.ptr == NULL || glob_match(m->pattern, text, false);
    return true;
}

static bool member_scan_step(struct long_work *w) {
    struct member_scan *m = CONTAINER_OF(w, struct member_scan, work);
    struct budget piece = budget_of(LONG_WORK_US);
    bool matches;

    while (m->next < m->count && !client_has_gone(m->req->client)) {
        if (budget_is_over(&piece)) {
            if (!m->is_copy)
                member_scan_copy(m);
            return true;
        }
        if (!member_compare(m, &matches))
            continue;
        if (matches)
            m->members[m->found++] = m->members[m->next];
        m->next++;
    }
    member_scan_end(m);
    return false;
}

void member_scan_reply(struct member_scan *m) {
    long_work_begin(&m->work, m->req->task.turn.user, member_scan_step);
}
