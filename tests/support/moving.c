/* A Redis beside the server, and tasks that are moved between the two. */
#include "moving.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "process.h"

/* The status of pgdisque import when a list that is named has nothing. */
#define NOTHING_FOUND 3
#define MAX_WORDS 24

static struct server redis; /* only its port, pid and log */

static redisContext *start_redis(void) {
    char port[16];
    const char *argv[] = { "redis-server", "--port", port, "--save", "", "--bind", "127.0.0.1", NULL };

    redis.port = server_free_port();
    snprintf(port, sizeof port, "%d", redis.port);
    path_join(redis.log, "%s/redis.log", scratch_dir());
    redis.pid = spawn(&(struct spawn){ .argv = argv, .log = redis.log, .death_signal = SIGKILL });
    if (!WAIT_UNTIL(strcmp(server_ping(&redis), "+PONG") == 0, 10000))
        die("redis-server does not answer, see %s", redis.log);
    return client_open_on(&redis);
}

int moving_open(redisContext **r, redisContext **q) {
    *r = start_redis();
    *q = client_open();
    return 0;
}

int moving_close(redisContext *r, redisContext *q) {
    redisFree(r);
    redisFree(q);
    return 0;
}

const char *moving_log(void) {
    static char path[PATH_SIZE];

    path_join(path, "%s/moving.log", scratch_dir());
    return path;
}

pid_t moving_spawn(const char *subcommand, const char *const *words) {
    const char *argv[MAX_WORDS + 7] = { server_program(),
                                        subcommand,
                                        forever(text_of("redis://127.0.0.1:%d/0", redis.port)),
                                        strcmp(subcommand, "import") == 0 ? "--to" : "--from",
                                        forever(text_of("127.0.0.1:%d", server.port)),
                                        "--table" };

    for (int i = 0; i < MAX_WORDS && words[i] != NULL; i++)
        argv[i + 6] = words[i];
    unlink(moving_log());
    return spawn(&(struct spawn){ .argv = argv, .log = moving_log(), .death_signal = SIGKILL });
}

void moving_must(const char *subcommand, int status, const char *says, const char *const *words) {
    int got = wait_exit(moving_spawn(subcommand, words), MOVING_RUN_MS);

    if (got != status || !file_contains(moving_log(), says)) {
        show_tail(moving_log(), subcommand);
        fail_msg("exit status %d, and not %d with \"%s\"", got, status, says);
    }
}

void moving_end_two(const pid_t pids[2]) {
    for (int i = 0; i < 2; i++) {
        kill(pids[i], SIGTERM);
        assert_int_equal(wait_exit(pids[i], MOVING_RUN_MS), 0);
    }
}

int moving_kill(const char *subcommand, const char *const *words, unsigned after_us) {
    pid_t pid = moving_spawn(subcommand, words);
    int status;

    usleep(after_us);
    kill(pid, SIGKILL);
    status = wait_exit(pid, MOVING_RUN_MS);
    if (status != 0 && status != 128 + SIGKILL)
        show_tail(moving_log(), subcommand);
    /* The run before may have been killed when all was moved. */
    if (status == NOTHING_FOUND)
        return 0;
    assert_true(status == 0 || status == 128 + SIGKILL);
    return status;
}

void moving_fill(redisContext *r, const char *key, const char *command, int from, int to) {
    for (int i = from; i < to; i++)
        later(r, "%s %s %s", command, key, text_of("task %d", i));
    for (int i = from; i < to; i++)
        next_reply(r);
}

int moving_take_all(redisContext *q, const char *queue, int *seen, int size) {
    int taken = 0;

    for (;;) {
        redisReply *jobs = redisCommand(q, "GETJOB NOHANG COUNT 500 FROM %s", queue);

        if (jobs == NULL || jobs->type != REDIS_REPLY_ARRAY || jobs->elements == 0) {
            assert_non_null(jobs);
            freeReplyObject(jobs);
            return taken;
        }
        for (size_t i = 0; i < jobs->elements; i++) {
            const char *body = jobs->element[i]->element[2]->str;
            int number_of = atoi(strrchr(body, ' ') + 1);

            assert_true(number_of >= 0 && number_of < size);
            seen[number_of]++;
            taken++;
            expect(q, ":1", "ACKJOB %s", jobs->element[i]->element[1]->str);
        }
        freeReplyObject(jobs);
    }
}

void moving_in_order(redisContext *q, const char *queue, int count) {
    for (int i = 0; i < count; i++)
        expect(q, ":1", "ACKJOB %s", get_job(q, queue, text_of("task %d", i)));
    assert_true(queue_is_empty(q, queue));
}

void moving_once(const int *seen, int size) {
    for (int i = 0; i < size; i++) {
        if (seen[i] != 1)
            fail_msg("task %d was there %d times", i, seen[i]);
    }
}
