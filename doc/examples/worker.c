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
    char name[128]; /* ID:token */
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

/* Sends a command, again and again while the server is away. An error other than LOADING is a reply. */
static redisReply *call(redisContext **c, int argc, const char **argv) {
    for (;;) {
        redisReply *reply = NULL;

        if (!*c)
            *c = connect_server();
        if (*c && !(*c)->err)
            reply = redisCommandArgv(*c, argc, argv, NULL);
        if (reply && (reply->type != REDIS_REPLY_ERROR || strncmp(reply->str, "LOADING", 7) != 0))
            return reply;
        freeReplyObject(reply);
        redisFree(*c);
        *c = NULL;
        if (stopping)
            exit(1);
        sleep(1);
    }
}

/* Your code. Here the body is the number of seconds that the work takes. A signal interrupts nanosleep(). */
static const char *work(const char *body) {
    char *end;
    double seconds = strtod(body, &end);
    struct timespec left = {(time_t)seconds, (long)((seconds - (time_t)seconds) * 1e9)};

    printf("start %s\n", body);
    if (end == body)
        return "not a number";
    while (nanosleep(&left, &left) != 0 && errno == EINTR)
        ;
    printf("done %s\n", body);
    return NULL;
}

/* Renews the lease until the job has ended, by a connection of its own. */
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

            if (reply && reply->type == REDIS_REPLY_ERROR) /* STALE: another worker has the job now */
                printf("heartbeat: %s\n", reply->str);
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

/* An element of job: queue, ID, body, "nacks", n, "additional-deliveries", n, token. */
static void run(redisContext **c, redisReply **job) {
    long long nacks = job[4]->integer;
    struct beat b;
    char delay[16];
    redisReply *reply;

    snprintf(b.name, sizeof(b.name), "%s:%lld", job[1]->str, job[7]->integer);
    snprintf(delay, sizeof(delay), "%d", nacks < 12 ? 1 << nacks : 3600);
    start_beat(&b);
    const char *error = work(job[2]->str);
    end_beat(&b);
    if (error)
        reply = call(c, 6, (const char *[]){"NACK", "DELAY", delay, "ERROR", error, b.name});
    else
        reply = call(c, 2, (const char *[]){"ACKJOB", b.name});
    if (reply->type == REDIS_REPLY_ERROR) /* STALE: another worker has the job now */
        printf("end of the job: %s\n", reply->str);
    freeReplyObject(reply);
}

static void stop(int number) {
    (void)number;
    stopping = 1;
}

int main(void) {
    struct sigaction action = {.sa_handler = stop};
    const char *get[] = {"GETJOB", "TIMEOUT", "2000", "WITHCOUNTERS", "WITHTOKENS", "FROM", setting("QUEUE", "emails")};
    redisContext *c = NULL;

    setvbuf(stdout, NULL, _IOLBF, 0);
    sigaction(SIGTERM, &action, NULL);
    while (!stopping) {
        redisReply *jobs = call(&c, 7, get);

        if (jobs->type == REDIS_REPLY_ERROR)
            fprintf(stderr, "GETJOB: %s\n", jobs->str);
        for (size_t i = 0; jobs->type == REDIS_REPLY_ARRAY && i < jobs->elements; i++)
            run(&c, jobs->element[i]->element);
        freeReplyObject(jobs);
    }
    redisFree(c);
    return 0;
}
