/* SQL functions for jobs with tokens and without. */
#include "api.h"

/* The job was put back or delivered again since the token. */
static void stale_tokens_do_nothing(void **state) {
    const char *id;

    (void)state;
    done(a, "select pgdisque.add_jobs('q', array['1', '2'])");
    id = sql(a, "select id from pgdisque.get_jobs('q') where token = 1");
    done(a, "update pgdisque.job set ready_at = clock_timestamp() where owner is not null");
    assert_string_equal(sql(b, "select convert_from(body, 'UTF8'), token from pgdisque.get_jobs('q', 2)"),
                        "1 2; 2 1");
    assert_string_equal(sql(a, "select pgdisque.ack_jobs(array['%s:1'])", id), "0");
    assert_string_equal(sql(a, "select pgdisque.nack_jobs(array['%s:1'])", id), "0");
    assert_string_equal(sql(a, "select pgdisque.working(array['%s:1'])", id), "0");
    assert_string_equal(sql(a, "select pgdisque.working(array['%s:2'])", id), "1");
    assert_string_equal(sql(a, "select pgdisque.ack_jobs(array['%s:1', '%s:2', '%s:7'])", id, id, id), "1");
    does(a, "2", "select convert_from(body, 'UTF8') from pgdisque.jobs");
    does(a, "1", "select pgdisque.ack_jobs(" IDS("true") ")");
}

/* No other client got the job since, so the delivery is the same. */
static void a_token_outlives_its_lease(void **state) {
    const char *id;

    (void)state;
    done(a, "select pgdisque.add_job('q', 'x')");
    id = sql(a, "select id from pgdisque.get_jobs('q')");
    done(a, "update pgdisque.job set ready_at = clock_timestamp()");
    assert_string_equal(sql(a, "select pgdisque.working(array['%s:1'])", id), "1");
    does(a, "active 0", "select state, additional_deliveries from pgdisque.jobs");
    assert_string_equal(sql(a, "select pgdisque.nack_jobs(array['%s:1'])", id), "1");
}

static void invalid_tokens_are_refused(void **state) {
    static const char *const wrong[] = {
        ":", ":0", ":-1", ":01", ": 1", ":x", ":1:1", ":1234567890123456789"
    };
    const char *id;

    (void)state;
    done(a, "select pgdisque.add_job('q', 'x')");
    id = sql(a, "select id from pgdisque.jobs");
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_string_equal(sql(a, "select pgdisque.ack_jobs(array['%s%s'])", id, wrong[i]), "error 22023");
    assert_string_equal(sql(a, "select pgdisque.ack_jobs(array['%s:123456789012345678'])", id), "0");
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, fresh, settle)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(stale_tokens_do_nothing),
        TEST(a_token_outlives_its_lease),
        TEST(invalid_tokens_are_refused),
    };

    return run_sql_suite("api_tokens", tests, sizeof(tests) / sizeof(tests[0]));
}
