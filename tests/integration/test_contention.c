/* Sessions that lock rows and tables: only commands that need these wait, and all others go on. */
#include "fixture.h"

#include <stdlib.h>
#include <string.h>
#include <libpq-fe.h>

/* The form of each command that the test sends while a row or a table is locked. %s is the ID of a locked job. Each
 * command has a line. */
static const struct line {
    const char *command;
    const char *words;
} lines[] = {
    { "addjob", "ADDJOB held new 0" },
    { "addjobs", "ADDJOBS held 0 JOBS 2 new newer" },
    { "getjob", "GETJOB NOHANG FROM held" },
    { "ackjob", "ACKJOB %s" },
    { "fastack", "FASTACK %s" },
    { "deljob", "DELJOB %s" },
    { "cancel", "CANCEL %s" },
    { "nack", "NACK %s" },
    { "enqueue", "ENQUEUE %s" },
    { "reprioritize", "REPRIORITIZE 5 %s" },
    { "revive", "REVIVE held" },
    { "deldead", "DELDEAD held" },
    { "editdead", "EDITDEAD %s BODY b" },
    { "unlock", "UNLOCK held key" },
    { "dequeue", "DEQUEUE %s" },
    { "working", "WORKING %s" },
    { "workers", "WORKERS held" },
    { "release", "RELEASE WORKER missing" },
    { "show", "SHOW %s" },
    { "waitjob", "WAITJOB %s TIMEOUT 1" },
    { "predecessors", "PREDECESSORS %s" },
    { "batch", "BATCH SHOW %s" },
    { "loadjob", "LOADJOB x" },
    { "qlen", "QLEN held" },
    { "qstat", "QSTAT held" },
    { "qpeek", "QPEEK held 1" },
    { "qscan", "QSCAN" },
    { "jscan", "JSCAN QUEUE held" },
    { "pause", "PAUSE held state" },
    { "qconfig", "QCONFIG held SET maxlen 1000" },
    { "lpush", "LPUSH heldlist a" },
    { "rpush", "RPUSH heldlist a" },
    { "lpushx", "LPUSHX heldlist a" },
    { "rpushx", "RPUSHX heldlist a" },
    { "lpop", "LPOP heldlist" },
    { "rpop", "RPOP heldlist" },
    { "lmpop", "LMPOP 1 heldlist LEFT" },
    { "blpop", "BLPOP heldlist 0.01" },
    { "brpop", "BRPOP heldlist 0.01" },
    { "blmpop", "BLMPOP 0.01 1 heldlist LEFT" },
    { "rpoplpush", "RPOPLPUSH heldlist heldlist" },
    { "lmove", "LMOVE heldlist heldlist LEFT RIGHT" },
    { "brpoplpush", "BRPOPLPUSH heldlist heldlist 0.01" },
    { "blmove", "BLMOVE heldlist heldlist LEFT RIGHT 0.01" },
    { "llen", "LLEN heldlist" },
    { "lindex", "LINDEX heldlist 0" },
    { "lrange", "LRANGE heldlist 0 -1" },
    { "lpos", "LPOS heldlist a" },
    { "lrem", "LREM heldlist 1 a" },
    { "lset", "LSET heldlist 0 b" },
    { "ltrim", "LTRIM heldlist 0 5" },
    { "schedule", "SCHEDULE held \"0 0 1 1 *\" held body" },
    { "unschedule", "UNSCHEDULE held" },
    { "runschedule", "RUNSCHEDULE missing" },
    { "schedules", "SCHEDULES" },
    { "exists", "EXISTS heldlist" },
    { "touch", "TOUCH heldlist" },
    { "type", "TYPE heldlist" },
    { "keys", "KEYS held*" },
    { "scan", "SCAN 0" },
    { "randomkey", "RANDOMKEY" },
    { "dbsize", "DBSIZE" },
    { "del", "DEL heldlist" },
    { "unlink", "UNLINK heldlist" },
    { "rename", "RENAME heldlist heldlist2" },
    { "renamenx", "RENAMENX heldlist heldlist2" },
    { "expire", "EXPIRE heldlist 1000" },
    { "pexpire", "PEXPIRE heldlist 1000000" },
    { "expireat", "EXPIREAT heldlist 4000000000" },
    { "pexpireat", "PEXPIREAT heldlist 4000000000000" },
    { "ttl", "TTL heldlist" },
    { "pttl", "PTTL heldlist" },
    { "expiretime", "EXPIRETIME heldlist" },
    { "pexpiretime", "PEXPIRETIME heldlist" },
    { "persist", "PERSIST heldlist" },
    { "get", "GET stat:held" },
    { "set", "SET stat:held 1" },
    { "mget", "MGET stat:held" },
    { "mset", "MSET stat:held 1" },
    { "incrby", "INCRBY stat:held 1" },
    { "bitfield", "BITFIELD h|held INCRBY u16 #0 1" },
    { "bitfield_ro", "BITFIELD_RO h|held GET u16 #0" },
    { "hset", "HSET j|held a 1" },
    { "hmset", "HMSET j|held a 1" },
    { "hsetnx", "HSETNX j|held a 1" },
    { "hincrby", "HINCRBY j|held b 1" },
    { "hget", "HGET j|held a" },
    { "hmget", "HMGET j|held a" },
    { "hgetall", "HGETALL j|held" },
    { "sadd", "SADD processes a" },
    { "srem", "SREM processes b" },
    { "smembers", "SMEMBERS processes" },
    { "sismember", "SISMEMBER processes a" },
    { "scard", "SCARD processes" },
    { "sscan", "SSCAN processes 0" },
    { "zadd", "ZADD schedule 4000000000 {\"queue\":\"held\"}" },
    { "zincrby", "ZINCRBY schedule 1 {\"queue\":\"held\"}" },
    { "zrem", "ZREM schedule x" },
    { "zremrangebyscore", "ZREMRANGEBYSCORE schedule 1 2" },
    { "zremrangebyrank", "ZREMRANGEBYRANK schedule 0 0" },
    { "zpopmin", "ZPOPMIN retry" },
    { "zcard", "ZCARD schedule" },
    { "zrange", "ZRANGE schedule 0 1" },
    { "zrevrange", "ZREVRANGE schedule 0 1" },
    { "zrangebyscore", "ZRANGEBYSCORE schedule 1 2" },
    { "zscan", "ZSCAN schedule 0" },
    { "memory", "MEMORY DOCTOR" },
    { "object", "OBJECT ENCODING heldlist" },
    { "hello", "HELLO" },
    { "ping", "PING" },
    { "echo", "ECHO x" },
    { "auth", "AUTH x" },
    { "select", "SELECT 0" },
    { "reset", "RESET" },
    { "quit", "QUIT" },
    { "client", "CLIENT ID" },
    { "multi", "MULTI" },
    { "exec", "EXEC" },
    { "discard", "DISCARD" },
    { "watch", "WATCH held" },
    { "unwatch", "UNWATCH" },
    { "subscribe", "SUBSCRIBE held" },
    { "psubscribe", "PSUBSCRIBE held" },
    { "unsubscribe", "UNSUBSCRIBE" },
    { "punsubscribe", "PUNSUBSCRIBE" },
    { "publish", "PUBLISH held x" },
    { "pubsub", "PUBSUB CHANNELS" },
    { "eval", "EVAL x 0" },
    { "evalsha", "EVALSHA x 0" },
    { "eval_ro", "EVAL_RO x 0" },
    { "evalsha_ro", "EVALSHA_RO x 0" },
    { "script", "SCRIPT EXISTS x" },
    { "info", "INFO" },
    { "metrics", "METRICS" },
    { "history", "HISTORY held" },
    { "acl", "ACL LIST" },
    { "command", "COMMAND COUNT" },
    { "config", "CONFIG GET port" },
    { "time", "TIME" },
    { "lastsave", "LASTSAVE" },
    { "wait", "WAIT 0 0" },
    { "monitor", "MONITOR" },
    { "slowlog", "SLOWLOG LEN" },
    { "latency", "LATENCY LATEST" },
    { "doctor", "DOCTOR" },
    { "health", "HEALTH" },
    { "debug", "DEBUG x" },
    { "role", "ROLE" },
    { "shutdown", "SHUTDOWN x" },
    { "bgrewriteaof", "BGREWRITEAOF" },
    { "cluster", "CLUSTER NODES" },
};

#define LINES (sizeof lines / sizeof lines[0])
#define JOBS_LOCKED 20

static const char *const commands[] = {
#define CMD(id, name, ...) name,
#include "commands/commands.def"
#undef CMD
};

static void test_each_command_has_a_line(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        size_t k = 0;

        while (k < LINES && strcmp(lines[k].command, commands[i]) != 0)
            k++;
        if (k == LINES)
            fail_msg("%s: add a line that says how it is sent while rows and tables are locked", commands[i]);
    }
}

/* ---- the locks ---- */

static PGconn *locker;

static void run_sql(const char *sql) {
    PGresult *res = PQexec(locker, sql);

    if (PQresultStatus(res) != PGRES_COMMAND_OK && PQresultStatus(res) != PGRES_TUPLES_OK)
        fail_msg("%s: %s", sql, PQerrorMessage(locker));
    PQclear(res);
}

static int open_locker(void **state) {
    (void)state;
    locker = PQconnectdb(server.database);
    return PQstatus(locker) == CONNECTION_OK ? 0 : -1;
}

static int close_locker(void **state) {
    (void)state;
    PQfinish(locker);
    locker = NULL;
    return 0;
}

static const char *ids[JOBS_LOCKED];

static void fill(redisContext *c) {
    expect_start(c, ":", "DEL heldlist");
    expect_start(c, ":", "DEL heldlist2");
    expect(c, ":5", "RPUSH heldlist a b c d e");
    for (int i = 0; i < JOBS_LOCKED; i++)
        ids[i] = add_job(c, "held", "job", i % 2 == 0 ? "DELAY 3600 RETRY 3600" : "RETRY 3600");
    /* All queues have rows, so that the statement about the job waits, and no other one. */
    (void)get_job(c, "free", (add_job(c, "free", "first", ""), "first"));
}

/* ---- others go on ---- */

/* Commands that need neither the rows nor the table. */
static void others_go_on_without_tables(redisContext *c) {
    expect(c, "+PONG", "PING");
    expect_start(c, ":", "QLEN held");
    expect_start(c, "\"", "INFO");
    expect_start(c, "[", "HELLO");
    expect_start(c, ":", "LLEN heldlist");
}

static void others_go_on(redisContext *c) {
    const char *id = add_job(c, "free", "mine", "");

    assert_string_equal(get_job(c, "free", "mine"), id);
    expect(c, ":1", "ACKJOB %s", id);
    expect_start(c, ":", "RPUSH freelist a");
    expect(c, "\"a\"", "LPOP freelist");
    others_go_on_without_tables(c);
}

static redisContext *send_line(size_t i) {
    redisContext *c = client_open();

    if (strstr(lines[i].words, "%s") != NULL)
        later(c, lines[i].words, ids[i % JOBS_LOCKED]);
    else if (strcmp(lines[i].command, "schedule") == 0)
        later(c, "SCHEDULE held %s held body", "0 0 1 1 *");
    else
        later(c, lines[i].words);
    for (int done = 0; !done;)
        assert_int_equal(redisBufferWrite(c, &done), REDIS_OK);
    return c;
}

/* Each command is sent while lock is held; then the others go on; and all are answered when it is over. */
static void go_through(const char *lock, void (*go_on)(redisContext *c)) {
    redisContext *waiting[LINES], *c = client_open();

    fill(c);
    run_sql("begin");
    run_sql(lock);
    for (size_t i = 0; i < LINES; i++) {
        waiting[i] = send_line(i);
        go_on(c);
    }
    go_on(c);
    run_sql("rollback");
    for (size_t i = 0; i < LINES; i++) {
        const char *got = next_reply(waiting[i]);

        if (strncmp(got, "-LOCKED", 7) == 0 || strncmp(got, "-DBERR", 6) == 0)
            fail_msg("%s: %s", lines[i].command, got);
        redisFree(waiting[i]);
    }
    expect(c, "+PONG", "PING");
    redisFree(c);
}

static void test_rows_of_jobs(void **state) {
    (void)state;
    go_through("select from pgdisque.job as j join pgdisque.queue as q on q.id = j.queue_id"
               " where q.name like 'held%' for update of j",
               others_go_on);
}

static void test_rows_of_queues(void **state) {
    (void)state;
    go_through("select from pgdisque.queue as q where q.name like 'held%' for update", others_go_on);
}

static void test_table_of_jobs(void **state) {
    (void)state;
    go_through("lock table pgdisque.job in access exclusive mode", others_go_on_without_tables);
}

static void test_table_of_queues(void **state) {
    (void)state;
    go_through("lock table pgdisque.queue in access exclusive mode", others_go_on_without_tables);
}

static void test_table_of_settings(void **state) {
    (void)state;
    go_through("lock table pgdisque.queue_setting in access exclusive mode", others_go_on);
}

/* ---- one command ---- */

static bool takes_open_job(void) {
    PGresult *res = PQexec(locker, "select id from pgdisque.get_jobs('open')");
    bool taken = PQntuples(res) == 1;

    PQclear(res);
    return taken;
}

/* A job that an open transaction of an application has taken. */
static void test_job_in_an_open_transaction(void **state) {
    redisContext *c = client_open(), *other = client_open();
    const char *id = add_job(c, "open", "x", "RETRY 1");

    (void)state;
    assert_string_equal(get_job(c, "open", "x"), id);
    run_sql("begin");
    EVENTUALLY((run_sql("savepoint s"), true) && takes_open_job());
    later(c, "ACKJOB %s", id);
    for (int done = 0; !done;)
        assert_int_equal(redisBufferWrite(c, &done), REDIS_OK);
    for (int i = 0; i < 50; i++)
        others_go_on(other);
    run_sql("commit");
    expect_next(c, ":1");
    redisFree(other);
    redisFree(c);
}

/* A hundred commands share a transaction. Only the command about the locked job waits. */
static void test_a_locked_job_among_many(void **state) {
    redisContext *c = client_open();
    redisContext *clients[50];
    const char *many[50];

    (void)state;
    for (int i = 0; i < 50; i++) {
        clients[i] = client_open();
        many[i] = add_job(c, "many", text_of("%d", i), "");
    }
    run_sql("begin");
    run_sql("select from pgdisque.job where body = '25' for update");
    for (int i = 0; i < 50; i++) {
        int done = 0;

        later(clients[i], "ACKJOB %s", many[i]);
        while (!done)
            assert_int_equal(redisBufferWrite(clients[i], &done), REDIS_OK);
    }
    for (int i = 0; i < 50; i++)
        if (i != 25)
            expect_next(clients[i], ":1");
    expect(c, ":1", "QLEN many");
    run_sql("rollback");
    expect_next(clients[25], ":1");
    for (int i = 0; i < 50; i++)
        redisFree(clients[i]);
    redisFree(c);
}

/* Its patience ends, and it says why. */
static void test_patience(void **state) {
    redisContext *c = client_open();
    const char *id = add_job(c, "patience", "x", "");

    (void)state;
    expect(c, "+OK", "CONFIG SET lock-patience 1");
    run_sql("begin");
    run_sql("select from pgdisque.job where body = 'x' for update");
    expect_start(c, "-LOCKED ", "ACKJOB %s", id);
    expect(c, "+OK", "MULTI");
    expect(c, "+QUEUED", "ACKJOB %s", id);
    expect_start(c, "-LOCKED ", "EXEC");
    run_sql("lock table pgdisque.job in access exclusive mode");
    expect_start(c, "-LOCKED ", "ADDJOB patience y 0");
    expect_start(c, "-LOCKED ", "ACKJOB %s", id);
    run_sql("rollback");
    expect(c, ":1", "ACKJOB %s", id);
    expect(c, "+OK", "CONFIG SET lock-patience 60");
    redisFree(c);
}

/* An open transaction of an application makes a queue. */
static void test_patience_for_a_new_queue(void **state) {
    redisContext *c = client_open();

    (void)state;
    expect(c, "+OK", "CONFIG SET lock-patience 1");
    run_sql("begin");
    run_sql("select pgdisque.add_job('unborn', 'of the application')");
    expect_start(c, "-LOCKED ", "ADDJOB unborn x 0");
    expect_start(c, "-LOCKED ", "RPUSH unborn x");
    expect_start(c, "-LOCKED ", "PAUSE unborn in");
    expect_start(c, "-LOCKED ", "QCONFIG unborn SET maxlen 1000");
    expect(c, "+OK", "MULTI");
    expect(c, "+QUEUED", "ADDJOB unborn x 0");
    expect_start(c, "-EXECABORT Transaction discarded because of: LOCKED ", "EXEC");
    run_sql("rollback");
    get_job(c, "unborn", (add_job(c, "unborn", "x", ""), "x"));
    expect(c, "+OK", "CONFIG SET lock-patience 60");
    redisFree(c);
}

/* The tick of a schedule waits for a queue that an open transaction of an application makes. Other schedules go on. */
static void test_schedule_of_a_new_queue(void **state) {
    redisContext *c = client_open();
    long long before;

    (void)state;
    expect(c, "+OK", "SCHEDULE other %s ticks x", "@every 1s");
    run_sql("begin");
    run_sql("select pgdisque.add_job('unscheduled', 'of the application')");
    expect(c, "+OK", "SCHEDULE waits %s unscheduled x", "@every 1s");
    EVENTUALLY(postgres_number(server.database, "select count(*) from pgdisque.schedule where name = 'waits' "
                                                "and next_at < now() - interval '1 s'") == 1);
    before = info_number(c, "schedules_fired");
    EVENTUALLY(info_number(c, "schedules_fired") >= before + 3);
    expect(c, ":0", "QLEN unscheduled");
    run_sql("rollback");
    EVENTUALLY(strcmp(ask(c, "QLEN unscheduled"), ":0") != 0);
    expect(c, ":1", "UNSCHEDULE other");
    expect(c, ":1", "UNSCHEDULE waits");
    redisFree(c);
}

/* An open transaction of an application is taking a key. A client that wants the key asks again from time to time. */
static void test_key_in_an_open_transaction(void **state) {
    redisContext *c = client_open(), *other = client_open();
    long long before = info_number(other, "unique_retries"), tries, began_ms;

    (void)state;
    (void)get_job(c, "keys", (add_job(c, "keys", "first", ""), "first"));
    run_sql("begin");
    run_sql("select pgdisque.add_job('keys', 'of the application', unique_key => 'k')");
    began_ms = now_ms();
    later(c, "ADDJOB keys mine 0 UNIQUE k");
    for (int done = 0; !done;)
        assert_int_equal(redisBufferWrite(c, &done), REDIS_OK);
    EVENTUALLY(info_number(other, "unique_retries") - before >= 5);
    tries = info_number(other, "unique_retries") - before;
    if (tries > 3 + (now_ms() - began_ms) / 200)
        fail_msg("%lld tries in %lld ms", tries, now_ms() - began_ms);
    expect_start(other, "-NOREPL", "ADDJOB keys hers 300 UNIQUE k");
    run_sql("rollback");
    assert_int_equal(next_reply(c)[0], '+');
    get_job(c, "keys", "mine");
    expect(c, "+OK", "CONFIG SET lock-patience 1");
    run_sql("begin");
    run_sql("select pgdisque.add_job('keys', 'of the application', unique_key => 'l')");
    expect_start(c, "-LOCKED ", "ADDJOB keys mine 0 UNIQUE l");
    run_sql("rollback");
    assert_int_equal(add_job(c, "keys", "mine", "UNIQUE l")[0], 'D');
    get_job(c, "keys", "mine");
    expect(c, "+OK", "CONFIG SET lock-patience 60");
    redisFree(other);
    redisFree(c);
}

static void send_handover(redisContext *c, const char *id) {
    expect(c, "+OK", "MULTI");
    expect(c, "+QUEUED", "ACKJOB %s", id);
    expect(c, "+QUEUED", "ADDJOB handover mine 0 UNIQUE k");
    later(c, "EXEC");
    for (int done = 0; !done;)
        assert_int_equal(redisBufferWrite(c, &done), REDIS_OK);
}

/* A client transaction with such a key waits as a whole, and is refused as a whole. */
static void test_key_of_a_client_transaction(void **state) {
    redisContext *c = client_open(), *other = client_open();
    const char *id = add_job(c, "handover", "first", "RETRY 600");
    long long before;

    (void)state;
    get_job(c, "handover", "first");
    run_sql("begin");
    run_sql("select pgdisque.add_job('handover', 'of the application', unique_key => 'k')");
    before = info_number(other, "transactions_failed");
    send_handover(c, id);
    EVENTUALLY(info_number(other, "transactions_failed") >= before + 6);
    assert_int_equal(jobs_where("handover", "true"), 1);
    run_sql("rollback");
    assert_string_equal(text_of("%.7s", next_reply(c)), "[:1 +D-");
    get_job(c, "handover", "mine");
    assert_int_equal(jobs_where("handover", "j.body = 'first'"), 0);

    expect(other, "+OK", "CONFIG SET lock-patience 1");
    id = add_job(c, "handover", "second", "RETRY 600");
    expect(c, ":1", "UNLOCK handover k");
    run_sql("begin");
    run_sql("select pgdisque.add_job('handover', 'of the application', unique_key => 'k')");
    send_handover(c, id);
    assert_string_equal(text_of("%.8s", next_reply(c)), "-LOCKED ");
    run_sql("rollback");
    assert_int_equal(jobs_where("handover", "j.body = 'second'"), 1);
    expect(other, "+OK", "CONFIG SET lock-patience 60");
    redisFree(other);
    redisFree(c);
}

/* While a session locks the table against changes, the job that is due waits, and the server goes on. */
static void test_due_job_in_a_locked_table(void **state) {
    redisContext *c = client_open();
    const char *id = add_job(c, "due", "x", "DELAY 1");
    long long before;

    (void)state;
    run_sql("begin");
    run_sql("lock table pgdisque.job in exclusive mode");
    EVENTUALLY(postgres_number(server.database, "select count(*) from pgdisque.job where wake_at < now()") >
               0);
    before = info_number(c, "transactions_failed");
    EVENTUALLY(info_number(c, "transactions_failed") >= before + 20);
    run_sql("rollback");
    assert_non_null(strstr(ask(c, "GETJOB TIMEOUT %d FROM due", (int)patience(EVENTUALLY_MS)), id));
    expect(c, ":1", "ACKJOB %s", id);
    redisFree(c);
}

/* The last delivery of a job ends while a session locks the job. It fails once, however often its death is tried. */
static void test_death_of_a_locked_job(void **state) {
    redisContext *c = client_open();
    long long failed = info_number(c, "jobs_failed") + 1;

    (void)state;
    expect(c, "+OK", "CONFIG SET lock-patience 1");
    (void)add_job(c, "dying", "dying", "RETRY 1 ATTEMPTS 1");
    assert_non_null(strstr(ask(c, "GETJOB FROM dying"), "dying"));
    run_sql("begin");
    run_sql("select from pgdisque.job where body = 'dying' for update");
    EVENTUALLY(info_number(c, "jobs_failed") >= failed);
    HOLDS_FOR(4000, info_number(c, "jobs_failed") == failed);
    run_sql("rollback");
    EVENTUALLY(atoll(queue_field(c, "dying", "dead")) == 1);
    assert_int_equal(info_number(c, "jobs_failed"), failed);
    expect(c, "+OK", "CONFIG SET lock-patience 60");
    redisFree(c);
}

/* A transaction of a client waits, and others do not. */
static void test_transaction(void **state) {
    redisContext *c = client_open(), *other = client_open();
    const char *id = add_job(c, "multi", "x", "");

    (void)state;
    run_sql("begin");
    run_sql("select from pgdisque.job where body = 'x' for update");
    expect(c, "+OK", "MULTI");
    expect(c, "+QUEUED", "ACKJOB %s", id);
    later(c, "EXEC");
    for (int done = 0; !done;)
        assert_int_equal(redisBufferWrite(c, &done), REDIS_OK);
    for (int i = 0; i < 20; i++) {
        others_go_on(other);
        expect(other, "+OK", "MULTI");
        expect(other, "+QUEUED", "ADDJOB multi2 x 0");
        expect_start(other, "[", "EXEC");
    }
    run_sql("rollback");
    expect_next(c, "[:1]");
    redisFree(other);
    redisFree(c);
}

#define LOCKING(fn) cmocka_unit_test_setup_teardown(fn, open_locker, close_locker)

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_command_has_a_line),
        LOCKING(test_job_in_an_open_transaction),
        LOCKING(test_a_locked_job_among_many),
        LOCKING(test_transaction),
        LOCKING(test_key_in_an_open_transaction),
        LOCKING(test_key_of_a_client_transaction),
        LOCKING(test_due_job_in_a_locked_table),
        LOCKING(test_death_of_a_locked_job),
        LOCKING(test_patience),
        LOCKING(test_patience_for_a_new_queue),
        LOCKING(test_schedule_of_a_new_queue),
        LOCKING(test_rows_of_jobs),
        LOCKING(test_rows_of_queues),
        LOCKING(test_table_of_settings),
        LOCKING(test_table_of_jobs),
        LOCKING(test_table_of_queues),
    };

    return RUN_SUITE("contention", tests);
}
