#ifndef WORK_JOB_H
#define WORK_JOB_H

#include <hiredis/hiredis.h>
#include "base/list.h"
#include "tools/work_program.h"

/*
 * A job of the tool work, from its delivery until the server has confirmed its end. The program of the job gets
 * PGDISQUE_JOB_ID, PGDISQUE_JOB_QUEUE, PGDISQUE_JOB_ATTEMPT and PGDISQUE_JOB_TOKEN in its environment, and each header
 * as PGDISQUE_HEADER_NAME.
 */
struct work_job {
    struct list link;
    char *queue;
    char *name;    /* "ID:token" */
    size_t id_len; /* of the ID in name */
    int64_t nacks; /* before this delivery */
    struct work_program program;
    char *failure; /* the reason of a NACK; NULL: the status of the program tells */
    bool running;
    bool returns;        /* NACK without a delay: the job did not fail */
    bool stale;          /* the job was delivered again, so that this delivery needs no NACK */
    bool repeated;       /* a connection was lost after ACKJOB or NACK, which may have been done */
    int64_t deadline_us; /* the timeout; 0: none */
    int64_t extend_us;   /* the time of the next WORKING; INT64_MAX: never */
    bool extending;      /* WORKING has no reply yet */
    bool ending;         /* ACKJOB or NACK has no reply yet */
    int64_t end_us;      /* the time of the next ACKJOB or NACK */
    int tries;           /* of ACKJOB or NACK */
    int poll_at;         /* the index of the program's descriptors for poll(2) */
};

/* How to run programs. */
struct work_how {
    char **command; /* argv of the program; NULL at the end */
    size_t words;
    bool argument; /* the body is the last argument, not the standard input */
    int64_t timeout_s, backoff_s, result_max;
};

/* The shape of a delivery in the reply to GETJOB WITHCOUNTERS WITHTOKENS WITHHEADERS. */
#define WORK_JOB_SHAPE "[ssssisiis[(ss)*]]"

/* Makes the job of a delivery, and starts its program. The job does not run if the program cannot start; failure has
 * the reason. */
struct work_job *work_job_begin(const struct work_how *how, const redisReply *delivery, int64_t now_us);
/* Notes the end of the program. True if the job ran until now, and its program has ended. */
bool work_job_ended(struct work_job *j) MUST_CHECK;
/* Ends the program of a running job for a reason. */
void work_job_stop(struct work_job *j, const char *reason, int64_t grace_us);
/* The command that ends the job: ACKJOB, or NACK with the reason. The words live as long as j and text. Returns their
 * count. */
#define WORK_END_WORDS 6
size_t work_job_end(const struct work_how *how, struct work_job *j, struct buf *text,
                    struct slice words[WORK_END_WORDS]);
/* True if the ID is that of the job. */
bool work_job_has_id(const struct work_job *j, struct slice id);
void work_job_free(struct work_job *j);

#endif
