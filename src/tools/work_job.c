/* The jobs of the tool work: environment, program, and the command that ends them. */
#include "tools/work_job.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "tools/line_access.h"

/* A job that runs longer than this needs WORKING. The first reply tells the length of the lease, and a lease has at
 * least a second. */
#define FIRST_EXTEND_US (300 * US_PER_MS)
#define BACKOFF_MAX_S 3600
#define HEADER_PREFIX "PGDISQUE_HEADER_"

/* ---- the environment ---- */

struct env {
    char **items;
    size_t count, inherited; /* the first `inherited` items belong to environ */
};

static void env_add(struct env *e, char *item) {
    e->items[e->count++] = item;
}

/* A program gets no values of another job, as for a tool within a program, and not the password of the worker. */
static bool env_passes(const char *item) {
    static const char *const hidden[] = { "PGDISQUE_JOB_", HEADER_PREFIX, LINE_PASSWORD_OF_SERVER "=" };

    for (size_t i = 0; i < LENGTH(hidden); i++)
        if (strncmp(item, hidden[i], strlen(hidden[i])) == 0)
            return false;
    return true;
}

/* Makes room for `more` variables and the end. */
static void env_inherit(struct env *e, size_t more) {
    size_t count = 0;

    while (environ[count] != NULL)
        count++;
    e->items = xcalloc(count + more + 1, sizeof *e->items);
    for (size_t i = 0; i < count; i++)
        if (env_passes(environ[i]))
            env_add(e, environ[i]);
    e->inherited = e->count;
}

/* A header `trace-id` becomes PGDISQUE_HEADER_TRACE_ID. */
static void env_add_header(struct env *e, const char *name, const char *text) {
    char *item = xasprintf(HEADER_PREFIX "%s=%s", name, text);

    for (size_t i = strlen(HEADER_PREFIX); i < strlen(HEADER_PREFIX) + strlen(name); i++)
        item[i] = isalnum((unsigned char)item[i]) ? (char)toupper((unsigned char)item[i]) : '_';
    env_add(e, item);
}

static struct env env_of(const struct work_job *j, const redisReply *delivery) {
    const redisReply *headers = delivery->element[9];
    struct env e = { 0 };

    env_inherit(&e, 4 + headers->elements / 2);
    for (size_t i = 0; i + 1 < headers->elements; i += 2)
        env_add_header(&e, headers->element[i]->str, headers->element[i + 1]->str);
    env_add(&e, xasprintf("PGDISQUE_JOB_QUEUE=%s", j->queue));
    env_add(&e, xasprintf("PGDISQUE_JOB_ID=%.*s", (int)j->id_len, j->name));
    env_add(&e, xasprintf("PGDISQUE_JOB_ATTEMPT=%lld",
                          delivery->element[4]->integer + delivery->element[6]->integer + 1));
    env_add(&e, xasprintf("PGDISQUE_JOB_TOKEN=%lld", delivery->element[7]->integer));
    return e;
}

static void env_free(struct env *e) {
    for (size_t i = e->inherited; i < e->count; i++)
        free(e->items[i]);
    free(e->items);
}

/* ---- begin ---- */

static void start_program(const struct work_how *how, struct work_job *j, const redisReply *delivery) {
    struct slice body = { delivery->element[2]->str, delivery->element[2]->len };
    char **argv = xcalloc(how->words + 2, sizeof *argv), *argument = NULL;
    struct env env = env_of(j, delivery);

    memcpy(argv, how->command, how->words * sizeof *argv);
    if (how->argument)
        argv[how->words] = argument = slice_dup(body);
    if (how->argument && memchr(body.ptr, '\0', body.len) != NULL)
        j->failure = xstrdup("the body has a byte 0, and cannot be an argument");
    else if (work_program_start(&j->program, argv, env.items, how->argument ? SLICE("") : body,
                                (size_t)how->result_max))
        j->running = true;
    else
        j->failure = xasprintf("the worker cannot make a process: %s", strerror(errno));
    env_free(&env);
    free(argument);
    free(argv);
}

struct work_job *work_job_begin(const struct work_how *how, const redisReply *delivery, int64_t now_us) {
    struct work_job *j = xcalloc(1, sizeof *j);
    const redisReply *queue = delivery->element[0], *id = delivery->element[1];

    list_init(&j->link);
    j->queue = slice_dup((struct slice){ queue->str, queue->len });
    j->name = xasprintf("%s:%lld", id->str, delivery->element[7]->integer);
    j->id_len = strlen(id->str);
    j->nacks = delivery->element[4]->integer;
    j->program = (struct work_program){ .pid = -1, .out = -1, .err = -1 };
    j->deadline_us = how->timeout_s > 0 ? now_us + how->timeout_s * US_PER_S : 0;
    j->extend_us = now_us + FIRST_EXTEND_US;
    start_program(how, j, delivery);
    return j;
}

/* ---- end ---- */

bool work_job_ended(struct work_job *j) {
    if (!j->running || !work_program_ended(&j->program))
        return false;
    j->running = false;
    if (j->failure == NULL && WIFSIGNALED(j->program.status))
        j->failure = xasprintf("killed by signal %d", WTERMSIG(j->program.status));
    else if (j->failure == NULL && WEXITSTATUS(j->program.status) != 0)
        j->failure = xasprintf("exit status %d", WEXITSTATUS(j->program.status));
    return true;
}

void work_job_stop(struct work_job *j, const char *reason, int64_t grace_us) {
    if (!j->running)
        return;
    if (j->failure == NULL)
        j->failure = xstrdup(reason);
    work_program_ask(&j->program, grace_us);
}

/* The reason, and the last bytes of the standard error without a cut character and without the last line ends. */
static struct slice end_reason(const struct work_job *j, struct buf *text) {
    struct slice errors = { buf_ptr(&j->program.errors), buf_len(&j->program.errors) };

    while (errors.len > 0 && ((unsigned char)errors.ptr[0] & 0xc0) == 0x80) {
        errors.ptr++;
        errors.len--;
    }
    while (errors.len > 0 && errors.ptr[errors.len - 1] == '\n')
        errors.len--;
    buf_append_str(text, j->failure);
    if (errors.len > 0) {
        buf_append_str(text, ": ");
        buf_append(text, errors.ptr, errors.len);
    }
    return (struct slice){ buf_ptr(text), buf_len(text) };
}

/* The seconds of the n-th back-off: doubled each time. */
static int64_t end_delay(const struct work_how *how, const struct work_job *j) {
    int64_t delay = how->backoff_s;

    if (j->returns)
        return 0;
    for (int64_t i = 0; i < j->nacks && delay < BACKOFF_MAX_S; i++)
        delay *= 2;
    return delay < BACKOFF_MAX_S ? delay : BACKOFF_MAX_S;
}

size_t work_job_end(const struct work_how *how, struct work_job *j, struct buf *text,
                    struct slice words[WORK_END_WORDS]) {
    size_t count = 0;
    struct slice reason;

    if (j->failure == NULL) {
        words[count++] = SLICE("ACKJOB");
        if (buf_len(&j->program.result) > 0) {
            words[count++] = SLICE("RESULT");
            words[count++] = (struct slice){ buf_ptr(&j->program.result), buf_len(&j->program.result) };
        }
        words[count++] = slice_str(j->name);
        return count;
    }
    reason = end_reason(j, text);
    words[count++] = SLICE("NACK");
    if (how->backoff_s > 0 || j->returns) {
        size_t begin = buf_len(text);

        /* The number is appended behind the reason, which may move. */
        buf_printf(text, "%lld", (long long)end_delay(how, j));
        reason.ptr = buf_ptr(text);
        words[count++] = SLICE("DELAY");
        words[count++] = (struct slice){ buf_ptr(text) + begin, buf_len(text) - begin };
    }
    words[count++] = SLICE("ERROR");
    words[count++] = reason;
    words[count++] = slice_str(j->name);
    return count;
}

bool work_job_has_id(const struct work_job *j, struct slice id) {
    return slice_equal((struct slice){ j->name, j->id_len }, id);
}

void work_job_free(struct work_job *j) {
    work_program_free(&j->program);
    free(j->queue);
    free(j->name);
    free(j->failure);
    free(j);
}
