/* Transcript files: from lines to cases and steps. */
#include "transcript.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "process.h"

static const struct {
    const char *word;
    enum step_kind kind;
} steps[] = {
#define X(id, word) { word, id },
    STEPS(X)
#undef X
};

static struct test_case *add_case(struct transcript *t, const char *title, int line) {
    struct test_case *c;

    t->cases = realloc(t->cases, (t->count + 1) * sizeof(*t->cases));
    c = &t->cases[t->count++];
    memset(c, 0, sizeof(*c));
    c->title = strdup(title);
    c->line = line;
    return c;
}

static struct step *add_step(struct test_case *c) {
    c->steps = realloc(c->steps, (c->count + 1) * sizeof(*c->steps));
    memset(&c->steps[c->count], 0, sizeof(*c->steps));
    return &c->steps[c->count++];
}

/* "server --name value ...": words without quotes. */
static void add_options(struct transcript *t, char *text) {
    char *save = NULL;

    for (char *word = strtok_r(text, " \t", &save); word; word = strtok_r(NULL, " \t", &save)) {
        if (t->option_count == (int)(sizeof(t->options) / sizeof(t->options[0])) - 1)
            die("%s: too many server options", t->path);
        t->options[t->option_count++] = strdup(word);
    }
}

/* "[name]" in front of a step's word. */
static const char *read_conn(const char *text, char conn[16]) {
    const char *end = *text == '[' ? strchr(text, ']') : NULL;

    strcpy(conn, "main");
    if (!end || end - text > 15)
        return text;
    snprintf(conn, 16, "%.*s", (int)(end - text - 1), text + 1);
    return end + 1;
}

static void read_step(struct transcript *t, const char *text, int line) {
    struct step *s;
    char conn[16];
    size_t len;

    if (!t->count)
        die("%s:%d: a step before the first case", t->path, line);
    text = read_conn(text, conn);
    len = strcspn(text, " \t");
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
        if (strlen(steps[i].word) == len && strncmp(text, steps[i].word, len) == 0) {
            s = add_step(&t->cases[t->count - 1]);
            s->kind = steps[i].kind;
            s->line = line;
            strcpy(s->conn, conn);
            s->text = strdup(text + len + strspn(text + len, " \t"));
            return;
        }
    die("%s:%d: no such step: %s", t->path, line, text);
}

/* A line that begins with a blank goes on the step before it. */
static void continue_step(struct transcript *t, const char *text, int line) {
    struct test_case *c = t->count ? &t->cases[t->count - 1] : NULL;
    struct step *s = c && c->count ? &c->steps[c->count - 1] : NULL;
    char *longer;

    if (!s || asprintf(&longer, "%s %s", s->text, text) < 0)
        die("%s:%d: nothing to continue", t->path, line);
    free(s->text);
    s->text = longer;
}

static void read_line(struct transcript *t, char *text, int line) {
    size_t len = strlen(text);

    while (len && (text[len - 1] == '\n' || text[len - 1] == '\r'))
        text[--len] = '\0';
    if (text[0] == '#' || text[strspn(text, " \t")] == '\0')
        return;
    if (strncmp(text, "== ", 3) == 0)
        add_case(t, text + 3, line);
    else if (strncmp(text, "server ", 7) == 0 && !t->count)
        add_options(t, text + 7);
    else if (isspace((unsigned char)text[0]))
        continue_step(t, text + strspn(text, " \t"), line);
    else
        read_step(t, text, line);
}

void transcript_load(struct transcript *t, const char *path) {
    const char *base = strrchr(path, '/');
    FILE *f = fopen(path, "r");
    char *text = NULL;
    size_t cap = 0;

    if (!f)
        die("%s: %s", path, strerror(errno));
    memset(t, 0, sizeof(*t));
    t->path = path;
    base = base ? base + 1 : path;
    snprintf(t->name, sizeof(t->name), "%.*s", (int)strcspn(base, "."), base);
    for (int line = 1; getline(&text, &cap, f) >= 0; line++)
        read_line(t, text, line);
    free(text);
    fclose(f);
}

void transcript_free(struct transcript *t) {
    for (size_t i = 0; i < t->count; i++) {
        for (size_t j = 0; j < t->cases[i].count; j++)
            free(t->cases[i].steps[j].text);
        free(t->cases[i].steps);
        free(t->cases[i].title);
    }
    for (int i = 0; i < t->option_count; i++)
        free(t->options[i]);
    free(t->cases);
}
