/* Workers' names: the time of their write, their owners, and their end with the leases. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "base/util.h"
#include "net/worker.h"
#include "queue/lease.h"

#define FAR INT64_C(1000000000)

static struct client client = { .id = 7, .addr = "10.0.0.1:4711" },
                     other = { .id = 8, .addr = "/tmp/\x01\xffs" };
static char seen[1024];

static int stop(void **state) {
    (void)state;
    lease_clear();
    worker_leave(&client);
    worker_leave(&other);
    client.name = NULL;
    return 0;
}

static void give(int64_t id, struct client *c) {
    lease_give((struct job_key){ 1, 0, id }, FAR, FAR + id, worker_of(c));
}

static void see(void *arg, struct job_key key, int64_t row_until_us, const char *name) {
    size_t len = strlen(seen);

    (void)arg;
    assert_true(row_until_us == FAR + key.id);
    snprintf(seen + len, sizeof seen - len, "%s%d=%s", len == 0 ? "" : " ", (int)key.id, name);
}

static const char *due(size_t most) {
    seen[0] = '\0';
    (void)lease_write_names(most, see, NULL);
    return seen;
}

static const char *unwritten(const char *name) {
    seen[0] = '\0';
    lease_each_unwritten(name, see, NULL);
    return seen;
}

static void test_names(void **state) {
    char longest[2 * WORKER_NAME_MAX + 1];

    (void)state;
    assert_string_equal(worker_name(worker_of(&client)), "7@10.0.0.1:4711");
    assert_string_equal(worker_name(worker_of(&other)), "8@/tmp/??s");
    client.name = "anna";
    assert_string_equal(worker_name(worker_of(&client)), "anna");
    assert_ptr_equal(worker_of(&client), worker_of(&client));
    client.name = "annabel";
    assert_string_equal(worker_name(worker_of(&client)), "annabel");
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    client.name = longest;
    assert_int_equal(strlen(worker_name(worker_of(&client))), WORKER_NAME_MAX);
    assert_ptr_equal(worker_of(&client), worker_of(&client));
    client.name = NULL;
    assert_string_equal(worker_name(worker_of(&client)), "7@10.0.0.1:4711");
}

/* A name is due between one and two seconds after the lease, the oldest first, each once. */
static void test_due_after_a_while(void **state) {
    (void)state;
    give(1, &client);
    lease_second();
    give(2, &client);
    assert_string_equal(due(9), "");
    lease_second();
    give(3, &client);
    assert_string_equal(due(9), "1=7@10.0.0.1:4711");
    assert_string_equal(due(9), "");
    lease_second();
    lease_second();
    assert_string_equal(due(1), "2=7@10.0.0.1:4711");
    assert_string_equal(due(9), "3=7@10.0.0.1:4711");
}

/* The job was acknowledged, given to another worker, or extended by a statement that writes the name itself. */
static void test_not_of_leases_that_ended(void **state) {
    (void)state;
    for (int id = 1; id <= 4; id++)
        give(id, &client);
    assert_true(lease_remove(1));
    lease_add((struct job_key){ 1, 0, 2 }, FAR);
    give(3, &other);
    assert_string_equal(unwritten(NULL), "4=7@10.0.0.1:4711 3=8@/tmp/??s");
    lease_give((struct job_key){ 1, 0, 4 }, INT64_MAX, INT64_MAX, worker_of(&client));
    lease_second();
    lease_second();
    assert_string_equal(due(9), "3=8@/tmp/??s");
}

/* Long after its lease began, and its first worker was written. */
static void test_given_to_another_later(void **state) {
    (void)state;
    give(1, &client);
    give(2, &client);
    lease_second();
    lease_second();
    assert_string_equal(due(9), "1=7@10.0.0.1:4711 2=7@10.0.0.1:4711");
    give(1, &other);
    assert_string_equal(unwritten(NULL), "1=8@/tmp/??s");
    lease_second();
    assert_string_equal(due(9), "");
    lease_second();
    assert_string_equal(due(9), "1=8@/tmp/??s");
}

static void test_a_lease_has_the_name_of_its_time(void **state) {
    (void)state;
    client.name = "first";
    give(1, &client);
    client.name = "second";
    give(2, &client);
    assert_string_equal(unwritten("first"), "1=first");
    assert_string_equal(unwritten("second"), "2=second");
    assert_string_equal(unwritten("fir"), "");
    assert_string_equal(unwritten(NULL), "1=first 2=second");
}

/* The names of a disconnected client are due at once, before those of others. Nothing of the client stays. */
static void test_of_a_disconnected_client(void **state) {
    (void)state;
    client.name = "anna";
    give(1, &other);
    give(2, &client);
    give(3, &client);
    assert_true(lease_remove(3));
    worker_leave(&client);
    assert_null(client.worker);
    assert_string_equal(due(9), "2=anna");
    assert_string_equal(unwritten(NULL), "1=8@/tmp/??s");
    worker_leave(&client);
}

/* After a lost connection the server reads all leases. The rows do not have the names yet. */
static void test_read_again(void **state) {
    (void)state;
    give(1, &client);
    give(2, &client);
    lease_add_row((struct job_key){ 1, 0, 1 }, FAR, FAR + 1);
    lease_add_row((struct job_key){ 1, 0, 2 }, FAR, FAR + 99);
    assert_string_equal(unwritten(NULL), "1=7@10.0.0.1:4711");
    give(1, &other);
    assert_string_equal(unwritten(NULL), "1=8@/tmp/??s");
}

#define TEST(test) cmocka_unit_test_teardown(test, stop)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_names),
        TEST(test_read_again),
        TEST(test_due_after_a_while),
        TEST(test_not_of_leases_that_ended),
        TEST(test_given_to_another_later),
        TEST(test_a_lease_has_the_name_of_its_time),
        TEST(test_of_a_disconnected_client),
    };

    return cmocka_run_group_tests_name("workers", tests, NULL, NULL);
}
