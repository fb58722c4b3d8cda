/* A worker with hiredis. PORT, QUEUE and HEARTBEAT (seconds) are environment variables.
 * cc -o worker worker.c -lhiredis -lpthread */
#include <errno.h>
#include <hiredis/hiredis.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t stopping;

/* The heartbeat of the job that runs. */
struct beat {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int ended;
    volatile sig_atomic_t cancelled; /* the work must stop */
    char name[128]; /* ID:token */
};

struct command {
    int argc;
    const char *argv[8];
};

static const char *setting(const char *name, const char *value) {
    return getenv(name) ? getenv(name) : value;
}

static redisContext *connect_server(void) {
    struct timeval timeout = {15, 0};
    redisContext *c = redisConnectWithTimeout("127.0.0.1", atoi(setting("PORT", "7711")), timeout);

    if (c && !c->err)
        redisSetTimeout(c, timeout);
    return c;
}

/* Sends commands in one write, and gives their replies. Returns 0 if the server is away. */
static int exchange(redisContext *c, int count, const struct command *commands, redisReply **replies) {
    int got = 0, ok = c && !c->err;

    for (int i = 0; ok && i < count; i++)
        redisAppendCommandArgv(c, commands[i].argc, (const char **)commands[i].argv, NULL);
    while (ok && got < count) {
        ok = redisGetReply(c, (void **)&replies[got]) == REDIS_OK;
        if (ok && replies[got++]->type == REDIS_REPLY_ERROR)
            ok = strncmp(replies[got - 1]->str, "LOADING", 7) != 0;
    }
    while (!ok && got > 0)
        freeReplyObject(replies[--got]);
    return ok;
}

/* Sends commands, again and again while the server is away. An error other than LOADING is a reply. */
static void call(redisContext **c, int count, const struct command *commands, redisReply **replies) {
    for (;;) {
        if (!*c)
            *c = connect_server();
        if (exchange(*c, count, commands, replies))
            return;
        redisFree(*c);
        *c = NULL;
        if (stopping)
            exit(1);
        sleep(1);
    }
}

static double now(void) {
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Your code. Here the body is the number of seconds that the work takes. */
static const char *work(const char *body, const struct beat *b) {
    struct timespec step = {0, 50000000};
    char *end;
    double until = now() + strtod(body, &end);

    printf("start %s\n", body);
    if (end == body)
        return "not a number";
    while (now() < until) {
        if (b->cancelled)
            return "cancelled";
        nanosleep(&step, NULL);
    }
    printf("done %s\n", body);
    return NULL;
}

/* Renews the lease until the job has ended, by a connection of its own. CANCELLED: the work must stop. */
static void *heartbeat(void *arg) {
    struct beat *b = arg;
    redisContext *c = connect_server();
    struct timespec next;

    clock_gettime(CLOCK_REALTIME, &next);
    pthread_mutex_lock(&b->lock);
    while (!b->ended) {
        next.tv_sec += atoi(setting("HEARTBEAT", "20"));
        while (!b->ended && pthread_cond_timedwait(&b->changed, &b->lock, &next) != ETIMEDOUT)
            ;
        if (!b->ended && c && !c->err) {
            redisReply *reply = redisCommand(c, "WORKING %s", b->name);

            if (reply && reply->type == REDIS_REPLY_ERROR) { /* STALE: another worker has the job now */
                printf("heartbeat: %s\n", reply->str);
                b->cancelled = strncmp(reply->str, "CANCELLED", 9) == 0;
            }
            freeReplyObject(reply);
        }
    }
    pthread_mutex_unlock(&b->lock);
    redisFree(c);
    return NULL;
}

static void start_beat(struct beat *b) {
    sigset_t term, before;

    b->ended = 0;
    b->cancelled = 0;
    pthread_mutex_init(&b->lock, NULL);
    pthread_cond_init(&b->changed, NULL);
    sigemptyset(&term);
    sigaddset(&term, SIGTERM); /* the main thread gets the signal */
    pthread_sigmask(SIG_BLOCK, &term, &before);
    pthread_create(&b->thread, NULL, heartbeat, b);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void end_beat(struct beat *b) {
    pthread_mutex_lock(&b->lock);
    b->ended = 1;
    pthread_cond_signal(&b->changed);
    pthread_mutex_unlock(&b->lock);
    pthread_join(b->thread, NULL);
}

/* Runs a job, and gives the command for its end. An element of job: queue, ID, body, "nacks", n, "additional-deliveries",
 * n, token. */
static void run(redisReply **job, struct command *end) {
    static struct beat b;
    static char delay[16];
    long long nacks = job[4]->integer;

    snprintf(b.name, sizeof(b.name), "%s:%lld", job[1]->str, job[7]->integer);
    snprintf(delay, sizeof(delay), "%d", nacks < 12 ? 1 << nacks : 3600);
    start_beat(&b);
    const char *error = work(job[2]->str, &b);
    end_beat(&b);
    *end = error ? (struct command){6, {"NACK", "DELAY", delay, "ERROR", error, b.name}}
                 : (struct command){2, {"ACKJOB", b.name}};
}

static void stop(int number) {
    (void)number;
    stopping = 1;
}

int main(void) {
    struct sigaction action = {.sa_handler = stop};
    const struct command get = {
        7, {"GETJOB", "TIMEOUT", "2000", "WITHCOUNTERS", "WITHTOKENS", "FROM", setting("QUEUE", "emails")}};
    struct command commands[2];
    redisReply *replies[2];
    redisContext *c = NULL;
    int count = 0; /* 1: commands[0] is the end of a job */

    setvbuf(stdout, NULL, _IOLBF, 0);
    sigaction(SIGTERM, &action, NULL);
    while (count > 0 || !stopping) {
        /* The end of a job and the next GETJOB are one write, and usually one transaction of the server. */
        if (!stopping)
            commands[count++] = get;
        if (count == 0)
            break;
        call(&c, count, commands, replies);
        int sent = count;
        if (replies[sent - 1]->type == REDIS_REPLY_ERROR)
            sleep(1);
        count = 0;
        for (int i = 0; i < sent; i++) {
            if (replies[i]->type == REDIS_REPLY_ERROR) /* STALE: another worker has the job now */
                printf("refused: %s\n", replies[i]->str);
            if (replies[i]->type == REDIS_REPLY_ARRAY && replies[i]->elements > 0)
                run(replies[i]->element[0]->element, &commands[count++]);
            freeReplyObject(replies[i]);
        }
    }
    redisFree(c);
    return 0;
}
