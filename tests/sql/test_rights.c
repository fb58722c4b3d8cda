/* Rights of roles on queues: every function and view that a tenant's role may use. */
#include "api.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REFUSED "error 42501"

/* Two tenants with queues of their own, and a job of each. */
static int tenants(void **state) {
    fresh(state);
    done(a, "do $$ begin create role red login in role pgdisque_tenant; create role blue login in role "
            "pgdisque_tenant; exception when duplicate_object then null; end $$");
    done(a, "select pgdisque.grant_queue('red', 'red:*'), pgdisque.grant_queue('blue', 'blue:*')");
    done(a, "select pgdisque.add_job('red:1', 'r'), pgdisque.add_job('blue:1', 'b')");
    return 0;
}

static int no_tenants(void **state) {
    sql(a, "rollback");
    sql(a, "reset role");
    sql(a, "reset session authorization");
    return settle(state);
}

static const char *blue_id(void) {
    static char id[64];

    snprintf(id, sizeof id, "%s", sql(b, "select id from pgdisque.jobs where queue = 'blue:1'"));
    return id;
}

/* The rows of all tables that a call could have changed. */
static const char *everything(void) {
    return sql(b, "select (select string_agg(j::text, '' order by j.id) from pgdisque.job as j), "
                  "(select string_agg(q::text, '' order by q.id) from pgdisque.queue as q), "
                  "(select string_agg(s::text, '' order by s.name) from pgdisque.queue_setting as s), "
                  "(select string_agg(s::text, '' order by s.name) from pgdisque.schedule as s), "
                  "(select string_agg(t::text, '' order by t.id) from pgdisque.batch as t), "
                  "(select string_agg(w::text, '' order by w.id) from pgdisque.waiting_job as w)");
}

static void own_queues_are_usable(void **state) {
    (void)state;
    done(a, "set role red");
    done(a, "select pgdisque.add_job('red:1', 's', attempts => 3, deadqueue => 'red:dead')");
    done(a, "select pgdisque.wake(array['red:1'])");
    does(a, "r; s", BODIES("'red:1', 2"));
    does(a, "2", "select pgdisque.working(array(select id from pgdisque.own_jobs))");
    does(a, "2", "select pgdisque.nack_jobs(array(select id from pgdisque.own_jobs), 0)");
    does(a, "r; s", BODIES("'red:1', 2, 'w'"));
    does(a, "2", "select pgdisque.release_worker('w')");
    does(a, "queued; queued",
         "select j.state from pgdisque.own_jobs as o cross join lateral pgdisque.job(o.id) as j");
    does(a, "2", "select pgdisque.ack_jobs(array(select id from pgdisque.own_jobs))");
}

static void other_queues_are_refused(void **state) {
    static const char *const calls[] = {
        "pgdisque.add_job('blue:1', 'x')",
        "pgdisque.add_job('new', 'x')",
        "pgdisque.add_job('RED:1', 'x')",
        "pgdisque.add_job('blue:1', '\\x00'::bytea)",
        "pgdisque.add_jobs('blue:1', array['x'])",
        "pgdisque.add_jobs('blue:1', array['x'], unique_keys => array['k'])",
        "pgdisque.add_job('red:1', 'x', attempts => 1, deadqueue => 'blue:1')",
        "pgdisque.add_job('blue:1', 'x', unique_key => 'k')",
        "pgdisque.wake(array['red:1', 'blue:1'])",
        "pgdisque.get_jobs('blue:1')",
        "pgdisque.get_jobs('none')",
        "* from pgdisque.jobs",
        "* from pgdisque.queues",
        "* from pgdisque.dead",
        "* from pgdisque.done",
        "* from pgdisque.workers",
        "* from pgdisque.schedules",
        "* from pgdisque.queue_grant",
        "* from pgdisque.job",
        "pgdisque.grant_queue('red', '*')",
        "pgdisque.revoke_queue('blue')",
        "pgdisque.pause('red:1', 'all')",
        "pgdisque.api_keys('{}')",
        "pgdisque.api_secret()",
    };
    char *before = strdup(everything());

    (void)state;
    done(a, "set role red");
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (strcmp(sql(a, "select %s", calls[i]), REFUSED) != 0)
            fail_msg("a tenant may call %s", calls[i]);
    assert_string_equal(everything(), before);
    free(before);
}

/* The ID of another tenant's job is as an ID of a job that has ended. */
static void ids_of_other_queues_are_unknown(void **state) {
    const char *id = blue_id();
    char *before = strdup(everything());

    (void)state;
    done(a, "set role red");
    assert_string_equal(sql(a, "select pgdisque.ack_jobs(array['%s'])", id), "0");
    assert_string_equal(sql(a, "select pgdisque.ack_jobs(array['%s'], 'result')", id), "0");
    assert_string_equal(sql(a, "select pgdisque.nack_jobs(array['%s'], 5, 'e')", id), "0");
    assert_string_equal(sql(a, "select pgdisque.working(array['%s'])", id), "0");
    assert_string_equal(sql(a, "select count(*) from pgdisque.job('%s')", id), "0");
    assert_string_equal(sql(a, "select pgdisque.wait_job('%s', 1)", id), "error P0002");
    assert_string_equal(sql(a, "select pgdisque.ack_jobs(array['x'])"), "error 22023");
    assert_string_equal(everything(), before);
    free(before);
    done(a, "reset role");
    assert_string_equal(sql(a, "select pgdisque.ack_jobs(array['%s'])", id), "1");
}

/* An ID of another tenant in a list does not stop the change of the own jobs. */
static void only_own_jobs_of_a_list_change(void **state) {
    const char *id = blue_id();

    (void)state;
    done(a, "set role red");
    assert_string_equal(
        sql(a, "select pgdisque.ack_jobs(array['%s'] || array(select id from pgdisque.own_jobs))", id), "1");
    does(b, "blue:1", "select queue from pgdisque.jobs");
}

/* A job of the tenant waits for a job of another tenant. */
static void predecessors_of_other_queues_are_left_out(void **state) {
    char *after = strdup(sql(a,
                             "select pgdisque.add_job_after('red:after', 'x', array['%s'] || "
                             "array(select id from pgdisque.jobs where queue = 'red:1'))",
                             blue_id()));

    (void)state;
    assert_string_equal(sql(a, "select count(*) from pgdisque.predecessors('%s')", after), "2");
    done(a, "set role red");
    assert_string_equal(sql(a,
                            "select count(*), bool_and(id in (select id from pgdisque.own_jobs)) "
                            "from pgdisque.predecessors('%s')",
                            after),
                        "1 t");
    free(after);
}

/* A batch of the tenant has a batch of another tenant in it. */
static void inner_batches_of_other_queues_stay_open(void **state) {
    char *outer = strdup(sql(a, "select pgdisque.new_batch('red:done')"));
    char *inner = strdup(sql(a, "select pgdisque.new_batch('blue:done', parent => '%s')", outer));

    (void)state;
    sql(a, "select pgdisque.add_job_after('red:1', 'x', '{}', batch => '%s')", outer);
    sql(a, "select pgdisque.add_job_after('blue:1', 'x', '{}', batch => '%s')", inner);
    done(a, "set role red");
    assert_string_equal(sql(a, "select pgdisque.cancel_batch('%s')", outer), "1");
    done(a, "reset role");
    assert_string_equal(sql(a, "select state from pgdisque.batch('%s')", outer), "closed");
    assert_string_equal(sql(a, "select state from pgdisque.batch('%s')", inner), "open");
    assert_string_equal(sql(a, "select count(*) from pgdisque.jobs where queue = 'blue:1'"), "2");
    free(outer);
    free(inner);
}

/* The job that has the key may be that of another role. */
static void replacing_needs_both_rights(void **state) {
    (void)state;
    done(a, "select pgdisque.grant_queue('red', 'green:*', 'write')");
    done(a, "select pgdisque.add_unique_job('green:1', 'x', 'k')");
    done(a, "set role red");
    does(a, "existing", "select outcome from pgdisque.add_unique_job('green:1', 'y', 'k')");
    assert_string_equal(
        sql(a, "select outcome from pgdisque.add_unique_job('green:1', 'y', 'k', replace => true)"), REFUSED);
    done(a, "reset role");
    done(a, "select pgdisque.grant_queue('red', 'green:*', 'read write')");
    done(a, "set role red");
    does(a, "replaced", "select outcome from pgdisque.add_unique_job('green:1', 'y', 'k', replace => true)");
}

static void workers_keep_jobs_of_other_queues(void **state) {
    (void)state;
    done(a, "select pgdisque.get_jobs('blue:1', 1, 'w'), pgdisque.get_jobs('red:1', 1, 'w')");
    done(a, "set role red");
    does(a, "w red:1 1", "select worker, queue, jobs from pgdisque.own_workers");
    does(a, "1", "select pgdisque.release_worker('w')");
    does(b, "blue:1 active; red:1 queued", "select queue, state from pgdisque.jobs order by queue");
}

static void views_show_own_queues(void **state) {
    (void)state;
    done(a,
         "insert into pgdisque.dead_job (queue_id, rank, id, died_at, expires_at, retry, delay, deliveries, "
         "attempts, nacks, additional_deliveries, replicate, body) select queue_id, rank, id, now(), "
         "expires_at, retry, "
         "delay, 1, 1, 0, 0, replicate, body from pgdisque.job");
    done(
        a,
        "select pgdisque.qconfig('red:1', 'retention', '60'), pgdisque.qconfig('blue:1', 'retention', '60')");
    done(a, "set role red");
    does(a, "r", "select convert_from(body, 'UTF8') from pgdisque.own_jobs");
    does(a, "red:1", "select queue from pgdisque.own_queues");
    does(a, "red:1", "select queue from pgdisque.own_dead");
    done(a, "reset role");
    done(a, "delete from pgdisque.dead_job");
    done(a, "select pgdisque.ack_jobs(array(select id from pgdisque.jobs))");
    does(a, "2", "select count(*) from pgdisque.done");
    done(a, "set role red");
    does(a, "r", "select convert_from(body, 'UTF8') from pgdisque.own_done");
    does(a, "0", "select count(*) from pgdisque.own_jobs");
}

/* A cheap condition of the tenant runs after the condition of the view. */
static void conditions_see_no_other_rows(void **state) {
    (void)state;
    done(a, "set role red");
    done(a, "create function pg_temp.peek(bytea, text) returns boolean language plpgsql cost 0.0000001 as $$ "
            "begin if $1 = 'b' or $2 = 'blue:1' then raise 'seen'; end if; return true; end $$");
    does(a, "1", "select count(*) from pgdisque.own_jobs where pg_temp.peek(body, queue)");
    does(a, "1", "select count(*) from pgdisque.own_queues where pg_temp.peek(null, queue)");
    done(a, "drop function pg_temp.peek(bytea, text)");
}

/* Reading is taking, acknowledging and listing; writing is adding. */
static void rights_are_separate(void **state) {
    const char *id = blue_id();

    (void)state;
    done(a, "select pgdisque.grant_queue('red', 'blue:*', 'write')");
    done(a, "set role red");
    done(a, "select pgdisque.add_job('blue:1', 'c')");
    done(a, "select pgdisque.add_job('red:1', 'x', attempts => 1, deadqueue => 'blue:1')");
    does(a, REFUSED, "select pgdisque.get_jobs('blue:1')");
    assert_string_equal(sql(a, "select pgdisque.ack_jobs(array['%s'])", id), "0");
    assert_string_equal(sql(a, "select count(*) from pgdisque.job('%s')", id), "0");
    assert_string_equal(sql(a, "select pgdisque.wait_job('%s', 1)", id), "");
    does(a, "red:1", "select distinct queue from pgdisque.own_jobs");
    done(a, "reset role");
    does(a, "1", "select pgdisque.revoke_queue('red', 'blue:*')");
    done(a, "select pgdisque.grant_queue('red', 'blue:*', 'read')");
    done(a, "set role red");
    does(a, REFUSED, "select pgdisque.add_job('blue:1', 'd')");
    does(a, "b; c", BODIES("'blue:1', 9"));
    assert_string_equal(sql(a, "select pgdisque.ack_jobs(array['%s'])", id), "1");
    done(a, "reset role");
    done(a, "select pgdisque.grant_queue('red', 'blue:*', 'write')");
    done(a, "set role red");
    done(a, "select pgdisque.add_job('blue:1', 'e')");
    done(a, "select pgdisque.get_jobs('blue:1')");
}

static void revoked_rights_end(void **state) {
    (void)state;
    does(a, "1", "select pgdisque.revoke_queue('red')");
    does(a, "0", "select pgdisque.revoke_queue('red')");
    done(a, "set role red");
    does(a, REFUSED, "select pgdisque.add_job('red:1', 'x')");
    does(a, REFUSED, "select pgdisque.get_jobs('red:1')");
    does(a, "0", "select count(*) from pgdisque.own_jobs");
}

/* The session's role counts, and the roles whose rights it inherits. */
static void the_session_has_the_rights_of_its_role(void **state) {
    (void)state;
    done(a, "set session authorization red");
    does(a, REFUSED, "select pgdisque.add_job('blue:1', 'x')");
    does(a, "r", BODIES("'red:1'"));
    done(a, "reset session authorization");
    done(a,
         "do $$ begin create role violet login in role red, blue; create role grey login noinherit in role "
         "red; exception when duplicate_object then null; end $$");
    done(a, "set session authorization violet");
    done(a, "select pgdisque.add_job('red:1', 'x'), pgdisque.add_job('blue:1', 'x')");
    done(a, "set role red");
    does(a, REFUSED, "select pgdisque.add_job('blue:1', 'x')");
    done(a, "reset role; reset session authorization");
    done(a, "grant pgdisque_tenant to grey");
    done(a, "set session authorization grey");
    assert_string_equal(sql(a, "select pgdisque.add_job('red:1', 'x')"), REFUSED);
    done(a, "set role red");
    done(a, "select pgdisque.add_job('red:1', 'x')");
}

/* Roles that may use all queues do so without a grant. A reader takes nothing. */
static void other_roles_have_all_queues(void **state) {
    const char *id = blue_id(), *batch;

    (void)state;
    batch = forever(sql(a, "select pgdisque.new_batch('blue:done')"));
    done(a, text_of("select pgdisque.add_job_after('blue:1', 'x', '{}', batch => '%s')", batch));
    done(a, "set role pgdisque_producer");
    done(a, "select pgdisque.add_job('any', 'x')");
    assert_string_equal(sql(a, "select pgdisque.wait_job('%s', 1)", id), "");
    done(a, "reset role; set role pgdisque_reader");
    assert_string_equal(sql(a, "select queue from pgdisque.job('%s')", id), "blue:1");
    assert_string_equal(sql(a, "select queue from pgdisque.batch_jobs('%s')", batch), "blue:1");
    done(a, "reset role; do $$ begin create role guest login in role pgdisque_tenant, pgdisque_reader; "
            "exception when duplicate_object then null; end $$; set role guest");
    does(a, REFUSED, "select pgdisque.get_jobs('any')");
    assert_string_equal(sql(a, "select pgdisque.ack_jobs(array['%s'])", id), "0");
    done(a, "reset role; set role pgdisque_consumer");
    does(a, "b", BODIES("'blue:1'"));
}

/* Functions of operators, after the owner has granted them to a tenant. */
static void granted_functions_keep_to_own_queues(void **state) {
    static const char *const refused[] = {
        "pgdisque.pause('blue:1', 'all')",
        "pgdisque.pause('blue:1')",
        "pgdisque.qconfig('blue:1', 'rate', '1')",
        "pgdisque.qconfig('red:1', 'deadqueue', 'blue:1')",
        "pgdisque.qconfig_reset('blue:1')",
        "pgdisque.revive('blue:1')",
        "pgdisque.revive('red:1', to_queue => 'blue:1')",
        "pgdisque.delete_dead('blue:1')",
        "pgdisque.schedule('mine', '* * * * *', 'blue:1', 'x')",
        "pgdisque.schedule('mine', '* * * * *', 'red:1', 'x', attempts => 1, deadqueue => 'blue:1')",
        "pgdisque.schedule('theirs', '* * * * *', 'red:1', 'x')",
        "pgdisque.schedule('mine', '* * * * *', 'green:1', 'x', overlap => 'Replace')",
    };
    const char *id = blue_id();
    char *before;

    (void)state;
    done(a, "begin; grant execute on all functions in schema pgdisque to red");
    done(a, "select pgdisque.grant_queue('red', 'green:*', 'write')");
    done(a, "select pgdisque.qconfig('blue:1', 'ttl', '50'), pgdisque.schedule('theirs', '* * * * *', "
            "'blue:1', 'x')");
    done(a, "commit; set role red");
    before = strdup(everything());
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        if (strcmp(sql(a, "select %s", refused[i]), REFUSED) != 0)
            fail_msg("a tenant may call %s", refused[i]);
    does(a, "", "select * from pgdisque.qconfig('blue:1')");
    does(a, "f", "select pgdisque.unschedule('theirs')");
    assert_string_equal(sql(a, "select count(*) from pgdisque.reprioritize(array['%s'], 9)", id), "0");
    assert_string_equal(sql(a, "select pgdisque.revive_jobs(array['%s'])", id), "0");
    assert_string_equal(sql(a, "select pgdisque.edit_dead('%s', 'x')", id), "f");
    does(a, "-", "select pgdisque.run_schedule('theirs')");
    does(a, "0", "select pgdisque.release_node(0)");
    assert_string_equal(everything(), before);
    free(before);
    done(a, "select pgdisque.pause('red:1', 'out'), pgdisque.qconfig('red:1', 'rate', '1'), "
            "pgdisque.schedule('mine', '* * * * *', 'green:1', 'x'), "
            "pgdisque.schedule('mine', '* * * * *', 'red:1', 'x', overlap => 'replace')");
    does(a, "1", "select count(*) from pgdisque.reprioritize(array(select id from pgdisque.own_jobs), 9)");
    does(a, "t", "select pgdisque.unschedule('mine')");
    done(a, "reset role; revoke all on all functions in schema pgdisque from red");
    done(a, "select pgdisque.grant_roles()");
}

static void patterns_match_names(void **state) {
    static const struct {
        const char *pattern, *name, *matches;
    } cases[] = {
        { "*", "'anything'", "t" },
        { "a*", "'ab'", "t" },
        { "a*", "'ba'", "f" },
        { "a?c", "'abc'", "t" },
        { "a?c", "'abbc'", "f" },
        { "a%", "'ab'", "f" },
        { "a%", "'a%'", "t" },
        { "a_", "'ab'", "f" },
        { "a_", "'a_'", "t" },
        { "a\\*", "'ab'", "f" },
        { "a\\*", "'a*'", "t" },
        { "a\\?", "'a?'", "t" },
        { "a\\", "'a\\'", "t" },
        { "a\\b", "'ab'", "t" },
        { "?", "'\\xff'::bytea", "t" },
        { "*", "'\\x00ff0a'::bytea", "t" },
        { "A", "'a'", "f" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *bytes =
            strstr(cases[i].name, "::") ? cases[i].name : text_of("convert_to(%s, 'UTF8')", cases[i].name);
        const char *got = sql(a, "select %s like pgdisque.api_like('%s')", bytes, cases[i].pattern);

        if (strcmp(got, cases[i].matches) != 0)
            fail_msg("%s like %s: %s", cases[i].name, cases[i].pattern, got);
    }
}

static void wrong_grants_are_refused(void **state) {
    (void)state;
    does(a, "error 42704", "select pgdisque.grant_queue('no such role', 'q')");
    does(a, "error 42704", "select pgdisque.grant_queue(null, 'q')");
    does(a, "error 22023", "select pgdisque.grant_queue('red', '')");
    does(a, "error 22023", "select pgdisque.grant_queue('red', null)");
    does(a, "error 22023", "select pgdisque.grant_queue('red', 'q[ab]')");
    does(a, "error 22023", "select pgdisque.grant_queue('red', 'q', 'all')");
    does(a, "error 22023", "select pgdisque.grant_queue('red', 'q', null)");
    does(a, "2", "select count(*) from pgdisque.queue_grant");
}

/* A dump keeps the grants of roles that are gone, and they have no effect. */
static void grants_of_dropped_roles_do_nothing(void **state) {
    (void)state;
    done(a, "create role gone; select pgdisque.grant_queue('gone', '*'); drop role gone");
    done(a, "set role red");
    does(a, REFUSED, "select pgdisque.add_job('blue:1', 'x')");
    done(a, "select pgdisque.add_job('red:1', 'x')");
}

/*
 * Each function and view for applications, and the right that a caller needs. A new one has no row, and fails the test.
 * The calls use the queue of the other tenant, and BLUE stands for the ID of its job.
 */
#define BLUE "array[(select min(id) from blue)]"
#define ONE_BLUE "(select min(id) from blue)"

struct rights_row {
    const char *name;
    /* A call that the tenant without a grant on the queue makes, and its result. Null: the tenant may not call it. */
    const char *call, *result;
    /* The roles that may call it: a letter each of producer, consumer, tenant, reader. */
    const char *roles;
};

static const struct rights_row rights_rows[] = {
    { "ack_jobs", "pgdisque.ack_jobs(" BLUE ")", "0", "ct" },
    { "add_job", "pgdisque.add_job('blue:1', '1'::jsonb)", REFUSED, "pt" },
    { "add_job_after", "pgdisque.add_job_after('red:1', 'x', " BLUE ")", "error 22023", "pt" },
    { "add_jobs", "pgdisque.add_jobs('blue:1', array['1'::jsonb])", REFUSED, "pt" },
    { "add_jobs_after", "pgdisque.add_jobs_after('red:1', array['x'], " BLUE ")", "error 22023", "pt" },
    { "add_unique_job", "pgdisque.add_unique_job('blue:1', '1'::jsonb, 'k')", REFUSED, "pt" },
    { "batch", "count(*) from pgdisque.batch((select id from blue where is_batch))", "0", "pctr" },
    { "batch_jobs", "count(*) from pgdisque.batch_jobs((select id from blue where is_batch))", "0", "pctr" },
    { "batches", NULL, NULL, "r" },
    { "body_json", "pgdisque.body_json('1'::bytea)", "1", "pctr" },
    { "body_text", "pgdisque.body_text('1'::bytea)", "1", "pctr" },
    { "cancel_batch", "pgdisque.cancel_batch((select id from blue where is_batch))", "0", "ct" },
    { "cancel_jobs", "pgdisque.cancel_jobs(" BLUE ")", "0", "ct" },
    { "close_batch", "pgdisque.close_batch((select id from blue where is_batch))", "f", "pt" },
    { "dead", NULL, NULL, "r" },
    { "delete_dead", NULL, NULL, "" },
    { "done", NULL, NULL, "r" },
    { "edit_dead", NULL, NULL, "" },
    { "enqueue_jobs", "pgdisque.enqueue_jobs(" BLUE ")", "0", "ct" },
    { "get_jobs", "pgdisque.get_jobs('blue:1')", REFUSED, "ct" },
    { "grant_queue", NULL, NULL, "" },
    { "grant_roles", NULL, NULL, "" },
    { "job", "count(*) from pgdisque.job(" ONE_BLUE ")", "0", "ctr" },
    { "jobs", NULL, NULL, "r" },
    { "lease_ended", NULL, NULL, "" },
    { "nack_jobs", "pgdisque.nack_jobs(" BLUE ")", "0", "ct" },
    { "new_batch", "pgdisque.new_batch('blue:1')", REFUSED, "pt" },
    { "nodes", NULL, NULL, "r" },
    { "own_batches", "count(*) from pgdisque.own_batches", "0", "t" },
    { "own_dead", "count(*) from pgdisque.own_dead", "0", "t" },
    { "own_done", "count(*) from pgdisque.own_done", "0", "t" },
    { "own_jobs", "queue from pgdisque.own_jobs", "red:1", "t" },
    { "own_queue_stats", "queue from pgdisque.own_queue_stats", "red:1", "t" },
    { "own_queues", "queue from pgdisque.own_queues", "red:1", "t" },
    { "own_schedules", "count(*) from pgdisque.own_schedules", "0", "t" },
    { "own_waiting_jobs", "count(*) from pgdisque.own_waiting_jobs", "0", "t" },
    { "own_workers", "count(*) from pgdisque.own_workers", "0", "t" },
    { "pause", NULL, NULL, "" },
    { "predecessors", "count(*) from pgdisque.predecessors((select id from blue where is_waiting))", "0",
      "pctr" },
    { "qconfig", NULL, NULL, "" },
    { "qconfig_reset", NULL, NULL, "" },
    { "queue_name", "pgdisque.queue_name('1'::bytea)", "1", "tr" },
    { "queue_stats", NULL, NULL, "r" },
    { "queues", NULL, NULL, "r" },
    { "release_node", NULL, NULL, "" },
    { "release_worker", "pgdisque.release_worker('w')", "0", "ct" },
    { "reprioritize", NULL, NULL, "" },
    { "revive", NULL, NULL, "" },
    { "revive_jobs", NULL, NULL, "" },
    { "revoke_queue", NULL, NULL, "" },
    { "run_schedule", NULL, NULL, "" },
    { "schedule", NULL, NULL, "" },
    { "schedules", NULL, NULL, "r" },
    { "unlock", "pgdisque.unlock('blue:1', 'k')", REFUSED, "pt" },
    { "unschedule", NULL, NULL, "" },
    { "wait_job", "pgdisque.wait_job(" ONE_BLUE ", 1)", "error P0002", "pct" },
    { "wait_jobs", "pgdisque.wait_jobs(" BLUE ", 1)", "error P0002", "pct" },
    { "waiting_jobs", NULL, NULL, "r" },
    { "wake", "pgdisque.wake(array['blue:1'])", REFUSED, "pt" },
    { "workers", NULL, NULL, "r" },
    { "working", "pgdisque.working(" BLUE ", progress => 1)", "0", "ct" },
};

/* The roles that have all forms of a function, or a view: letters as in a row. */
static const char *roles_of(const char *name) {
    return sql(
        b,
        "select coalesce(string_agg(r.letter, '' order by r.at), '') from unnest(array['producer', "
        "'consumer', 'tenant', 'reader'], array['p', 'c', 't', 'r']) with ordinality as r (role, letter, at) "
        "where (select bool_and(o.may) from (select has_function_privilege('pgdisque_' || r.role, p.oid, "
        "'execute') as may from pg_proc as p where p.pronamespace = 'pgdisque'::regnamespace and "
        "p.proname = '%s' union all select has_table_privilege('pgdisque_' || r.role, c.oid, 'select') from "
        "pg_class as c where c.relnamespace = 'pgdisque'::regnamespace and c.relkind = 'v' and "
        "c.relname = '%s') as o)",
        name, name);
}

static void every_function_and_view_has_its_rights(void **state) {
    char *names = strdup(sql(b, "select n.name from (select proname::text as name from pg_proc where "
                                "pronamespace = 'pgdisque'::regnamespace and proname !~ '^api_' union select "
                                "relname from pg_class where relnamespace = 'pgdisque'::regnamespace and "
                                "relkind = 'v') as n order by n.name collate \"C\""));
    char *rest = names;

    (void)state;
    for (size_t i = 0; i < sizeof rights_rows / sizeof *rights_rows; i++) {
        const char *name = strsep(&rest, ";");

        if (!name || strcmp(name + (*name == ' '), rights_rows[i].name) != 0)
            fail_msg("the schema has %s, and the table has %s", name ? name : "no more", rights_rows[i].name);
        assert_string_equal(roles_of(rights_rows[i].name), rights_rows[i].roles);
    }
    if (rest)
        fail_msg("no row: %s", rest);
    free(names);
}

/* No call of a tenant reads or changes the queue of another tenant. */
static void no_call_reaches_other_queues(void **state) {
    char *before;

    (void)state;
    done(
        a,
        "create temporary table blue as select id, false as is_batch, false as is_waiting from pgdisque.jobs "
        "where queue = 'blue:1'");
    done(a, "insert into blue select pgdisque.new_batch('blue:1'), true, false");
    done(a, "insert into blue select pgdisque.add_job_after('blue:1', 'x', " BLUE "), false, true");
    done(a, "grant select on blue to red; select pgdisque.schedule('blue', '* * * * *', 'blue:1', 'x')");
    before = strdup(everything());
    done(a, "set role red");
    for (size_t i = 0; i < sizeof rights_rows / sizeof *rights_rows; i++) {
        const struct rights_row *row = &rights_rows[i];

        if (row->call && strcmp(sql(a, "select %s", row->call), row->result) != 0)
            fail_msg("%s: %s", row->call, sql(a, "select %s", row->call));
    }
    done(a, "reset role");
    assert_string_equal(everything(), before);
    free(before);
    done(a, "drop table blue; select pgdisque.unschedule('blue')");
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, tenants, no_tenants)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(own_queues_are_usable),
        TEST(other_queues_are_refused),
        TEST(ids_of_other_queues_are_unknown),
        TEST(only_own_jobs_of_a_list_change),
        TEST(predecessors_of_other_queues_are_left_out),
        TEST(inner_batches_of_other_queues_stay_open),
        TEST(replacing_needs_both_rights),
        TEST(workers_keep_jobs_of_other_queues),
        TEST(views_show_own_queues),
        TEST(conditions_see_no_other_rows),
        TEST(rights_are_separate),
        TEST(revoked_rights_end),
        TEST(the_session_has_the_rights_of_its_role),
        TEST(other_roles_have_all_queues),
        TEST(granted_functions_keep_to_own_queues),
        TEST(patterns_match_names),
        TEST(every_function_and_view_has_its_rights),
        TEST(no_call_reaches_other_queues),
        TEST(wrong_grants_are_refused),
        TEST(grants_of_dropped_roles_do_nothing),
    };

    return run_sql_suite("rights", tests, sizeof(tests) / sizeof(tests[0]));
}
