/* ACKJOB of jobs whose rows are not at the place at which their claim has left them. */
#include "fixture.h"

#include <stdlib.h>
#include <string.h>

#define JOBS 40

static redisContext *c;

static int start(void **state) {
    (void)state;
    c = client_open();
    return 0;
}

static int stop(void **state) {
    (void)state;
    redisFree(c);
    return 0;
}

static void add_jobs(const char *queue) {
    for (int i = 0; i < JOBS; i++)
        add_job(c, queue, text_of("%d", i), "RETRY 1000");
}

/* Adds jobs and takes them by claims. Returns " ID ID ..."; the caller frees it. */
static char *take_jobs(const char *queue) {
    char *ids = calloc(JOBS, ID_SIZE + 1);

    add_jobs(queue);
    for (int i = 0; i < JOBS; i++)
        strcat(strcat(ids, " "), get_job(c, queue, text_of("%d", i)));
    return ids;
}

/* All jobs of the command are acknowledged once. */
static void are_acked(const char *queue, char *ids) {
    expect(c, text_of(":%d", JOBS), text_of("ACKJOB%s", ids));
    expect(c, ":0", text_of("ACKJOB%s", ids));
    assert_int_equal(jobs_where(queue, "true"), 0);
    free(ids);
}

static void test_not_moved(void **state) {
    (void)state;
    are_acked("mr-still", take_jobs("mr-still"));
}

static void test_changed_by_sql(void **state) {
    char *ids = take_jobs("mr-sql");

    (void)state;
    database_run("update pgdisque.job set progress = '{}'");
    are_acked("mr-sql", ids);
}

static void test_some_are_changed(void **state) {
    char *ids = take_jobs("mr-some");

    (void)state;
    database_run("update pgdisque.job set progress = '{}' where id % 2 = 0");
    are_acked("mr-some", ids);
}

/* VACUUM FULL writes a new table, in which rows of other jobs are at these places. */
static void test_places_of_others(void **state) {
    char *ids;

    (void)state;
    add_jobs("mr-first");
    ids = take_jobs("mr-moved");
    for (int i = 0; i < 4; i++)
        add_jobs("mr-others");
    database_run(
        "delete from pgdisque.job as j using pgdisque.queue as q where q.id = j.queue_id and q.name = "
        "'mr-first'");
    database_run("vacuum full pgdisque.job");
    are_acked("mr-moved", ids);
    assert_int_equal(jobs_where("mr-others", "true"), 4 * JOBS);
}

static void test_changed_by_commands(void **state) {
    const char *working, *queued;

    (void)state;
    add_job(c, "mr-commands", "a", "RETRY 1000");
    add_job(c, "mr-commands", "b", "RETRY 1000");
    working = get_job(c, "mr-commands", "a");
    queued = get_job(c, "mr-commands", "b");
    expect(c, ":1000", "WORKING %s", working);
    expect(c, ":1", "NACK %s", queued);
    expect(c, ":2", "ACKJOB %s %s", working, queued);
    assert_int_equal(jobs_where("mr-commands", "true"), 0);
    expect(c, ":0", "QLEN mr-commands");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_not_moved),           cmocka_unit_test(test_changed_by_sql),
        cmocka_unit_test(test_some_are_changed),    cmocka_unit_test(test_places_of_others),
        cmocka_unit_test(test_changed_by_commands),
    };

    return RUN_SUITE_WITH("moved rows", tests, start, stop);
}
