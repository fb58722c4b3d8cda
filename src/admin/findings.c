/* The findings of the doctor, as paragraphs and as lines. */
#include "admin/findings.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const severity_names[] = {
#define X(id, name) [id] = name,
    SEVERITIES(X)
#undef X
};

static char *plain(const char *text) {
    char *copy = xstrdup(text);

    for (char *c = copy; *c != '\0'; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            *c = ' ';
    return copy;
}

void findings_add(struct findings *f, enum severity severity, const char *check, const char *text,
                  const char *advice) {
    f->list = xrealloc(f->list, (f->count + 1) * sizeof *f->list);
    f->list[f->count++] = (struct finding){ severity, check, plain(text), plain(advice) };
}

void findings_addf(struct findings *f, enum severity severity, const char *check, const char *advice,
                   const char *fmt, ...) {
    char text[600];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    findings_add(f, severity, check, text, advice);
}

bool severity_read(const char *name, enum severity *out) {
    for (int i = 0; i < SEVERITY_COUNT; i++) {
        *out = (enum severity)i;
        if (strcmp(name, severity_names[i]) == 0)
            return true;
    }
    return false;
}

const char *severity_name(enum severity severity) {
    return severity_names[severity];
}

size_t findings_of(const struct findings *f, enum severity severity) {
    size_t count = 0;

    for (size_t i = 0; i < f->count; i++)
        count += f->list[i].severity == severity;
    return count;
}

/* ---- output ---- */

static void paragraph(const struct finding *one, void *arg) {
    struct buf *out = arg;

    buf_printf(out, "%s (%s): %s\n    What to do: %s\n\n", severity_names[one->severity], one->check,
               one->text, one->advice);
}

static void line(const struct finding *one, void *arg) {
    struct buf *out = arg;

    buf_printf(out, "%s\t%s\t%s\t%s\n", severity_names[one->severity], one->check, one->text, one->advice);
}

void findings_each(const struct findings *f, void (*tell)(const struct finding *, void *arg), void *arg) {
    for (int severity = SEVERITY_COUNT - 1; severity >= 0; severity--)
        for (size_t i = 0; i < f->count; i++)
            if (f->list[i].severity == (enum severity)severity)
                tell(&f->list[i], arg);
}

void findings_text(const struct findings *f, struct buf *out) {
    size_t errors = findings_of(f, SEVERITY_ERROR), warnings = findings_of(f, SEVERITY_WARNING);
    size_t notes = findings_of(f, SEVERITY_NOTE);

    findings_each(f, paragraph, out);
    if (errors + warnings == 0)
        buf_append_str(out, "All is well");
    else
        buf_printf(out, "%zu error%s, %zu warning%s", errors, errors == 1 ? "" : "s", warnings,
                   warnings == 1 ? "" : "s");
    if (notes > 0)
        buf_printf(out, ", %zu note%s", notes, notes == 1 ? "" : "s");
    if (f->checks > 0)
        buf_printf(out, "; %zu checks were made", f->checks);
    buf_append_str(out, ".\n");
}

void findings_lines(const struct findings *f, struct buf *out) {
    findings_each(f, line, out);
}

void findings_free(struct findings *f) {
    for (size_t i = 0; i < f->count; i++) {
        free(f->list[i].text);
        free(f->list[i].advice);
    }
    free(f->list);
    *f = (struct findings){ 0 };
}
