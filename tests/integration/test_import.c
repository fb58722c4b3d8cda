/* Tasks out of a Redis: all of them, once, in order, wherever the import is killed. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "moving.h"
#include "random.h"

static redisContext *r, *q;

/* ---- lists ---- */

static void test_lists(void **state) {
    (void)state;
    expect(r, "+OK", "FLUSHALL");
    moving_fill(r, "old", "LPUSH", 0, 230);
    moving_fill(r, "other", "RPUSH", 0, 30);
    IMPORT(0, "230\told", "--dry-run", "old", "other");
    expect(r, ":230", "LLEN old");
    IMPORT(0, "230\tnew:old\n230 tasks moved", "--queue-prefix", "new:", "--batch", "50", "old");
    IMPORT(3, "nothing was found under this name: nothing\n30\tother", "--pop", "left", "--batch", "7",
           "other", "nothing");
    moving_in_order(q, "new:old", 230);
    moving_in_order(q, "other", 30);
    expect(r, ":0", "DBSIZE");
}

/* In a pipe the report is one JSON object, without the progress and the warnings. */
static void test_json(void **state) {
    (void)state;
    expect(r, "+OK", "FLUSHALL");
    moving_fill(r, "report", "LPUSH", 0, 3);
    IMPORT(0, "{\"dry_run\":true,\"sources\":[{\"name\":\"report\",\"count\":3}]}\n", "--json", "--dry-run",
           "report");
    IMPORT(0,
           "{\"dry_run\":false,\"queues\":[{\"name\":\"report\",\"count\":3}],\"moved\":3,\"too_large\":0,"
           "\"not_understood\":0}\n",
           "--json", "report");
    assert_false(file_contains(moving_log(), "tasks moved"));
    moving_in_order(q, "report", 3);
    IMPORT(3, "{\"dry_run\":false,\"queues\":[],\"moved\":0,", "--json", "report");
}

/* Any byte, and nothing. */
static void test_bytes(void **state) {
    (void)state;
    expect(r, "+OK", "FLUSHALL");
    freeReplyObject(redisCommand(r, "RPUSH bytes %b %b", "a\0\r\n\xff", (size_t)5, "", (size_t)0));
    IMPORT(0, "2 tasks moved", "--pop", "left", "bytes");
    for (size_t i = 0; i < 2; i++) {
        redisReply *job = redisCommand(q, "GETJOB NOHANG FROM bytes"), *body = job->element[0]->element[2];

        assert_int_equal(body->len, i == 0 ? 5 : 0);
        assert_memory_equal(body->str, "a\0\r\n\xff", body->len);
        freeReplyObject(job);
    }
}

static void test_refusals(void **state) {
    (void)state;
    expect(r, "+OK", "FLUSHALL");
    expect(r, ":1", "SADD members a");
    moving_fill(r, "here", "LPUSH", 0, 3);
    IMPORT(2, "bullmq|stream: bee", "--kind", "bee");
    IMPORT(2, "names are missing", "--kind", "list");
    IMPORT(2, "no such option", "--nonsense", "here");
    IMPORT(2, "--pop must be right|left: up", "--pop", "up", "here");
    IMPORT(2, "must be a number", "--batch", "0", "here");
    IMPORT(2, "members: WRONGTYPE", "here", "members");
    IMPORT(2, "only redis://, rediss:// and unix://", "--to", "http://127.0.0.1", "here");
    IMPORT(2, "127.0.0.1:1:", "--to", "127.0.0.1:1", "here");
    IMPORT(2, "this address has no pgdisque", "--to", text_of("127.0.0.1:%d", r->tcp.port), "here");
    assert_false(file_contains(moving_log(), "Run the import again"));
    IMPORT(3, "nothing was found under this name: hree", "--dry-run", "hree", "here");
    IMPORT(0, "usage: ", "--help");
    expect(r, ":3", "LLEN here");
}

/* The tasks stay in Redis if the user may not add them. */
static void test_user(void **state) {
    (void)state;
    expect(r, "+OK", "FLUSHALL");
    expect(q, "+OK", "ACL SETUSER mover on >secret +@all ~moved:*");
    moving_fill(r, "moved:a", "LPUSH", 0, 3);
    moving_fill(r, "fixed", "LPUSH", 0, 3);
    IMPORT(2, "WRONGPASS", "--user", "mover", "moved:a");
    setenv("PGDISQUE_PASSWORD", "secret", 1);
    IMPORT(0, "3 tasks moved", "--user", "mover", "moved:a");
    IMPORT(2, "NOPERM", "--user", "mover", "fixed");
    unsetenv("PGDISQUE_PASSWORD");
    moving_in_order(q, "moved:a", 3);
    expect(q, ":0", "QLEN fixed");
    IMPORT(0, "3 tasks moved", "fixed");
    moving_in_order(q, "fixed", 3);
    expect(q, ":1", "ACL DELUSER mover");
}

/* Tasks that the queue does not accept stay in Redis. The import continues with them later. */
static void test_pause(void **state) {
    (void)state;
    expect(r, "+OK", "FLUSHALL");
    moving_fill(r, "shut", "LPUSH", 0, 30);
    expect(q, "+in", "PAUSE shut in");
    IMPORT(2, "pgdisque: PAUSED", "--batch", "10", "shut");
    assert_true(file_contains(moving_log(), "Run the import again"));
    expect(r, ":20", "LLEN shut");
    expect(r, ":10", "LLEN pgdisque:import:list:shut");
    IMPORT(0, "an earlier import holds are not counted: shut", "--dry-run", "shut");
    expect(q, "+none", "PAUSE shut none");
    IMPORT(0, "30 tasks moved", "--batch", "10", "shut");
    moving_in_order(q, "shut", 30);
}

/* The server would close the connection at a body that is longer than its limit. */
static void test_large(void **state) {
    size_t len = (1 << 20) + 1;
    char *body = malloc(len);

    (void)state;
    memset(body, 'x', len);
    expect(r, "+OK", "FLUSHALL");
    expect(q, "+OK", "CONFIG SET proto-max-bulk-len 1mb");
    moving_fill(r, "large", "LPUSH", 0, 1);
    expect(r, ":2", "LPUSH large %b", body, len);
    expect(r, ":3", "LPUSH large %b", body, len - 1);
    moving_fill(r, "large", "LPUSH", 1, 2);
    IMPORT(1, "3 tasks moved\n1 tasks are too large for a job", "large");
    assert_true(file_contains(moving_log(), "A task of large is too large: its body has 1048577 bytes"));
    expect(r, ":1", "LLEN pgdisque:import:list:large:refused");
    expect(r, ":1", "DBSIZE");
    expect(q, ":3", "LLEN large");
    IMPORT(3, "0 tasks moved", "large");
    expect(q, "+OK", "CONFIG SET proto-max-bulk-len 64mb");
    free(body);
}

/* ---- Sidekiq ---- */

static const char *sidekiq(const char *queue, int i, const char *more) {
    return text_of(
        "{\"retry\":true,\"queue\":\"%s\",\"class\":\"HardWorker\",\"args\":[\"a\\\"}\",{\"queue\":1}],"
        "\"jid\":\"b4a577edbccf1d805744efa9\",\"created_at\":1763703000.1%s,\"n\":\" %d\"}",
        queue, more, i);
}

static const char *field_of_first(const char *queue, const char *field) {
    redisReply *jobs = redisCommand(q, "GETJOB NOHANG FROM %s", queue);
    const char *id;

    if (jobs == NULL || jobs->type != REDIS_REPLY_ARRAY)
        fail_msg("no job in %s", queue);
    id = forever(jobs->element[0]->element[1]->str);
    freeReplyObject(jobs);
    return job_field(q, id, field);
}

static void test_sidekiq(void **state) {
    long long now = atoll(ask(r, "TIME") + 2);

    (void)state;
    expect(r, "+OK", "FLUSHALL");
    expect(r, ":2", "SADD queues default mail");
    expect(r, ":1", "LPUSH queue:default %s", sidekiq("default", 1, ""));
    expect(r, ":1", "LPUSH queue:mail %s", sidekiq("mail", 2, ",\"retry_count\":3"));
    expect(r, ":2", "LPUSH queue:mail {\"class\":\"cut");
    expect(r, ":1", "ZADD schedule %lld.25 %s", now + 1000, sidekiq("later", 3, ""));
    expect(r, ":1", "ZADD retry %lld %s", now - 5, sidekiq("again", 4, ",\"retry_count\":24"));
    IMPORT(1, "1 tasks were not understood", "--kind", "sidekiq");
    expect(r, "[\"{\\x22class\\x22:\\x22cut\"]", "LRANGE pgdisque:import:sidekiq:queue:mail:refused 0 -1");
    expect(q, ":1", "QLEN mail");
    assert_string_equal(field_of_first("default", "attempts"), "26");
    assert_string_equal(field_of_first("mail", "attempts"), "22");
    assert_string_equal(field_of_first("again", "attempts"), "1");
    assert_true(queue_is_empty(q, "later"));
    expect(r, ":0", "EXISTS queue:default queue:mail schedule retry");
}

/* ---- Resque ---- */

static const char *resque(int i) {
    return text_of("{\"class\":\"Archive\",\"args\":[%d,\"master\"]}", i);
}

static void test_resque(void **state) {
    (void)state;
    expect(r, "+OK", "FLUSHALL");
    expect(r, ":2", "SADD resque:queues files empty");
    for (int i = 1; i < 4; i++)
        later(r, "RPUSH resque:queue:files %s", resque(i));
    for (int i = 1; i < 4; i++)
        next_reply(r);
    expect(r, ":4", "RPUSH resque:queue:files [\"class\"]");
    expect(r, ":1", "RPUSH resque:failed {\"payload\":%s}", resque(0));
    IMPORT(0, "4\tresque:queue:files", "--kind", "resque", "--dry-run");
    IMPORT(3, "nothing was found under this name: unknown", "--kind", "resque", "unknown");
    IMPORT(1, "3\tfiles\n3 tasks moved", "--kind", "resque", "--batch", "2");
    for (int i = 1; i < 4; i++)
        expect(q, ":1", "ACKJOB %s", get_job(q, "files", resque(i)));
    assert_true(queue_is_empty(q, "files"));
    expect(r, "[\"[\\x22class\\x22]\"]", "LRANGE pgdisque:import:resque:resque:queue:files:refused 0 -1");
    expect(r, ":0", "EXISTS resque:queue:files");
    expect(r, ":1", "LLEN resque:failed");
}

/* ---- Laravel ---- */

static const char *laravel(int i, const char *tries, int done) {
    return text_of(
        "{\"uuid\":\"0b6c3f4e-57a1-4d4b-9a53-6f6c0a5d9f%02d\",\"displayName\":\"App\\\\Jobs\\\\Mail\","
        "\"job\":\"Illuminate\\\\Queue\\\\CallQueuedHandler@call\",\"maxTries\":%s,"
        "\"maxExceptions\":null,\"failOnTimeout\":false,\"backoff\":null,\"timeout\":null,"
        "\"data\":{\"commandName\":\"App\\\\Jobs\\\\Mail\",\"command\":\"O:13:\\\"App\\\\Jobs\\\\Mail\\\":0:{"
        "}\"},"
        "\"id\":\"wSz6kTOpMzB4Xw2lTY2tPGkQ7fqUn0%02d\",\"attempts\":%d}",
        i, tries, i, done);
}

static void test_laravel(void **state) {
    static const char *const words[] = { "--kind", "laravel", "--key-prefix", "app_database_", "mail", NULL };
    long long now = atoll(ask(r, "TIME") + 2);

    (void)state;
    expect(r, "+OK", "FLUSHALL");
    expect(r, ":1", "RPUSH app_database_queues:mail %s", laravel(1, "null", 0));
    expect(r, ":2", "RPUSH app_database_queues:mail %s", laravel(2, "3", 0));
    expect(r, ":2", "RPUSH app_database_queues:mail:notify 1 1");
    expect(r, ":1", "ZADD app_database_queues:mail:delayed %lld %s", now + 1000, laravel(3, "3", 0));
    expect(r, ":1", "ZADD app_database_queues:mail:reserved %lld %s", now - 9, laravel(4, "3", 2));
    expect(r, ":1", "ZADD app_database_queues:mail:reserved %lld %s", now + 900, laravel(5, "3", 1));
    IMPORT(2, "names are missing", "--kind", "laravel");
    moving_must("import", 0, "4\tmail\n4 tasks moved", words);
    assert_string_equal(field_of_first("mail", "attempts"), "1");
    expect(q, ":1", "ACKJOB %s", get_job(q, "mail", laravel(1, "null", 0)));
    assert_string_equal(field_of_first("mail", "attempts"), "3");
    assert_true(queue_is_empty(q, "mail"));
    expect(r, ":0", "EXISTS app_database_queues:mail app_database_queues:mail:delayed");
    expect(r, ":1", "ZCARD app_database_queues:mail:reserved");
}

/* ---- Celery ---- */

static const char *celery(int i, int priority) {
    return text_of(
        "{\"body\": \"W1sxNl0sIHt9LCB7fV0=\", \"content-encoding\": \"utf-8\", \"content-type\": "
        "\"application/json\", \"headers\": {\"lang\": \"py\", \"task\": \"tasks.note\", \"id\": \"%d\"}, "
        "\"properties\": {\"delivery_mode\": 2, \"delivery_info\": {\"exchange\": \"\", "
        "\"routing_key\": \"celery\"}, \"priority\": %d, \"body_encoding\": \"base64\"}}",
        i, priority);
}

static void test_celery(void **state) {
    (void)state;
    expect(r, "+OK", "FLUSHALL");
    expect(r, ":1",
           "LPUSH celery\x06\x16"
           "9 %s",
           celery(3, 9));
    expect(r, ":1", "LPUSH celery %s", celery(0, 0));
    expect(r, ":2", "LPUSH celery %s", celery(1, 0));
    expect(r, ":3", "LPUSH celery nonsense");
    expect(r, ":1",
           "LPUSH celery\x06\x16"
           "3 %s",
           celery(2, 3));
    IMPORT(1, "4\tcelery\n4 tasks moved", "--kind", "celery", "celery");
    for (int i = 0; i < 4; i++)
        expect(q, ":1", "ACKJOB %s", get_job(q, "celery", celery(i, i < 2 ? 0 : i == 2 ? 3 : 9)));
    assert_true(queue_is_empty(q, "celery"));
    expect(r, "[\"pgdisque:import:celery:celery:refused\"]", "KEYS *");
}

/* ---- when it is killed ---- */

#define TASKS 3000
#define PLANNED 1000

static void fill_sidekiq(void) {
    expect(r, "+OK", "FLUSHALL");
    expect(r, ":1", "SADD queues k");
    for (int i = 0; i < TASKS; i++)
        i < PLANNED ? later(r, "ZADD schedule %d %s", i, sidekiq("k", i, ""))
                    : later(r, "LPUSH queue:k %s", sidekiq("k", i, ""));
    for (int i = 0; i < TASKS; i++)
        next_reply(r);
}

/* A consumer acknowledges each job at once, so that only the key tells that the job was added. Each kill gives the
 * import more time, so that the test ends on a slow machine too. */
static void test_kills(void **state) {
    static const char *const words[] = { "--kind", "sidekiq", "--batch", "61", NULL };
    static int seen[TASKS];
    int kills = 0, caught = 0, status = 128 + SIGKILL;

    (void)state;
    fill_sidekiq();
    while (status != 0) {
        status = moving_kill("import", words, (unsigned)random_below(8000 + 400 * (uint64_t)kills));
        kills += status != 0;
        caught +=
            number(r, "EXISTS pgdisque:import:sidekiq:queue:k:id pgdisque:import:sidekiq:schedule:id") > 0;
        moving_take_all(q, "k", seen, TASKS);
    }
    printf("# killed %d times, %d of them amid a batch\n", kills, caught);
    assert_true(caught > 0);
    moving_once(seen, TASKS);
    expect(r, "[\"queues\"]", "KEYS *");
}

/* Two imports run at the same time, with pushes and a consumer. */
static void test_two_follow(void **state) {
    static const char *const words[] = { "--follow", "--batch", "20", "two", NULL };
    static int seen[TASKS];
    int taken = 0;
    pid_t pids[2];

    (void)state;
    expect(r, "+OK", "FLUSHALL");
    moving_fill(r, "two", "LPUSH", 0, TASKS / 2);
    for (int i = 0; i < 2; i++)
        pids[i] = moving_spawn("import", words);
    for (int i = TASKS / 2; i < TASKS; i += 50) {
        moving_fill(r, "two", "LPUSH", i, i + 50);
        taken += moving_take_all(q, "two", seen, TASKS);
    }
    EVENTUALLY((taken += moving_take_all(q, "two", seen, TASKS)) >= TASKS);
    moving_end_two(pids);
    moving_take_all(q, "two", seen, TASKS);
    moving_once(seen, TASKS);
}

static int start(void **state) {
    (void)state;
    random_start(20261121);
    return moving_open(&r, &q);
}

static int stop(void **state) {
    (void)state;
    return moving_close(r, q);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lists),      cmocka_unit_test(test_json),    cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_refusals),   cmocka_unit_test(test_user),    cmocka_unit_test(test_pause),
        cmocka_unit_test(test_large),      cmocka_unit_test(test_sidekiq), cmocka_unit_test(test_resque),
        cmocka_unit_test(test_laravel),    cmocka_unit_test(test_celery),  cmocka_unit_test(test_kills),
        cmocka_unit_test(test_two_follow),
    };

    return RUN_SUITE_WITH("import", tests, start, stop);
}
