/* The memory of a lease and of an unused queue, as malloc() counts it. */
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "net/worker.h"
#include "queue/lease.h"
#include "queue/queue.h"

/* Arrays that double are full at these numbers. */
#define LEASES (1 << 17)
#define QUEUES (1 << 17)
#define WORKERS 100

/* doc/tuning.md states these figures. */
#define LEASE_BYTES 113
#define NEW_LEASE_BYTES 161
#define QUEUE_BYTES 480

/* The allocator of a sanitizer adds bytes of its own, and mallinfo2() does not count them. */
#ifdef __SANITIZE_ADDRESS__
static const bool counts_bytes = false;
#else
static const bool counts_bytes = true;
#endif

static struct client clients[WORKERS];

static size_t used_bytes(void) {
    struct mallinfo2 info = mallinfo2();

    return info.uordblks + info.hblkhd;
}

static void assert_bytes_each(size_t before, size_t count, size_t most) {
    size_t each = (used_bytes() - before + count - 1) / count;

    print_message("# %zu bytes each\n", each);
    if (counts_bytes)
        assert_in_range(each, most / 2, most);
}

static void give_leases(void) {
    for (int i = 0; i < WORKERS; i++) {
        clients[i].id = (uint64_t)i;
        snprintf(clients[i].addr, sizeof clients[i].addr, "127.0.0.1:%d", 1000 + i);
        (void)worker_of(&clients[i]);
    }
    for (int64_t id = 1; id <= LEASES; id++)
        lease_give((struct job_key){ 1, 0, id }, id, id + 1, clients[id % WORKERS].worker);
    assert_int_equal(lease_count(), LEASES);
}

static void see_nothing(void *arg, struct job_key key, int64_t row_until_us, const char *name) {
    (void)arg;
    (void)key;
    (void)row_until_us;
    (void)name;
}

static void test_lease(void **state) {
    size_t before = used_bytes();

    (void)state;
    give_leases();
    assert_bytes_each(before, LEASES, NEW_LEASE_BYTES);
    for (int i = 0; i < 3; i++)
        lease_second();
    assert_int_equal(lease_write_names(LEASES, see_nothing, NULL), LEASES);
    assert_bytes_each(before, LEASES, LEASE_BYTES);
    lease_clear();
    for (int i = 0; i < WORKERS; i++)
        worker_leave(&clients[i]);
    /* The heap and the heads of the table stay. */
    assert_true(!counts_bytes || used_bytes() - before < LEASES * (size_t)20);
}

static void make_queues(void) {
    char name[20];

    for (int32_t id = 1; id <= QUEUES; id++) {
        struct queue *q;

        snprintf(name, sizeof name, "queue-%06d", id);
        q = queue_get(slice_str(name));
        queue_set_id(q, id);
        queue_show(q);
    }
    assert_int_equal(queue_count(), QUEUES);
}

static void use_queues(void) {
    QUEUE_EACH(q)
    queue_work(q)->claims.rows++;
    QUEUE_EACH(q)
    queue_work(q)->claims.rows--;
}

/* The second time all queues have been in use. */
static void test_unused_queue(void **state) {
    size_t before = used_bytes();

    (void)state;
    queue_init();
    make_queues();
    assert_bytes_each(before, QUEUES, QUEUE_BYTES);
    use_queues();
    for (int i = 0; i < 100; i++)
        queue_works_tick();
    assert_bytes_each(before, QUEUES, QUEUE_BYTES);
    QUEUE_EACH(q) {
        queue_drop(q);
    }
    assert_int_equal(queue_count(), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lease),
        cmocka_unit_test(test_unused_queue),
    };

    return cmocka_run_group_tests_name("queue_bytes", tests, NULL, NULL);
}
