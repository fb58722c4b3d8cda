#ifndef WORK_LINK_H
#define WORK_LINK_H

#include <pthread.h>
#include "tools/line_access.h"

/*
 * A connection of the tool work to its server, which no function waits for. A lost connection is opened again by a
 * thread, because looking up names and logging in wait. The owner gets each reply, and notice of each loss.
 */
enum work_request {
    WORK_TAKE,   /* GETJOB */
    WORK_END,    /* ACKJOB or NACK of a job */
    WORK_EXTEND, /* WORKING of a job */
    WORK_NUMBER, /* CLIENT ID */
    WORK_RIGHT,  /* a command that changes nothing, and whose reply tells whether the user may run it */
    WORK_LEFT,   /* QLEN of a queue, of the jobs that can be taken later */
    WORK_HELD,   /* QLEN of a queue, of the held jobs */
    WORK_OTHER,  /* a request whose reply does not matter */
};

struct work_job;

struct work_pending {
    enum work_request what;
    struct work_job *job; /* NULL: the job is gone, or the request has none */
};

/* The thread that opens a connection. */
struct work_opening {
    pthread_t thread;
    int done; /* readable when the thread has ended */
    int tell; /* the other end */
    const struct line_server *server;
    struct redis_pipe pipe;
    bool good;
};

struct work_link {
    const struct line_server *server;
    struct redis_pipe pipe;
    bool up;
    struct work_opening *opening; /* NULL: no thread runs */
    int64_t open_us;              /* a lost connection is opened again at this time */
    int64_t asked_us;             /* the time of the last reply, or of the first request after it */
    struct work_pending *pending; /* the requests without a reply, in their order */
    size_t count, room;
};

/* Takes over a connection that is open. */
void work_link_use(struct work_link *l, struct redis_pipe *pipe);
/* Begins to open the connection if it is lost and its time has come. */
void work_link_open(struct work_link *l, int64_t now_us);
/* Takes the result of the thread, if it has ended. True if the link is up from now on. */
bool work_link_opened(struct work_link *l, int64_t now_us) MUST_CHECK;

/* Puts a request. The caller calls work_link_step() afterwards. */
void work_link_put(struct work_link *l, enum work_request what, struct work_job *job,
                   const struct slice *words, size_t count);
/* The number of pending requests of that kind. */
size_t work_link_pending(const struct work_link *l, enum work_request what);
/* The job has ended: its pending requests have no job any more. */
void work_link_forget(struct work_link *l, const struct work_job *job);

/* Writes and reads. False if the connection is lost; pipe.err has the reason until the link is up again. */
bool work_link_step(struct work_link *l, int64_t now_us) MUST_CHECK;
/* The next reply, and the request to which it belongs. NULL: none. The caller frees it. An unsolicited reply, such as a
 * message of a channel, belongs to WORK_OTHER. */
redisReply *work_link_next(struct work_link *l, struct work_pending *of, int64_t now_us);
/* Closes the connection. */
void work_link_lose(struct work_link *l, int64_t now_us);
/* Takes a request off the pending ones of a lost connection. False if there is none. */
bool work_link_lost(struct work_link *l, struct work_pending *of) MUST_CHECK;
/* Frees the memory. A thread that opens a connection is left to the end of the process. */
void work_link_free(struct work_link *l);

#endif
