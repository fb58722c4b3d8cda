/* Schedules that SQL makes: the grammar of cron expressions, the row, and a replaced schedule. */
#include "api.h"

#include <stdlib.h>

#include "base/cron_expr.h"
#include "base/util.h"
#include "cron_cases.h"
#include "random.h"

/* ---- expressions ---- */

/* The error of both parsers must be the same text. */
static void compare(const char *text) {
    const char *const params[] = { text };
    struct cron_expr e;
    char error[400] = "";
    PGresult *res;

    if (cron_parse(slice_str(text), &e, error, sizeof error))
        error[0] = '\0';
    res = PQexecParams(a, "select pgdisque.api_cron_error($1)", 1, NULL, params, NULL, NULL, 0);
    if (PQresultStatus(res) != PGRES_TUPLES_OK)
        fail_msg("'%s': %s", text, PQresultErrorMessage(res));
    if (strcmp(PQgetvalue(res, 0, 0), error) != 0)
        fail_msg("'%s': SQL says '%s', the server '%s'", text, PQgetvalue(res, 0, 0), error);
    PQclear(res);
}

static void sql_and_server_parse_alike(void **state) {
    (void)state;
    for (size_t i = 0; i < LENGTH(cron_refused); i++)
        compare(cron_refused[i].text);
    for (size_t i = 0; i < LENGTH(cron_accepted); i++)
        compare(cron_accepted[i]);
}

/* Changes characters of a valid expression. */
static void mutate(char *text) {
    static const char letters[] = "0123456789*?/,-@= smhdjanfebsunTZ";
    size_t len = strlen(text);

    for (uint64_t i = random_below(4); i > 0 && len > 0; i--)
        text[random_below(len)] = letters[random_below(sizeof letters - 1)];
}

static void mutated_expressions_are_parsed_alike(void **state) {
    (void)state;
    random_start(12);
    for (int i = 0; i < 3000; i++) {
        char text[CRON_TEXT_MAX + 1];

        snprintf(text, sizeof text, "%s", cron_accepted[random_below(LENGTH(cron_accepted))]);
        mutate(text);
        compare(text);
    }
}

/* ---- rows ---- */

#define ROW                                                                                         \
    "select cron, queue, missed, next_at, priority, retry, ttl, delay, maxlen, attempts, backoff, " \
    "deadqueue "                                                                                    \
    "from pgdisque.schedules"

static void a_schedule_is_stored(void **state) {
    (void)state;
    done(a, "select pgdisque.schedule('s', '@daily', 'q', 'x')");
    does(a, "@daily q once - 0 300 86400 0 - - - -", ROW);
    done(a,
         "select pgdisque.schedule('s', 'TZ=Europe/Berlin 0 3 * * *', 'r', '\\x00ff'::bytea, delay => 2, "
         "retry => 3, ttl => 60, priority => 4, attempts => 5, backoff => 6, deadqueue => 'd', maxlen => 7, "
         "missed => 'ALL')");
    does(a, "TZ=Europe/Berlin 0 3 * * * r all - 4 3 60 2 7 5 6 d", ROW);
    does(a, "2 t", "select revision, body = '\\x00ff' from pgdisque.schedule");
    does(a, "t", "select pgdisque.unschedule('s')");
    does(a, "f", "select pgdisque.unschedule('s')");
    does(a, "", ROW);
}

static void options_of_jobs_are_stored(void **state) {
    (void)state;
    done(a,
         "select pgdisque.schedule('s', '@daily', 'q', 'x', headers => '{\"a\": \"b\"}', unique_key => 'k', "
         "group_key => 'g', overlap => 'Skip')");
    does(a, "{\"a\": \"b\"} k g skip",
         "select headers, unique_key, group_key, overlap from pgdisque.schedules");
    does(a, "t", "select pgdisque.run_schedule('s') is not null");
    does(a, "t t",
         "select headers ->> 'a' = 'b', (headers ->> 'tick')::timestamptz > now() - interval '1 hour' "
         "from pgdisque.jobs");
    does(a, "-", "select pgdisque.run_schedule('missing')");
    done(a, "select pgdisque.schedule('s', '@daily', 'q', 'x')");
    does(a, "- - - queue f",
         "select headers, unique_key, group_key, overlap, until_start from pgdisque.schedules");
    does(a, "error 22023", "select pgdisque.schedule('s', '@daily', 'q', 'x', until_start => true)");
}

/* A run adds another job when the job that has the key was delivered. */
static void a_key_is_taken_until_the_start(void **state) {
    const char *id;

    (void)state;
    done(a, "select pgdisque.schedule('s', '@daily', 'q', 'x', unique_key => 'k', until_start => true, "
            "attempts => 2, group_key => 'g', headers => '{\"a\": \"b\"}')");
    does(a, "t", "select until_start from pgdisque.schedules");
    id = sql(a, "select pgdisque.run_schedule('s')");
    assert_string_equal(sql(a, "select pgdisque.run_schedule('s') = '%s'", id), "t");
    done(a, "update pgdisque.job set deliveries = 1, owner = 0");
    assert_string_equal(sql(a, "select pgdisque.run_schedule('s') <> '%s'", id), "t");
    does(a, "t 2 g b; t 2 g b",
         "select unique_start, attempts, convert_from(group_key, 'UTF8'), headers ->> 'a' from pgdisque.job");
}

static void settings_of_the_queue_apply(void **state) {
    (void)state;
    done(a, "select pgdisque.qconfig('q', n, v) from (values ('retry', '9'), ('ttl', '90'), ('maxlen', '8'), "
            "('attempts', '7'), ('backoff', '6'), ('deadqueue', 'd')) as s (n, v)");
    done(a, "select pgdisque.schedule('s', '@daily', 'q', 'x')");
    does(a, "@daily q once - 0 9 90 0 8 7 6 d", ROW);
    done(a, "select pgdisque.schedule('s', '@daily', 'q', 'x', retry => 0)");
    does(a, "@daily q once - 0 0 90 0 8 - - -", ROW);
}

/* The first tick that a server has computed stays while the times are the same. */
static void the_first_tick_is_kept(void **state) {
    (void)state;
    done(a, "select pgdisque.schedule('s', '@daily', 'q', 'x')");
    does(a, "f t", "select has_tick, next_at <= now() from pgdisque.schedule");
    done(a, "update pgdisque.schedule set next_at = '2100-01-01', has_tick = true");
    done(a, "select pgdisque.schedule('s', '@daily', 'q', 'y')");
    does(a, "t t", "select has_tick, next_at = '2100-01-01' from pgdisque.schedule");
    done(a, "select pgdisque.schedule('s', '@hourly', 'q', 'y')");
    does(a, "f t", "select has_tick, next_at <= now() from pgdisque.schedule");
}

static void a_wrong_schedule_is_refused(void **state) {
    static const char *const wrong[] = {
        "'s', '61 * * * *', 'q', 'x'",
        "'s', '@often', 'q', 'x'",
        "'s', 'TZ=No/Where @daily', 'q', 'x'",
        "'s', 'TZ=europe/berlin @daily', 'q', 'x'",
        "'s', 'TZ=PDT @daily', 'q', 'x'",
        "null, '@daily', 'q', 'x'",
        "'s', null, 'q', 'x'",
        "'s', '@daily', null, 'x'",
        "'s', '@daily', 'q', null::text",
        "'', '@daily', 'q', 'x'",
        "'s', '@daily', '', 'x'",
        "repeat('s', 65537), '@daily', 'q', 'x'",
        "'s', '@daily', repeat('q', 65537), 'x'",
        "'s', '@daily', 'q', repeat('x', 67108865)",
        "'s', '@daily', 'q', 'x', maxlen => 0",
        "'s', '@daily', 'q', 'x', missed => 'some'",
        "'s', '@daily', 'q', 'x', missed => null",
        "'s', '@daily', 'q', 'x', delay => 5, ttl => 5",
        "'s', '@daily', 'q', 'x', delay => null",
        "'s', '@daily', 'q', 'x', priority => 256",
        "'s', '@daily', 'q', 'x', retry => -1",
        "'s', '@daily', 'q', 'x', deadqueue => 'd'",
        "'s', '@daily', 'q', 'x', attempts => 1, deadqueue => 'q'",
        "'s', '@daily', 'q', 'x', deadqueue => repeat('d', 65537), attempts => 1",
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(wrong); i++)
        if (strcmp(sql(a, "select pgdisque.schedule(%s)", wrong[i]), "error 22023") != 0)
            fail_msg("%s is not refused", wrong[i]);
    does(a, "0", "select count(*) from pgdisque.schedule");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, fresh, settle)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(sql_and_server_parse_alike),     TEST(mutated_expressions_are_parsed_alike),
        TEST(a_schedule_is_stored),           TEST(options_of_jobs_are_stored),
        TEST(a_key_is_taken_until_the_start), TEST(settings_of_the_queue_apply),
        TEST(the_first_tick_is_kept),         TEST(a_wrong_schedule_is_refused),
    };

    return run_sql_suite("api schedules", tests, LENGTH(tests));
}
