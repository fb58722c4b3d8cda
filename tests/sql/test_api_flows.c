/* Workflows and batches that applications add, repair and cancel by the functions and views of sql/api/. */
#include "api.h"

#include <stdlib.h>

/* Makes a dead letter of the first job, and counts its end as a server does. */
#define DIES                                                                                               \
    "with d as (delete from pgdisque.job where id = (select min(id) from pgdisque.job) returning *), "     \
    "f as (update pgdisque.flow_job as f set outcome = 2, ended_at = now(), is_settled = true, result = "  \
    "'e' from d where f.id = d.id) "                                                                       \
    "insert into pgdisque.dead_job (id, died_at, expires_at, queue_id, retry, delay, deliveries, nacks, "  \
    "additional_deliveries, rank, replicate, error, body) select id, now(), expires_at, queue_id, retry, " \
    "0, 1, 0, 0, rank, 1, 'e', body from d"

static void jobs_after_others_have_all_options(void **state) {
    const char *first;

    (void)state;
    first = sql(a, "select pgdisque.add_job('q', '1')");
    sql(a,
        "select pgdisque.add_job_after('r', '2', array['%s'], attempts => 3, backoff => 5, deadqueue => 'd', "
        "group_key => 'g')",
        first);
    does(a, "3 5 d g",
         "select attempts, backoff, encode(deadqueue, 'escape'), encode(group_key, 'escape') from "
         "pgdisque.waiting_job");
    sql(a, "select pgdisque.add_job_after('s', '3', '{}', attempts => 3, group_key => 'g')");
    does(a, "3 g waiting",
         "select j.attempts, v.group_key, v.state from pgdisque.jobs as v join pgdisque.job as j on j.id = "
         "v.number "
         "where v.queue = 's'");
    does(a, "error 22023",
         text_of("select pgdisque.add_job_after('r', '2', array['%s'], attempts => -1)", first));
    does(
        a, "error 22023",
        text_of("select pgdisque.add_job_after('r', '2', array['%s'], delay => 5, group_key => 'g')", first));
    does(a, "error 22023",
         text_of("select pgdisque.add_job_after('r', '2', array['%s'], on_fail => 'maybe')", first));
    does(a, "error 22004", "select pgdisque.add_job_after('r', null::text, '{}')");
}

static void several_jobs_wait_for_the_same_jobs(void **state) {
    const char *first, *batch;

    (void)state;
    first = sql(a, "select pgdisque.add_job('q', '1')");
    batch = sql(a, "select pgdisque.new_batch('done', 'all')");
    assert_string_equal(
        sql(a,
            "select count(distinct i) from pgdisque.add_jobs_after('r', array['a', 'b', 'c'], "
            "array['%s'], batch => '%s') as i",
            first, batch),
        "3");
    does(a, "a; b; c", "select body_text from pgdisque.waiting_jobs where queue = 'r' order by number");
    assert_string_equal(sql(a, "select total from pgdisque.batch('%s')", batch), "3");
    does(a, "3", "select count(*) from pgdisque.dependency");
    assert_string_equal(
        sql(a, "select bool_and(batch = '%s') from pgdisque.waiting_jobs where queue = 'r'", batch), "t");
    assert_string_equal(
        sql(a,
            "select count(*) from pgdisque.add_jobs_after('r', array['1'::jsonb, '2'], '{}', batch => '%s')",
            batch),
        "2");
    assert_string_equal(
        sql(a, "select queue, body_json, batch = '%s' from pgdisque.jobs where queue = 'r'", batch),
        "r 1 t; r 2 t");
    assert_string_equal(
        sql(a, "select queue, state, count(*) from pgdisque.batch_jobs('%s') group by 1, 2", batch),
        "r pending 5");
    does(a, "0", "select count(*) from pgdisque.add_jobs_after('r', '{}'::text[], '{}')");
}

static void dead_letters_hold_and_cancel(void **state) {
    const char *first;

    (void)state;
    first = sql(a, "select pgdisque.add_job('q', '1')");
    sql(a, "select pgdisque.add_job_after('r', 'holds', array['%s'], on_fail => 'hold')", first);
    done(a, DIES);
    does(a, "holds 1 t t", "select body_text, pending, holds, is_held from pgdisque.waiting_jobs");
    sql(a, "select pgdisque.add_job_after('r', 'holds', array['%s'], on_fail => 'hold')", first);
    sql(a, "select pgdisque.add_job_after('r', 'cancels', array['%s'])", first);
    does(a, "1 0 -; 0 1 3",
         "select distinct pending, failed, outcome from pgdisque.waiting_job order by 1 desc");
    does(a, "t", "select after_failure from pgdisque.waiting_job where outcome = 3");
    does(a, "dead e",
         "select p.state, encode(p.result, 'escape') from pgdisque.waiting_jobs as w, "
         "pgdisque.predecessors(w.id) as p limit 1");
    does(a, "1", "select pgdisque.revive('q')");
    does(a, "f; f", "select is_held from pgdisque.waiting_jobs");
    does(a, "t", "select in_flow from pgdisque.job");
}

static void revived_jobs_count_again(void **state) {
    const char *batch;

    (void)state;
    batch = sql(a, "select pgdisque.new_batch('done', success => 'good', ttl => 60)");
    sql(a, "select pgdisque.add_job_after('q', '1', '{}', batch => '%s')", batch);
    done(a, DIES);
    done(a, "update pgdisque.batch set failed = 1");
    assert_string_equal(sql(a, "select batch = '%s' from pgdisque.dead", batch), "t");
    assert_string_equal(
        sql(a, "select state, encode(result, 'escape') from pgdisque.batch_jobs('%s')", batch), "dead e");
    does(a, "1", "select pgdisque.revive('q')");
    assert_string_equal(sql(a, "select total, pending, failed from pgdisque.batch('%s')", batch), "1 1 0");
    does(a, "good t 00:01:00",
         "select encode(success_body, 'escape'), success_id > id and id > failure_id, date_trunc('second', "
         "closes_at - created_at + interval '500 ms') from pgdisque.batch");
    does(a, "error 22023", "select pgdisque.new_batch('done', ttl => 0)");
}

static void a_cancelled_batch_takes_no_jobs(void **state) {
    const char *batch, *inner;

    (void)state;
    batch = sql(a, "select pgdisque.new_batch('done', 'all')");
    inner = sql(a, "select pgdisque.new_batch('done', 'all', parent => '%s')", batch);
    sql(a, "select pgdisque.add_job_after('q', '1', '{}', batch => '%s')", batch);
    sql(a, "select pgdisque.add_job_after('q', '2', '{}', batch => '%s')", inner);
    assert_string_equal(sql(a, "select pgdisque.cancel_batch('%s')", batch), "2");
    does(a, "0", "select count(*) from pgdisque.jobs");
    does(a, "closed; closed", "select state from pgdisque.batches");
    assert_string_equal(sql(a, "select pgdisque.add_job_after('q', '3', '{}', batch => '%s')", inner),
                        "error 22023");
    does(a, "2 4", "select count(*) filter (where outcome = 3), count(*) from pgdisque.flow_job");
}

static void a_cancelled_job_of_a_batch_closes_it(void **state) {
    const char *batch;

    (void)state;
    batch = sql(a, "select pgdisque.new_batch('done', 'all')");
    assert_string_equal(sql(a, "select pgdisque.cancel_jobs(array['%s'])", batch), "1");
    does(a, "3", "select outcome from pgdisque.waiting_job");
    does(a, "closed", "select state from pgdisque.batches");
}

/* The transaction that holds the outer batch adds an inner batch. */
static void a_cancel_finds_new_inner_batches(void **state) {
    const char *batch, *inner;

    (void)state;
    batch = sql(a, "select pgdisque.new_batch('done', 'all')");
    done(a, "begin");
    inner = sql(a, "select pgdisque.new_batch('done', 'all', parent => '%s')", batch);
    sql(a, "select pgdisque.add_job_after('q', '1', '{}', batch => '%s')", inner);
    assert_int_equal(PQsendQuery(b, text_of("select pgdisque.cancel_batch('%s')", batch)), 1);
    assert_true(waits_for_lock(b));
    done(a, "commit");
    assert_string_equal(call_result(b), "1");
    does(a, "t; t", "select is_cancelled from pgdisque.batch");
    does(a, "0", "select count(*) from pgdisque.jobs");
}

/* A session ends a job, while the transaction that made it a predecessor is open. */
static void end_new_predecessor(const char *function, const char *result) {
    const char *first = forever(sql(a, "select pgdisque.add_job('q', '1')"));

    done(a, "begin");
    sql(a, "select pgdisque.add_job_after('r', '2', array['%s'])", first);
    assert_int_equal(PQsendQuery(b, text_of("select pgdisque.%s(array['%s']%s)", function, first, result)),
                     1);
    assert_true(waits_for_lock(b));
    done(a, "commit");
    assert_string_equal(call_result(b), "1");
}

static void ends_of_new_predecessors_are_noted(void **state) {
    (void)state;
    end_new_predecessor("cancel_jobs", "");
    end_new_predecessor("ack_jobs", ", 'found'");
    does(a, "3 -; 1 found",
         "select outcome, encode(result, 'escape') from pgdisque.flow_job where outcome is not null order by "
         "id");
}

static const char *dead_letter(void) {
    const char *id = forever(sql(a, "select pgdisque.add_job('q', '1')"));

    done(a, DIES);
    return id;
}

/* The transaction that adds the successor is open when the dead letter is revived. */
static void new_successors_hold_a_revived_job(void **state) {
    const char *id = dead_letter();

    (void)state;
    done(a, "begin");
    sql(a, "select pgdisque.add_job_after('r', '2', array['%s'], on_fail => 'hold')", id);
    assert_int_equal(PQsendQuery(b, text_of("select pgdisque.enqueue_jobs(array['%s'])", id)), 1);
    assert_true(waits_for_lock(b));
    done(a, "commit");
    assert_string_equal(call_result(b), "1");
    does(a, "- f; - f", "select outcome, is_settled from pgdisque.flow_job");
    does(a, "t", "select in_flow from pgdisque.job");
}

/* The transaction that revives the dead letter is open when a successor is added. */
static void jobs_follow_a_revived_job(void **state) {
    const char *id = dead_letter();

    (void)state;
    done(a, "begin; select pgdisque.revive('q')");
    assert_int_equal(
        PQsendQuery(b, text_of("select pgdisque.add_job_after('r', '2', array['%s']) is not null", id)), 1);
    assert_true(waits_for_lock(b));
    done(a, "commit");
    assert_string_equal(call_result(b), "t");
    does(a, "- f; - f", "select outcome, is_settled from pgdisque.flow_job");
    does(a, "t", "select in_flow from pgdisque.job");
}

/* A retained job is named twice. Its number has the row of an ended job in another queue. */
static void jobs_follow_a_moved_job(void **state) {
    const char *id;

    (void)state;
    does(a, "", "select pgdisque.qconfig('q', 'retention', '100')");
    id = sql(a, "select pgdisque.add_job('q', '1')");
    done(a, "insert into pgdisque.flow_job (id, queue_id, rank, expires_at, retry, outcome, ended_at) "
            "select id, 99, 0, expires_at, 60, 2, now() from pgdisque.job");
    does(a, "error 22023", text_of("select pgdisque.add_job_after('r', '2', array['%s'])", id));
    done(a, "update pgdisque.flow_job set is_settled = true");
    does(a, "1", text_of("select pgdisque.ack_jobs(array['%s'])", id));
    does(a, "t", text_of("select pgdisque.add_job_after('r', '2', array['%s', '%s']) is not null", id, id));
    does(a, "1 t; - f", "select outcome, is_settled from pgdisque.flow_job where queue_id <> 99 order by id");
    does(a, "queued", "select state from pgdisque.jobs where queue = 'r'");
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, fresh, settle)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(jobs_after_others_have_all_options),
        TEST(several_jobs_wait_for_the_same_jobs),
        TEST(dead_letters_hold_and_cancel),
        TEST(revived_jobs_count_again),
        TEST(a_cancelled_batch_takes_no_jobs),
        TEST(a_cancelled_job_of_a_batch_closes_it),
        TEST(a_cancel_finds_new_inner_batches),
        TEST(ends_of_new_predecessors_are_noted),
        TEST(new_successors_hold_a_revived_job),
        TEST(jobs_follow_a_revived_job),
        TEST(jobs_follow_a_moved_job),
    };

    return run_sql_suite("api_flows", tests, sizeof(tests) / sizeof(tests[0]));
}
