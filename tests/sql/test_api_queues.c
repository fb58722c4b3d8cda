/* Operators' and callers' functions with the effect of commands: unique jobs, single jobs, queues, dead jobs. */
#include "api.h"

#include <stdlib.h>

#define ONLY(...) "select convert_from(body, 'UTF8') from pgdisque.get_jobs(" __VA_ARGS__ ")"

/* ---- UNIQUE ---- */

static void a_key_is_there_once(void **state) {
    const char *id;

    (void)state;
    id = sql(a, "select pgdisque.add_job('q', '1', unique_key => 'k')");
    assert_string_equal(sql(a, "select pgdisque.add_job('q', '2', unique_key => 'k')"), id);
    assert_string_not_equal(sql(a, "select pgdisque.add_job('other', '3', unique_key => 'k')"), id);
    does(a, "1", "select count(*) from pgdisque.jobs where queue = 'q'");
    does(a, "1", "select pgdisque.ack_jobs(array[(select id from pgdisque.jobs where queue = 'q')])");
    assert_string_not_equal(sql(a, "select pgdisque.add_job('q', '4', unique_key => 'k')"), id);
    /* An expired job does not hold its key. */
    done(a, "update pgdisque.job set expires_at = now() - interval '1 s' where unique_key = 'k'");
    done(a, "select pgdisque.add_job('q', '5', unique_key => 'k')");
    does(a, "5", "select convert_from(body, 'UTF8') from pgdisque.jobs where queue = 'q'");
}

/* A job with a key is added once, a job without a key always. The IDs come in the order of the jobs. */
static void each_of_many_has_its_key(void **state) {
    const char *first;

    (void)state;
    first = sql(a, "select pgdisque.add_job('q', 'a', unique_key => 'ka')");
    assert_string_equal(
        sql(a,
            "select ids[1] = '%s' and ids[2] = ids[4] and (select count(distinct x) from unnest(ids) as x) = "
            "4 "
            "from (select array(select pgdisque.add_jobs('q', array['a2', 'z', 'n', 'z2', 'n'], "
            "unique_keys => array['ka', 'kz', null, 'kz', null]))) as t (ids)",
            first),
        "t");
    does(a, "a; z; n; n", "select convert_from(body, 'UTF8') from pgdisque.job order by id");
    does(a, "0", "select count(*) from pgdisque.unique_key");
    done(
        a,
        "select pgdisque.add_jobs('q', array['f', 'g'], unique_keys => array['kf', null], unique_for => 60)");
    does(a, "1", "select count(*) from pgdisque.unique_key");
    does(a, "error 22023", "select pgdisque.add_jobs('q', array['a', 'b'], unique_keys => array['k'])");
    does(a, "error 22023", "select pgdisque.add_jobs('q', array['a'], unique_for => 5)");
    does(a, "error 22023", "select pgdisque.add_jobs('q', array['a'], unique_keys => array[''])");
    does(a, "", "select pgdisque.add_jobs('q', '{}'::text[], unique_keys => '{}')");
    does(a, "3",
         "select count(*) from pgdisque.add_jobs('q', '[0:2]={x,y,z}'::bytea[], unique_keys => "
         "'[7:9]={kx,ky,kz}')");
    does(a, "kx; ky; kz",
         "select convert_from(unique_key, 'UTF8') from pgdisque.job where unique_key >= 'kx' order by 1");
    does(a, "2",
         "select count(distinct i) from pgdisque.add_jobs('q', '{{x,y}}'::bytea[], unique_keys => "
         "'{{kx,ky}}') as i");
    does(a, "3", "select count(*) from pgdisque.job where unique_key >= 'kx'");
}

static void a_key_outlives_its_job(void **state) {
    const char *id;

    (void)state;
    id = sql(a, "select pgdisque.add_job('q', '1', unique_key => 'k', unique_for => 60)");
    assert_string_equal(sql(a, "select pgdisque.ack_jobs(array['%s'])", id), "1");
    assert_string_equal(sql(a, "select pgdisque.add_job('q', '2', unique_key => 'k')"), id);
    done(a, "update pgdisque.unique_key set until = now() - interval '1 s'");
    assert_string_not_equal(sql(a, "select pgdisque.add_job('q', '3', unique_key => 'k', unique_for => 60)"),
                            id);
    does(a, "1", "select count(*) from pgdisque.unique_key where until > now() + interval '50 s'");
}

/* The second transaction waits. It gets the first transaction's job, or adds its own after a rollback. */
static void two_sessions_add_one_job(void **state) {
    const char *id, *other;

    (void)state;
    done(a, "select pgdisque.add_job('q', 'so that there is a queue')");
    for (int commits = 0; commits < 2; commits++) {
        done(a, "begin");
        id = sql(a, "select pgdisque.add_job('q', '1', unique_key => 'k')");
        assert_int_equal(PQsendQuery(b, "select pgdisque.add_job('q', '2', unique_key => 'k')"), 1);
        assert_true(waits_for_lock(b));
        done(a, commits ? "commit" : "rollback");
        other = call_result(b);
        assert_int_equal(strcmp(id, other) == 0, commits);
        done(a, "select pgdisque.ack_jobs(" IDS("true") ")");
        done(a, "select pgdisque.add_job('q', 'so that there is a queue')");
    }
}

/* A server does not wait for a transaction of SQL: its job is not added, and not refused either. */
static void no_server_waits_for_a_key(void **state) {
    (void)state;
    done(a, "select pgdisque.add_job('q', 'so that there is a queue')");
    done(a, "begin; select pgdisque.add_job('q', '1', unique_key => 'k')");
    done(b, "set lock_timeout = '1ms'");
    assert_string_equal(CALL(b, SQL_ADD_UNIQUE, "{77}", "{now}", "{2100-01-01}", "{null}", "{1}", "{60}",
                             "{0}", "{0}", "{1}", "{null}", "{x}", "{null}", "{null}", "{null}", "{null}",
                             "{k}", "{null}", "now"),
                        "1 - - - - f - -");
    done(a, "commit");
    done(b, "reset lock_timeout");
    does(a, "1", "select count(*) from pgdisque.job where unique_key = 'k'");
}

/* ---- limits ---- */

static void sizes_are_limited(void **state) {
    static const char *const wrong[] = {
        "select pgdisque.add_job(repeat('q', 65537), 'x')",
        "select pgdisque.add_job('q', repeat('x', 67108865))",
        "select pgdisque.add_jobs('q', array['x', repeat('x', 67108865)])",
        "select pgdisque.new_batch('q', complete => repeat('x', 67108865))",
        "select pgdisque.new_batch('q', failure => repeat('x', 67108865))",
        "select pgdisque.new_batch('q', success => repeat('x', 67108865))",
        "select pgdisque.add_job('q', 'x', unique_key => '')",
        "select pgdisque.add_job('q', 'x', unique_key => repeat('k', 513))",
        "select pgdisque.add_job('q', 'x', unique_key => 'k', unique_for => 0)",
        "select pgdisque.add_job('q', 'x', unique_for => 5)",
        "select pgdisque.working('{}', seconds => 0)",
        "select pgdisque.reprioritize('{}', 256)",
        "select pgdisque.reprioritize('{}', null)",
        "select pgdisque.pause('q', 'some')",
        "select pgdisque.wait_job('x', 60001)",
        "select pgdisque.qconfig('q', 'colour', '1')",
        "select pgdisque.qconfig('q', 'retry', '-1')",
        "select pgdisque.qconfig('q', 'retry', '01')",
        "select pgdisque.qconfig('q', 'retry', '2147483648')",
        "select pgdisque.qconfig('q', 'max-active', '1001')",
        "select pgdisque.job('x')",
    };

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        if (strcmp(sql(a, "%s", wrong[i]), "error 22023") != 0)
            fail_msg("%s is not refused", wrong[i]);
    does(a, "0", "select count(*) from pgdisque.job");
    does(a, "0", "select count(*) from pgdisque.batch");
    does(a, "t", "select pgdisque.add_job(repeat('q', 65536), 'x') is not null");
}

/* Fails the test unless the statement fails with this message, and without the text of a long statement. */
static void refuses(const char *statement, const char *message) {
    PGresult *result = PQexec(a, statement);
    const char *got = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    const char *context = PQresultErrorField(result, PG_DIAG_CONTEXT);

    if (got == NULL || strcmp(got, message) != 0)
        fail_msg("%s\n     got: %s\n    want: %s", statement, got == NULL ? "no error" : got, message);
    if (context != NULL && strlen(context) > 600)
        fail_msg("%s: the context has %zu bytes", statement, strlen(context));
    PQclear(result);
}

/* Servers read the names of all workers, and results, at once. */
static void long_workers_and_results_are_refused(void **state) {
    static const char worker[] = "ERR the name of a worker is longer than 512 bytes";

    (void)state;
    refuses("select pgdisque.get_jobs('q', 1, repeat('w', 513))", worker);
    refuses("select pgdisque.working('{}', repeat('w', 513))", worker);
    refuses("select pgdisque.ack_jobs('{}', repeat('r', 67108865))",
            "ERR RESULT is longer than 67108864 bytes");
    done(a, "select pgdisque.get_jobs('q', 1, repeat('w', 512))");
}

/* A wrong filter selects nothing, and least of all everything. */
static void filters_are_refused_as_by_redis(void **state) {
    static const char *const filters[][2] = {
        { "count => 0", "ERR COUNT must be a number greater than zero" },
        { "count => -1", "ERR COUNT must be a number greater than zero" },
        { "error => ''", "ERR ERROR must have 1 to 8192 bytes" },
        { "error => repeat('e', 8193)", "ERR ERROR must have 1 to 8192 bytes" },
        { "older => '-1 day'", "ERR OLDER and NEWER must be a number of seconds from 0 to 2147483647" },
        { "newer => '-1 us'", "ERR OLDER and NEWER must be a number of seconds from 0 to 2147483647" },
        { "newer => '170000 years'", "ERR OLDER and NEWER must be a number of seconds from 0 to 2147483647" },
        { "headers => '{}'", "ERR headers must have a header, or be null" },
        { "headers => '[\"a\"]'", "ERR headers must be an object of strings" },
        { "headers => '\"a\"'", "ERR headers must be an object of strings" },
        { "headers => '{\"a\": 1}'", "ERR headers must be an object of strings" },
    };

    (void)state;
    done(a, "select pgdisque.add_job('q', 'x', headers => '{\"a\": \"b\"}')");
    done(a,
         "with gone as (delete from pgdisque.job returning *) insert into pgdisque.dead_job (queue_id, rank, "
         "id, died_at, expires_at, retry, delay, deliveries, nacks, additional_deliveries, replicate, error, "
         "body, headers) select queue_id, rank, id, now(), expires_at, retry, 0, 1, 0, 0, 1, 'e', body, "
         "headers "
         "from gone");
    for (size_t i = 0; i < LENGTH(filters); i++) {
        refuses(text_of("select pgdisque.delete_dead('q', %s)", filters[i][0]), filters[i][1]);
        refuses(text_of("select pgdisque.revive('q', %s)", filters[i][0]), filters[i][1]);
    }
    refuses("select pgdisque.revive('q', rate => 0)",
            "ERR RATE must be a number of jobs per second from 1 to 1000000");
    refuses("select pgdisque.revive('q', to_queue => 'q')", "ERR TO must be another queue");
    refuses("select pgdisque.revive('q', to_queue => '')",
            "LIMIT the name of a queue must have 1 to 65536 bytes");
    does(a, "1", "select count(*) from pgdisque.dead_job");
    does(a, "0", "select pgdisque.delete_dead('q', older => '1 day')");
    does(a, "1", "select pgdisque.delete_dead('q', 1, 'e', '0', '1 day', '{\"a\": \"b\"}')");
}

static void missing_arguments_are_refused(void **state) {
    static const char *const nulls[] = {
        "pause(null)",
        "pause(null, 'in')",
        "qconfig(null, 'retry', '1')",
        "qconfig_reset(null)",
        "revive(null)",
        "delete_dead(null)",
        "get_jobs(null)",
        "wake(array[null])",
        "add_job(null, 'x')",
        "add_job_after(null, 'x', '{}')",
        "add_unique_job(null, 'x', 'k')",
        "new_batch(null)",
        "unlock(null, 'k')",
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(nulls); i++) {
        refuses(text_of("select pgdisque.%s", nulls[i]), "ERR queue must not be null");
        refuses(text_of("select pgdisque.%.*s''%s", (int)(strstr(nulls[i], "null") - nulls[i]), nulls[i],
                        strstr(nulls[i], "null") + strlen("null")),
                "ERR the name of the queue is empty");
    }
    refuses("select pgdisque.add_job('q', null::text)", "ERR job must not be null");
    refuses("select pgdisque.add_job_after('q', null::text, '{}')", "ERR job must not be null");
    done(a, "select pgdisque.add_unique_job('q', 'x', 'k')");
    refuses("select pgdisque.add_unique_job('q', null::text, 'k')", "ERR job must not be null");
    refuses("select pgdisque.add_unique_job('q', repeat('x', 67108865), 'k', replace => true)",
            "ERR job is longer than 67108864 bytes");
    refuses("select pgdisque.add_unique_job('q', 'x', null)", "ERR unique_key must not be null");
    refuses("select pgdisque.unlock('q', null)", "ERR unique_key must not be null");
    refuses("select pgdisque.unlock('q', '')", "ERR UNIQUE key must have 1 to 512 bytes");
    refuses("select * from pgdisque.wait_jobs(array['D-dcb833cf-8YL1NT17e9+wsA/09NqxscQI-05a1'])",
            "NOJOB Job not known: it never existed, or it has ended and is not retained.");
    does(a, "1", "select count(*) from pgdisque.queue");
}

static void wrong_ids_have_a_short_context(void **state) {
    static const char *const calls[] = {
        "ack_jobs(array['x'])",
        "nack_jobs(array['x'])",
        "working(array['x'])",
        "cancel_jobs(array['x'])",
        "enqueue_jobs(array['x'])",
        "revive_jobs(array['x'])",
        "edit_dead('x')",
        "reprioritize(array['x'], 1)",
        "job('x')",
        "wait_jobs(array['x'])",
        "batch('x')",
        "close_batch('x')",
        "predecessors('x')",
        "add_job_after('q', 'x', array['x'])",
        "new_batch('q', parent => 'x')",
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(calls); i++)
        refuses(text_of("select pgdisque.%s", calls[i]), "BADID Invalid Job ID format: 'x'");
}

/* Every setting that the server knows, with its bounds and its error. */
static void settings_are_those_of_the_server(void **state) {
    static const struct {
        const char *name;
        long long least, most;
        const char *error;
    } settings[] = {
#define RATE_FORM ", or with a period of up to a day, as 30/m or 1/10s"
#define QUEUE_SETTING(id, name, least, most, error) { name, least, most, error },
#include "queue/settings.def"
#undef QUEUE_SETTING
#undef RATE_FORM
    };
    static const char *const hidden[] = { "rate-period", "group-rate-period" };
    size_t shown = LENGTH(settings) - LENGTH(hidden);

    (void)state;
    assert_int_equal(atoi(sql(a, "select count(*) from pgdisque.api_settings()")), shown);
    for (size_t i = 0; i < shown; i++) {
        assert_string_equal(
            sql(a, "select least_value, most_value from pgdisque.api_settings() where name = '%s'",
                settings[i].name),
            text_of("%lld %lld", settings[i].least, settings[i].most));
        refuses(text_of("select pgdisque.qconfig('q', '%s', '-1')", settings[i].name), settings[i].error);
    }
    refuses("select pgdisque.qconfig('q', 'nothing', '1')", "ERR Unknown setting. Try QCONFIG queue GET");
}

/* ---- a single job ---- */

static long pages_in(const char *plan) {
    const char *hit = strstr(plan, "shared hit=");

    assert_non_null(hit);
    return strtol(hit + strlen("shared hit="), NULL, 10);
}

static void one_job_is_found_by_its_key(void **state) {
    const char *id, *plan;

    (void)state;
    done(a, "select pgdisque.add_jobs('q', array(select n::text from generate_series(1, 20000) as n))");
    id = sql(a, "select pgdisque.add_job('q', 'this', priority => 7)");
    assert_string_equal(
        sql(a, "select convert_from(body, 'UTF8'), state, priority, id = '%s' from pgdisque.job('%s')", id,
            id),
        "this queued 7 t");
    /* The function reads few pages of a table of any size. */
    done(a, "analyze pgdisque.job");
    plan = sql(a, "explain (analyze, buffers, costs off, timing off) select * from pgdisque.job('%s')", id);
    if (pages_in(plan) >= 200)
        fail_msg("%s", plan);
    assert_string_equal(sql(a, "select count(*) from pgdisque.job('%.11sAAAA%s')", id, id + 15), "0");
}

static void working_takes_seconds(void **state) {
    (void)state;
    done(a, "select pgdisque.add_job('q', 'x', retry => 30)");
    does(a, "x", ONLY("'q'"));
    does(a, "1", "select pgdisque.working(" IDS("true") ", seconds => 500)");
    does(a, "t",
         "select ready_at between now() + interval '490 s' and now() + interval '510 s' and leased_at is not "
         "null "
         "from pgdisque.job");
    does(a, "1", "select pgdisque.working(" IDS("true") ")");
    does(a, "t", "select ready_at < now() + interval '40 s' from pgdisque.job");
}

/* working() takes a slot and locks it until the end of the transaction. */
static void working_needs_a_slot(void **state) {
    (void)state;
    done(a, "select pgdisque.qconfig('q', 'max-active', '1')");
    done(a, "select pgdisque.add_jobs('q', array['x', 'y'], retry => 60)");
    done(a, "begin");
    does(a, "1", "select pgdisque.working(" IDS("body = 'x'") " || " IDS("body = 'x'") ")");
    does(b, "0", "select pgdisque.working(" IDS("body = 'y'") ")");
    done(a, "commit");
    does(b, "0", "select pgdisque.working(" IDS("body = 'y'") ")");
    does(b, "0", "select count(*) from pgdisque.get_jobs('q', 2)");
    does(a, "1", "select pgdisque.working(" IDS("true") ")");
    does(a, "1", "select pgdisque.nack_jobs(" IDS("body = 'x'") ")");
    does(b, "1", "select pgdisque.working(" IDS("body = 'y'") ")");
    does(a, "0", "select pgdisque.working(" IDS("body = 'x'") ")");
    does(a, "1",
         "select count(*) from pgdisque.job as j join pgdisque.slot as s on s.id = j.id and s.n = j.slot");
    done(a, "select pgdisque.qconfig('q', 'max-active', '0')");
    does(a, "2", "select pgdisque.working(" IDS("true") ")");
}

static void waits_for_the_end(void **state) {
    const char *id;

    (void)state;
    done(a, "select pgdisque.qconfig('q', 'retention', '60')");
    id = sql(a, "select pgdisque.add_job('q', 'x')");
    assert_string_equal(sql(a, "select * from pgdisque.wait_job('%s', 20)", id), "");
    assert_int_equal(PQsendQuery(b, text_of("select * from pgdisque.wait_job('%s', 60000)", id)), 1);
    assert_string_equal(sql(a, "select pgdisque.ack_jobs(array['%s'], 'well')", id), "1");
    assert_string_equal(call_result(b), "done \"well\"");
    assert_string_equal(sql(a, "select * from pgdisque.wait_job('%s')", id), "done \"well\"");
    done(a, "truncate pgdisque.retained");
    assert_string_equal(sql(a, "select * from pgdisque.wait_job('%s')", id), "error P0002");
}

static void waits_for_many_jobs(void **state) {
    const char *first, *second, *both;

    (void)state;
    done(a, "select pgdisque.qconfig('q', 'retention', '60')");
    first = sql(a, "select pgdisque.add_job('q', '1')");
    second = sql(a, "select pgdisque.add_job('q', '2')");
    both = text_of("array['%s', '%s']", second, first);
    assert_string_equal(sql(a, "select * from pgdisque.wait_jobs(%s, 20)", both), "");
    assert_string_equal(sql(a, "select pgdisque.ack_jobs(array['%s'], 'well'::text)", first), "1");
    assert_string_equal(
        sql(a, "select id = '%s', state, result from pgdisque.wait_jobs(%s, 60000, any_job => true)", first,
            both),
        "t done \"well\"");
    assert_string_equal(sql(a, "select state from pgdisque.wait_jobs(%s, 20)", both), "done");
    assert_int_equal(
        PQsendQuery(b, text_of("select id = '%s', state from pgdisque.wait_jobs(%s, 60000)", first, both)),
        1);
    assert_string_equal(sql(a, "select pgdisque.ack_jobs(array['%s'])", second), "1");
    assert_string_equal(call_result(b), "f done; t done");
    does(a, "", "select * from pgdisque.wait_jobs('{}')");
    assert_string_equal(sql(a, "select id = '%s' from pgdisque.wait_jobs('[0:0]={%s}', 20)", first, first),
                        "t");
    does(a, "error 22023", "select * from pgdisque.wait_jobs(array_fill('x'::text, array[1001]))");
    done(a, "truncate pgdisque.retained");
    assert_string_equal(sql(a, "select * from pgdisque.wait_jobs(%s)", both), "error P0002");
}

/* ---- queues ---- */

static void pauses(void **state) {
    (void)state;
    does(a, "none", "select pgdisque.pause('q')");
    does(a, "0", "select count(*) from pgdisque.queue");
    does(a, "in", "select pgdisque.pause('q', 'in')");
    does(a, "error 55000", "select pgdisque.add_job('q', 'x')");
    does(a, "error 55000", "select pgdisque.add_unique_job('q', 'x', 'k')");
    does(a, "out", "select pgdisque.pause('q', 'OUT')");
    done(a, "select pgdisque.add_job('q', 'x')");
    does(a, "", ONLY("'q'"));
    does(a, "all", "select pgdisque.pause('q', 'all')");
    does(a, "all", "select pgdisque.pause('q')");
    does(a, "none", "select pgdisque.pause('q', 'none')");
    does(a, "x", ONLY("'q'"));
    done(a, "select pgdisque.add_unique_job('q', 'y', 'k')");
    does(a, "in", "select pgdisque.pause('q', 'in')");
    does(a, "error 55000", "select pgdisque.add_unique_job('q', 'z', 'k', replace => true)");
    does(a, "y", ONLY("'q'"));
}

static void settings_of_queues(void **state) {
    (void)state;
    does(a, "", "select pgdisque.qconfig('q', 'max-active', '2')");
    does(a, "", "select pgdisque.qconfig('q', 'RATE', '10')");
    does(a, "", "select pgdisque.qconfig('q', 'deadqueue', 'r')");
    does(a, "deadqueue r; max-active 2; rate 10", "select * from pgdisque.qconfig('q')");
    does(a, "2 1", "select (select count(*) from pgdisque.slot), (select count(*) from pgdisque.bucket)");
    does(a, "", "select pgdisque.qconfig('q', 'rate', '30/60s')");
    does(a, "", "select pgdisque.qconfig('q', 'group-rate', '1/10s')");
    does(a, "", "select pgdisque.qconfig('q', 'rate-burst', '5')");
    does(a, "deadqueue r; group-rate 1/10s; max-active 2; rate 30/m; rate-burst 5",
         "select * from pgdisque.qconfig('q')");
    does(a, "t", "select settled_at > '3000-01-01' and tokens < 1 from pgdisque.bucket");
    does(a, "", "select pgdisque.qconfig('q', 'rate', '7/s')");
    does(a, "7", "select value from pgdisque.qconfig('q') where name = 'rate'");
    does(a, "t", "select settled_at > '3000-01-01' from pgdisque.bucket");
    does(a, "", "select pgdisque.qconfig('q', 'rate-burst', '0')");
    does(a, "t", "select settled_at <= clock_timestamp() and tokens between 0 and 1 from pgdisque.bucket");
    does(a, "error 22023", "select pgdisque.qconfig('q', 'rate-period', '60')");
    does(a, "", "select pgdisque.qconfig('r', 'deadqueue', 's')");
    does(a, "error 22023", "select pgdisque.qconfig('s', 'deadqueue', 'q')");
    does(a, "error 22023", "select pgdisque.qconfig('s', 'deadqueue', 's')");
    does(a, "error 22023", "select pgdisque.qconfig('s', 'deadqueue', repeat('x', 65537))");
    does(a, "", "select pgdisque.qconfig_reset('q')");
    does(a, "", "select * from pgdisque.qconfig('q')");
    does(a, "", "select pgdisque.qconfig('s', 'deadqueue', 'q')");
}

static void hostile_rates_are_refused(void **state) {
    static const char *const wrong[] = {
        "",       "/",     "0/0",       "0/m",  "1/0s",     "-1/s",
        "1/-1s",  "01/s",  "1/01s",     "1/2d", "1/86401s", "1000001/m",
        "1/m\n",  "1/s/s", "1/999999d", " 1/s", "1/",       "9999999999999999999/s",
        "1/1e1s", "1/M"
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(wrong); i++)
        does(a, "error 22023", text_of("select pgdisque.qconfig('q', 'rate', '%s')", wrong[i]));
    does(a, "", "select * from pgdisque.qconfig('q')");
}

/* The burst is there at once, and no further token comes in this test. */
static void rates_with_a_period(void **state) {
    (void)state;
    done(a, "select pgdisque.qconfig('q', 'rate', '1/d'), pgdisque.qconfig('q', 'rate-burst', '3')");
    for (int i = 0; i < 6; i++)
        done(a, "select pgdisque.add_job('q', 'x')");
    does(a, "2", "select count(*) from pgdisque.get_jobs('q', 2)");
    does(a, "1", "select count(*) from pgdisque.get_jobs('q', 5)");
    does(a, "0", "select count(*) from pgdisque.get_jobs('q', 5)");
    done(a, "select pgdisque.qconfig('q', 'rate', '0')");
    does(a, "3", "select count(*) from pgdisque.get_jobs('q', 5)");
}

/* A dead letter in queue 1, which a job may replace. */
static void dead_letter_with_a_key(void) {
    done(a, "insert into pgdisque.queue (name) values ('q')");
    done(a,
         "insert into pgdisque.dead_job (id, died_at, expires_at, queue_id, retry, delay, deliveries, nacks, "
         "additional_deliveries, rank, replicate, unique_key, body) values (1 << 22, now(), now() + interval "
         "'1 hour', 1, 60, 0, 1, 0, 0, 0, 1, 'k', 'x')");
}

/* No server may drop the new queue before the transaction ends. */
static void a_queue_in_use_is_not_dropped(void **state) {
    static const char *const uses[] = {
        "select pgdisque.revive('q', to_queue => 'empty')",
        "select pgdisque.qconfig('empty', 'retry', '5')",
    };

    (void)state;
    for (size_t i = 0; i < sizeof uses / sizeof *uses; i++) {
        tables_clear(a);
        dead_letter_with_a_key();
        done(a, "insert into pgdisque.queue (name) values ('empty')");
        done(a, "alter sequence pgdisque.sql_job restart");
        done(a, "begin");
        done(a, uses[i]);
        assert_string_equal(CALL(b, SQL_DROP_QUEUES, "{2}", "x"), "");
        done(a, "commit");
    }
    does(a, "2", "select count(*) from pgdisque.queue");
}

/* The transaction that revives the job is open when a job with its key is added. */
static void a_revived_job_has_its_key(void **state) {
    static const char *const adds[] = {
        "select pgdisque.add_job('q', 'y', unique_key => 'k') is not null",
        "select outcome = 'existing' from pgdisque.add_unique_job('q', 'y', 'k', until_start => true)",
    };

    (void)state;
    for (size_t i = 0; i < sizeof adds / sizeof *adds; i++) {
        tables_clear(a);
        dead_letter_with_a_key();
        done(a, "begin");
        does(a, "1", "select pgdisque.revive('q')");
        assert_int_equal(PQsendQuery(b, adds[i]), 1);
        assert_true(waits_for_lock(b));
        done(a, "commit");
        assert_string_equal(call_result(b), "t");
        does(a, "x -", "select convert_from(body, 'UTF8'), unique_start from pgdisque.job");
    }
}

static void dead_jobs_are_revived(void **state) {
    (void)state;
    done(a, "select pgdisque.add_job('q', 'so that there is a queue')");
    done(a, "insert into pgdisque.dead_job (id, died_at, expires_at, queue_id, retry, delay, deliveries, "
            "nacks, additional_deliveries, "
            "attempts, rank, replicate, body) select n << 22, now(), now() + case when n = 2 then -1 else 1 "
            "end * "
            "interval '1 hour', q.id, 60, 0, 3, 0, 2, 3, 0, 1, n::text::bytea "
            "from generate_series(1, 3) as n, pgdisque.queue as q");
    does(a, "1", "select pgdisque.revive('q', 1)");
    does(a, "1 0 3",
         "select convert_from(body, 'UTF8'), deliveries, additional_deliveries from pgdisque.jobs where "
         "priority = 0 "
         "order by created_at limit 1");
    does(a, "1", "select pgdisque.revive_jobs(array(select id from pgdisque.dead where body = '3'))");
    does(a, "1", "select pgdisque.revive('q')");
    does(a, "0", "select count(*) from pgdisque.dead");
    does(a, "4", "select count(*) from pgdisque.jobs");
    does(a, "0", "select pgdisque.revive('missing')");
}

static void dead_jobs_are_found_changed_and_moved(void **state) {
    (void)state;
    done(a, "select pgdisque.add_job('q', 'so that there is a queue')");
    done(a, "insert into pgdisque.dead_job (id, died_at, expires_at, queue_id, retry, delay, deliveries, "
            "nacks, additional_deliveries, attempts, rank, replicate, error, headers, body) "
            "select n << 22, now() - n * interval '1 hour', now() + interval '1 day', q.id, 60, 0, 3, 0, 2, "
            "3, 0, 1, "
            "convert_to('timeout ' || n, 'UTF8'), jsonb_build_object('n', n::text), n::text::bytea "
            "from generate_series(1, 5) as n, pgdisque.queue as q");
    does(a, "0", "select pgdisque.revive('q', error => 'refused')");
    does(a, "1", "select pgdisque.delete_dead('q', older => '4 hours 30 minutes')");
    does(a, "1", "select pgdisque.delete_dead('q', error => 'timeout 4')");
    does(a, "t",
         "select pgdisque.edit_dead((select id from pgdisque.dead where body = '3'), 'new', attempts => 9)");
    does(a, "1", "select pgdisque.revive('q', headers => '{\"n\": \"3\"}', to_queue => 'other')");
    does(a, "other new 9",
         "select j.queue, convert_from(j.body, 'UTF8'), r.attempts from pgdisque.jobs as j "
         "join pgdisque.job as r on r.id = j.number where j.queue = 'other'");
    does(a, "2", "select pgdisque.revive('q', rate => 1)");
    does(a, "2 t",
         "select count(*), max(ready_at) - min(ready_at) = interval '1 second' from pgdisque.jobs "
         "where state = 'delayed'");
    does(a, "error 22023", "select pgdisque.revive('q', to_queue => 'q')");
    does(a, "error 22023", "select pgdisque.revive('q', rate => 0)");
}

static void waiting_jobs_get_another_priority(void **state) {
    const char *id;

    (void)state;
    done(a, "select pgdisque.add_jobs('q', array['1', '2', '3'])");
    does(a, "1", ONLY("'q'"));
    /* A delivered job keeps its priority. */
    does(a, "2", "select count(*) from pgdisque.reprioritize(" IDS("true") ", 5)");
    does(a, "3 5; 2 5; 1 0",
         "select convert_from(body, 'UTF8'), priority from pgdisque.jobs order by body desc");
    id = sql(a, "select new_id from pgdisque.reprioritize(" IDS("body = '3'") ", 9)");
    assert_string_equal(sql(a, "select convert_from(body, 'UTF8') from pgdisque.job('%s')", id), "3");
    does(b, "3", ONLY("'q'"));
    does(a, "0", "select count(*) from pgdisque.reprioritize(" IDS("body = '2'") ", 5)");
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, fresh, settle)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_key_is_there_once),
        TEST(each_of_many_has_its_key),
        TEST(a_key_outlives_its_job),
        TEST(two_sessions_add_one_job),
        TEST(no_server_waits_for_a_key),
        TEST(sizes_are_limited),
        TEST(long_workers_and_results_are_refused),
        TEST(filters_are_refused_as_by_redis),
        TEST(missing_arguments_are_refused),
        TEST(wrong_ids_have_a_short_context),
        TEST(settings_are_those_of_the_server),
        TEST(one_job_is_found_by_its_key),
        TEST(working_takes_seconds),
        TEST(working_needs_a_slot),
        TEST(waits_for_the_end),
        TEST(waits_for_many_jobs),
        TEST(pauses),
        TEST(settings_of_queues),
        TEST(hostile_rates_are_refused),
        TEST(rates_with_a_period),
        TEST(dead_jobs_are_revived),
        TEST(a_queue_in_use_is_not_dropped),
        TEST(a_revived_job_has_its_key),
        TEST(dead_jobs_are_found_changed_and_moved),
        TEST(waiting_jobs_get_another_priority),
    };

    return run_sql_suite("api_queues", tests, sizeof(tests) / sizeof(tests[0]));
}
