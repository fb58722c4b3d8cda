/* Addresses, and a host that TLS cannot check. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>

#include "tools/redis_link.h"

static struct redis_address address;
static char err[400];

static bool reads(const char *text) {
    redis_address_free(&address);
    return redis_address_parse(text, 7711, &address, err, sizeof err);
}

static void test_addresses(void **state) {
    (void)state;
    assert_true(reads("redis://ann:p%40ss@[::1]:99/3"));
    assert_string_equal(address.user, "ann");
    assert_string_equal(address.password, "p@ss");
    assert_string_equal(address.host, "::1");
    assert_int_equal(address.port, 99);
    assert_int_equal(address.db, 3);
    assert_false(address.tls);
    assert_true(reads("rediss://host"));
    assert_true(address.tls);
    assert_int_equal(address.port, 7711);
    assert_null(address.path);
    assert_false(reads("http://host"));
    assert_false(reads(""));
    redis_address_free(&address);
}

static void test_sockets(void **state) {
    (void)state;
    assert_true(reads("/run/a@b"));
    assert_string_equal(address.path, "/run/a@b");
    assert_null(address.password);
    assert_true(reads("unix:///run/s%20s"));
    assert_string_equal(address.path, "/run/s s");
    assert_true(reads("unix://ann:secret@/run/s"));
    assert_string_equal(address.path, "/run/s");
    assert_string_equal(address.user, "ann");
    assert_string_equal(address.password, "secret");
    assert_false(reads("unix://run/s"));
    assert_false(reads("unix://"));
    redis_address_free(&address);
}

/* Names of hosts in TLS have at most 255 bytes. The handshake must not begin. */
static void test_name_too_long(void **state) {
    const struct redis_tls how = { 0 };
    struct redis_pipe p = { .c = NULL };
    char name[400], byte;
    int ends[2];

    (void)state;
    memset(name, 'a', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    p.c = redisConnectFd(ends[0]);
    assert_false(redis_pipe_begin_tls(&p, name, &how));
    assert_string_equal(p.err, "the host has no valid name for TLS");
    assert_int_equal(recv(ends[1], &byte, 1, MSG_DONTWAIT), -1);
    redis_pipe_close(&p);
    close(ends[1]);
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_addresses),
        cmocka_unit_test(test_sockets),
        cmocka_unit_test(test_name_too_long),
    };

    return cmocka_run_group_tests_name("redis_link", tests, NULL, NULL);
}
