/* The tool work: programs for jobs, their ends, leases, signals, lost connections. */
#include "fixture.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "process.h"
#include "tooling.h"

static redisContext *c;

static int start(void **state) {
    (void)state;
    c = client_open();
    setenv("PGDISQUE_SERVER", text_of("127.0.0.1:%d", server.port), 1);
    setenv("SCRATCH", scratch_dir(), 1);
    return 0;
}

static int stop(void **state) {
    (void)state;
    redisFree(c);
    return 0;
}

/* A file of the test's directory. */
static const char *file(const char *name) {
    return text_of("%s/%s", scratch_dir(), name);
}

static bool file_exists(const char *name) {
    return access(file(name), F_OK) == 0;
}

static void make_file(const char *name) {
    FILE *f = fopen(file(name), "w");

    assert_non_null(f);
    fclose(f);
}

/* Starts the tool: the words behind `work`, the last of which is NULL. */
static pid_t work(const char *const *words) {
    const char *argv[30] = { server_program(), "work" };
    size_t count = 2;

    for (; *words != NULL && count < LENGTH(argv) - 1; words++)
        argv[count++] = *words;
    return spawn(&(struct spawn){ .argv = argv, .log = file("work.log"), .death_signal = SIGKILL });
}

#define WORK(...) work((const char *const[]){ __VA_ARGS__, NULL })

/* The tool must end with this status. */
static void ends(pid_t worker, int status) {
    int got = wait_exit(worker, (int)patience(60000));

    if (got != status) {
        show_tail(file("work.log"), "work");
        fail_msg("exit status %d, not %d", got, status);
    }
}

static const char *state_of(const char *id) {
    return job_field(c, id, "state");
}

/* ---- programs ---- */

static void test_result_and_error(void **state) {
    const char *good, *bad;

    (void)state;
    expect(c, "+OK", "QCONFIG w-run SET retention 1000");
    good = add_job(c, "w-run", "good", "HEADER trace-id abc");
    bad = add_job(c, "w-run", "bad", "");
    ends(WORK("--until-empty", "w-run", "--", "sh", "-c",
              "read body; echo \"$PGDISQUE_JOB_QUEUE $PGDISQUE_JOB_ID $PGDISQUE_JOB_ATTEMPT "
              "$PGDISQUE_JOB_TOKEN $PGDISQUE_HEADER_TRACE_ID\"; "
              "[ $body = good ] || { echo reason >&2; exit 3; }"),
         2);
    assert_string_equal(state_of(good), "done");
    assert_string_equal(job_field(c, good, "result"), text_of("w-run %s 1 1 abc\n", good));
    assert_string_equal(job_field(c, bad, "error"), "exit status 3: reason");
    assert_string_equal(job_field(c, bad, "nacks"), "1");
}

static void test_bounds(void **state) {
    const char *id;

    (void)state;
    expect(c, "+OK", "QCONFIG w-bound SET retention 1000");
    id = add_job(c, "w-bound", "body of a job", "");
    ends(WORK("--until-empty", "--argument", "--result", "7", "w-bound", "--", "printf", "%s%s", "<"), 0);
    assert_string_equal(job_field(c, id, "result"), "<body o");
    id = add_job(c, "w-bound", "x", "");
    ends(WORK("--until-empty", "w-bound", "--", "sh", "-c",
              "head -c 100000 /dev/zero | tr '\\0' x >&2; echo end >&2; exit 1"),
         2);
    assert_int_equal(strlen(job_field(c, id, "error")), strlen("exit status 1: ") + 8000 - 1);
    assert_non_null(strstr(job_field(c, id, "error"), "xxxend"));
}

static void test_large_body(void **state) {
    size_t len = 3000000;
    char *body = malloc(len);
    redisReply *r;

    (void)state;
    memset(body, 'b', len);
    expect(c, "+OK", "QCONFIG w-large SET retention 1000");
    r = redisCommand(c, "ADDJOB w-large %b 0", body, len);
    ends(WORK("--until-empty", "w-large", "--", "wc", "-c"), 0);
    assert_string_equal(job_field(c, r->str, "result"), "3000000\n");
    freeReplyObject(r);
    free(body);
}

/* Each program ends only when three run. */
static void test_programs_at_once(void **state) {
    (void)state;
    for (int i = 0; i < 3; i++)
        add_job(c, "w-three", text_of("%d", i), "");
    ends(WORK("--until-empty", "-c", "3", "w-three", "--", "sh", "-c",
              "read n; touch $SCRATCH/at-once-$n; until [ -e $SCRATCH/at-once-0 -a -e $SCRATCH/at-once-1 "
              "-a -e $SCRATCH/at-once-2 ]; do sleep 0.05; done"),
         0);
    assert_true(number(c, "QLEN w-three") == 0);
}

/* ---- the end without jobs ---- */

static void test_jobs_that_follow(void **state) {
    const char *last = add_job(c, "w-chain", "1", "");

    (void)state;
    for (int i = 0; i < 10; i++)
        add_job(c, "w-group", "x", "GROUP g");
    for (int i = 0; i < 5; i++)
        last = add_job(c, "w-chain", "x", text_of("AFTER %s", last));
    ends(WORK("--until-empty", "w-group", "w-chain", "--", "true"), 0);
    expect(c, ":0", "QLEN w-group ALL AFTER");
    expect(c, ":0", "QLEN w-chain ALL AFTER");
}

/* A job of another worker runs, and a rate lets no more jobs start. */
static void test_jobs_for_later(void **state) {
    const char *first = add_job(c, "w-first", "x", "");
    pid_t worker;

    (void)state;
    expect(c, "+OK", "QCONFIG w-paced SET rate 10");
    for (int i = 0; i < 15; i++)
        add_job(c, "w-paced", "x", "");
    add_job(c, "w-paced", "x", text_of("AFTER %s", first));
    get_job(c, "w-first", "x");
    worker = WORK("--until-empty", "w-paced", "--", "true");
    EVENTUALLY(number(c, "QLEN w-paced ALL") == 0 && blocked_clients() > 0);
    expect(c, ":1", "QLEN w-paced AFTER");
    expect(c, ":1", "ACKJOB %s", first);
    ends(worker, 0);
    expect(c, ":0", "QLEN w-paced ALL AFTER");
}

static void test_wrong_arguments(void **state) {
    (void)state;
    TOOLING(1, "the command is missing", "work", "q");
    TOOLING(1, "the command is missing", "work", "q", "--");
    TOOLING(1, "the command is missing behind --", "work", "q", "sh", "-c", "true");
    TOOLING(1, "the queue is missing", "work");
    TOOLING(1, "the address of --server is empty", "work", "--server", "", "q", "--", "true");
    TOOLING(1, "the queue is missing", "work", "--", "true");
    TOOLING(1, "cannot be executed", "work", "q", "--", "no-such-program");
    TOOLING(1, "-c must be a number from 1 to 1000", "work", "-c", "0", "q", "--", "true");
    TOOLING(1, "Connection refused", "work", "--server", "127.0.0.1:1", "q", "--", "true");
}

/* ---- leases ---- */

/* A shell command that writes the process IDs of itself and of a child, and then waits for the file `end`. */
#define WAITS(end)                                                                \
    "sleep 1000 & echo $! > $SCRATCH/" end ".pid; touch $SCRATCH/" end ".began; " \
    "until [ -e $SCRATCH/" end " ]; do sleep 0.05; done; kill $!"

static void test_working(void **state) {
    const char *id = add_job(c, "w-long", "x", "RETRY 1000");
    pid_t worker;

    (void)state;
    expect(c, "+OK", "CONFIG RESETSTAT");
    worker = WORK("w-long", "--", "sh", "-c", WAITS("long"));
    /* The first call asks for the right. */
    EVENTUALLY(strstr(ask(c, "INFO commandstats"), "cmdstat_working:calls=2,") != NULL);
    assert_string_equal(state_of(id), "active");
    make_file("long");
    EVENTUALLY(strcmp(state_of(id), "gone") == 0);
    kill(worker, SIGTERM);
    ends(worker, 0);
}

/* The process that the program left in the file. */
static pid_t child_of(const char *name) {
    FILE *f = fopen(file(name), "r");
    int pid = 0;

    assert_non_null(f);
    assert_int_equal(fscanf(f, "%d", &pid), 1);
    fclose(f);
    return pid;
}

/* Has the process ended? The system may keep an ended process for a parent that does not ask for it. */
static bool has_died(pid_t pid) {
    FILE *f = fopen(text_of("/proc/%d/stat", (int)pid), "r");
    char process_state = 'X';

    if (f == NULL)
        return true;
    if (fscanf(f, "%*d (%*[^)]) %c", &process_state) != 1)
        process_state = 'X';
    fclose(f);
    return process_state == 'Z' || process_state == 'X';
}

static void test_timeout(void **state) {
    const char *id = add_job(c, "w-slow", "x", "");
    pid_t worker = WORK("--timeout", "1", "--backoff", "500", "w-slow", "--", "sh", "-c", WAITS("slow"));

    (void)state;
    EVENTUALLY(file_exists("slow.began"));
    EVENTUALLY(strcmp(job_field(c, id, "error"), "timeout") == 0);
    assert_string_equal(job_field(c, id, "nacks"), "1");
    assert_true(atoll(job_field(c, id, "next-awake-within")) > 400000);
    /* The child of the program is in its group. */
    EVENTUALLY(has_died(child_of("slow.pid")));
    kill(worker, SIGTERM);
    ends(worker, 0);
}

/* A user with no more than the documented rights works without a complaint. */
static void test_rights(void **state) {
    const char *id = add_job(c, "w-rights", "x", "");

    (void)state;
    expect(c, "+OK", "ACL LOG RESET");
    expect(c, "+OK",
           "ACL SETUSER hand on >pass -@all +getjob +ackjob +nack +working +qlen +client +subscribe "
           "%%R~w-rights &__cancel__:w-rights");
    setenv("PGDISQUE_PASSWORD", "pass", 1);
    ends(WORK("--user", "hand", "--until-empty", "w-rights", "--", "true"), 0);
    unsetenv("PGDISQUE_PASSWORD");
    assert_string_equal(state_of(id), "gone");
    expect(c, "[]", "ACL LOG");
    assert_false(file_contains(file("work.log"), "NOPERM"));
    expect(c, ":1", "ACL DELUSER hand");
}

/* A worker that cannot end its jobs takes none. */
static void test_missing_rights(void **state) {
    static const char *const needed[] = { "ackjob", "nack", "working" };
    const char *id = add_job(c, "w-missing", "x", "");

    (void)state;
    setenv("PGDISQUE_PASSWORD", "pass", 1);
    for (size_t i = 0; i < LENGTH(needed); i++) {
        expect(c, "+OK", "ACL SETUSER hand reset on >pass ~* &* +@all -%s", needed[i]);
        TOOLING(1, text_of("no permissions to run the '%s' command", needed[i]), "work", "--user", "hand",
                "w-missing", "--", "true");
    }
    /* The program gets no password. */
    expect(c, "+OK", "ACL SETUSER hand +@all");
    ends(WORK("--user", "hand", "--until-empty", "w-missing", "--", "sh", "-c",
              "[ -z \"$PGDISQUE_PASSWORD\" ]"),
         0);
    unsetenv("PGDISQUE_PASSWORD");
    assert_string_equal(state_of(id), "gone");
    expect(c, ":1", "ACL DELUSER hand");
}

static void test_cancel(void **state) {
    const char *id = add_job(c, "w-cancel", "x", ""), *other;
    pid_t worker = WORK("w-cancel", "--", "sh", "-c", "read body; [ $body = y ] || { " WAITS("cancel") "; }");

    (void)state;
    EVENTUALLY(file_exists("cancel.began"));
    expect(c, ":1", "CANCEL %s", id);
    EVENTUALLY(has_died(child_of("cancel.pid")));
    EVENTUALLY(strcmp(state_of(id), "gone") == 0);
    other = add_job(c, "w-cancel", "y", "");
    EVENTUALLY(strcmp(state_of(other), "gone") == 0);
    kill(worker, SIGTERM);
    ends(worker, 0);
}

/* The job of a worker that is killed is delivered again, and its program is killed. */
static void test_killed(void **state) {
    const char *id = add_job(c, "w-kill", "x", "RETRY 1");
    pid_t worker = WORK("w-kill", "--", "sh", "-c",
                        "echo $$ > $SCRATCH/kill.pid; touch $SCRATCH/kill.began; sleep 1000");

    (void)state;
    EVENTUALLY(file_exists("kill.began"));
    kill(worker, SIGKILL);
    ends(worker, 128 + SIGKILL);
    EVENTUALLY(has_died(child_of("kill.pid")));
    worker = WORK("w-kill", "--", "sh", "-c", "touch $SCRATCH/kill.again.$PGDISQUE_JOB_ATTEMPT");
    EVENTUALLY(strcmp(state_of(id), "gone") == 0);
    assert_true(file_exists("kill.again.2"));
    kill(worker, SIGTERM);
    ends(worker, 0);
}

/* A job keeps its worker in the second half of its life, in which WORKING needs a token. */
static void test_second_half(void **state) {
    const char *id;
    pid_t worker;

    (void)state;
    expect(c, "+OK", "QCONFIG w-old SET retention 1000");
    id = add_job(c, "w-old", "x", "TTL 30 RETRY 6");
    worker = WORK("--until-empty", "-c", "2", "w-old", "--", "sh", "-c",
                  "touch $SCRATCH/old.$PGDISQUE_JOB_ATTEMPT; until [ -e $SCRATCH/old ]; do sleep 0.05; done");
    EVENTUALLY(file_exists("old.1"));
    EVENTUALLY(strncmp(ask(c, "WORKING %s", id), "-TOOLATE", 8) == 0);
    HOLDS_FOR(7000, !file_exists("old.2"));
    make_file("old");
    ends(worker, 0);
    assert_string_equal(state_of(id), "done");
    assert_string_equal(job_field(c, id, "additional-deliveries"), "0");
}

/* A program whose job was delivered again ends, and the job is that of the other worker. */
static void test_stale(void **state) {
    const char *id = add_job(c, "w-stale", "x", "RETRY 3");
    pid_t worker = WORK("w-stale", "--", "sh", "-c", WAITS("stale"));

    (void)state;
    EVENTUALLY(file_exists("stale.began"));
    expect(c, ":1", "ENQUEUE %s", id);
    get_job(c, "w-stale", "x");
    EVENTUALLY(has_died(child_of("stale.pid")));
    assert_string_equal(job_field(c, id, "nacks"), "0");
    expect(c, ":1", "ACKJOB %s", id);
    kill(worker, SIGTERM);
    ends(worker, 0);
    assert_true(file_contains(file("work.log"), "the job was delivered again"));
}

/* The tool says that the server did not find the job of an ACKJOB. */
static void test_gone(void **state) {
    const char *id = add_job(c, "w-gone", "x", "");
    pid_t worker = WORK("--until-empty", "w-gone", "--", "sh", "-c", WAITS("gone"));

    (void)state;
    EVENTUALLY(file_exists("gone.began"));
    expect(c, ":1", "DELJOB %s", id);
    make_file("gone");
    ends(worker, 2);
    assert_true(file_contains(file("work.log"), text_of("%s:1: the job is gone", id)));
}

/* ---- signals and connections ---- */

static void test_graceful_end(void **state) {
    const char *first = add_job(c, "w-stop", "x", ""), *second;
    pid_t worker = WORK("-c", "5", "w-stop", "--", "sh", "-c", WAITS("stop"));

    (void)state;
    EVENTUALLY(file_exists("stop.began"));
    /* The GETJOB for the four free places must wait before the signal, or it may take the second job. */
    EVENTUALLY(blocked_clients() == 1);
    kill(worker, SIGTERM);
    /* GETJOB ends, because the worker asks for it. */
    EVENTUALLY(blocked_clients() == 0);
    second = add_job(c, "w-stop", "x", "");
    make_file("stop");
    ends(worker, 0);
    assert_string_equal(state_of(first), "gone");
    assert_string_equal(state_of(second), "queued");
    assert_string_equal(job_field(c, second, "additional-deliveries"), "0");
}

/* The worker repeats a CLIENT UNBLOCK that has no effect until GETJOB ends. */
static void test_unblock_is_repeated(void **state) {
    pid_t worker;

    (void)state;
    expect(c, "+OK", "ACL SETUSER hand on >pass ~* &* +@all -client|unblock");
    expect(c, "+OK", "CONFIG RESETSTAT");
    setenv("PGDISQUE_PASSWORD", "pass", 1);
    worker = WORK("--user", "hand", "w-unblock", "--", "true");
    unsetenv("PGDISQUE_PASSWORD");
    EVENTUALLY(blocked_clients() == 1);
    kill(worker, SIGTERM);
    EVENTUALLY(command_figure(c, "client", "rejected_calls") > 1);
    expect(c, "+OK", "ACL SETUSER hand +client|unblock");
    ends(worker, 0);
    expect(c, ":1", "ACL DELUSER hand");
}

static void test_second_signal(void **state) {
    const char *id = add_job(c, "w-force", "x", "");
    pid_t worker = WORK("w-force", "--", "sh", "-c", WAITS("force"));

    (void)state;
    EVENTUALLY(file_exists("force.began"));
    kill(worker, SIGTERM);
    kill(worker, SIGINT);
    ends(worker, 0);
    assert_string_equal(job_field(c, id, "error"), "the worker was stopped");
    get_job(c, "w-force", "x");
    EVENTUALLY(has_died(child_of("force.pid")));
}

/* The acknowledgement of a job that ends while the server is away comes later. */
static void test_server_restarts(void **state) {
    const char *id = add_job(c, "w-again", "x", ""), *other;
    pid_t worker = WORK("w-again", "--", "sh", "-c", WAITS("again"));

    (void)state;
    EVENTUALLY(file_exists("again.began"));
    redisFree(c);
    server_kill(&server);
    make_file("again");
    server_resume(&server);
    c = client_open();
    EVENTUALLY(strcmp(state_of(id), "gone") == 0);
    other = add_job(c, "w-again", "x", "");
    EVENTUALLY(strcmp(state_of(other), "gone") == 0);
    kill(worker, SIGTERM);
    ends(worker, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_result_and_error),
        cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_large_body),
        cmocka_unit_test(test_programs_at_once),
        cmocka_unit_test(test_jobs_that_follow),
        cmocka_unit_test(test_jobs_for_later),
        cmocka_unit_test(test_wrong_arguments),
        cmocka_unit_test(test_working),
        cmocka_unit_test(test_timeout),
        cmocka_unit_test(test_killed),
        cmocka_unit_test(test_rights),
        cmocka_unit_test(test_missing_rights),
        cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_graceful_end),
        cmocka_unit_test(test_unblock_is_repeated),
        cmocka_unit_test(test_second_signal),
        cmocka_unit_test(test_server_restarts),
        cmocka_unit_test(test_second_half),
        cmocka_unit_test(test_stale),
        cmocka_unit_test(test_gone),
    };

    return RUN_SUITE_WITH("work", tests, start, stop);
}
