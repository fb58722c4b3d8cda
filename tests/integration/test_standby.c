/* Commits wait for the disk, for a standby, or for nothing. The replies when a standby does not answer. */
#include "consult.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "standby.h"

#define NOT_ENOUGH "-NOREPL Not enough reachable nodes for the requested replication level"
#define TOO_LATE "-NOREPL Timeout reached before replicating to the requested number of nodes"
/* The time in which no reply may come. */
#define SILENCE_MS 700

static struct postgres primary, standby;
static struct server guarded; /* on the primary */

static int group_start(void **state) {
    (void)state;
    primary_start(&primary);
    standby_start(&standby, &primary);
    server_start(&guarded, postgres_conninfo(&primary, NULL), NULL);
    return 0;
}

static int group_stop(void **state) {
    (void)state;
    if (server_stop(&guarded) != 0)
        return -1;
    postgres_stop(&standby, true);
    postgres_stop(&primary, true);
    return 0;
}

/* A test that failed may have left something stopped. */
static int ensure_standby(void **state) {
    pid_t sender;
    redisContext *c;

    (void)state;
    if (!standby.pid)
        postgres_resume(&standby);
    sender = walsender(&primary);
    if (sender > 0)
        kill(sender, SIGCONT);
    if (!WAIT_UNTIL(primary_streams(&primary), EVENTUALLY_MS))
        return -1;
    primary_waits_for(&primary, STANDBY_NAME);
    c = client_open_on(&guarded);
    expect(c, "+OK", "CONFIG SET durability remote-flush");
    EVENTUALLY(info_number(c, "durability_standbys_connected") == 1);
    redisFree(c);
    return 0;
}

/* The text of a line of INFO. */
static const char *info_text(redisContext *c, const char *name) {
    const char *info = ask(c, "INFO persistence"), *at = strstr(info, text_of("%s:", name));
    size_t skip = strlen(name) + 1;

    return at == NULL ? "" : text_of("%.*s", (int)strcspn(at + skip, "\\"), at + skip);
}

static bool metrics_have(redisContext *c, const char *name) {
    redisReply *reply = redisCommand(c, "METRICS");
    bool found = strstr(reply->str, text_of("\npgdisque_durability_standbys_%s\n", name)) != NULL;

    freeReplyObject(reply);
    return found;
}

/* ---- the durability in force ---- */

static void test_in_force_without_standbys(void **state) {
    redisContext *c = client_open();

    (void)state;
    EVENTUALLY(strcmp(info_text(c, "durability_standbys_required"), "0") == 0);
    assert_int_equal(info_number(c, "durability_standbys_connected"), 0);
    assert_string_equal(info_text(c, "durability"), "remote-flush");
    assert_string_equal(info_text(c, "durability_in_force"), "written (fsync is off) on the primary only");
    expect(c, "+OK", "CONFIG SET durability async");
    assert_string_equal(info_text(c, "durability"), "async");
    assert_non_null(strstr(info_text(c, "durability_in_force"), "no commit is waited for"));
    add_job(c, "unflushed", "a", "");
    expect(c, "+OK", "CONFIG SET durability remote-flush");
    redisFree(c);
}

static void test_in_force_with_a_standby(void **state) {
    redisContext *c = client_open_on(&guarded);

    (void)state;
    assert_int_equal(info_number(c, "durability_standbys_required"), 1);
    assert_non_null(strstr(info_text(c, "durability_in_force"), "on the primary and flushed on 1 standby"));
    expect(c, "+OK", "CONFIG SET durability local");
    assert_non_null(strstr(info_text(c, "durability_in_force"), "on the primary only"));
    expect(c, "+OK", "CONFIG SET durability remote-apply");
    assert_non_null(strstr(info_text(c, "durability_in_force"), "and applied on 1 standby"));
    postgres_stop(&standby, false);
    EVENTUALLY(strstr(info_text(c, "durability_in_force"), "0 are connected: commits wait") != NULL);
    redisFree(c);
}

/* A role that may not see the standbys says so. */
static void test_unseen_standbys(void **state) {
    const char *admin = postgres_conninfo(&primary, "postgres");
    struct server poor;
    redisContext *c;

    (void)state;
    free(postgres_query(admin, "create role curious login"));
    free(postgres_query(admin, "create database curious owner curious"));
    server_start(&poor, forever(text_of("host=%s user=curious dbname=curious", primary.dir)), NULL);
    c = client_open_on(&poor);
    EVENTUALLY(info_number(c, "durability_standbys_required") == 1);
    assert_string_equal(info_text(c, "durability_standbys_connected"), "unknown");
    assert_true(metrics_have(c, "required 1"));
    assert_false(metrics_have(c, "connected -1"));
    expect_start(c, "+D-", "ADDJOB unseen a 0 REPLICATE 2");
    expect_start(c, NOT_ENOUGH, "ADDJOB unseen a 0 REPLICATE 3");
    redisFree(c);
    assert_int_equal(server_stop(&poor), 0);
}

/* ---- REPLICATE ---- */

static void test_replicate(void **state) {
    redisContext *c = client_open(), *g = client_open_on(&guarded);
    const char *id;

    (void)state;
    expect_start(c, NOT_ENOUGH, "ADDJOB replicated a 0 REPLICATE 2");
    id = add_job(g, "replicated", "a", "REPLICATE 2");
    assert_string_equal(job_field(g, id, "repl"), "2");
    expect_start(g, NOT_ENOUGH, "ADDJOB replicated a 0 REPLICATE 3");
    get_job(g, "replicated", "a");
    redisFree(c);
    redisFree(g);
}

static void test_replicate_while_the_standby_is_away(void **state) {
    redisContext *g = client_open_on(&guarded);

    (void)state;
    postgres_stop(&standby, true);
    EVENTUALLY(info_number(g, "durability_standbys_connected") == 0);
    assert_true(metrics_have(g, "required 1") && metrics_have(g, "connected 0"));
    expect_start(g, NOT_ENOUGH, "ADDJOB away a 0 REPLICATE 2");
    postgres_resume(&standby);
    EVENTUALLY(info_number(g, "durability_standbys_connected") == 1);
    add_job(g, "away", "a", "REPLICATE 2");
    redisFree(g);
}

/* The standby is connected and does not answer. A command that asks for it waits for it, with any configuration. */
static void late_standby(const char *durability) {
    redisContext *g = client_open_on(&guarded);
    pid_t sender;
    const char *queue = text_of("late-%s", durability);

    expect(g, "+OK", "CONFIG SET durability %s", durability);
    add_job(g, queue, "first", "");
    sender = walsender_stop(&primary);
    expect(g, TOO_LATE, "ADDJOB %s second 300 REPLICATE 2", queue);
    kill(sender, SIGCONT);
    add_job(g, queue, "third", "REPLICATE 2");
    EVENTUALLY(number(g, "QLEN %s", queue) == 2);
    get_job(g, queue, "first");
    get_job(g, queue, "third");
    assert_true(queue_is_empty(g, queue));
    redisFree(g);
}

static void test_late_standby(void **state) {
    (void)state;
    late_standby("remote-flush");
    late_standby("remote-write");
    late_standby("local");
    late_standby("async");
}

/* ---- commands that do not wait ---- */

static void test_commits_that_wait_for_a_standby(void **state) {
    redisContext *g = client_open_on(&guarded);
    struct wire w;
    struct value *v;

    (void)state;
    add_job(g, "impatient", "0", "");
    add_job(g, "named", "long work", "");
    get_job(g, "named", "long work");
    postgres_stop(&standby, false);
    add_job(g, "impatient", "a", "ASYNC");
    /* The server's own writes, such as the names of workers, do not wait. Otherwise all later commands would wait. */
    EVENTUALLY(postgres_number(guarded.database,
                               "select count(*) from pgdisque.job as j join pgdisque.queue as q "
                               "on q.id = j.queue_id where q.name = 'named' and j.worker is not null") == 1);
    add_job(g, "impatient", "later", "ASYNC");
    expect(g, "+OK", "CONFIG SET durability local");
    add_job(g, "impatient", "b", "");
    expect(g, "+OK", "CONFIG SET durability remote-write");
    raw_open_on(&w, &guarded);
    wire_words(&w, "ADDJOB", "impatient", "c", "0", NULL);
    HOLDS_FOR(SILENCE_MS, wire_pending(&w) == 0);
    postgres_resume(&standby);
    v = wire_reply(&w, EVENTUALLY_MS);
    assert_non_null(v);
    assert_int_equal(v->type, '+');
    value_free(v);
    assert_int_equal(number(g, "QLEN impatient"), 5);
    wire_close(&w);
    redisFree(g);
}

/* The jobs of a client are delivered in the order in which it sent them, with any mix of durabilities. */
static void test_async_keeps_the_order(void **state) {
    redisContext *g = client_open_on(&guarded);

    (void)state;
    for (int i = 0; i < 60; i++) {
        if (i % 3 == 0)
            later(g, "ADDJOB mixed %d 0 ASYNC", i);
        else
            later(g, "ADDJOB mixed %d 0 REPLICATE %d", i, i % 3);
    }
    for (int i = 0; i < 60; i++) {
        const char *got = next_reply(g);

        if (got[0] != '+')
            fail_msg("job %d: %s", i, got);
    }
    for (int i = 0; i < 60; i++)
        get_job(g, "mixed", text_of("%d", i));
    assert_true(queue_is_empty(g, "mixed"));
    redisFree(g);
}

/* ---- waits that are cut short ---- */

/* Calls pg_cancel_backend() or the like for the session that changes jobs while it waits for the standby. */
static void to_waiting_session(const char *function) {
    const char *sql =
        text_of("select count(%s(pid)) from pg_stat_activity where application_name like 'pgdisque %% write'"
                " and wait_event = 'SyncRep'",
                function);

    EVENTUALLY(postgres_number(postgres_conninfo(&primary, "postgres"), sql) == 1);
}

struct held {
    redisContext *c;
    struct wire waiting, hasty;
    pid_t sender;
};

/* Both jobs are committed on the primary, and not on the standby. */
static void hold(struct held *h, const char *queue) {
    h->c = client_open_on(&guarded);
    raw_open_on(&h->waiting, &guarded);
    raw_open_on(&h->hasty, &guarded);
    add_job(h->c, queue, "first", "");
    h->sender = walsender_stop(&primary);
    wire_words(&h->waiting, "ADDJOB", queue, "waiting", "0", NULL);
}

static void let_go(struct held *h) {
    struct value *v;

    kill(h->sender, SIGCONT);
    v = wire_reply(&h->waiting, EVENTUALLY_MS);
    assert_non_null(v);
    assert_int_equal(v->type, '+');
    value_free(v);
    wire_close(&h->waiting);
    wire_close(&h->hasty);
    redisFree(h->c);
}

static void test_cancelled_wait_is_no_answer(void **state) {
    struct held h;
    long long before;

    (void)state;
    hold(&h, "cancelled");
    before = info_number(h.c, "standby_waits_cancelled");
    to_waiting_session("pg_cancel_backend");
    EVENTUALLY(info_number(h.c, "standby_waits_cancelled") > before);
    /* It waits again: that may be cancelled, too. */
    to_waiting_session("pg_cancel_backend");
    to_waiting_session("pg_cancel_backend");
    wire_words(&h.hasty, "ADDJOB", "cancelled", "hasty", "300", NULL);
    raw_expect(&h.hasty, TOO_LATE);
    assert_int_equal(wire_pending(&h.waiting), 0);
    let_go(&h);
    h.c = client_open_on(&guarded);
    EVENTUALLY(number(h.c, "QLEN cancelled") == 2);
    get_job(h.c, "cancelled", "first");
    get_job(h.c, "cancelled", "waiting");
    redisFree(h.c);
}

/* The job is found where it was left. That must not be taken for an answer. */
static void test_lost_wait_is_no_answer(void **state) {
    struct held h;

    (void)state;
    hold(&h, "lost");
    to_waiting_session("pg_terminate_backend");
    to_waiting_session("pg_cancel_backend");
    HOLDS_FOR(SILENCE_MS, wire_pending(&h.waiting) == 0);
    let_go(&h);
    h.c = client_open_on(&guarded);
    get_job(h.c, "lost", "first");
    get_job(h.c, "lost", "waiting");
    assert_true(queue_is_empty(h.c, "lost"));
    redisFree(h.c);
}

/* ---- effects of a standby on the primary ---- */

static void set_feedback(const char *value) {
    const char *admin = postgres_conninfo(&standby, "postgres");

    free(postgres_query(admin, text_of("alter system set hot_standby_feedback = %s", value)));
    free(postgres_query(admin, "alter system set wal_receiver_status_interval = 1"));
    free(postgres_query(admin, "select pg_reload_conf()"));
}

/* A query there that holds back vacuum here is found here. */
static void test_doctor_sees_feedback(void **state) {
    redisContext *c = client_open_on(&guarded);
    PGconn *reader = postgres_connect(postgres_conninfo(&standby, "postgres"));

    (void)state;
    expect(c, "+OK", "CONFIG SET doctor-patience 0");
    set_feedback("on");
    PQclear(PQexec(reader, "begin isolation level repeatable read"));
    PQclear(PQexec(reader, "select count(*) from pg_class"));
    free(postgres_query(postgres_conninfo(&primary, "postgres"), "select txid_current()"));
    EVENTUALLY(finds(c, "warning held-back", "the standby \"" STANDBY_NAME "\""));
    PQfinish(reader);
    set_feedback("off");
    EVENTUALLY(!finds(c, "warning held-back", "the standby"));
    expect(c, "+OK", "CONFIG SET doctor-patience 60");
    redisFree(c);
}

static void test_doctor_misses_a_standby(void **state) {
    redisContext *c = client_open_on(&guarded);

    (void)state;
    primary_waits_for(&primary, "ANY 1 (" STANDBY_NAME ", \"Absent One\")");
    EVENTUALLY(finds(c, "warning standbys", "the standby \"Absent One\""));
    assert_false(finds(c, "warning standbys", "\"" STANDBY_NAME "\""));
    postgres_stop(&standby, false);
    EVENTUALLY(finds(c, "error standbys", "commits wait for 1 synchronous standbys, and 0 are connected"));
    redisFree(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_in_force_without_standbys),
        cmocka_unit_test_setup(test_in_force_with_a_standby, ensure_standby),
        cmocka_unit_test_setup(test_unseen_standbys, ensure_standby),
        cmocka_unit_test_setup(test_replicate, ensure_standby),
        cmocka_unit_test_setup(test_replicate_while_the_standby_is_away, ensure_standby),
        cmocka_unit_test_setup(test_late_standby, ensure_standby),
        cmocka_unit_test_setup(test_commits_that_wait_for_a_standby, ensure_standby),
        cmocka_unit_test_setup(test_cancelled_wait_is_no_answer, ensure_standby),
        cmocka_unit_test_setup(test_lost_wait_is_no_answer, ensure_standby),
        cmocka_unit_test_setup(test_async_keeps_the_order, ensure_standby),
        cmocka_unit_test_setup(test_doctor_sees_feedback, ensure_standby),
        cmocka_unit_test_setup(test_doctor_misses_a_standby, ensure_standby),
    };

    return RUN_SUITE_WITH("standby", tests, group_start, group_stop);
}
