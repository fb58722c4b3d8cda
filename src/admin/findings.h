#ifndef FINDINGS_H
#define FINDINGS_H

#include <stdbool.h>
#include <stddef.h>
#include "base/buf.h"
#include "base/util.h"

/* What the doctor has found, and how it is told: to people, and to programs. */
#define SEVERITIES(X)                                               \
    X(SEVERITY_NOTE, "note")       /* worth knowing */              \
    X(SEVERITY_WARNING, "warning") /* will hurt, or does already */ \
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
    char *text;   /* what is wrong, with the figure */
    char *advice; /* what to do */
};

/* All zero is valid and empty. */
struct findings {
    struct finding *list;
    size_t count;
    size_t checks; /* how many were made */
};

/* Copies text and advice, without what could be taken for structure; check must stay. */
void findings_add(struct findings *f, enum severity severity, const char *check, const char *text,
                  const char *advice);
void findings_addf(struct findings *f, enum severity severity, const char *check, const char *advice,
                   const char *fmt, ...) PRINTF_LIKE(5, 6);
bool severity_read(const char *name, enum severity *out) MUST_CHECK;
size_t findings_of(const struct findings *f, enum severity severity);

/* A paragraph each, the worst first, and a last one that sums up. */
void findings_text(const struct findings *f, struct buf *out);
/* A line each: severity, check, text and advice, with tabs between. */
void findings_lines(const struct findings *f, struct buf *out);
void findings_free(struct findings *f);

#endif
