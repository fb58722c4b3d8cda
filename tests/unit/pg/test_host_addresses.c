/* Names of hosts while a name server gives no answer. */
#include <dlfcn.h>
#include <netdb.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "base/clock.h"
#include "base/log.h"
#include "pg/host_addresses.h"
#include "pg/session.h"

#define DEADLINE_US (60 * US_PER_S)

/* ---- the name server ---- */

static struct {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    int asked;
    bool silent;
    bool unknown; /* the name is not known */
} names = { .mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

static void names_set(bool silent, bool unknown) {
    pthread_mutex_lock(&names.mutex);
    names.silent = silent;
    names.unknown = unknown;
    pthread_cond_broadcast(&names.changed);
    pthread_mutex_unlock(&names.mutex);
}

static int names_asked(void) {
    int asked;

    pthread_mutex_lock(&names.mutex);
    asked = names.asked;
    pthread_mutex_unlock(&names.mutex);
    return asked;
}

static bool names_ask(void) {
    bool known;

    pthread_mutex_lock(&names.mutex);
    names.asked++;
    while (names.silent)
        pthread_cond_wait(&names.changed, &names.mutex);
    known = !names.unknown;
    pthread_mutex_unlock(&names.mutex);
    return known;
}

typedef int getaddrinfo_fn(const char *node, const char *service, const struct addrinfo *hints,
                           struct addrinfo **found);

/* Replaces the function of the C library. The name has two addresses. */
int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
                struct addrinfo **found) {
    getaddrinfo_fn *original = (getaddrinfo_fn *)dlsym(RTLD_NEXT, "getaddrinfo");

    if (strcmp(node, "db.test") != 0 || (hints->ai_flags & AI_NUMERICHOST) != 0)
        return original(node, service, hints, found);
    if (!names_ask())
        return EAI_NONAME;
    return original("127.0.0.1", service, hints, found) != 0 ||
                   original("127.0.0.2", service, hints, &(*found)->ai_next) != 0
               ? EAI_FAIL
               : 0;
}

/* ---- tests ---- */

static void hosts_are(const char *conninfo) {
    hosts_init(conninfo);
    addresses_init();
}

static const char *address_option(size_t host, const char *key) {
    static struct host_options o;
    static struct address_list list;

    hosts_options(host, &o);
    addresses_set(host, &o, &list);
    for (size_t i = 0; o.keys[i] != NULL; i++)
        if (strcmp(o.keys[i], key) == 0)
            return o.values[i];
    return "-";
}

static void until_ready(void) {
    int64_t until = clock_mono() + DEADLINE_US;

    for (clock_turn(); !addresses_ready(); clock_turn())
        assert_true(clock_mono() < until);
}

/* Until the addresses are old, and are looked up again. */
static void until_asked(int asked) {
    int64_t until = clock_mono() + DEADLINE_US;

    for (clock_turn(); names_asked() < asked; clock_turn()) {
        (void)addresses_ready();
        assert_true(clock_mono() < until);
    }
}

static int begin(void **state) {
    (void)state;
    names_set(false, false);
    clock_turn();
    return log_set_file("/dev/null") ? 0 : -1;
}

static void assert_refused(size_t host) {
    PGconn *conn = session_connect(host, "probe");

    assert_int_equal(PQstatus(conn), CONNECTION_BAD);
    PQfinish(conn);
}

static void assert_two_addresses(size_t host) {
    assert_string_equal(address_option(host, "host"), "db.test,db.test");
    assert_string_equal(address_option(host, "hostaddr"), "127.0.0.1,127.0.0.2");
}

/* A connection waits for the first answer. It does not stop the thread of its caller. */
static void test_first_lookup(void **state) {
    (void)state;
    names_set(true, false);
    hosts_are("host=db.test port=1");
    assert_false(addresses_ready());
    assert_refused(0);
    names_set(false, false);
    until_ready();
    assert_two_addresses(0);
    assert_string_equal(address_option(0, "port"), "1");
}

/* The last answer remains in use. */
static void test_silent_name_server(void **state) {
    int asked = names_asked();

    (void)state;
    hosts_are("host=/run/x,db.test port=1,2");
    until_ready();
    assert_int_equal(names_asked(), asked + 1);
    names_set(true, false);
    until_asked(asked + 2);
    assert_two_addresses(1);
    until_ready();
    assert_two_addresses(1);
    assert_string_equal(address_option(1, "port"), "2");
    assert_int_equal(names_asked(), asked + 2);
    names_set(false, true);
    until_asked(asked + 3);
    until_ready();
    assert_two_addresses(1);
}

static void test_unknown_name(void **state) {
    (void)state;
    names_set(false, true);
    hosts_are("host=db.test port=1");
    until_ready();
    assert_string_equal(address_option(0, "hostaddr"), "db.test");
    assert_refused(0);
}

/* Addresses, directories of sockets, and lists that do not fit. */
static void test_no_lookup(void **state) {
    int asked = names_asked();

    (void)state;
    hosts_are("host=127.0.0.1,::1,/run/c,db.test hostaddr=,,,10.0.0.1");
    assert_true(addresses_ready());
    assert_string_equal(address_option(0, "hostaddr"), "");
    assert_string_equal(address_option(2, "host"), "/run/c");
    assert_string_equal(address_option(3, "host"), "db.test");
    assert_string_equal(address_option(3, "hostaddr"), "10.0.0.1");
    hosts_are("host=db.test,b hostaddr=10.0.0.1");
    assert_true(addresses_ready());
    assert_string_equal(address_option(0, "hostaddr"), "10.0.0.1");
    hosts_are("dbname=x");
    assert_true(addresses_ready());
    assert_string_equal(address_option(0, "host"), "-");
    assert_int_equal(names_asked(), asked);
}

#define TEST(test) cmocka_unit_test_setup(test, begin)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_first_lookup),
        TEST(test_silent_name_server),
        TEST(test_unknown_name),
        TEST(test_no_lookup),
    };

    return cmocka_run_group_tests_name("addresses of hosts", tests, NULL, NULL);
}
