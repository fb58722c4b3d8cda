/* Leases: the return of jobs, and the events that prevent it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "queue/lease.h"
#include "random.h"

static int clear(void **state) {
    (void)state;
    lease_clear();
    assert_int_equal(lease_count(), 0);
    assert_true(lease_next_end() == INT64_MAX);
    return 0;
}

static struct job_key key_of(int64_t id) {
    return (struct job_key){ (int32_t)(id % 5) + 1, (int16_t)(-id % 3), id };
}

static void assert_ends(int64_t now, int64_t id) {
    struct lease_end end = { 0 };

    assert_true(lease_take_ended(now, &end));
    assert_true(end.key.id == id);
    assert_int_equal(end.key.queue_id, key_of(id).queue_id);
    assert_int_equal(end.key.rank, key_of(id).rank);
    assert_false(lease_known(id));
}

static void assert_none_ends(int64_t now) {
    struct lease_end end;

    assert_false(lease_take_ended(now, &end));
}

static void test_ends_in_order(void **state) {
    (void)state;
    lease_add(key_of(1), 300);
    lease_add(key_of(2), 100);
    lease_add(key_of(INT64_MAX), 200);
    assert_int_equal(lease_count(), 3);
    assert_int_equal(lease_next_end(), 100);
    assert_none_ends(99);
    assert_ends(100, 2);
    assert_none_ends(100);
    assert_int_equal(lease_next_end(), 200);
    assert_ends(1000, INT64_MAX);
    assert_ends(1000, 1);
    assert_none_ends(INT64_MAX);
    assert_int_equal(lease_count(), 0);
}

static void test_replaced(void **state) {
    (void)state;
    lease_add(key_of(1), 100);
    lease_add(key_of(2), 150);
    lease_add(key_of(1), 200);
    assert_int_equal(lease_count(), 2);
    assert_ends(1000, 2);
    assert_none_ends(199);
    lease_add(key_of(1), 50);
    assert_ends(50, 1);
    assert_int_equal(lease_count(), 0);
}

static void test_removed(void **state) {
    (void)state;
    assert_false(lease_remove(1));
    lease_add(key_of(1), 100);
    lease_add(key_of(2), 200);
    assert_true(lease_known(1));
    assert_true(lease_remove(1));
    assert_false(lease_known(1));
    assert_false(lease_remove(1));
    assert_int_equal(lease_next_end(), 200);
    assert_int_equal(lease_count(), 1);
}

/* At most once: there is nothing to watch. */
static void test_without_an_end(void **state) {
    (void)state;
    lease_add(key_of(1), INT64_MAX);
    assert_false(lease_known(1));
    assert_int_equal(lease_count(), 0);
    assert_none_ends(INT64_MAX);
}

/* The end of a lease tells its server, because another server may have to look after the job. */
static void test_of_another_server(void **state) {
    struct lease_end end;

    (void)state;
    lease_add_foreign(key_of(1), 100, 9);
    lease_add(key_of(2), 200);
    lease_add_foreign(key_of(3), 300, 9);
    lease_add(key_of(3), 300);
    lease_add_foreign(key_of(4), INT64_MAX, 9);
    assert_int_equal(lease_count(), 3);
    assert_true(lease_take_ended(1000, &end));
    assert_true(end.key.id == 1 && end.owner == 9);
    assert_true(lease_take_ended(1000, &end));
    assert_true(end.key.id == 2 && end.owner == 0);
    assert_true(lease_take_ended(1000, &end));
    assert_true(end.key.id == 3 && end.owner == 0);
    lease_add_foreign(key_of(5), 100, 9);
    assert_true(lease_remove(5));
    assert_none_ends(1000);
}

/* ---- holds ---- */

static void test_held(void **state) {
    (void)state;
    lease_add(key_of(1), 100);
    lease_add(key_of(2), 200);
    lease_hold(1);
    assert_true(lease_known(1));
    assert_int_equal(lease_count(), 2);
    assert_int_equal(lease_next_end(), 200);
    assert_ends(1000, 2);
    assert_none_ends(1000);
    assert_true(lease_next_end() == INT64_MAX);
    lease_unhold(1);
    assert_int_equal(lease_next_end(), 100);
    assert_ends(1000, 1);
}

static void test_held_twice(void **state) {
    (void)state;
    lease_add(key_of(1), 100);
    lease_hold(1);
    lease_hold(1);
    lease_unhold(1);
    assert_none_ends(1000);
    lease_unhold(1);
    lease_unhold(1);
    assert_ends(1000, 1);
}

/* The statement that holds it may have prolonged it. */
static void test_prolonged_while_held(void **state) {
    (void)state;
    lease_add(key_of(1), 100);
    lease_hold(1);
    lease_add(key_of(1), 500);
    assert_none_ends(1000);
    lease_unhold(1);
    assert_none_ends(499);
    assert_ends(500, 1);
}

static void test_removed_while_held(void **state) {
    (void)state;
    lease_add(key_of(1), 100);
    lease_hold(1);
    assert_true(lease_remove(1));
    lease_unhold(1);
    assert_false(lease_known(1));
    assert_none_ends(1000);
    /* The next delivery's lease has nothing to do with that hold. */
    lease_add(key_of(1), 300);
    assert_ends(300, 1);
}

static void test_hold_of_an_unknown_one(void **state) {
    (void)state;
    lease_hold(1);
    assert_false(lease_known(1));
    lease_unhold(1);
    lease_add(key_of(1), 100);
    assert_ends(100, 1);
}

static void test_cleared(void **state) {
    (void)state;
    for (int64_t id = 0; id < 1000; id++) {
        lease_add(key_of(id), id);
        if (id % 3 == 0)
            lease_hold(id);
    }
    assert_int_equal(lease_count(), 1000);
    lease_clear();
    assert_int_equal(lease_count(), 0);
    assert_none_ends(INT64_MAX);
    lease_add(key_of(3), 7);
    assert_ends(7, 3);
}

/* ---- reviews ---- */

/* The sum of the ids that a review or a search offered. */
static int64_t offered;

static void offer(struct job_key key) {
    offered += key.id;
}

static void offer_unseen(struct job_key key, int64_t row_until_us) {
    assert_int_equal(row_until_us, 100 * key.id);
    offer(key);
}

static void test_review(void **state) {
    (void)state;
    for (int64_t id = 1; id <= 5; id++)
        lease_add(key_of(id), 100 * id);
    lease_review_begin();
    lease_add(key_of(2), 250);
    lease_add(key_of(6), 600);
    assert_true(lease_review_see(4, 400));
    assert_false(lease_review_see(5, 501));
    assert_false(lease_review_see(7, 700));
    offered = 0;
    lease_review_each_unseen(offer_unseen);
    assert_int_equal(offered, 1 + 3 + 5);
    assert_int_equal(lease_count(), 6);
}

/* A held lease does not end. The last lease of a job is no lease that makes the job ready. */
static void test_overdue(void **state) {
    (void)state;
    for (int64_t id = 1; id <= 4; id++)
        lease_add(key_of(id), 100 * id);
    lease_add_row(key_of(5), 500, 200);
    lease_hold(1);
    lease_set_last(2);
    offered = 0;
    lease_each_overdue(300, offer);
    assert_int_equal(offered, 1 + 3 + 5);
}

/* The mark is that of one lease. */
static void test_failed(void **state) {
    struct lease_end end;

    (void)state;
    lease_add(key_of(1), 100);
    lease_set_failed(1);
    assert_true(lease_take_ended(100, &end));
    assert_true(end.last && end.failed);
    lease_add(key_of(1), 200);
    lease_set_failed(1);
    lease_add(key_of(1), 300);
    assert_true(lease_take_ended(300, &end));
    assert_false(end.last || end.failed);
}

static void test_end_in_row(void **state) {
    struct lease_end end;

    (void)state;
    lease_add(key_of(1), 100);
    assert_true(lease_has_end(1, 100));
    assert_false(lease_has_end(1, 101) || lease_has_end(2, 100));
    assert_true(lease_take_ended(100, &end));
    assert_false(lease_has_end(1, 100) || lease_has_ended(1, 100));
    lease_end_counted(&end);
    assert_true(lease_has_ended(1, 100));
    assert_false(lease_has_ended(1, 101));
}

/* ---- names of workers ---- */

static struct client clients[2];
static char seen[200];

static void start_workers(void) {
    for (size_t i = 0; i < LENGTH(clients); i++) {
        clients[i].id = i + 1;
        strcpy(clients[i].addr, "w");
        (void)worker_of(&clients[i]);
    }
}

static void stop_workers(void) {
    for (size_t i = 0; i < LENGTH(clients); i++)
        worker_leave(&clients[i]);
    lease_clear();
    assert_null(worker_label_find(SLICE("1@w")));
    assert_null(worker_label_find(SLICE("2@w")));
}

static void give(int64_t id, size_t client) {
    lease_give(key_of(id), 1000 + id, 2000 + id, clients[client].worker);
}

static void see_name(void *arg, struct job_key key, int64_t row_until_us, const char *name) {
    size_t len = strlen(seen);

    (void)arg;
    assert_true(row_until_us == 2000 + key.id);
    snprintf(seen + len, sizeof seen - len, "%d:%s ", (int)key.id, name);
}

static void assert_written(size_t most, const char *names) {
    seen[0] = '\0';
    (void)lease_write_names(most, see_name, NULL);
    assert_string_equal(seen, names);
}

static void assert_unwritten(const char *name, const char *names) {
    seen[0] = '\0';
    lease_each_unwritten(name, see_name, NULL);
    assert_string_equal(seen, names);
}

/* Names are written in the order in which the leases began, after one or two seconds. */
static void test_names_are_due(void **state) {
    (void)state;
    start_workers();
    for (int64_t id = 1; id <= 4; id++)
        give(id, id % 2);
    lease_add(key_of(9), 100);
    lease_second();
    give(5, 0);
    give(1, 0);
    assert_true(lease_remove(3));
    assert_written(9, "");
    lease_second();
    assert_written(1, "2:1@w ");
    assert_unwritten(NULL, "4:1@w 5:1@w 1:1@w ");
    assert_unwritten("2@w", "");
    assert_written(9, "4:1@w ");
    assert_string_equal(lease_worker(2), "1@w");
    assert_string_equal(lease_worker(1), "1@w");
    assert_null(lease_worker(9));
    lease_second();
    assert_written(9, "5:1@w 1:1@w ");
    assert_unwritten(NULL, "");
    stop_workers();
}

/* The names of a worker that has gone are written at once. */
static void test_names_of_gone_workers(void **state) {
    (void)state;
    start_workers();
    for (int64_t id = 1; id <= 5; id++)
        give(id, id % 2);
    worker_leave(&clients[1]);
    assert_written(2, "1:2@w 3:2@w ");
    assert_unwritten("2@w", "5:2@w ");
    assert_written(2, "5:2@w ");
    assert_written(2, "");
    assert_unwritten(NULL, "2:1@w 4:1@w ");
    stop_workers();
}

static bool take_held(void *arg, const struct worker_lease *held) {
    (void)arg;
    seen[strlen(seen) + 1] = '\0';
    seen[strlen(seen)] = (char)('0' + held->key.id);
    return true;
}

static void assert_held_by(const char *name, size_t most, const char *ids) {
    memset(seen, 0, sizeof seen);
    lease_each_of_worker(slice_str(name), most, take_held, NULL);
    assert_string_equal(seen, ids);
}

/* The holder outlives the name's way to the row, and a lease that replaces the lease. */
static void test_holders(void **state) {
    struct lease_holder holder;

    (void)state;
    start_workers();
    for (int64_t id = 1; id <= 5; id++)
        give(id, 0);
    give(4, 1);
    assert_null(lease_take_holder(1).label);
    assert_held_by("1@w", 9, "1235");
    lease_second();
    lease_second();
    assert_written(3, "1:1@w 2:1@w 3:1@w ");
    assert_held_by("1@w", 3, "123");
    holder = lease_take_holder(2);
    assert_string_equal(worker_label_name(holder.label), "1@w");
    assert_null(lease_worker(2));
    lease_add(key_of(2), 5000);
    lease_set_holder(2, holder);
    assert_held_by("1@w", 9, "1352");
    lease_set_holder(5, (struct lease_holder){ worker_label_of(SLICE("2@w")), 1 });
    lease_add(key_of(1), 5000);
    assert_null(lease_worker(1));
    lease_add_row(key_of(5), 7000, 2005);
    assert_held_by("1@w", 9, "352");
    assert_held_by("2@w", 9, "4");
    stop_workers();
}

/* ---- against a model ---- */

#define JOBS 60

struct model {
    bool known;
    int64_t until;
    unsigned holds;
};

static struct model model[JOBS];

static int64_t next_end_of_model(void) {
    int64_t next = INT64_MAX;

    for (size_t i = 0; i < JOBS; i++)
        if (model[i].known && model[i].holds == 0 && model[i].until < next)
            next = model[i].until;
    return next;
}

static size_t count_of_model(void) {
    size_t count = 0;

    for (size_t i = 0; i < JOBS; i++)
        count += model[i].known;
    return count;
}

static void add_to_both(int64_t id, int64_t until) {
    lease_add(key_of(id), until);
    model[id].known = true;
    model[id].until = until;
}

static void remove_from_both(int64_t id) {
    assert_int_equal(lease_remove(id), model[id].known);
    model[id] = (struct model){ 0 };
}

static void hold_both(int64_t id, bool hold) {
    if (hold)
        lease_hold(id);
    else
        lease_unhold(id);
    if (model[id].known && hold)
        model[id].holds++;
    else if (model[id].known && model[id].holds > 0)
        model[id].holds--;
}

static void take_from_both(int64_t now) {
    int64_t next = next_end_of_model();
    struct lease_end end;

    assert_int_equal(lease_take_ended(now, &end), next <= now);
    if (next > now)
        return;
    assert_true(end.key.id >= 0 && end.key.id < JOBS);
    assert_true(model[end.key.id].known && model[end.key.id].holds == 0);
    assert_true(model[end.key.id].until == next);
    model[end.key.id] = (struct model){ 0 };
}

static void test_against_a_model(void **state) {
    (void)state;
    memset(model, 0, sizeof model);
    random_start(815);
    for (int64_t now = 0; now < 20000; now++) {
        int64_t id = (int64_t)random_below(JOBS);
        uint64_t what = random_below(10);

        if (what < 3)
            add_to_both(id, now + (int64_t)random_below(200));
        else if (what < 4)
            remove_from_both(id);
        else if (what < 8)
            hold_both(id, what < 6);
        else
            take_from_both(now);
        assert_true(lease_next_end() == next_end_of_model());
        assert_int_equal(lease_count(), count_of_model());
        assert_int_equal(lease_known(id), model[id].known);
    }
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, clear, clear)

/* A revoked lease is told once. The server forgets the oldest of very many. */
static void test_past_leases(void **state) {
    struct lease_end end;

    (void)state;
    for (int64_t id = 1; id <= 5000; id++) {
        lease_add(key_of(id), id);
        assert_true(lease_take_ended(id, &end));
        lease_end_counted(&end);
    }
    assert_int_equal(lease_revoke(1, 1), LEASE_UNKNOWN);
    assert_int_equal(lease_revoke(5000 - 4096, 5000 - 4096), LEASE_UNKNOWN);
    assert_int_equal(lease_revoke(5000, 4999), LEASE_UNKNOWN);
    for (int64_t id = 5000 - 4095; id <= 5000; id++) {
        assert_int_equal(lease_revoke(id, id), LEASE_ENDED);
        assert_int_equal(lease_revoke(id, id), LEASE_UNKNOWN);
    }
    lease_add(key_of(1), 10);
    assert_true(lease_replace(1));
    lease_add(key_of(1), 10);
    assert_true(lease_replace(1));
    assert_int_equal(lease_revoke(1, 10), LEASE_REPLACED);
    assert_int_equal(lease_revoke(1, 10), LEASE_UNKNOWN);
    lease_add(key_of(1), 20);
    assert_int_equal(lease_revoke(1, 20), LEASE_RUNNING);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_ends_in_order),
        TEST(test_replaced),
        TEST(test_removed),
        TEST(test_without_an_end),
        TEST(test_of_another_server),
        TEST(test_held),
        TEST(test_held_twice),
        TEST(test_prolonged_while_held),
        TEST(test_removed_while_held),
        TEST(test_hold_of_an_unknown_one),
        TEST(test_cleared),
        TEST(test_review),
        TEST(test_overdue),
        TEST(test_failed),
        TEST(test_end_in_row),
        TEST(test_names_are_due),
        TEST(test_names_of_gone_workers),
        TEST(test_holders),
        TEST(test_past_leases),
        TEST(test_against_a_model),
    };

    return cmocka_run_group_tests_name("lease", tests, NULL, NULL);
}
