/* Connection strings that name several hosts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "pg/conninfo_hosts.h"

static const char *option(size_t host, const char *key) {
    static struct host_options o;

    hosts_options(host, &o);
    for (size_t i = 0; o.keys[i] != NULL; i++)
        if (strcmp(o.keys[i], key) == 0)
            return o.values[i];
    return "-";
}

static void test_one(void **state) {
    (void)state;
    hosts_init("host=a port=5433 dbname=x user='some one'");
    assert_int_equal(hosts_count(), 1);
    assert_string_equal(option(0, "host"), "a");
    assert_string_equal(option(0, "port"), "5433");
    assert_string_equal(option(0, "dbname"), "x");
    assert_string_equal(option(0, "user"), "some one");
    assert_string_equal(hosts_name(0), "a:5433");
    hosts_init("dbname=x");
    assert_int_equal(hosts_count(), 1);
    assert_string_equal(option(0, "host"), "-");
    assert_string_equal(hosts_name(0), "");
}

static void test_several(void **state) {
    (void)state;
    hosts_init("host=a,b,/run/c port=1,2,3 dbname=x target_session_attrs=read-write");
    assert_int_equal(hosts_count(), 3);
    assert_string_equal(option(0, "host"), "a");
    assert_string_equal(option(1, "host"), "b");
    assert_string_equal(option(2, "host"), "/run/c");
    assert_string_equal(option(1, "port"), "2");
    assert_string_equal(option(2, "port"), "3");
    assert_string_equal(option(2, "dbname"), "x");
    assert_string_equal(option(1, "target_session_attrs"), "read-write");
    assert_string_equal(hosts_name(1), "b:2");
}

/* The environment gives what the string does not. */
static void test_environment(void **state) {
    (void)state;
    setenv("PGHOST", "a,b", 1);
    setenv("PGPORT", "7", 1);
    hosts_init("dbname=x");
    assert_int_equal(hosts_count(), 2);
    assert_string_equal(option(1, "host"), "b");
    assert_string_equal(hosts_name(1), "b:7");
    hosts_init("host=c port=8");
    assert_string_equal(hosts_name(0), "c:8");
    setenv("PGHOSTADDR", "10.0.0.1", 1);
    hosts_init("host=c");
    assert_string_equal(option(0, "hostaddr"), "10.0.0.1");
    hosts_init("host=c hostaddr='' port=8");
    assert_string_equal(option(0, "hostaddr"), "");
    setenv("PGSERVICE", "s", 1);
    hosts_init("dbname=x");
    assert_string_equal(option(0, "host"), "-");
    unsetenv("PGSERVICE");
    unsetenv("PGHOSTADDR");
    unsetenv("PGPORT");
    unsetenv("PGHOST");
}

static void test_one_port_for_all(void **state) {
    (void)state;
    hosts_init("host=a,b port=5433");
    assert_int_equal(hosts_count(), 2);
    assert_string_equal(option(0, "port"), "5433");
    assert_string_equal(option(1, "port"), "5433");
}

static void test_uri(void **state) {
    (void)state;
    hosts_init("postgresql://me@a:1,b:2/x?sslmode=disable&connect_timeout=4");
    assert_int_equal(hosts_count(), 2);
    assert_string_equal(option(1, "host"), "b");
    assert_string_equal(option(1, "port"), "2");
    assert_string_equal(option(1, "user"), "me");
    assert_string_equal(option(0, "sslmode"), "disable");
    assert_int_equal(hosts_timeout_us(), 4000000);
}

static void test_addresses(void **state) {
    (void)state;
    hosts_init("hostaddr=10.0.0.1,10.0.0.2 host=a,b");
    assert_int_equal(hosts_count(), 2);
    assert_string_equal(option(1, "hostaddr"), "10.0.0.2");
    assert_string_equal(option(1, "host"), "b");
    hosts_init("hostaddr=10.0.0.1,10.0.0.2");
    assert_int_equal(hosts_count(), 2);
    assert_string_equal(hosts_name(1), "10.0.0.2");
}

/* An element may be empty: libpq has a default for it. */
static void test_empty_elements(void **state) {
    (void)state;
    hosts_init("host=a, port=,2");
    assert_int_equal(hosts_count(), 2);
    assert_string_equal(option(1, "host"), "");
    assert_string_equal(option(0, "port"), "");
    assert_string_equal(option(1, "port"), "2");
}

/* libpq reports contradictions. */
static void test_misfits(void **state) {
    (void)state;
    hosts_init("host=a,b port=1,2,3");
    assert_int_equal(hosts_count(), 1);
    assert_string_equal(option(0, "host"), "a,b");
    assert_string_equal(option(0, "port"), "1,2,3");
    assert_int_equal(hosts_timeout_us(), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one),
        cmocka_unit_test(test_several),
        cmocka_unit_test(test_one_port_for_all),
        cmocka_unit_test(test_environment),
        cmocka_unit_test(test_uri),
        cmocka_unit_test(test_addresses),
        cmocka_unit_test(test_empty_elements),
        cmocka_unit_test(test_misfits),
    };

    return cmocka_run_group_tests_name("hosts", tests, NULL, NULL);
}
