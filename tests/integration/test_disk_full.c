/* The disk of the database is full: clients that add jobs get an error, all others continue. */
#include "fixture.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "process.h"

#define DISK "150m"
#define BODY 60000
#define MOST_JOBS 5000

static char disk[PATH_SIZE], ballast[PATH_SIZE];
static struct server full;
static bool mounted;

static bool run_quietly(const char *format, const char *path) {
    char line[PATH_SIZE + 100];

    snprintf(line, sizeof line, format, path);
    return system(line) == 0;
}

static int start(void **state) {
    const char *options[] = { "--dir", disk, NULL };

    (void)state;
    path_join(disk, "%s/disk", scratch_dir());
    path_join(ballast, "%s/ballast", disk);
    mounted = run_quietly("mkdir -p '%s'", disk) &&
              run_quietly("mount -t tmpfs -o size=" DISK " tmpfs '%s' 2>/dev/null", disk);
    if (!mounted) {
        print_message("skipped: a file system of its own cannot be mounted here\n");
        return 0;
    }
    server_start(&full, "", options);
    return 0;
}

static int stop(void **state) {
    (void)state;
    if (!mounted)
        return 0;
    (void)unlink(ballast);
    (void)server_stop(&full);
    return run_quietly("umount -l '%s'", disk) ? 0 : -1;
}

/* No space is left. */
static void fill(void) {
    (void)run_quietly("dd if=/dev/zero of='%s' bs=4k oflag=append conv=notrunc 2>/dev/null", ballast);
}

static redisContext *connect_or_skip(void) {
    if (!mounted)
        skip();
    return client_open_on(&full);
}

/* Adds jobs until the database has no space for another one. */
static const char *add_until_full(redisContext *c, const char *body) {
    for (int i = 0; i < MOST_JOBS; i++) {
        const char *got = ask(c, "ADDJOB large %b 5000", body, (size_t)BODY);

        if (got[0] == '-')
            return got;
    }
    return "never full";
}

static void test_full(void **state) {
    redisContext *c = connect_or_skip();
    char *body = calloc(1, BODY);
    const char *id = add_job(c, "q", "first", ""), *got;

    (void)state;
    fill();
    got = add_until_full(c, body);
    if (strncmp(got, "-DISKFULL ", 10) != 0)
        fail_msg("an ADDJOB on a full disk: %s", got);
    assert_string_equal(get_job(c, "q", "first"), id);
    expect(c, ":1", "ACKJOB %s", id);
    assert_int_equal(unlink(ballast), 0);
    EVENTUALLY(ask(c, "ADDJOB q again 5000")[0] == '+');
    free(body);
    redisFree(c);
}

/* The number is 0 while the database does not run. The numbers 0 and -1 stand for groups with this program. */
static void kill_database(redisContext *c) {
    pid_t pid = (pid_t)info_number(c, "database_process_id");

    if (pid > 0)
        (void)kill(pid, SIGKILL);
}

/* A database that starts may remove files. It then has space to start. */
static bool is_refused(redisContext *c) {
    if (strncmp(ask(c, "ADDJOB q x 300"), "-DISKFULL ", 10) == 0)
        return true;
    fill();
    kill_database(c);
    return false;
}

/* If a database cannot start, the log has the reason. */
static void test_cause_is_told(void **state) {
    redisContext *c = connect_or_skip();

    (void)state;
    fill();
    kill_database(c);
    EVENTUALLY(strstr(ask(c, "INFO ALL"), "No space left on device") != NULL);
    EVENTUALLY(strstr(ask(c, "HEALTH TIMEOUT 100"), "No space left on device") != NULL);
    EVENTUALLY(is_refused(c));
    assert_int_equal(unlink(ballast), 0);
    EVENTUALLY(ask(c, "ADDJOB q again 5000")[0] == '+');
    assert_null(strstr(ask(c, "INFO ALL"), "No space left on device"));
    redisFree(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_full),
        cmocka_unit_test(test_cause_is_told),
    };

    return RUN_SUITE_WITH("disk_full", tests, start, stop);
}
