/* Change data capture: the events of jobs in the write-ahead log are those of doc/cdc.md, and a slot stops nothing. */
#include "consult.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DOCUMENT "doc/cdc.md"

static struct postgres logical;
static struct server source; /* on logical */
static const char *database;

static const char *value(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* The first column of the first row, or "none". */
static const char *value(const char *fmt, ...) {
    char statement[4096], *got;
    const char *kept;
    va_list args;

    va_start(args, fmt);
    vsnprintf(statement, sizeof statement, fmt, args);
    va_end(args);
    got = postgres_query(database, statement);
    kept = forever(got ? got : "none");
    free(got);
    return kept;
}

/* The block of the document that begins with these words. The caller frees it. */
static char *documented(const char *words) {
    FILE *f = fopen(DOCUMENT, "r");
    char *line = NULL, *block = calloc(1, 4096);
    size_t size = 0;
    bool inside = false;

    assert_non_null(f);
    while (getline(&line, &size, f) > 0) {
        inside = inside ? strncmp(line, "    ", 4) == 0 || *line == '\n'
                        : strncmp(line, "    ", 4) == 0 && strncmp(line + 4, words, strlen(words)) == 0;
        if (inside)
            strncat(block, line, 4095 - strlen(block));
        else if (*block)
            break;
    }
    free(line);
    fclose(f);
    assert_string_not_equal(block, "");
    return block;
}

static void run_documented(const char *words) {
    char *block = documented(words);

    value("%s", block);
    free(block);
}

static int source_start(void **state) {
    (void)state;
    postgres_make(&logical);
    postgres_set(&logical, "wal_level = logical\nmax_wal_senders = 2\nmax_replication_slots = 4\n");
    postgres_resume(&logical);
    database = postgres_conninfo(&logical, NULL);
    server_start(&source, database, NULL);
    run_documented("create publication");
    value("select pg_create_logical_replication_slot('reader', 'test_decoding'), "
          "pg_create_logical_replication_slot('published', 'pgoutput'), "
          "pg_create_logical_replication_slot('held', 'test_decoding')");
    return 0;
}

static int source_stop(void **state) {
    (void)state;
    if (server_stop(&source) != 0)
        return -1;
    postgres_stop(&logical, true);
    return 0;
}

/* Events since the start that contain both texts, in their order: "INSERT DELETE". */
static const char *events(const char *table, const char *text) {
    return value(
        "select coalesce(string_agg((regexp_match(data, '^table [^:]*: ([A-Z]+)'))[1], ' ' order by at), '') "
        "from pg_logical_slot_peek_changes('reader', null, null) with ordinality as c (lsn, xid, data, at) "
        "where data like 'table pgdisque.%s%%' and position('%s' in data) > 0",
        table, text);
}

/* The key of a job, as events of a delete show it. */
static const char *key_of(const char *body) {
    return value(
        "select format('id[bigint]:%%s queue_id[integer]:%%s rank[smallint]:%%s', number, queue_id, rank) "
        "from pgdisque.jobs where body_text = '%s'",
        body);
}

/* The transactions with an event about both texts. */
static const char *transactions(const char *table, const char *text) {
    return value(
        "select string_agg(distinct xid::text, ' ') from pg_logical_slot_peek_changes('reader', null, null) "
        "where data like 'table pgdisque.%s%%' and position('%s' in data) > 0",
        table, text);
}

/* The types of the messages to a reader of the publication: I, U, D, T and others. */
static bool is_published(char type) {
    return strcmp(
               value(
                   "select count(*) > 0 from pg_logical_slot_peek_binary_changes('published', null, null, "
                   "'proto_version', '1', 'publication_names', 'pgdisque_jobs') where get_byte(data, 0) = %d",
                   type),
               "t") == 0;
}

static const char *delivered(redisContext *c, const char *queue) {
    const char *id = add_job(c, queue, text_of("body of %s", queue), "RETRY 60 ATTEMPTS 1");

    expect(c, text_of("[[\"%s\" \"%s\" \"body of %s\"]]", queue, id, queue), "GETJOB NOHANG FROM %s", queue);
    return id;
}

static void test_done(void **state) {
    redisContext *c = client_open_on(&source);
    const char *id = delivered(c, "plain"), *key = key_of("body of plain");

    (void)state;
    assert_string_equal(events("job:", " deliveries[integer]:0"), "INSERT");
    expect(c, ":60", "WORKING %s", id);
    expect(c, ":1", "ACKJOB %s", id);
    /* The server also writes the name of a worker that has had the job for a second. */
    assert_string_equal(value("select '%s' ~ '^INSERT( UPDATE){2,3} DELETE$'", events("job:", "id[bigint]:")),
                        "t");
    /* A delete has the key and nothing else. */
    assert_string_equal(events("job: DELETE:", key), "DELETE");
    assert_string_equal(events("job: DELETE:", "body"), "");
    assert_string_equal(events("queue:", "name"), "INSERT");
    redisFree(c);
}

static void test_result(void **state) {
    redisContext *c = client_open_on(&source);
    const char *id = delivered(c, "kept"), *key = key_of("body of kept"), *deleted;

    (void)state;
    expect(c, ":1", "ACKJOB RESULT fine %s", id);
    deleted = transactions("job: DELETE", key);
    assert_string_equal(events("retained", "x66696e65"), "INSERT");
    assert_string_equal(transactions("retained", "x66696e65"), deleted);
    redisFree(c);
}

static void test_dead(void **state) {
    redisContext *c = client_open_on(&source);
    const char *id = delivered(c, "failing"), *key = key_of("body of failing");

    (void)state;
    expect(c, ":1", "NACK ERROR broken %s", id);
    EVENTUALLY(strcmp(events("dead_job", "id[bigint]:"), "INSERT") == 0);
    assert_string_equal(transactions("dead_job", "id[bigint]:"), transactions("job: DELETE", key));
    expect(c, ":1", "REVIVE failing");
    assert_string_equal(events("dead_job", "id[bigint]:"), "INSERT DELETE");
    assert_string_equal(transactions("dead_job: DELETE", key),
                        transactions("job: INSERT", "nacks[integer]:1"));
    redisFree(c);
}

static void test_outbox(void **state) {
    redisContext *c = client_open_on(&source);

    (void)state;
    run_documented("create table outbox");
    assert_string_equal(
        value("select body_json ->> 'order' || ' ' || (headers ->> 'outbox') from pgdisque.jobs "
              "where queue = 'orders'"),
        "17 1");
    value("begin; insert into outbox (topic, payload) values ('orders', '1'); rollback");
    assert_string_equal(value("select count(*) from pgdisque.jobs where queue = 'orders'"), "1");
    redisFree(c);
}

/* The publication shows retained jobs as rows of one table, and no TRUNCATE. */
static void test_publication(void **state) {
    redisContext *c = client_open_on(&source);

    (void)state;
    expect(c, ":1", "ACKJOB RESULT fine %s", delivered(c, "published"));
    expect(c, "+OK", "DEBUG FLUSHALL");
    assert_string_not_equal(events("", "TRUNCATE"), "");
    assert_true(is_published('I') && is_published('U') && is_published('D'));
    assert_false(is_published('T'));
    /* The number of the table follows the type of the message. */
    assert_string_equal(
        value("select string_agg(distinct c.relname, ' ') from pg_class as c join "
              "pg_logical_slot_peek_binary_changes('published', null, null, 'proto_version', '1', "
              "'publication_names', 'pgdisque_jobs') as m on int4send(c.oid::integer) = "
              "substr(m.data, 2, 4) where get_byte(m.data, 0) = %d and c.relname like 'retained%%'",
              'I'),
        "retained");
    redisFree(c);
}

/* Each column that the document calls stable exists. */
static void test_columns(void **state) {
    static const char *const tables[] = { "job", "dead_job", "retained", "queue" };

    (void)state;
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        FILE *f = fopen(DOCUMENT, "r");
        char *line = NULL, *column, *rest;
        size_t size = 0, found = 0;

        assert_non_null(f);
        while (getline(&line, &size, f) > 0) {
            if (strncmp(line, text_of("| `%s` | `", tables[i]), strlen(tables[i]) + 8) != 0)
                continue;
            rest = line + strlen(tables[i]) + 7;
            for (; (column = strsep(&rest, "|, `\n"));)
                if (*column) {
                    assert_string_equal(value("select count(*) from pg_attribute where attrelid = "
                                              "'pgdisque.%s'::regclass and attname = '%s'",
                                              tables[i], column),
                                        "1");
                    found++;
                }
        }
        free(line);
        fclose(f);
        assert_in_range(found, 2, 20);
    }
}

/* Without a reader of the slot, commands, vacuum and a new start of the server go on. */
static void test_held_slot(void **state) {
    redisContext *c = client_open_on(&source);

    (void)state;
    assert_string_equal(value("select active::text || (xmin is null)::text from pg_replication_slots "
                              "where slot_name = 'held'"),
                        "falsetrue");
    assert_non_null(strstr(ask(c, "DOCTOR"), "no client reads the replication slot"));
    redisFree(c);
    assert_int_equal(server_stop(&source), 0);
    server_start(&source, database, NULL);
    c = client_open_on(&source);
    expect(c, ":1", "ACKJOB %s", delivered(c, "after"));
    value("vacuum pgdisque.job");
    redisFree(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_done),        cmocka_unit_test(test_result),  cmocka_unit_test(test_dead),
        cmocka_unit_test(test_outbox),      cmocka_unit_test(test_columns), cmocka_unit_test(test_held_slot),
        cmocka_unit_test(test_publication),
    };

    return RUN_SUITE_WITH("decoding", tests, source_start, source_stop);
}
