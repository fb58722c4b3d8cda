/* Bodies as text and JSON, and jobs of workflows, in the functions and views of sql/api/. */
#include "api.h"

#include <stdlib.h>

#define BODY "select convert_from(body, 'UTF8') from pgdisque.jobs order by number desc limit 1"

/* A literal without a type is text. */
static void bodies_are_text_bytes_or_json(void **state) {
    static const struct {
        const char *call, *body;
    } calls[] = {
        { "pgdisque.add_job('q', '\\x41')", "\\x41" },
        { "pgdisque.add_job('q', '\\x41'::bytea)", "A" },
        { "pgdisque.add_job('q', '{\"b\":1,  \"a\":\"\\n\"}'::jsonb, delay => 5)",
          "{\"a\": \"\\n\", \"b\": 1}" },
        { "pgdisque.add_job('q', jsonb_build_object('id', 17))", "{\"id\": 17}" },
        { "pgdisque.add_job(queue => 'q', job => 'named')", "named" },
        { "pgdisque.add_jobs('q', array['x'])", "x" },
        { "pgdisque.add_jobs('q', array['[1]'::jsonb])", "[1]" },
        { "pgdisque.add_jobs('q', array(select to_jsonb(n) from generate_series(1, 3) as n))", "3" },
        { "pgdisque.add_unique_job('q', '\\x42', 'k1')", "\\x42" },
        { "pgdisque.add_unique_job('q', '\\x42'::bytea, 'k2')", "B" },
        { "pgdisque.add_unique_job('q', '{\"c\":2}'::jsonb, 'k3')", "{\"c\": 2}" },
        { "pgdisque.add_job_after('q', '\\x43', '{}')", "\\x43" },
        { "pgdisque.add_job_after('q', '\\x43'::bytea, '{}')", "C" },
        { "pgdisque.add_job_after('q', 'true'::jsonb, '{}')", "true" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        const char *body;

        done(a, text_of("select %s", calls[i].call));
        body = sql(a, BODY);
        if (strcmp(body, calls[i].body) != 0)
            fail_msg("%s adds %s", calls[i].call, body);
    }
    does(a, "error 22023", "select pgdisque.add_job_after('q', repeat('x', 67108865), '{}')");
}

static void results_and_other_bodies_are_json(void **state) {
    const char *id;

    (void)state;
    id = sql(a, "select pgdisque.add_job('q', '1')");
    assert_string_equal(sql(a, "select pgdisque.ack_jobs(array['%s'], '{\"rows\":7}'::jsonb)", id), "1");
    assert_string_equal(
        sql(a, "select state, pgdisque.body_json(result) ->> 'rows' from pgdisque.wait_job('%s')", id),
        "done 7");
    id = sql(a, "select pgdisque.add_job('q', '2')");
    assert_string_equal(sql(a, "select pgdisque.ack_jobs(array['%s'], '\\x41')", id), "1");
    assert_string_equal(sql(a, "select pgdisque.body_text(result) from pgdisque.wait_job('%s')", id),
                        "\\x41");
    done(a, "select pgdisque.schedule('s', '* * * * *', 'q', '{\"n\": 3}'::jsonb)");
    does(a, "3", "select body_json ->> 'n' from pgdisque.schedules");
    done(a, "select pgdisque.add_job('q', 'dead')");
    done(a,
         "insert into pgdisque.dead_job (queue_id, rank, id, died_at, expires_at, retry, delay, deliveries, "
         "attempts, nacks, additional_deliveries, replicate, body) select queue_id, rank, id, now(), "
         "expires_at, retry, delay, 1, 1, 0, 0, replicate, body from pgdisque.job");
    done(a, "delete from pgdisque.job");
    does(a, "t", "select pgdisque.edit_dead((select id from pgdisque.dead), '{\"e\":1}'::jsonb)");
    does(a, "{\"e\": 1} 1", "select body_text, body_json ->> 'e' from pgdisque.dead");
    does(a, "t", "select pgdisque.edit_dead((select id from pgdisque.dead), '\\x41', retry => 9)");
    does(a, "t", "select pgdisque.edit_dead((select id from pgdisque.dead), retry => 8)");
    does(a, "\\x41 8", "select body_text, retry from pgdisque.dead");
}

/* A client chooses the bytes of a body. The views never fail. */
static void hostile_bodies_are_null(void **state) {
    static const struct {
        const char *body, *text, *json;
    } bodies[] = {
        { "convert_to('{\"a\": [1, null]}', 'UTF8')", "t", "object" },
        { "convert_to(' 1e3 ', 'UTF8')", "t", "number" },
        { "convert_to('null', 'UTF8')", "t", "null" },
        { "''", "t", "-" },
        { "convert_to('{\"a\": 1', 'UTF8')", "t", "-" },
        { "convert_to('mail', 'UTF8')", "t", "-" },
        { "convert_to('\"\\u0000\"', 'UTF8')", "t", "-" },
        { "convert_to('\"\\ud800\"', 'UTF8')", "t", "-" },
        { "convert_to('1e999999', 'UTF8')", "t", "-" },
        { "convert_to(repeat('[', 1000000), 'UTF8')", "t", "-" },
        { "convert_to(repeat('{\"a\":', 1000000), 'UTF8')", "t", "-" },
        { "convert_to(repeat(' ', 16777216) || '1', 'UTF8')", "t", "-" },
        { "'\\x00'", "f", "-" },
        { "'\\x220022'", "f", "-" },
        { "'\\xff'", "f", "-" },
        { "'\\xeda080'", "f", "-" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        const char *got;

        done(a,
             text_of("delete from pgdisque.job; select pgdisque.add_job('q', (%s)::bytea)", bodies[i].body));
        got = sql(a, "select body_text is not null, jsonb_typeof(body_json) from pgdisque.jobs");
        if (strcmp(got, text_of("%s %s", bodies[i].text, bodies[i].json)) != 0)
            fail_msg("%s: %s", bodies[i].body, got);
    }
}

static void enqueued_jobs_are_queued_at_once(void **state) {
    (void)state;
    done(a, "select pgdisque.add_job('q', 'delayed', delay => 100), pgdisque.add_job('q', 'taken', priority "
            "=> 1), "
            "pgdisque.add_job('q', 'last', priority => 2, attempts => 1), "
            "pgdisque.add_job('q', 'once', priority => 3, retry => 0)");
    does(a, "once; last; taken", BODIES("'q', 3"));
    does(a, "3", "select pgdisque.enqueue_jobs(" IDS("true") ")");
    does(a, "0", "select pgdisque.enqueue_jobs(" IDS("true") ")");
    does(a, "delayed queued 0 0 0; taken queued 1 0 1; last queued 0 0 1; once active 1 0 0",
         "select body_text, state, deliveries, nacks, additional_deliveries from pgdisque.jobs order by "
         "priority");
    does(a, "last; taken; delayed", BODIES("'q', 9"));
    done(a,
         "with gone as (delete from pgdisque.job returning *) insert into pgdisque.dead_job (queue_id, rank, "
         "id, "
         "died_at, expires_at, retry, delay, deliveries, attempts, nacks, additional_deliveries, replicate, "
         "body) "
         "select queue_id, rank, id, now(), expires_at, retry, delay, 1, 1, 0, 0, replicate, body from gone "
         "where body = 'last'");
    does(a, "1", "select pgdisque.enqueue_jobs(array(select id from pgdisque.dead))");
    does(b, "last", BODIES("'q', 9"));
}

static void progress_is_noted(void **state) {
    (void)state;
    done(a, "select pgdisque.add_job('q', 'x', retry => 30)");
    does(a, "x", BODIES("'q'"));
    does(a, "1", "select pgdisque.working(" IDS("true") ", progress => 40, text => 'page 4')");
    does(a, "40 page 4 t",
         "select progress ->> 'percent', progress ->> 'text', to_timestamp((progress ->> 'at')::bigint / "
         "1000.0) "
         "between now() - interval '1 h' and clock_timestamp() from pgdisque.jobs");
    does(a, "1", "select pgdisque.working(" IDS("true") ")");
    does(a, "1", "select count(*) from pgdisque.jobs where progress @> '{\"percent\": 40}'");
    does(a, "1", "select pgdisque.working(" IDS("true") ", progress => 41)");
    does(a, "{at,percent}",
         "select array_agg(k order by k) from pgdisque.jobs, jsonb_object_keys(progress) as k");
    does(a, "error 22023", "select pgdisque.working(" IDS("true") ", progress => 101)");
    does(a, "error 22023", "select pgdisque.working(" IDS("true") ", text => 'x')");
    does(a, "error 22023",
         "select pgdisque.working(" IDS("true") ", progress => 1, text => repeat('x', 513))");
}

static void predecessors_have_results(void **state) {
    const char *first, *second, *after;

    (void)state;
    first = sql(a, "select pgdisque.add_job('q', '1')");
    second = sql(a, "select pgdisque.add_job('q', '2')");
    after = sql(a,
                "select pgdisque.add_job_after('r', '3', array['%s', '%s'], on_fail => 'continue', "
                "headers => '{\"h\": \"v\"}')",
                first, second);
    assert_string_equal(sql(a, "select id = '%s', state from pgdisque.predecessors('%s')", first, after),
                        "t pending; f pending");
    assert_string_equal(sql(a, "select * from pgdisque.wait_job('%s', 20)", after), "");
    does(a, "3 2 {\"h\": \"v\"}", "select body_json, pending, headers from pgdisque.waiting_jobs");
    assert_string_equal(sql(a, "select pgdisque.ack_jobs(array['%s'], 'three')", first), "1");
    /* A server counts the end of the job. */
    done(a, "update pgdisque.flow_job set ended_at = now() where outcome = 1");
    assert_string_equal(
        sql(a, "select state, convert_from(result, 'UTF8') from pgdisque.predecessors('%s')", after),
        "done three; pending -");
    assert_string_equal(sql(a, "select count(*) from pgdisque.predecessors('%s')", first), "0");
}

#define ADD_OPTIONS "attempts => 3, backoff => 5, deadqueue => 'd', group_key => 'g'"
#define ADDED_OPTIONS "attempts, backoff, convert_from(deadqueue, 'UTF8'), convert_from(group_key, 'UTF8')"

/* The options of add_job, in each function that adds a job. */
static void all_adds_have_the_same_options(void **state) {
    const char *first;

    (void)state;
    first = sql(a, "select pgdisque.add_job('q', '1', " ADD_OPTIONS ")");
    sql(a, "select pgdisque.add_job_after('q', '2', '{}', " ADD_OPTIONS ")");
    sql(a, "select pgdisque.add_unique_job('q', '3', 'k', " ADD_OPTIONS ")");
    does(a, "3 5 d g infinity 3",
         "select " ADDED_OPTIONS ", ready_at, count(*) from pgdisque.job group by 1, 2, 3, 4, 5");
    sql(a, "select pgdisque.add_job_after('q', '4', array['%s'], " ADD_OPTIONS ")", first);
    does(a, "3 5 d g", "select " ADDED_OPTIONS " from pgdisque.waiting_job");
    does(a, "error 22023", "select pgdisque.add_job_after('q', '5', '{}', group_key => 'g', delay => 5)");
    does(a, "error 22023", "select pgdisque.add_job_after('q', '5', '{}', attempts => 2, deadqueue => 'q')");
    does(a, "error 22023", "select pgdisque.add_unique_job('q', '5', 'other', deadqueue => 'd')");
}

static void batches_are_found_by_their_jobs(void **state) {
    const char *batch, *job;

    (void)state;
    batch = sql(a, "select pgdisque.new_batch('done', 'all', 'failed')");
    job = sql(a, "select pgdisque.add_job_after('q', '1', '{}', batch => '%s')", batch);
    assert_string_equal(
        sql(a, "select id = '%s', state, total, pending from pgdisque.batch('%s')", batch, job),
        "t open 1 1");
    assert_string_equal(sql(a, "select pgdisque.close_batch('%s')", batch), "t");
    assert_string_equal(sql(a, "select state, total, pending from pgdisque.batch('%s')", batch),
                        "closed 1 1");
    job = sql(a, "select pgdisque.add_job('q', 'alone')");
    assert_string_equal(sql(a, "select count(*) from pgdisque.batch('%s')", job), "0");
}

static void batches_nest_in_16_levels(void **state) {
    const char *batch = NULL;

    (void)state;
    for (int level = 1; level <= 16; level++)
        batch = batch == NULL ? sql(a, "select pgdisque.new_batch('done')")
                              : sql(a, "select pgdisque.new_batch('done', parent => '%s')", batch);
    assert_string_equal(sql(a, "select pgdisque.new_batch('done', parent => '%s')", batch), "error 22023");
    does(a, "16 15", "select count(*), sum(total) from pgdisque.batch");
}

/* A server counts the outcomes. The worker of the running job cannot change its outcome. */
static void cancelled_jobs_of_workflows_are_noted(void **state) {
    const char *queued, *running, *done_job, *late;

    (void)state;
    running = sql(a, "select pgdisque.add_job('q', '1')");
    queued = sql(a, "select pgdisque.add_job('p', '2')");
    done_job = sql(a, "select pgdisque.add_job('p', '3')");
    sql(a, "select pgdisque.add_job_after('r', '4', array['%s', '%s', '%s'])", queued, running, done_job);
    late = sql(a, "select pgdisque.add_job('q', '5')");
    does(a, "2", "select count(*) from pgdisque.get_jobs('q', 2, 'me')");
    does(a, "4",
         text_of(
             "select pgdisque.cancel_jobs(array['%s', '%s', '%s', (select id from pgdisque.waiting_jobs)])",
             queued, running, late));
    does(a, "0", text_of("select pgdisque.cancel_jobs(array['%s', '%s'])", queued, running));
    does(a, "0", "select count(*) from pgdisque.waiting_jobs");
    does(a, "3", "select outcome from pgdisque.waiting_job");
    sql(a, "select pgdisque.add_job_after('r', '6', array['%s'])", late);
    does(a, "3", text_of("select pgdisque.ack_jobs(array['%s', '%s', '%s'], 'x')", running, done_job, late));
    does(a, "3; 3; 1; -; 3; -", "select outcome from pgdisque.flow_job order by id");
}

/* The leader looks for the job by its key. */
static void flows_follow_another_priority(void **state) {
    const char *first;

    (void)state;
    first = sql(a, "select pgdisque.add_job('q', '1')");
    sql(a, "select pgdisque.add_job_after('q', '2', array['%s'])", first);
    does(a, "1", text_of("select count(*) from pgdisque.reprioritize(array['%s'], 9)", first));
    does(a, "1",
         "select count(*) from pgdisque.flow_job as f join pgdisque.job as j using (queue_id, rank, id)");
}

/* Producers have no right to read jobs, but they have the IDs of the jobs that they added. */
static void producers_make_workflows(void **state) {
    const char *first, *batch;

    (void)state;
    done(a, "set role pgdisque_producer");
    first = sql(a, "select pgdisque.add_job('q', '1')");
    batch = sql(a, "select pgdisque.new_batch('done', 'all')");
    assert_string_equal(
        sql(a, "select length(pgdisque.add_job_after('q', '2', array['%s'], batch => '%s'))", first, batch),
        "40");
    assert_string_equal(sql(a, "select pgdisque.close_batch('%s')", batch), "t");
    done(a, "reset role");
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, fresh, settle)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(bodies_are_text_bytes_or_json),
        TEST(results_and_other_bodies_are_json),
        TEST(hostile_bodies_are_null),
        TEST(enqueued_jobs_are_queued_at_once),
        TEST(progress_is_noted),
        TEST(predecessors_have_results),
        TEST(all_adds_have_the_same_options),
        TEST(batches_are_found_by_their_jobs),
        TEST(batches_nest_in_16_levels),
        TEST(cancelled_jobs_of_workflows_are_noted),
        TEST(flows_follow_another_priority),
        TEST(producers_make_workflows),
    };

    return run_sql_suite("api_bodies", tests, sizeof(tests) / sizeof(tests[0]));
}
