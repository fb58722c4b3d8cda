/* The tool work: takes jobs, and runs a program for each. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "tools/line_access.h"
#include "tools/redis_reply.h"
#include "tools/tool.h"
#include "tools/work_job.h"
#include "tools/work_link.h"

/* GETJOB waits so long. At the end the tool looks whether the connection is alive. */
#define TAKE_MS "5000"
/* The same for --until-empty, while jobs are left that no worker can take now. */
#define LEFT_MS "1000"
#define AGAIN_US US_PER_S
/* An ACKJOB or NACK that the server refuses is sent so many times. After that the lease ends by itself. */
#define END_TRIES 60
/* After the end of the last program the tool waits so long for the confirmations. */
#define CONFIRM_US (30 * US_PER_S)
#define CANCEL_CHANNEL "__cancel__:"
/* The exit status of --until-empty after a job that failed. */
#define STATUS_JOB_FAILED 2

struct work_line_words {
    struct line_server server;
    struct work_how how;
    int64_t count, grace_s;
    bool until_empty;
    struct line_list names;
};

#define FIELD(member) offsetof(struct work_line_words, member)

static const struct line_option work_options[] = {
    { "-c", LINE_NUMBER, "count", FIELD(count), 1, 1000, "run so many programs at once (1)" },
    { "--timeout", LINE_NUMBER, "seconds", FIELD(how.timeout_s), 0, 100000000,
      "end a program that runs longer, and return its job (0: no limit)" },
    { "--grace", LINE_NUMBER, "seconds", FIELD(grace_s), 0, 86400,
      "a program that must end gets SIGTERM, and after this time SIGKILL (10)" },
    { "--backoff", LINE_NUMBER, "seconds", FIELD(how.backoff_s), 0, 3600,
      "the delay of a job after its first failure, doubled with each failure up to an hour (1); 0: the "
      "BACKOFF of the "
      "job" },
    { "--result", LINE_NUMBER, "bytes", FIELD(how.result_max), 0, 16 << 20,
      "keep so many bytes of the standard output as the result (65536); 0: keep none, and print the output" },
    { "--argument", LINE_FLAG, NULL, FIELD(how.argument), 0, 0,
      "give the body as the last argument, not as the standard input" },
    { "--until-empty", LINE_FLAG, NULL, FIELD(until_empty), 0, 0,
      "end when the queues have no more jobs, with status 2 if a job failed" },
    LINE_SERVER_OPTIONS(struct work_line_words, server),
};

struct work {
    struct work_line_words *w;
    struct work_link take;    /* GETJOB, and other commands while no GETJOB waits */
    struct work_link control; /* WORKING, and ACKJOB and NACK while a GETJOB waits */
    struct work_link listen;  /* the channels of CANCEL */
    struct list jobs;
    size_t running, ending; /* jobs whose program runs, and others */
    int64_t take_id;        /* the number of the connection `take` at the server; 0: not known */
    int64_t take_us;        /* the time of the next GETJOB */
    int64_t unblock_us;     /* the time of the next CLIENT UNBLOCK */
    int64_t confirm_us;     /* the end of waiting for confirmations; 0: programs run */
    int stops;              /* signals that asked for the end */
    bool empty;             /* the last GETJOB found no job, and no job has ended since */
    bool waits;             /* the queues have jobs that no worker can take now */
    int64_t left;           /* their number, as far as the server has replied it */
    bool children;          /* a child may have ended */
    bool replied;           /* a reply arrived, so that other requests may be due */
    bool failed;
    bool job_failed;  /* a job has ended by NACK, and not because the tool was stopped */
    bool unconfirmed; /* the server did not confirm the end of a job */
    int signals;      /* signalfd */
};

#define WORK_PUT(link, what, job, ...)                                    \
    work_link_put(link, what, job, (const struct slice[]){ __VA_ARGS__ }, \
                  LENGTH(((const struct slice[]){ __VA_ARGS__ })))

static struct work_job *work_job_at(struct list *node) {
    return CONTAINER_OF(node, struct work_job, link);
}

static bool work_takes(const struct work *k) {
    return k->stops == 0 && !k->failed;
}

/* ---- connections ---- */

/* The worker's name in WORKERS. */
static void work_greet(struct work_link *l) {
    char host[100] = "", name[120];

    (void)gethostname(host, sizeof host - 1);
    snprintf(name, sizeof name, "work-%s-%d", host, (int)getpid());
    WORK_PUT(l, WORK_OTHER, NULL, SLICE("CLIENT"), SLICE("SETNAME"), slice_str(name));
}

static void work_begin_take(struct work *k) {
    k->take_id = 0;
    k->take_us = 0;
    work_greet(&k->take);
    WORK_PUT(&k->take, WORK_NUMBER, NULL, SLICE("CLIENT"), SLICE("ID"));
    /* A worker that cannot end its jobs would get them again and again. */
    WORK_PUT(&k->take, WORK_RIGHT, NULL, SLICE("ACKJOB"));
    WORK_PUT(&k->take, WORK_RIGHT, NULL, SLICE("NACK"));
    WORK_PUT(&k->take, WORK_RIGHT, NULL, SLICE("WORKING"), SLICE("no-job"));
}

/* A CANCEL before the subscription is found by WORKING. */
static void work_begin_listen(struct work *k) {
    for (size_t i = 0; i < k->w->names.count; i++) {
        const char *queue = k->w->names.items[i];
        char *channel = xasprintf(CANCEL_CHANNEL "%s", queue);
        bool pattern = strpbrk(queue, "*?") != NULL;

        WORK_PUT(&k->listen, WORK_OTHER, NULL, pattern ? SLICE("PSUBSCRIBE") : SLICE("SUBSCRIBE"),
                 slice_str(channel));
        free(channel);
    }
    LIST_EACH(node, &k->jobs) {
        if (work_job_at(node)->extend_us != INT64_MAX)
            work_job_at(node)->extend_us = 0;
    }
}

/* The requests without a reply are sent again. A job whose GETJOB had no reply returns to its queue. */
static void work_lost(struct work *k, struct work_link *l, int64_t now) {
    struct work_pending of;

    line_refuse("work", "the connection is lost, and the tool connects again", l->pipe.err);
    work_link_lose(l, now);
    while (work_link_lost(l, &of)) {
        if (of.job != NULL && of.what == WORK_END) {
            of.job->ending = false;
            of.job->repeated = true;
        } else if (of.job != NULL)
            of.job->extending = false;
    }
    if (l == &k->take)
        k->take_id = 0;
}

static void work_connect(struct work *k, struct work_link *l, void (*begin)(struct work *), int64_t now) {
    work_link_open(l, now);
    if (work_link_opened(l, now))
        begin(k);
}

static void work_begin_control(struct work *k) {
    work_greet(&k->control);
}

/* The connection for commands that must not wait behind a GETJOB; NULL: none. */
static struct work_link *work_free_link(struct work *k) {
    if (k->take.up && work_link_pending(&k->take, WORK_TAKE) == 0)
        return &k->take;
    return k->control.up ? &k->control : NULL;
}

/* ---- requests ---- */

static void work_request_end(struct work *k, struct work_job *j, int64_t now) {
    struct slice words[WORK_END_WORDS];
    struct work_link *l = work_free_link(k);
    struct buf text = { 0 };

    if (j->running || j->ending || now < j->end_us || l == NULL)
        return;
    work_link_put(l, WORK_END, j, words, work_job_end(&k->w->how, j, &text, words));
    buf_free(&text);
    j->ending = true;
}

static void work_request_extend(struct work *k, struct work_job *j, int64_t now) {
    struct work_link *l = work_free_link(k);

    if (!j->running || j->extending || now < j->extend_us || l == NULL)
        return;
    WORK_PUT(l, WORK_EXTEND, j, SLICE("WORKING"), slice_str(j->name));
    j->extending = true;
}

/* A worker that cannot confirm its jobs takes no others. */
static size_t work_free_places(const struct work *k) {
    size_t count = (size_t)k->w->count;

    return k->ending > count || k->running >= count ? 0 : count - k->running;
}

static bool work_may_take(const struct work *k, int64_t now) {
    return work_takes(k) && k->take.up && work_free_places(k) > 0 && now >= k->take_us && !k->empty &&
           work_link_pending(&k->take, WORK_TAKE) + work_link_pending(&k->take, WORK_LEFT) +
                   work_link_pending(&k->take, WORK_RIGHT) ==
               0;
}

static void work_request_take(struct work *k, int64_t now) {
    size_t places = work_free_places(k), count = 0;
    struct slice *words;
    char text[24];

    if (!work_may_take(k, now))
        return;
    words = xcalloc(9 + k->w->names.count, sizeof *words);
    words[count++] = SLICE("GETJOB");
    if (k->w->until_empty && !k->waits) {
        words[count++] = SLICE("NOHANG");
    } else {
        words[count++] = SLICE("TIMEOUT");
        words[count++] = k->waits ? SLICE(LEFT_MS) : SLICE(TAKE_MS);
    }
    snprintf(text, sizeof text, "%zu", places);
    words[count++] = SLICE("COUNT");
    words[count++] = slice_str(text);
    words[count++] = SLICE("WITHCOUNTERS");
    words[count++] = SLICE("WITHTOKENS");
    words[count++] = SLICE("WITHHEADERS");
    words[count++] = SLICE("FROM");
    for (size_t i = 0; i < k->w->names.count; i++)
        words[count++] = slice_str(k->w->names.items[i]);
    work_link_put(&k->take, WORK_TAKE, NULL, words, count);
    free(words);
}

/* At the end a waiting GETJOB ends without a job. A job that it got before runs to its end. A request that arrives
 * before GETJOB waits has no effect, so it is repeated. */
static void work_request_unblock(struct work *k, int64_t now) {
    char number[24];

    if (work_takes(k) || work_link_pending(&k->take, WORK_TAKE) == 0 || !k->control.up || k->take_id == 0 ||
        now < k->unblock_us)
        return;
    snprintf(number, sizeof number, "%lld", (long long)k->take_id);
    WORK_PUT(&k->control, WORK_OTHER, NULL, SLICE("CLIENT"), SLICE("UNBLOCK"), slice_str(number));
    k->unblock_us = now + AGAIN_US;
}

static void work_request(struct work *k, int64_t now) {
    LIST_EACH(node, &k->jobs) {
        work_request_end(k, work_job_at(node), now);
        work_request_extend(k, work_job_at(node), now);
    }
    /* The last ACKJOB and the next GETJOB are written together. */
    work_request_take(k, now);
    work_request_unblock(k, now);
}

/* ---- replies ---- */

static bool work_error_is(const redisReply *r, const char *code) {
    return r->type == REDIS_REPLY_ERROR && strncmp(r->str, code, strlen(code)) == 0 &&
           (r->str[strlen(code)] == ' ' || r->str[strlen(code)] == '\0');
}

/* An error that a repeated GETJOB would get again. */
static bool work_is_final(const redisReply *r) {
    static const char *const codes[] = { "NOPERM", "NOAUTH", "ERR", "LIMIT" };

    for (size_t i = 0; i < LENGTH(codes); i++) {
        if (work_error_is(r, codes[i]))
            return true;
    }
    return false;
}

static void work_right_replied(struct work *k, const redisReply *r) {
    if (!work_error_is(r, "NOPERM"))
        return;
    k->failed = true;
    line_refuse_reply("work", r->str);
}

static void work_note_failure(struct work *k, const struct work_job *j) {
    char *what = xasprintf("queue %s, job %.*s", j->queue, (int)j->id_len, j->name);

    k->job_failed = k->job_failed || !j->returns;
    line_refuse("work", what, j->failure);
    free(what);
}

/* The job of a delivery. */
static void work_begin_job(struct work *k, const redisReply *delivery, int64_t now) {
    struct work_job *j = work_job_begin(&k->w->how, delivery, now);

    list_push_back(&k->jobs, &j->link);
    if (j->running) {
        k->running++;
        return;
    }
    k->ending++;
    work_note_failure(k, j);
}

/* --until-empty: without a job that can be taken, asks for those that can be taken later. */
static void work_ask_left(struct work *k) {
    k->waits = false;
    k->left = 0;
    for (size_t i = 0; i < k->w->names.count; i++) {
        struct slice name = slice_str(k->w->names.items[i]);

        if (strpbrk(name.ptr, "*?") != NULL)
            continue;
        WORK_PUT(&k->take, WORK_HELD, NULL, SLICE("QLEN"), name, SLICE("HELD"));
        WORK_PUT(&k->take, WORK_LEFT, NULL, SLICE("QLEN"), name, SLICE("QUEUED"), SLICE("ACTIVE"),
                 SLICE("WAITING"), SLICE("AFTER"));
    }
    k->empty = work_link_pending(&k->take, WORK_LEFT) == 0;
}

/* A held job can be taken only after its predecessor has been revived. */
static void work_left_replied(struct work *k, enum work_request what, const redisReply *r) {
    int64_t jobs = r->type == REDIS_REPLY_INTEGER ? r->integer : 0;

    k->left += what == WORK_LEFT ? jobs : -jobs;
    if (work_link_pending(&k->take, WORK_LEFT) > 0)
        return;
    k->waits = k->left > 0;
    k->empty = !k->waits;
}

static void work_found_none(struct work *k) {
    if (k->w->until_empty && k->running + k->ending == 0)
        work_ask_left(k);
    else
        k->empty = k->w->until_empty;
}

static void work_took(struct work *k, const redisReply *r, int64_t now) {
    if (r->type == REDIS_REPLY_ERROR) {
        k->take_us = now + AGAIN_US;
        k->failed = k->failed || work_is_final(r);
        line_refuse_reply("work", r->str);
    } else if (r->type == REDIS_REPLY_NIL) {
        work_found_none(k);
    } else if (!redis_reply_fits(r, "[" WORK_JOB_SHAPE "*]")) {
        k->failed = true;
        line_refuse("work", "unexpected reply to GETJOB", "");
    } else {
        for (size_t i = 0; i < r->elements; i++)
            work_begin_job(k, r->element[i], now);
    }
}

static void work_drop(struct work *k, struct work_job *j) {
    work_link_forget(&k->take, j);
    work_link_forget(&k->control, j);
    list_remove(&j->link);
    work_job_free(j);
    k->ending--;
    k->empty = false;
}

/* After a lost connection a job without a row may have ended by the first request. */
static bool work_is_confirmed(const struct work_job *j, const redisReply *r) {
    if (r->type == REDIS_REPLY_INTEGER && (r->integer > 0 || j->repeated))
        return true;
    line_refuse("work", j->name,
                r->type == REDIS_REPLY_ERROR ? r->str : "the job is gone: it has expired, or was deleted");
    return false;
}

/* The server can refuse the end for a while, for example while it has no database. */
static bool work_may_repeat(const redisReply *r) {
    return r->type == REDIS_REPLY_ERROR && !work_is_final(r) && !work_error_is(r, "STALE") &&
           !work_error_is(r, "BADID");
}

static void work_end_replied(struct work *k, struct work_job *j, const redisReply *r, int64_t now) {
    j->ending = false;
    if (!work_is_confirmed(j, r)) {
        if (work_may_repeat(r) && ++j->tries < END_TRIES) {
            j->end_us = now + AGAIN_US;
            return;
        }
        k->unconfirmed = true;
        k->failed = k->failed || work_error_is(r, "NOPERM");
    }
    work_drop(k, j);
}

static void work_extend_replied(const struct work *k, struct work_job *j, const redisReply *r, int64_t now) {
    j->extending = false;
    j->extend_us = now + AGAIN_US;
    if (r->type == REDIS_REPLY_INTEGER) {
        j->extend_us = r->integer > 0 ? now + r->integer * US_PER_S / 3 : INT64_MAX;
        return;
    }
    if (r->type != REDIS_REPLY_ERROR)
        return;
    if (work_error_is(r, "CANCELLED"))
        work_job_stop(j, "cancelled", k->w->grace_s * US_PER_S);
    if (work_error_is(r, "STALE")) {
        j->stale = true;
        work_job_stop(j, "the job was delivered again, so that this program must end",
                      k->w->grace_s * US_PER_S);
    }
    if (work_error_is(r, "CANCELLED") || work_error_is(r, "STALE") || work_error_is(r, "NOJOB") ||
        work_error_is(r, "TOOLATE") || work_is_final(r))
        j->extend_us = INT64_MAX;
    if (!work_error_is(r, "CANCELLED"))
        line_refuse("work", j->name, r->str);
}

/* A message of a channel has the ID of a cancelled job as its last element. */
static void work_received(struct work *k, const redisReply *r) {
    const redisReply *last;

    if (r->type == REDIS_REPLY_ERROR)
        line_refuse("work", "the tool receives CANCEL with WORKING only", r->str);
    if (!redis_reply_fits(r, "[sss]") && !redis_reply_fits(r, "[ssss]"))
        return;
    last = r->element[r->elements - 1];
    LIST_EACH(node, &k->jobs) {
        if (work_job_has_id(work_job_at(node), (struct slice){ last->str, last->len }))
            work_job_stop(work_job_at(node), "cancelled", k->w->grace_s * US_PER_S);
    }
}

static void work_replied(struct work *k, const struct work_link *l, const struct work_pending *of,
                         const redisReply *r, int64_t now) {
    if (of->what == WORK_TAKE)
        work_took(k, r, now);
    else if (of->what == WORK_END && of->job != NULL)
        work_end_replied(k, of->job, r, now);
    else if (of->what == WORK_EXTEND && of->job != NULL)
        work_extend_replied(k, of->job, r, now);
    else if (of->what == WORK_LEFT || of->what == WORK_HELD)
        work_left_replied(k, of->what, r);
    else if (of->what == WORK_RIGHT)
        work_right_replied(k, r);
    else if (of->what == WORK_NUMBER && r->type == REDIS_REPLY_INTEGER)
        k->take_id = r->integer;
    else if (l == &k->listen)
        work_received(k, r);
}

static void work_step(struct work *k, struct work_link *l, int64_t now) {
    struct work_pending of;
    redisReply *r;
    bool good;

    if (!l->up)
        return;
    good = work_link_step(l, now);
    while ((r = work_link_next(l, &of, now)) != NULL) {
        work_replied(k, l, &of, r, now);
        freeReplyObject(r);
        k->replied = true;
    }
    if (!good)
        work_lost(k, l, now);
}

/* ---- signals ---- */

/* The first signal asks for the end of the tool, the second for that of the programs, and the third forces it. */
static void work_stop(struct work *k) {
    if (++k->stops == 1)
        return;
    LIST_EACH(node, &k->jobs) {
        struct work_job *j = work_job_at(node);

        j->returns = j->returns || (j->running && j->failure == NULL);
        work_job_stop(j, "the worker was stopped", k->w->grace_s * US_PER_S);
        if (k->stops > 2 && j->running)
            j->program.kill_us = 1;
    }
}

static void work_take_signals(struct work *k) {
    struct signalfd_siginfo info;

    while (read(k->signals, &info, sizeof info) == (ssize_t)sizeof info) {
        if (info.ssi_signo == SIGCHLD)
            k->children = true;
        else
            work_stop(k);
    }
}

static bool work_open_signals(struct work *k) {
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigprocmask(SIG_BLOCK, &set, NULL);
    k->signals = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    return k->signals >= 0 || line_refuse("work", "the system refuses signalfd", strerror(errno));
}

/* ---- programs ---- */

static void work_watch(struct work *k, struct work_job *j, int64_t now) {
    if (j->deadline_us > 0 && now >= j->deadline_us) {
        work_job_stop(j, "timeout", k->w->grace_s * US_PER_S);
        j->deadline_us = 0;
    }
    work_program_kill_at(&j->program, now);
    if (!k->children || !work_job_ended(j))
        return;
    k->running--;
    k->ending++;
    if (j->failure != NULL)
        work_note_failure(k, j);
    if (j->stale) {
        k->unconfirmed = true;
        work_drop(k, j);
    }
}

static void work_watch_all(struct work *k, int64_t now) {
    LIST_EACH_SAFE(node, &k->jobs) {
        if (work_job_at(node)->running)
            work_watch(k, work_job_at(node), now);
    }
    k->children = false;
}

/* ---- waiting ---- */

static int64_t work_earlier(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* The time of the next step that no event announces. */
static int64_t work_next_us(const struct work *k, int64_t now) {
    int64_t next = now + AGAIN_US;

    LIST_EACH(node, &k->jobs) {
        const struct work_job *j = work_job_at(node);

        if (j->running && !j->extending)
            next = work_earlier(next, j->extend_us);
        if (j->running && j->deadline_us > 0)
            next = work_earlier(next, j->deadline_us);
        if (j->running && j->program.kill_us > 0)
            next = work_earlier(next, j->program.kill_us);
        if (!j->running && !j->ending)
            next = work_earlier(next, j->end_us);
    }
    return next;
}

static void work_poll_link(const struct work_link *l, struct pollfd *fd) {
    fd->fd = l->up ? l->pipe.c->fd : l->opening != NULL ? l->opening->done : -1;
    fd->events = l->up ? redis_pipe_events(&l->pipe) : POLLIN;
}

/* Waits for an event, and reads the output of programs. */
static void work_wait(struct work *k, int64_t now) {
    struct pollfd *fds = xcalloc(4 + 2 * k->running, sizeof *fds);
    int64_t wait_us = k->replied ? 0 : work_next_us(k, now) - now;
    nfds_t count = 4;

    fds[0] = (struct pollfd){ .fd = k->signals, .events = POLLIN };
    work_poll_link(&k->take, &fds[1]);
    work_poll_link(&k->control, &fds[2]);
    work_poll_link(&k->listen, &fds[3]);
    LIST_EACH(node, &k->jobs) {
        struct work_job *j = work_job_at(node);

        j->poll_at = (int)count;
        if (!j->running)
            continue;
        fds[count++] = (struct pollfd){ .fd = j->program.out, .events = POLLIN };
        fds[count++] = (struct pollfd){ .fd = j->program.err, .events = POLLIN };
    }
    /* A wait of less than a millisecond would be none. */
    if (poll(fds, count, wait_us > 0 ? (int)(wait_us / US_PER_MS) + 1 : 0) > 0) {
        LIST_EACH(node, &k->jobs) {
            struct work_job *j = work_job_at(node);

            if (j->running && (fds[j->poll_at].revents != 0 || fds[j->poll_at + 1].revents != 0))
                work_program_read(&j->program);
        }
    }
    free(fds);
    k->replied = false;
}

/* ---- the run ---- */

/* True when no job is left, or the server does not confirm the last ones. */
static bool work_is_done(struct work *k, int64_t now) {
    bool idle = k->running == 0 && work_link_pending(&k->take, WORK_TAKE) == 0;

    if (k->w->until_empty && k->empty && idle && k->ending == 0)
        return true;
    if (work_takes(k) || !idle)
        return false;
    if (k->confirm_us == 0)
        k->confirm_us = now + CONFIRM_US;
    if (k->ending > 0 && now >= k->confirm_us) {
        line_refuse("work", "the server did not confirm the end of some jobs, so that they run again", "");
        k->failed = true;
    }
    return k->ending == 0 || now >= k->confirm_us;
}

static void work_loop(struct work *k) {
    int64_t now = clock_mono_now();

    while (!work_is_done(k, now)) {
        work_connect(k, &k->take, work_begin_take, now);
        work_connect(k, &k->control, work_begin_control, now);
        work_connect(k, &k->listen, work_begin_listen, now);
        work_request(k, now);
        work_step(k, &k->take, now);
        work_step(k, &k->control, now);
        work_step(k, &k->listen, now);
        work_wait(k, now);
        now = clock_mono_now();
        work_take_signals(k);
        work_watch_all(k, now);
    }
}

/* Returns the exit status. */
static int work_run(struct work_line_words *w) {
    struct work k = { .w = w, .signals = -1 };
    struct redis_pipe pipe;

    list_init(&k.jobs);
    k.take.server = k.control.server = k.listen.server = &w->server;
    /* The first connection may ask for a password, and reports a wrong address. */
    if (!line_server_connect("work", &w->server, &pipe))
        return tool_work.error;
    work_link_use(&k.take, &pipe);
    if (work_open_signals(&k)) {
        work_begin_take(&k);
        work_loop(&k);
        close(k.signals);
    } else {
        k.failed = true;
    }
    LIST_EACH_SAFE(node, &k.jobs) {
        list_remove(node);
        work_job_free(work_job_at(node));
    }
    work_link_free(&k.take);
    work_link_free(&k.control);
    work_link_free(&k.listen);
    if (k.failed)
        return tool_work.error;
    return w->until_empty && (k.job_failed || k.unconfirmed) ? STATUS_JOB_FAILED : 0;
}

/* ---- arguments ---- */

/* The words behind `--` are the command. */
static int work_options_end(int argc, char **argv) {
    int end = 2;

    while (end < argc && strcmp(argv[end], "--") != 0)
        end++;
    return end;
}

static bool work_read_words(const struct tool *tool, int argc, char **argv, struct work_line_words *w) {
    int end = work_options_end(argc, argv);

    /* Without it the options of the command would be taken for those of the tool. */
    if (end == argc && argc > 2)
        return line_refuse(tool->name, "the command is missing behind --; see --help", "");
    if (!line_options_read(tool, end, argv, w, &w->names))
        return false;
    if (w->names.count == 0)
        return line_refuse(tool->name, "the queue is missing; see --help", "");
    if (end + 1 >= argc)
        return line_refuse(tool->name, "the command is missing behind --; see --help", "");
    w->how.command = argv + end + 1;
    w->how.words = (size_t)(argc - end - 1);
    return work_program_exists(w->how.command[0]) ||
           line_refuse(tool->name, "the command cannot be executed", w->how.command[0]);
}

static int work_line(const struct tool *tool, int argc, char **argv) {
    struct work_line_words w = { .count = 1, .grace_s = 10, .how = { .backoff_s = 1, .result_max = 65536 } };
    int status = tool->error;

    signal(SIGPIPE, SIG_IGN);
    if (work_read_words(tool, argc, argv, &w))
        status = work_run(&w);
    line_list_free(&w.names);
    return status;
}

const struct tool tool_work = {
    .name = "work",
    .arguments = "[option]... queue... -- command [argument]...",
    .summary = "Takes jobs of queues, and runs a program for each job.",
    .text =
        "The body of the job is the standard input of the program. The environment has PGDISQUE_JOB_ID, "
        "PGDISQUE_JOB_QUEUE, PGDISQUE_JOB_ATTEMPT and PGDISQUE_JOB_TOKEN, and each header as "
        "PGDISQUE_HEADER_NAME, but not PGDISQUE_PASSWORD.\n\n"
        "If the program ends with status 0, the tool sends ACKJOB, and the standard output is the RESULT. "
        "Otherwise it sends NACK with a delay, and the end of the standard error is the ERROR. While the "
        "program runs, the tool extends the lease by WORKING.\n\n"
        "After SIGTERM the tool takes no job, and ends when its programs have ended. A second SIGTERM ends "
        "the programs and returns their jobs. CANCEL of a job ends its program. A queue may be a pattern as "
        "in GETJOB. The tool ends if the user may not run ACKJOB, NACK or WORKING. The user needs GETJOB, "
        "ACKJOB, NACK, WORKING, QLEN, CLIENT, "
        "SUBSCRIBE (for a pattern PSUBSCRIBE) and the channel &__cancel__:queue.\n\n" LINE_ADDRESS_TEXT,
    .example = "pgdisque work -c 4 --timeout 600 thumbnails -- convert - -resize 200 /tmp/out.png",
    TOOL_OPTIONS(work_options),
    .error = 1,
    TOOL_STATUSES({ 0, "a signal ended the tool, or the queues are empty" },
                  { 1, "an argument is wrong, or the server refused" },
                  { STATUS_JOB_FAILED,
                    "--until-empty: a program failed, or the server did not confirm the end of its job" }),
    .run = work_line,
};
