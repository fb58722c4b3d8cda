/* Workers: the names of clients that take jobs, kept as long as a lease needs them. */
#include "net/worker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct worker {
    size_t refs; /* references of the client and of each lease */
    bool gone;
    bool own_name; /* the name was set by CLIENT SETNAME */
    char name[];
};

static bool some_have_gone;

static void make_name(const struct client *c, char out[WORKER_NAME_MAX + 1]) {
    if (c->name != NULL)
        snprintf(out, WORKER_NAME_MAX + 1, "%s", c->name);
    else
        snprintf(out, WORKER_NAME_MAX + 1, "%llu@%s", (unsigned long long)c->id, c->addr);
    /* The path of a socket may have any bytes. */
    for (char *p = out; *p != '\0'; p++)
        if (*p < ' ' || *p > '~')
            *p = '?';
}

/* True if w has the current name of c. A name over the limit is always cut in the same way. */
static bool is_still(const struct worker *w, const struct client *c) {
    if (c->name == NULL)
        return !w->own_name;
    return w->own_name && strncmp(w->name, c->name, WORKER_NAME_MAX) == 0;
}

struct worker *worker_of(struct client *c) {
    char name[WORKER_NAME_MAX + 1];
    size_t size;

    if (c->worker != NULL && is_still(c->worker, c))
        return c->worker;
    if (c->worker != NULL)
        worker_unref(c->worker);
    make_name(c, name);
    size = strlen(name) + 1;
    c->worker = xcalloc(1, sizeof *c->worker + size);
    c->worker->refs = 1;
    c->worker->own_name = c->name != NULL;
    memcpy(c->worker->name, name, size);
    return c->worker;
}

void worker_leave(struct client *c) {
    struct worker *w = c->worker;

    if (w == NULL)
        return;
    c->worker = NULL;
    w->gone = true;
    some_have_gone |= w->refs > 1;
    worker_unref(w);
}

const char *worker_name(const struct worker *w) {
    return w->name;
}

struct worker *worker_ref(struct worker *w) {
    w->refs++;
    return w;
}

void worker_unref(struct worker *w) {
    if (--w->refs == 0)
        free(w);
}

bool worker_is_gone(const struct worker *w) {
    return w->gone;
}

bool workers_have_gone(void) {
    return some_have_gone;
}

void workers_were_seen(void) {
    some_have_gone = false;
}
