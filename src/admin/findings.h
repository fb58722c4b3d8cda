#ifndef FINDINGS_H
#define FINDINGS_H

#include <stdbool.h>
#include <stddef.h>
#include "base/buf.h"
#include "base/util.h"

/* The findings of the doctor, and their output for people and for programs. */
#define SEVERITIES(X)                                                \
    X(SEVERITY_NOTE, "note")       /* worth knowing */               \
    X(SEVERITY_WARNING, "warning") /* causes trouble now or later */ \
    X(SEVERITY_ERROR, "error")     /* breaks a promise, or stops all work */

enum severity {
#define X(id, name) id,
    SEVERITIES(X)
#undef X
        SEVERITY_COUNT
};

struct finding {
    enum severity severity;
    const char *check;
    char *text;   /* the problem, with its figure */
    char *advice; /* the remedy */
};

/* All zero is valid and empty. */
struct findings {
    struct finding *list;
    size_t count;
    size_t checks; /* number of checks made; 0: unknown */
};

/* Copies text and advice, with control characters replaced by blanks. Keeps the pointer check, which must
 * stay valid. */
void findings_add(struct findings *f, enum severity severity, const char *check, const char *text,
                  const char *advice);
void findings_addf(struct findings *f, enum severity severity, const char *check, const char *advice,
                   const char *fmt, ...) PRINTF_LIKE(5, 6);
bool severity_read(const char *name, enum severity *out) MUST_CHECK;
size_t findings_of(const struct findings *f, enum severity severity);

const char *severity_name(enum severity severity);
/* Calls tell for each finding, the most severe first. */
void findings_each(const struct findings *f, void (*tell)(const struct finding *, void *arg), void *arg);
/* A paragraph for each finding, the most severe first, and a summary. */
void findings_text(const struct findings *f, struct buf *out);
/* A line for each finding: severity, check, text and advice, separated by tabs. */
void findings_lines(const struct findings *f, struct buf *out);
void findings_free(struct findings *f);

#endif
