/* Each allocation fails once: it works, or ends with the message, and nothing else. wraps: malloc calloc realloc */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "base/heap.h"
#include "getters.h"
#include "net/resp.h"
#include "queue/lease.h"
/* The tasks of this file have names of a single letter. */
#include "batch_tasks.h"

/* the number of the allocation that fails, from 1; 0: all succeed */
static long failing;
static long allocations;

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *ptr, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *ptr, size_t size);

static bool fails(void) {
    return ++allocations == failing;
}

void *__wrap_malloc(size_t size) {
    return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size) {
    return fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *ptr, size_t size) {
    return fails() ? NULL : __real_realloc(ptr, size);
}

/* ---- a process for each failure ---- */

/* Longer than any of the works takes; a process that hangs ends with SIGALRM. */
#define PATIENCE_S 60
#define WORKED 0
#define ENDED 1 /* log_fatal()'s */
#define WENT_ON 3

_Noreturn static void work_alone(void (*work)(void), long n, int err) {
    dup2(err, STDERR_FILENO);
    alarm(PATIENCE_S);
    allocations = 0;
    failing = n;
    work();
    failing = 0;
    exit(allocations < n ? WORKED : WENT_ON);
}

/* Returns the exit status. said is the output. A signal is an error of the test. */
static int run_alone(void (*work)(void), long n, char *said, size_t size) {
    FILE *err = tmpfile();
    pid_t pid;
    size_t len;
    int status;

    assert_non_null(err);
    fflush(stdout);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        work_alone(work, n, fileno(err));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    rewind(err);
    len = fread(said, 1, size - 1, err);
    said[len] = '\0';
    fclose(err);
    if (!WIFEXITED(status))
        fail_msg("allocation %ld: signal %d, %s", n, WTERMSIG(status), said);
    return WEXITSTATUS(status);
}

static bool is_message(const char *said) {
    const char *at = strstr(said, "[memory] out of memory while asking for ");

    return at != NULL && strchr(at, '\n') == strrchr(said, '\n');
}

/* at_least: so many allocations there are to fail. */
static void check_each(void (*work)(void), long at_least) {
    char said[4096];
    int status;
    long n = 1;

    while ((status = run_alone(work, n, said, sizeof said)) != WORKED) {
        if (status != ENDED || !is_message(said))
            fail_msg("allocation %ld: status %d, %s", n, status, said);
        n++;
    }
    assert_string_equal(said, "");
    assert_in_range(n - 1, at_least, 2000);
}

/* ---- work with memory ---- */

static void read_all(struct resp_parser *p, struct buf *in) {
    static const struct resp_limits limits = { RESP_MAX_ARGS, 1 << 20 };

    while (resp_next(p, in, &limits) == RESP_COMMAND) {
        struct slice *argv = xmemdup(p->argv, (size_t)p->argc * sizeof *argv);

        assert_true(p->argc > 0 && argv[0].len == 6);
        buf_consume(in, p->consumed);
        free(argv);
    }
    assert_int_equal(buf_len(in), 0);
}

static void parse(void) {
    struct resp_parser p = { 0 };
    struct buf in = { 0 };

    buf_append_str(&in, "ADDJOB \"q\\x00\" 'a b' 0\r\n*3\r\n$6\r\nGETJOB\r\n$4\r\nFROM\r\n$1\r\nq\r\n");
    read_all(&p, &in);
    buf_append_str(&in, "*3000\r\n$6\r\nACKJOB\r\n");
    for (int i = 1; i < 3000; i++)
        buf_append_str(&in, "$3\r\nabc\r\n");
    read_all(&p, &in);
    resp_parser_free(&p);
    buf_free(&in);
}

static void reply(void) {
    struct buf out = { 0 };
    char *big = xcalloc(1, 100000);

    resp_array(&out, 3);
    resp_bulk(&out, (struct slice){ big, 100000 });
    for (int i = 0; i < 1000; i++)
        resp_int(&out, i);
    resp_error(&out, "ERR something");
    buf_printf(&out, "%0*d", 5000, 7);
    buf_consume(&out, 100000);
    buf_append(&out, big, 100000);
    free(big);
    buf_free(&out);
}

static void sort_times(void) {
    struct heap heap = { 0 };
    struct heap_item items[1000] = { 0 };

    for (int i = 0; i < 1000; i++)
        heap_set(&heap, &items[i], i * 7919 % 1000);
    for (int i = 0; i < 1000; i++) {
        struct heap_item *first = heap_first(&heap);

        assert_int_equal(first->due, i);
        heap_remove(&heap, first);
    }
    heap_free(&heap);
}

static void fill_parameters(void) {
    const char *values[PARAMS_MAX];
    int lengths[PARAMS_MAX], formats[PARAMS_MAX];
    struct params p = { 0 };

    for (int i = 0; i < 300; i++) {
        params_int8(&p, 0, i);
        params_bytea(&p, 1, SLICE("some bytes of a job's body"));
        params_null(&p, 2, 17);
        p.rows++;
    }
    params_set_text(&p, 3, "text");
    params_finish(&p, values, lengths, formats);
    params_free(&p);
}

static void fly(void) {
    for (int i = 0; i < 100; i++)
        m[i].shape = 10 * (i % 3);
    add_many(a, 0, 299);
    add_many(m, 0, 99);
    add_many(s, 0, 40);
    b[7].refused = BAD_DATA;
    add_many(b, 0, 20);
    c[1].gives_up = true;
    add_many(c, 0, 20);
    batch_flush();
    lose(WRITE);
    end_all_txns();
    assert_all_ended();
    assert_string_equal(b[7].failed, BAD_DATA);
}

static struct job a_job(const char *queue, int64_t id) {
    struct queue *q = queue_named(queue);

    return (struct job){ .q = q, .key = { q->id, 0, id }, .retry = 5, .body = SLICE("body") };
}

/* Clients are served, refused, late, disconnected, unblocked, or never served. */
static void wait_and_serve(void) {
    struct job jobs[2];

    getters_start();
    for (int i = 1; i < GETTERS; i++)
        taker_wait(new_get(i, i % 2 ? "q1 q2 q3 q1" : "q2"));
    jobs[0] = a_job("q1", 1);
    jobs[1] = a_job("q2", 2);
    taker_claim(getters[1].taker);
    taker_deliver(getters[1].taker, jobs, 2);
    taker_claim(getters[2].taker);
    for (int i = 0; i < 20; i++) {
        size_t place = taker_add_place(getters[2].taker);

        getters[2].taker->jobs[place] = a_job("q2", 10 + i);
    }
    taker_finish(getters[2].taker);
    taker_claim(getters[3].taker);
    taker_add_place(getters[3].taker);
    taker_refuse(getters[3].taker, &(struct op_error){ "53100", "no room" });
    taker_finish(getters[3].taker);
    getter_hangs_up(4);
    waiters_client_gone(&getters[4].client);
    assert_true(waiters_unblock(&getters[5].client, true));
    waiters_end_all("LEAVING");
    getters_stop();
    lease_clear();
}

/* ---- the tests ---- */

static void test_parser(void **state) {
    (void)state;
    check_each(parse, 10);
}

static void test_replies(void **state) {
    (void)state;
    check_each(reply, 4);
}

static void test_heap(void **state) {
    (void)state;
    check_each(sort_times, 4);
}

static void test_params(void **state) {
    (void)state;
    check_each(fill_parameters, 6);
}

static void test_batch(void **state) {
    (void)state;
    check_each(fly, 50);
}

static void test_waiters(void **state) {
    (void)state;
    check_each(wait_and_serve, 200);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parser),
        cmocka_unit_test(test_replies),
        cmocka_unit_test(test_heap),
        cmocka_unit_test(test_params),
        cmocka_unit_test_setup(test_batch, trial_start),
        cmocka_unit_test(test_waiters),
    };

    return cmocka_run_group_tests(tests, trial_group_start, trial_group_stop);
}
