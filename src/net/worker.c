/* Workers: the names of clients that take jobs, kept as long as a lease needs them. */
#include "net/worker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

struct worker_label {
    UT_hash_handle hh;
    size_t refs;        /* references of workers, of leases, and of callers */
    struct list leases; /* in the order of their beginning */
    size_t len;
    char name[];
};

struct worker {
    size_t refs; /* references of the client and of each lease */
    bool gone;
    bool own_name; /* the name was set by CLIENT SETNAME */
    struct worker_label *label;
};

static struct worker_label *labels;
static bool some_have_gone;

/* ---- labels ---- */

struct worker_label *worker_label_find(struct slice name) {
    struct worker_label *label;

    HASH_FIND(hh, labels, name.ptr, name.len, label);
    return label;
}

struct worker_label *worker_label_ref(struct worker_label *label) {
    label->refs++;
    return label;
}

struct worker_label *worker_label_of(struct slice name) {
    struct worker_label *label = worker_label_find(name);

    if (label == NULL) {
        label = xcalloc(1, sizeof *label + name.len + 1);
        list_init(&label->leases);
        label->len = name.len;
        memcpy(label->name, name.ptr, name.len);
        HASH_ADD_KEYPTR(hh, labels, label->name, label->len, label);
    }
    return worker_label_ref(label);
}

void worker_label_unref(struct worker_label *label) {
    if (--label->refs > 0)
        return;
    HASH_DEL(labels, label);
    free(label);
}

const char *worker_label_name(const struct worker_label *label) {
    return label->name;
}

struct list *worker_label_leases(struct worker_label *label) {
    return &label->leases;
}

struct worker_label *worker_label(const struct worker *w) {
    return w->label;
}

/* ---- workers ---- */

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
    return w->own_name && strncmp(w->label->name, c->name, WORKER_NAME_MAX) == 0;
}

struct worker *worker_of(struct client *c) {
    char name[WORKER_NAME_MAX + 1];

    if (c->worker != NULL && is_still(c->worker, c))
        return c->worker;
    if (c->worker != NULL)
        worker_unref(c->worker);
    make_name(c, name);
    c->worker = xcalloc(1, sizeof *c->worker);
    c->worker->refs = 1;
    c->worker->own_name = c->name != NULL;
    c->worker->label = worker_label_of(slice_str(name));
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
    return w->label->name;
}

struct worker *worker_ref(struct worker *w) {
    w->refs++;
    return w;
}

void worker_unref(struct worker *w) {
    if (--w->refs > 0)
        return;
    worker_label_unref(w->label);
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
