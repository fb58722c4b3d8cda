/* Accepting: a bounded number in a turn, and none without free files. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "base/clock.h"
#include "config/config.h"
#include "config/fd_limit.h"
#include "net/sockets.h"

#define CROWD 400 /* more than a turn accepts, and fewer than may wait */

static struct {
    struct event_base *base;
    char dir[64];
    char path[96];
    FILE *log;
    int accepted;
    int64_t accept_us; /* the duration of on_accept() */
    int fds[CROWD];    /* the accepted files */
    int crowd[CROWD];
} world;

static void on_accept(int fd, enum socket_kind kind) {
    int64_t end = clock_mono_now() + world.accept_us;

    assert_int_equal(kind, SOCKET_UNIX);
    while (clock_mono_now() < end)
        continue;
    world.fds[world.accepted++] = fd;
}

static int start(void **state) {
    char err[256];

    (void)state;
    config_defaults();
    strcpy(world.dir, "/tmp/pgdisque-test.XXXXXX");
    assert_non_null(mkdtemp(world.dir));
    snprintf(world.path, sizeof world.path, "%s/socket", world.dir);
    config.port = 0;
    free(config.unixsocket);
    config.unixsocket = xstrdup(world.path);
    world.base = event_base_new();
    world.accepted = 0;
    return sockets_listen(world.base, on_accept, err, sizeof err) ? 0 : -1;
}

static int stop(void **state) {
    (void)state;
    for (int i = 0; i < world.accepted; i++)
        close(world.fds[i]);
    sockets_stop_listening();
    event_base_free(world.base);
    rmdir(world.dir);
    return 0;
}

static void connect_many_sockets(void) {
    struct sockaddr_un sa = { .sun_family = AF_UNIX };

    snprintf(sa.sun_path, sizeof sa.sun_path, "%s", world.path);
    for (int i = 0; i < CROWD; i++) {
        world.crowd[i] = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
        assert_int_equal(connect(world.crowd[i], (struct sockaddr *)&sa, sizeof sa), 0);
    }
}

static void disconnect_many_sockets(void) {
    for (int i = 0; i < CROWD; i++)
        close(world.crowd[i]);
}

static void turn(void) {
    clock_turn();
    event_base_loop(world.base, EVLOOP_ONCE);
}

/* With clients that take half of the share each, a turn accepts two of them. */
static void test_so_many_in_a_turn(void **state) {
    int turns = 0;

    (void)state;
    world.accept_us = 100;
    connect_many_sockets();
    while (world.accepted < CROWD) {
        int before = world.accepted;

        turn();
        assert_in_range(world.accepted - before, 0, 2);
        assert_true(++turns < 3 * CROWD);
    }
    disconnect_many_sockets();
    world.accept_us = 0;
}

/* Limits the files to the open ones and a few more. */
static struct rlimit leave_files(rlim_t few) {
    struct rlimit before, limit;
    int lowest = open("/dev/null", O_RDONLY);

    close(lowest);
    getrlimit(RLIMIT_NOFILE, &before);
    limit = (struct rlimit){ (rlim_t)lowest + few, before.rlim_max };
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    return before;
}

/* A turn with a failing accept() is followed by one that waits. A spinning loop would have many turns before the timer.
 */
static void test_no_files(void **state) {
    struct rlimit before;
    int64_t begin = clock_mono_now();
    int turns = 0;

    (void)state;
    connect_many_sockets();
    before = leave_files(5);
    while (clock_mono_now() - begin < 300 * US_PER_MS) {
        turn();
        turns++;
    }
    assert_int_equal(world.accepted, 5);
    assert_in_range(turns, 1, 200);
    setrlimit(RLIMIT_NOFILE, &before);
    for (turns = 0; world.accepted < CROWD; turns++) {
        assert_true(turns < 3 * CROWD);
        turn();
    }
    disconnect_many_sockets();
}

static void test_the_last_files_are_not_for_clients(void **state) {
    struct rlimit before = leave_files(100);
    int fd = open("/dev/null", O_RDONLY);

    (void)state;
    assert_false(fd_limit_is_low(fd));
    assert_false(fd_limit_is_low(fd + 67));
    assert_true(fd_limit_is_low(fd + 68));
    assert_true(fd_limit_is_low(fd + 99));
    setrlimit(RLIMIT_NOFILE, &before);
    assert_false(fd_limit_is_low(fd + 99));
    close(fd);
}

/* The value of maxclients in a process with this limit of files. 0: the limit is refused. */
static int clients_with(rlim_t files) {
    pid_t pid = fork();
    int status;

    if (pid == 0) {
        char err[256];

        setrlimit(RLIMIT_NOFILE, &(struct rlimit){ files / 2, files });
        config.maxclients = 100;
        _exit(fd_limit_prepare(err, sizeof err) ? config.maxclients : 0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void test_clients_get_the_remaining_jobs(void **state) {
    (void)state;
    assert_int_equal(clients_with(1000), 100);
    assert_int_equal(clients_with(164), 100);
    assert_int_equal(clients_with(163), 99);
    assert_int_equal(clients_with(65), 1);
    assert_int_equal(clients_with(64), 0);
    assert_int_equal(clients_with(20), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_so_many_in_a_turn, start, stop),
        cmocka_unit_test_setup_teardown(test_no_files, start, stop),
        cmocka_unit_test(test_the_last_files_are_not_for_clients),
        cmocka_unit_test(test_clients_get_the_remaining_jobs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
