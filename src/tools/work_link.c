/* The connections of the tool work, which open again by a thread and never wait. */
#include "tools/work_link.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"

#define OPEN_AGAIN_US US_PER_S
/* A request without a reply for this time means that the server is out of reach. A longer wait does no harm, because the
 * requests are sent again. */
#define WORK_PATIENCE_US (60 * US_PER_S)

/* ---- opening ---- */

static void *opening_main(void *arg) {
    struct work_opening *o = arg;

    o->good = line_server_reconnect(o->server, &o->pipe);
    while (write(o->tell, "", 1) < 0 && errno == EINTR)
        ;
    return NULL;
}

static void opening_free(struct work_opening *o) {
    close(o->done);
    close(o->tell);
    free(o);
}

/* The thread gets no signals, because the loop waits for them. */
static bool opening_start(struct work_opening *o) {
    sigset_t all, before;
    bool started;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    started = pthread_create(&o->thread, NULL, opening_main, o) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started;
}

void work_link_open(struct work_link *l, int64_t now_us) {
    struct work_opening *o;
    int fds[2];

    if (l->up || l->opening != NULL || now_us < l->open_us)
        return;
    l->open_us = now_us + OPEN_AGAIN_US;
    if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) != 0)
        return;
    o = xcalloc(1, sizeof *o);
    o->done = fds[0];
    o->tell = fds[1];
    o->server = l->server;
    if (opening_start(o))
        l->opening = o;
    else
        opening_free(o);
}

void work_link_use(struct work_link *l, struct redis_pipe *pipe) {
    redis_pipe_close(&l->pipe);
    l->pipe = *pipe;
    *pipe = (struct redis_pipe){ .c = NULL };
    redis_pipe_unblock(&l->pipe);
    l->up = true;
}

bool work_link_opened(struct work_link *l, int64_t now_us) {
    struct work_opening *o = l->opening;
    bool good;
    char byte;

    if (o == NULL || read(o->done, &byte, 1) != 1)
        return false;
    pthread_join(o->thread, NULL);
    good = o->good;
    if (good)
        work_link_use(l, &o->pipe);
    else
        l->open_us = now_us + OPEN_AGAIN_US;
    opening_free(o);
    l->opening = NULL;
    return good;
}

/* ---- requests ---- */

void work_link_put(struct work_link *l, enum work_request what, struct work_job *job,
                   const struct slice *words, size_t count) {
    if (l->count == 0)
        l->asked_us = clock_mono_now();
    if (l->count == l->room) {
        l->room = l->room == 0 ? 16 : 2 * l->room;
        l->pending = xrealloc(l->pending, l->room * sizeof *l->pending);
    }
    l->pending[l->count++] = (struct work_pending){ what, job };
    redis_pipe_put_slices(&l->pipe, words, count);
}

size_t work_link_pending(const struct work_link *l, enum work_request what) {
    size_t found = 0;

    for (size_t i = 0; i < l->count; i++)
        found += l->pending[i].what == what ? 1 : 0;
    return found;
}

void work_link_forget(struct work_link *l, const struct work_job *job) {
    for (size_t i = 0; i < l->count; i++) {
        if (l->pending[i].job == job)
            l->pending[i].job = NULL;
    }
}

/* Takes the oldest pending request. */
static struct work_pending take_pending(struct work_link *l) {
    struct work_pending first = { WORK_OTHER, NULL };

    if (l->count > 0) {
        first = l->pending[0];
        l->count--;
        memmove(l->pending, l->pending + 1, l->count * sizeof *l->pending);
    }
    return first;
}

/* ---- replies ---- */

bool work_link_step(struct work_link *l, int64_t now_us) {
    if (l->count > 0 && now_us - l->asked_us > WORK_PATIENCE_US)
        redis_pipe_fail(&l->pipe, "the server does not reply");
    return redis_pipe_step(&l->pipe);
}

redisReply *work_link_next(struct work_link *l, struct work_pending *of, int64_t now_us) {
    redisReply *reply = l->up ? redis_pipe_next(&l->pipe) : NULL;

    if (reply == NULL)
        return NULL;
    *of = take_pending(l);
    l->asked_us = now_us;
    return reply;
}

void work_link_lose(struct work_link *l, int64_t now_us) {
    char err[sizeof l->pipe.err];

    memcpy(err, l->pipe.err, sizeof err);
    redis_pipe_close(&l->pipe);
    memcpy(l->pipe.err, err, sizeof err);
    l->up = false;
    l->open_us = now_us + OPEN_AGAIN_US;
}

bool work_link_lost(struct work_link *l, struct work_pending *of) {
    if (l->up || l->count == 0)
        return false;
    *of = take_pending(l);
    return true;
}

void work_link_free(struct work_link *l) {
    redis_pipe_close(&l->pipe);
    free(l->pending);
}
