/* Every command as five users: each user may do as much as its rights allow. A command without a row fails the test. */
#include "fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/command_spec.h"

/* The users: without a login; with %R~shop:*; with %W~shop:*; with other queues; with all rights. */
#define USERS(X)        \
    X(STRANGER, "")     \
    X(READER, "reader") \
    X(WRITER, "writer") \
    X(OTHER, "other")   \
    X(MANAGER, "manager")

enum {
#define X(id, name) id,
    USERS(X)
#undef X
        USER_COUNT
};

static const char *const user_names[] = {
#define X(id, name) name,
    USERS(X)
#undef X
};

/* A queue of Laravel. */
#define LARAVEL "shop:queues:q"

/*
 * A call, and the class of its reply for each user. $ID is a job of shop:q.
 * A: NOAUTH. P: NOPERM. O: any other reply. U: the reply is that for the ID of a deleted job, and the job is
 * unchanged. H: no error, and the reply names no queue of the shop. -: the call is not made.
 */
static const struct row {
    const char *call;
    const char classes[USER_COUNT + 1];
} rows[] = {
    { "ADDJOB shop:q x 0", "APOPO" },
    { "ADDJOB shop:q x 0 UNIQUE k", "APOPO" },
    { "ADDJOB shop:q x 0 UNIQUE k REPLACE", "APPPO" },
    { "ADDJOB shop:q x 0 AFTER $ID", "APUPO" },
    { "ADDJOB shop:q x 0 BATCH $ID", "APUPO" },
    { "ADDJOBS shop:q 0 JOBS 2 x y", "APOPO" },
    { "ADDJOBS shop:q 0 AFTER $ID JOBS 2 x y", "APUPO" },
    { "UNLOCK shop:q k", "APOPO" },
    { "ADDJOB shop:q x 0 RETRY 9 ATTEMPTS 2 DEADQUEUE else:dead", "APPPO" },
    { "ADDJOB else:q x 0 RETRY 9 ATTEMPTS 2 DEADQUEUE shop:q", "APPP-" },
    { "GETJOB NOHANG FROM shop:q", "AOPPO" },
    { "GETJOB NOHANG FROM else:q shop:q", "APPPO" },
    { "GETJOB NOHANG FROM *", "AOHHO" },
    { "GETJOB NOHANG FROM shop:?", "AOHHO" },
    { "ACKJOB $ID", "AOUUO" },
    { "FASTACK $ID", "AOUUO" },
    { "DELJOB $ID", "AOUUO" },
    { "CANCEL $ID", "AOUUO" },
    { "NACK $ID", "AOUUO" },
    { "ENQUEUE $ID", "AOUUO" },
    { "DEQUEUE $ID", "AOUUO" },
    { "WORKING $ID", "AOUUO" },
    { "REPRIORITIZE 7 $ID", "AOUUO" },
    { "SHOW $ID", "AOUUO" },
    { "WAITJOB $ID TIMEOUT 1", "AOUUO" },
    { "WAITJOB $ID $ID TIMEOUT 1", "AOUUO" },
    { "WAITJOB $ID ANY TIMEOUT 1", "AOUUO" },
    { "PREDECESSORS $ID", "AOUUO" },
    { "BATCH NEW shop:q", "APOPO" },
    { "BATCH SHOW $ID", "AOUUO" },
    { "BATCH CLOSE $ID", "AOUUO" },
    { "BATCH CANCEL $ID", "AOUUO" },
    { "REVIVE shop:q", "APPPO" },
    { "REVIVE else:q TO shop:q", "APPPO" },
    { "DELDEAD shop:q", "APPPO" },
    { "REVIVE shop:q HEADER tenant *", "APPPO" },
    { "DELDEAD shop:q HASHEADER tenant", "APPPO" },
    { "EDITDEAD $ID BODY x", "APUUO" },
    { "WORKERS", "AOHHO" },
    { "WORKERS shop:q", "AOPPO" },
    { "WORKERS JOBS holder", "AOHHO" },
    { "RELEASE WORKER holder", "AOHHO" },
    { "LOADJOB x", "AOOOO" },
    { "QLEN shop:q", "AOPPO" },
    { "QSTAT shop:q", "AOPPO" },
    { "HISTORY shop:q DAYS", "AOPPO" },
    { "HISTORY", "APPPO" },
    { "QPEEK shop:q 1", "AOPPO" },
    { "QSCAN 0 COUNT 1000", "AOHHO" },
    { "QSCAN BUSYLOOP", "AOHHO" },
    { "QSCAN ORDER len", "AOHHO" },
    { "JSCAN 0 COUNT 1000 REPLY all", "AOHHO" },
    { "JSCAN 0 QUEUE shop:q", "AOPPO" },
    { "JSCAN 0 COUNT 1000 REPLY all HASHEADER tenant", "AOHHO" },
    { "JSCAN 0 QUEUE shop:q HEADER tenant *", "AOPPO" },
    { "JSCAN 0 QUEUE shop:q ERROR *", "AOPPO" },
    { "JSCAN STATE waiting BUSYLOOP REPLY all", "AOHHO" },
    { "JSCAN STATE waiting QUEUE shop:q", "AOPPO" },
    { "JSCAN STATE dead ORDER newest REPLY all", "AOHHO" },
    { "JSCAN STATE dead ORDER newest QUEUE shop:q", "AOPPO" },
    { "PAUSE shop:q state", "APPPO" },
    { "QCONFIG shop:q GET", "APPPO" },
    { "QCONFIG shop:q SET rate 0", "APPPO" },
    { "QCONFIG else:q SET deadqueue shop:q", "APPP-" },
    { "LPUSH shop:l x", "APOPO" },
    { "RPUSH shop:l x", "APOPO" },
    { "LPUSHX shop:l x", "APOPO" },
    { "RPUSHX shop:l x", "APOPO" },
    { "LPOP shop:l", "AOPPO" },
    { "RPOP shop:l", "AOPPO" },
    { "LMPOP 1 shop:l LEFT", "AOPPO" },
    { "BLPOP shop:l 0.01", "AOPPO" },
    { "BRPOP shop:l 0.01", "AOPPO" },
    { "BLMPOP 0.01 1 shop:l LEFT", "AOPPO" },
    { "RPOPLPUSH shop:l shop:m", "APPPO" },
    { "RPOPLPUSH else:l shop:l", "APPPO" },
    { "LMOVE shop:l else:l LEFT LEFT", "APPPO" },
    { "BRPOPLPUSH shop:l shop:m 0.01", "APPPO" },
    { "BLMOVE else:l shop:l LEFT LEFT 0.01", "APPPO" },
    { "LLEN shop:l", "AOPPO" },
    { "LINDEX shop:l 0", "AOPPO" },
    { "LRANGE shop:l 0 1", "AOPPO" },
    { "LPOS shop:l x", "AOPPO" },
    { "LREM shop:l 1 y", "APPPO" },
    { "LSET shop:l 0 x", "APPPO" },
    { "LTRIM shop:l 0 9", "APPPO" },
    { "SCHEDULE shop:s @hourly shop:q x", "APOPO" },
    { "SCHEDULE shop:s @hourly shop:q x OVERLAP replace", "APPPO" },
    { "SCHEDULE shop:s @hourly else:q x", "APPPO" },
    { "RUNSCHEDULE shop:s", "APOPO" },
    { "UNSCHEDULE shop:s", "AHOHO" },
    { "SCHEDULES", "AOOHO" },
    { "EXISTS shop:q", "AOPPO" },
    { "TOUCH shop:q", "AOPPO" },
    { "TYPE shop:q", "AOPPO" },
    { "KEYS *", "AOHHO" },
    { "SCAN 0 COUNT 1000", "AOHHO" },
    { "RANDOMKEY", "AOHHO" },
    { "DBSIZE", "AOHHO" },
    { "DEL shop:z", "APPPO" },
    { "UNLINK shop:z", "APPPO" },
    { "RENAME shop:l shop:m", "APPPO" },
    { "RENAME else:l shop:m", "APPPO" },
    { "RENAMENX shop:l shop:m", "APPPO" },
    { "EXPIRE shop:q 9999", "APPPO" },
    { "PEXPIRE shop:q 9999000", "APPPO" },
    { "EXPIREAT shop:q 4000000000", "APPPO" },
    { "PEXPIREAT shop:q 4000000000000", "APPPO" },
    { "TTL shop:q", "AOPPO" },
    { "PTTL shop:q", "AOPPO" },
    { "EXPIRETIME shop:q", "AOPPO" },
    { "PEXPIRETIME shop:q", "AOPPO" },
    { "PERSIST shop:q", "APPPO" },
    { "MEMORY USAGE shop:q", "AOPPO" },
    { "OBJECT ENCODING shop:q", "AOPPO" },
    { "GET stat:shop", "APPPO" },
    { "SET stat:shop 1", "APPPO" },
    { "MGET stat:shop", "APPPO" },
    { "MGET stat:else stat:shop", "APPPO" },
    { "MSET stat:shop 1", "APPPO" },
    { "MSET stat:else 1 stat:shop 2", "APPPO" },
    { "INCRBY stat:shop 1", "APPPO" },
    { "BITFIELD h|held INCRBY u16 #0 1", "APPPO" },
    { "BITFIELD_RO h|held GET u16 #0", "APPPO" },
    { "HSET j|held a 1", "APPPO" },
    { "HMSET j|held a 1", "APPPO" },
    { "HSETNX j|held a 1", "APPPO" },
    { "HINCRBY j|held b 1", "APPPO" },
    { "HGET j|held a", "APPPO" },
    { "HMGET j|held a", "APPPO" },
    { "HGETALL j|held", "APPPO" },
    { "SADD processes a", "APPPO" },
    { "SREM processes b", "APPPO" },
    { "SMEMBERS processes", "APPPO" },
    { "SISMEMBER processes a", "APPPO" },
    { "SCARD processes", "APPPO" },
    { "SSCAN processes 0", "APPPO" },
    { "ZADD schedule 4000000000 {\"queue\":\"held\"}", "APPPO" },
    { "ZINCRBY schedule 1 {\"queue\":\"held\"}", "APPPO" },
    { "ZREM schedule x", "APPPO" },
    { "ZREMRANGEBYSCORE schedule 1 2", "APPPO" },
    { "ZREMRANGEBYRANK schedule 0 0", "APPPO" },
    { "ZPOPMIN retry", "APPPO" },
    { "ZCARD schedule", "APPPO" },
    { "ZRANGE schedule 0 1", "APPPO" },
    { "ZREVRANGE schedule 0 1", "APPPO" },
    { "ZRANGEBYSCORE schedule 1 2", "APPPO" },
    { "ZSCAN schedule 0", "APPPO" },
    { "SADD shop:queues x", "APPPO" },
    { "SMEMBERS shop:queues", "AOPPO" },
    { "HELLO 2", "AOOOO" },
    { "PING", "AOOOO" },
    { "ECHO x", "AOOOO" },
    { "AUTH reader secret", "OOOOO" },
    { "SELECT 0", "AOOOO" },
    { "RESET", "OOOOO" },
    { "QUIT", "OOOOO" },
    { "CLIENT GETNAME", "AOOOO" },
    { "MULTI", "AOOOO" },
    { "EXEC", "AOOOO" },
    { "DISCARD", "AOOOO" },
    { "WATCH shop:q", "AOPPO" },
    { "UNWATCH", "AOOOO" },
    { "SUBSCRIBE shop:c", "AOOPO" },
    { "PSUBSCRIBE shop:*", "AOOPO" },
    { "SUBSCRIBE __cancel__:shop:q", "AOOPO" },
    { "SUBSCRIBE __job__:shop:q", "AOOPO" },
    { "UNSUBSCRIBE", "AOOOO" },
    { "PUNSUBSCRIBE", "AOOOO" },
    { "PUBLISH shop:c x", "AOOPO" },
    { "PUBSUB CHANNELS", "AOOHO" },
    { "EVAL x 1 shop:q", "AOOOO" },
    { "EVAL_RO x 1 shop:q", "AOOOO" },
    { "EVALSHA x 1 shop:q", "AOOOO" },
    { "EVALSHA_RO x 1 shop:q", "AOOOO" },
    { "EVALSHA 249269d94f90c85be8630a56564ef51c1b3b851b 1 shop:l", "AOPPO" },     /* LLEN */
    { "EVALSHA 4e92c9c2943985bb6b3ac9a3ecfdd7e9255d4b92 2 shop:l x y", "APOPO" }, /* RPUSH */
    { "EVALSHA b9af23c13eeefc2ae7a9375fe3d3645e2e9c9fc8 1 shop:l 1", "AOPPO" },   /* LPOP */
    { "EVALSHA f024d38f3b8ceec15a07369746e81089c1f100a0 1 shop:l", "AOPPO" },     /* LLEN */
    { "EVALSHA_RO f024d38f3b8ceec15a07369746e81089c1f100a0 1 shop:l", "AOPPO" },
    { "EVALSHA 1e9bc71bb4e219f149f84b07a80e1d52bec74ff0 3 " LARAVEL " " LARAVEL ":delayed " LARAVEL
      ":reserved",
      "AOPPO" }, /* QLEN */
    { "EVALSHA c6c3b5e015599b1d21ebdfdfd21297861f6b481f 4 " LARAVEL " " LARAVEL ":delayed " LARAVEL
      ":reserved " LARAVEL ":notify",
      "APPPO" },                                                                               /* DEL */
    { "EVALSHA c506d1d18588be7d128d961378675f2ef46fd856 1 " LARAVEL ":delayed 0 x", "APOPO" }, /* ADDJOB */
    { "EVALSHA 230148430cb441a76f6486ae084405a674e00385 3 " LARAVEL " " LARAVEL ":reserved " LARAVEL
      ":notify 5000000000",
      "AOPPO" }, /* GETJOB */
    { "EVALSHA 9459425458c937631eb364f1903eea127fb42402 2 " LARAVEL ":delayed " LARAVEL ":reserved $ID 0",
      "AOUUO" }, /* NACK */
    { "EVALSHA 9459425458c937631eb364f1903eea127fb42402 2 else:queues:q:delayed else:queues:q:reserved $ID 0",
      "AOUUO" },
    /* These do nothing. */
    { "EVALSHA e83091beb663b6b1b0f53f78cd4d09c4e7b3fddf 3 shop:q x y z", "AOOOO" },
    { "EVALSHA b43839a5eeb2b59b4245b4ab84848b14e782d82d 3 shop:q x y z 1", "AOOOO" },
    { "EVALSHA f4a8a5467f9f4697a26fdfb839476b9ee52e897c 1 shop:q 1", "AOOOO" },
    { "EVALSHA 000a4c2f82df69db1780053377a2c9b0741570e0 1 shop:q 1", "AOOOO" },
    { "SCRIPT EXISTS x", "AOOOO" },
    { "INFO", "APPPO" },
    { "METRICS", "APPPO" },
    { "COMMAND COUNT", "AOOOO" },
    { "ACL WHOAMI", "AOOOO" },
    { "CONFIG GET port", "APPPO" },
    { "TIME", "AOOOO" },
    { "LASTSAVE", "APPPO" },
    { "WAIT 0 0", "AOOOO" },
    { "MONITOR", "APPPO" },
    { "SLOWLOG LEN", "APPPO" },
    { "LATENCY LATEST", "APPPO" },
    { "DOCTOR", "APPPO" },
    { "HEALTH", "AOOOO" },
    { "DEBUG SLEEP 0", "APPPO" },
    { "ROLE", "APPPO" },
    { "SHUTDOWN", "APPP-" },
    { "BGREWRITEAOF", "APPPO" },
    { "CLUSTER MYID", "AOOOO" },
};

static redisContext *manager;
static const char *gone_id;

static redisContext *log_in(int user) {
    redisContext *c = client_open();

    if (user != STRANGER)
        expect(c, "+OK", "AUTH %s secret", user_names[user]);
    return c;
}

/* The text with `to` in place of each `from`. */
static const char *replaced(const char *text, const char *from, const char *to) {
    const char *at = strstr(text, from);

    return at == NULL
               ? text
               : text_of("%.*s%s%s", (int)(at - text), text, to, replaced(at + strlen(from), from, to));
}

/* The reply, valid for good. */
static char *reply_as(int user, const char *call) {
    redisContext *c = log_in(user);
    char *reply = strdup(ask(c, call));

    redisFree(c);
    return reply;
}

static bool starts_with(const char *text, const char *start) {
    return strncmp(text, start, strlen(start)) == 0;
}

/* True if the call does not change a queued job. Then the test uses a delayed job. */
static bool is_delayed(const char *call) {
    return starts_with(call, "NACK") || starts_with(call, "ENQUEUE");
}

static bool is_as_of_gone_job(int user, const char *call, const char *reply, const char *id) {
    char *gone = reply_as(user, replaced(call, "$ID", gone_id));
    bool same = strcmp(replaced(gone, gone_id, "$ID"), replaced(reply, id, "$ID")) == 0;

    free(gone);
    return same && strcmp(job_field(manager, id, "delay"), is_delayed(call) ? "500" : "0") == 0 &&
           strcmp(job_field(manager, id, "state"), is_delayed(call) ? "active" : "queued") == 0 &&
           strcmp(job_field(manager, id, "nacks"), "0") == 0;
}

static bool reply_fits(int user, const struct row *row, const char *reply, const char *id) {
    bool noauth = starts_with(reply, "-NOAUTH"), noperm = starts_with(reply, "-NOPERM");

    switch (row->classes[user]) {
    case 'A':
        return noauth;
    case 'P':
        return noperm;
    case 'U':
        return is_as_of_gone_job(user, row->call, reply, id);
    case 'H':
        return reply[0] != '-' && strstr(reply, "shop:") == NULL;
    default:
        return !noauth && !noperm;
    }
}

/* False after a message about a reply of another class. */
static bool try_call(const struct row *row, int user) {
    const char *id = add_job(manager, "shop:q", "x", is_delayed(row->call) ? "DELAY 500" : "RETRY 0");
    bool fits;
    char *reply;

    expect_start(manager, ":", "LPUSH shop:l x");
    if (strstr(row->call, "SCHEDULE") != NULL)
        expect(manager, "+OK", "SCHEDULE shop:s @hourly shop:q x");
    reply = reply_as(user, replaced(row->call, "$ID", id));
    fits = reply_fits(user, row, reply, id);
    if (!fits)
        print_error("%s as user '%s', class %c: %s\n", row->call, user_names[user], row->classes[user],
                    reply);
    free(reply);
    return fits;
}

static void test_every_row(void **state) {
    int wrong = 0;

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int user = 0; user < USER_COUNT; user++)
            wrong += rows[i].classes[user] != '-' && !try_call(&rows[i], user);
    assert_int_equal(wrong, 0);
}

static bool has_row(const char *name) {
    size_t len = strlen(name);

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strncasecmp(rows[i].call, name, len) == 0 && strchr(" ", rows[i].call[len]) != NULL)
            return true;
    return false;
}

static void test_every_command_has_a_row(void **state) {
    static const char *const names[] = {
#define CMD(id, name, ...) name,
#include "commands/commands.def"
#undef CMD
    };

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!has_row(names[i]))
            fail_msg("%s has no row in the matrix of rights", names[i]);
}

/* A script has the rights of the command that does its work. */
static void test_every_script_has_a_row(void **state) {
    static const char *const hashes[] = {
#define SCRIPT(sha1, ...) sha1,
#define SCRIPT_BY(sha1, ...) sha1,
#include "commands/scripts.def"
#undef SCRIPT
#undef SCRIPT_BY
    };

    (void)state;
    for (size_t i = 0; i < sizeof hashes / sizeof *hashes; i++)
        if (!has_row(text_of("EVALSHA %s", hashes[i])))
            fail_msg("the script %s has no row in the matrix of rights", hashes[i]);
}

/* Subcommands of operators are refused to other users, and the others are not. */
static void test_every_subcommand(void **state) {
    static const struct {
        const char *command, *name;
        unsigned flags;
    } subs[] = {
#define SUBCOMMAND(command, name, arity, flags) { #command, name, flags },
#include "commands/subcommands.def"
#undef SUBCOMMAND
    };

    (void)state;
    for (size_t i = 0; i < sizeof subs / sizeof *subs; i++) {
        const char *call = text_of("%s %s", subs[i].command, subs[i].name);
        char *reply = reply_as(READER, call), *unknown = reply_as(STRANGER, call);

        if (starts_with(reply, "-NOPERM") != ((subs[i].flags & CMD_ADMIN) != 0) ||
            !starts_with(unknown, "-NOAUTH"))
            fail_msg("%s: %s, and without a login %s", call, reply, unknown);
        free(reply);
        free(unknown);
    }
}

/* The first connection is that of the default user, until the default user has a password. */
static int make_users(void **state) {
    redisContext *c;

    (void)state;
    c = client_open();
    expect(c, "+OK", "ACL SETUSER manager on >secret ~* &* +@all");
    expect(c, "+OK", "ACL SETUSER reader on >secret %%R~shop:* &* +@all -@admin");
    expect(c, "+OK", "ACL SETUSER writer on >secret %%W~shop:* &* +@all -@admin");
    expect(c, "+OK", "ACL SETUSER other on >secret ~else:* ~stat:else &else:* +@all -@admin");
    expect(c, "+OK", "ACL SETUSER default resetpass >another");
    redisFree(c);
    manager = log_in(MANAGER);
    expect(manager, "+OK", "CLIENT SETNAME holder");
    add_job(manager, "shop:held", "x", "RETRY 9999 TTL 99999");
    get_job(manager, "shop:held", "x");
    gone_id = add_job(manager, "shop:q", "x", "RETRY 0");
    expect(manager, ":1", "DELJOB %s", gone_id);
    return 0;
}

static int drop_users(void **state) {
    (void)state;
    expect(manager, "+OK", "ACL SETUSER default nopass");
    redisFree(manager);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_command_has_a_row),
        cmocka_unit_test(test_every_script_has_a_row),
        cmocka_unit_test(test_every_row),
        cmocka_unit_test(test_every_subcommand),
    };

    return RUN_SUITE_WITH("rights_matrix", tests, make_users, drop_users);
}
