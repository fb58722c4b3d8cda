/* Users and rights against Redis: the same steps at both servers, and the differences that doc/acl.md names. */
#include "fixture.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "moving.h"

/*
 * A step is a letter that names a connection, and a command. A word in quotes may have blanks. Connection a is that of
 * the administrator. Each group of steps begins without users and with new connections.
 */
#define LETTERS 26
#define WORDS_MAX 24

static int ports[2]; /* of our server, and of Redis */

/* The same connection to both servers; NULL: not opened. */
static struct pair { redisContext *ours, *theirs; } pairs[LETTERS];

static struct pair *pair_of(char letter) {
    struct pair *p = &pairs[letter - 'a'];

    if (p->ours == NULL) {
        p->ours = client_open_on(&(struct server){ .port = ports[0] });
        p->theirs = client_open_on(&(struct server){ .port = ports[1] });
    }
    return p;
}

/* ---- steps ---- */

/* Splits the text in place. */
static int split(char *text, const char **words) {
    int count = 0;

    while (*text != '\0') {
        bool quoted = *text == '"';
        char *end = strchr(text + quoted, quoted ? '"' : ' ');

        words[count++] = text + quoted;
        if (end == NULL)
            break;
        *end = '\0';
        text = end + 1;
        while (*text == ' ')
            text++;
    }
    return count;
}

static const char *run(redisContext *c, const char *command) {
    const char *words[WORDS_MAX];
    char text[512];
    int count;

    snprintf(text, sizeof text, "%s", command);
    count = split(text, words);
    assert_int_equal(redisAppendCommandArgv(c, count, words, NULL), REDIS_OK);
    return next_reply(c);
}

/* ---- replies ---- */

static const char *without(const char *text, const char *part) {
    const char *at = strstr(text, part);

    return at == NULL ? text : without(text_of("%.*s%s", (int)(at - text), text, at + strlen(part)), part);
}

/* The kind of a refusal. Redis 7.0 and later versions word it differently. */
static const char *refusal(const char *reply) {
    const char *command = strstr(reply, "the '");

    if (command != NULL)
        return text_of("-NOPERM %s", command);
    return strstr(reply, "channel") != NULL ? "-NOPERM channel" : "-NOPERM key";
}

/* The reply without parts that differ between versions and runs. */
static const char *plain(const char *reply) {
    const char *at;

    if (strncmp(reply, "-NOPERM", 7) == 0)
        return refusal(reply);
    if ((at = strstr(reply, " has no permissions")) != NULL && reply[0] == '"')
        return at;
    if ((at = strstr(reply, " \"age-seconds\"")) != NULL)
        return text_of("%.*s", (int)(at - reply), reply);
    return without(without(reply, " \"sanitize-payload\""), " sanitize-payload");
}

/* Our errors go on with the synopsis. */
static bool is_alike(const char *ours, const char *theirs) {
    return theirs[0] == '-' ? strncmp(ours, theirs, strlen(theirs)) == 0 : strcmp(ours, theirs) == 0;
}

static void both(const char *step) {
    struct pair *p = pair_of(step[0]);
    const char *ours = plain(run(p->ours, step + 2)), *theirs = plain(run(p->theirs, step + 2));

    if (!is_alike(ours, theirs))
        fail_msg("%s\n     ours: %s\n    Redis: %s", step, ours, theirs);
}

static void play(const char *const *steps) {
    for (; *steps != NULL; steps++)
        both(*steps);
}

#define PLAY(...) play((const char *const[]){ __VA_ARGS__, NULL })

/* ---- groups ---- */

static void forget_users(redisContext *c) {
    redisReply *users = redisCommand(c, "ACL USERS");

    assert_non_null(users);
    for (size_t i = 0; i < users->elements; i++)
        freeReplyObject(redisCommand(c, "ACL DELUSER %s", users->element[i]->str));
    freeReplyObject(users);
    freeReplyObject(redisCommand(c, "ACL LOG RESET"));
}

static int begin(void **state) {
    (void)state;
    forget_users(pair_of('a')->ours);
    forget_users(pair_of('a')->theirs);
    return 0;
}

static int end(void **state) {
    (void)state;
    for (int i = 0; i < LETTERS; i++) {
        if (pairs[i].ours == NULL)
            continue;
        redisFree(pairs[i].ours);
        redisFree(pairs[i].theirs);
        pairs[i] = (struct pair){ NULL, NULL };
    }
    return 0;
}

static void test_users_and_passwords(void **state) {
    (void)state;
    PLAY("a ACL WHOAMI", "a ACL USERS", "a ACL LIST", "a ACL SETUSER eva", "a ACL LIST", "a ACL USERS",
         "a ACL SETUSER \"e va\"", "a ACL SETUSER eva >first", "b AUTH eva first", "a ACL SETUSER eva on",
         "b AUTH eva first", "b ACL WHOAMI", "a ACL SETUSER eva +acl >second", "b ACL WHOAMI",
         "b AUTH eva second", "b AUTH eva third", "b ACL WHOAMI", "b AUTH missing first", "b ACL WHOAMI",
         "a ACL SETUSER eva <first", "c AUTH eva first", "c AUTH eva second", "a ACL SETUSER eva <first",
         "a ACL GETUSER eva");
    /* Some hash. */
    PLAY("a ACL SETUSER eva #5d7f1ed76a6cfa0b41b7b7a6b5e4dbd6ac9ea4c5b0b4a2d6ecfc9e8f3cd4a0a1",
         "a ACL SETUSER eva #5d7f",
         "a ACL SETUSER eva #5D7f1ed76a6cfa0b41b7b7a6b5e4dbd6ac9ea4c5b0b4a2d6ecfc9e8f3cd4a0a1",
         "a ACL SETUSER eva !5d7f1ed76a6cfa0b41b7b7a6b5e4dbd6ac9ea4c5b0b4a2d6ecfc9e8f3cd4a0a1",
         "a ACL SETUSER eva !5d7f1ed76a6cfa0b41b7b7a6b5e4dbd6ac9ea4c5b0b4a2d6ecfc9e8f3cd4a0a1",
         "a ACL SETUSER eva nopass", "d AUTH eva anything", "d ACL WHOAMI", "a ACL GETUSER eva",
         "a ACL SETUSER eva resetpass", "e AUTH eva anything", "a ACL SETUSER eva reset", "a ACL GETUSER eva",
         "a ACL GETUSER missing", "e AUTH eva second", "e AUTH onlypassword", "e AUTH default anything",
         "e AUTH one two three", "e HELLO 3 AUTH missing x", "e HELLO 2 AUTH", "e ACL WHOAMI");
}

static void test_rules_of_commands(void **state) {
    (void)state;
    PLAY("a ACL SETUSER eva on nopass ~*", "b AUTH eva x", "b PING", "a ACL SETUSER eva +ping", "b PING",
         "b ECHO x", "a ACL SETUSER eva +@all -ping", "b PING", "b ECHO x", "a ACL GETUSER eva",
         "a ACL SETUSER eva -@all +@list", "b RPUSH l x", "b LRANGE l 0 -1", "b ECHO x",
         "a ACL SETUSER eva +@all -@list", "b RPUSH l x", "b ECHO x", "a ACL GETUSER eva",
         "a ACL SETUSER eva +@all -client", "b CLIENT GETNAME", "a ACL SETUSER eva +client|getname",
         "b CLIENT GETNAME", "b CLIENT LIST", "a ACL GETUSER eva", "a ACL SETUSER eva +@all -client|list",
         "b CLIENT LIST", "b CLIENT GETNAME", "a ACL GETUSER eva",
         "a ACL SETUSER eva -@all +config -config|set", "b CONFIG GET nosuchoption",
         "b CONFIG SET maxmemory 0", "a ACL SETUSER eva -@all +select|0", "b SELECT 0", "b SELECT 1",
         "a ACL GETUSER eva", "a ACL SETUSER eva +select", "a ACL GETUSER eva");
    PLAY("a ACL SETUSER eva +nosuchcommand", "a ACL SETUSER eva -nosuchcommand",
         "a ACL SETUSER eva +@nosuchcategory", "a ACL SETUSER eva +config|nosuch",
         "a ACL SETUSER eva -config|nosuch", "a ACL SETUSER eva +config|get|x",
         "a ACL SETUSER eva -config|get|x", "a ACL SETUSER eva +get|a|b", "a ACL SETUSER eva -get|a",
         "a ACL SETUSER eva +", "a ACL SETUSER eva -", "a ACL SETUSER eva +@", "a ACL SETUSER eva @all",
         "a ACL SETUSER eva nosuchrule", "a ACL GETUSER eva", "a ACL SETUSER eva on +ping nosuchrule +echo",
         "a ACL GETUSER eva", "a ACL SETUSER other +ping nosuchrule", "a ACL GETUSER other");
    PLAY("a ACL SETUSER eva reset +memory|usage", "a ACL GETUSER eva", "a ACL SETUSER eva +memory",
         "a ACL GETUSER eva", "a ACL SETUSER eva -memory|usage", "a ACL GETUSER eva",
         "a ACL SETUSER eva +@all -memory", "a ACL GETUSER eva",
         "a ACL SETUSER eva reset -@all +ping -ping +PING", "a ACL GETUSER eva",
         "a ACL SETUSER eva reset +debug|a +debug|b", "a ACL GETUSER eva", "a ACL SETUSER eva ON",
         "a ACL SETUSER eva skip-sanitize-payload", "a ACL GETUSER eva");
}

static void test_rules_of_keys(void **state) {
    (void)state;
    PLAY("a DEL r:1 w:1 b:1", "a RPUSH r:1 x y", "a ACL SETUSER eva on nopass +@all ~b:* %R~r:* %W~w:*",
         "b AUTH eva x", "b RPUSH b:1 x", "b LRANGE b:1 0 -1", "b LLEN b:1", "b LPOP b:1", "b DEL b:1",
         "b RPUSH w:1 x", "b RPUSH r:1 x", "b LRANGE r:1 0 -1", "b LINDEX r:1 0", "b LPOS r:1 y",
         "b LLEN r:1", "b LRANGE w:1 0 -1", "b LINDEX w:1 0", "b LPOP w:1", "b EXISTS r:1", "b TYPE r:1",
         "b TTL r:1", "b TTL w:1", "b LMOVE w:1 r:1 LEFT LEFT", "b RENAME r:1 w:1", "b RENAME w:1 b:1",
         "b RPUSH none:1 x", "b LLEN none:1", "b BLPOP none:1 0.01", "b WATCH none:1", "b EXISTS b:1 none:1",
         "b BLMPOP 0.01 2 b:1 none:1 LEFT", "b MEMORY USAGE none:1", "a DEL r:1 w:1 b:1");
    PLAY("a ACL SETUSER eva reset ~a ~b ~a %R~b %W~c %R~c %RW~d %R~e", "a ACL GETUSER eva",
         "a ACL SETUSER eva ~* ~f", "a ACL SETUSER eva ~*", "a ACL SETUSER eva ~f",
         "a ACL SETUSER eva resetkeys ~f", "a ACL GETUSER eva", "a ACL SETUSER eva %~f",
         "a ACL SETUSER eva %X~f", "a ACL SETUSER eva %RR~f", "a ACL SETUSER eva %rw~g",
         "a ACL SETUSER eva ~", "a ACL GETUSER eva");
}

static void test_channels(void **state) {
    (void)state;
    PLAY("a ACL SETUSER eva on nopass +@all", "b AUTH eva x", "b PUBLISH n:1 x", "b SUBSCRIBE n:1",
         "b PSUBSCRIBE n:*", "a ACL SETUSER eva &n:1 &p:*", "a ACL GETUSER eva", "b PUBLISH n:1 x",
         "b PUBLISH p:1 x", "b PUBLISH o x", "b MULTI", "b PUBLISH o x", "b EXEC", "b MULTI",
         "b SUBSCRIBE o n:1", "b DISCARD", "b MULTI", "b PSUBSCRIBE o:*", "b DISCARD", "b PSUBSCRIBE p:1",
         "b SUBSCRIBE n:1", "b SUBSCRIBE p:2", "b SUBSCRIBE o", "b PSUBSCRIBE n:1", "b PSUBSCRIBE p:*",
         "a ACL SETUSER eva &*", "a ACL SETUSER eva &x", "a ACL SETUSER eva resetchannels &x",
         "a ACL GETUSER eva", "a ACL SETUSER eva allchannels &y",
         "a CONFIG SET acl-pubsub-default allchannels", "a ACL SETUSER new", "a ACL GETUSER new",
         "a ACL SETUSER newer &x", "a CONFIG SET acl-pubsub-default resetchannels", "a ACL GETUSER new");
}

/* A subscriber that loses a channel is disconnected, and one that keeps its channels is not. */
static void test_revoked_channels(void **state) {
    static const char *const rules[] = { "resetchannels", "resetchannels &other", "resetchannels &s:*",
                                         "off" };

    (void)state;
    PLAY("a ACL SETUSER eva on nopass +@all resetchannels &s:1 &t:*", "b AUTH eva x", "b SUBSCRIBE s:1",
         "b PSUBSCRIBE t:*", "a ACL SETUSER eva resetchannels &s:1 &t:* &more",
         "a ACL SETUSER eva allchannels", "a PUBLISH s:1 x");
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        struct pair *p = pair_of((char)('c' + i));

        PLAY("a ACL SETUSER eva on allchannels resetchannels &s:1 &t:*",
             text_of("%c AUTH eva x", (int)('c' + i)), text_of("%c PSUBSCRIBE t:*", (int)('c' + i)),
             text_of("a ACL SETUSER eva %s", rules[i]));
        assert_string_equal(next_reply(p->ours), "closed");
        if (strcmp(rules[i], "off") != 0)
            assert_string_equal(next_reply(p->theirs), "closed");
    }
}

static void test_selectors(void **state) {
    (void)state;
    PLAY("a DEL in:1 out:1", "a ACL SETUSER eva on nopass", "b AUTH eva x", "b RPUSH out:1 x", "b LLEN in:1",
         "a ACL SETUSER eva (+rpush ~out:*) (+llen ~in:*)", "b RPUSH out:1 x", "b LLEN in:1", "b LLEN out:1",
         "b RPUSH in:1 x", "b PING", "a ACL GETUSER eva", "a ACL LIST", "a ACL SETUSER eva clearselectors",
         "b RPUSH out:1 x", "a ACL GETUSER eva", "a DEL out:1");
    PLAY("a ACL SETUSER eva reset ()", "a ACL GETUSER eva",
         "a ACL SETUSER eva reset \"(~k1 +get )\" \"( ~k2 +get)\"",
         "a ACL SETUSER eva ( ~k3 +get ) (~k4 +get) ( ~k5 +get)", "a ACL GETUSER eva",
         "a ACL SETUSER eva (~* &* +@all)", "a ACL GETUSER eva", "a ACL SETUSER new (nosuchrule)",
         "a ACL SETUSER new (&* &x)", "a ACL SETUSER new (on)", "a ACL SETUSER new (>secret)",
         "a ACL SETUSER new (reset)", "a ACL SETUSER new ((+get))", "a ACL SETUSER new (",
         "a ACL SETUSER new )", "a ACL SETUSER new (+get", "a ACL SETUSER new \" () \"", "a ACL GETUSER new");
    PLAY("a ACL SETUSER eva reset on nopass (%R~in* +@all) (%W~out* +@all)", "c AUTH eva x", "c RPUSH out x",
         "c LRANGE in 0 -1", "c LRANGE out 0 -1", "c RPUSH in x", "c LMOVE in out LEFT LEFT",
         "c LMOVE out in LEFT LEFT",
         "a ACL SETUSER eva reset off +get %R~f1 %W~b1 ~z1 &c1 (-@all +set %R~f2 %W~b2 ~z2 &c2)",
         "a ACL GETUSER eva", "a ACL LIST", "a DEL out");
}

static size_t log_entries(redisContext *c) {
    redisReply *entries = redisCommand(c, "ACL LOG 100");
    size_t count = entries->elements;

    freeReplyObject(entries);
    return count;
}

static void test_log(void **state) {
    (void)state;
    PLAY("a ACL SETUSER eva on >secret +llen +rpush +multi +exec +publish ~own", "b AUTH eva secret",
         "b GET own", "a ACL LOG 1", "b GET own", "b GET own", "a ACL LOG 1", "b LLEN strange", "a ACL LOG 1",
         "b PUBLISH news x", "a ACL LOG 1", "b CONFIG GET x", "a ACL LOG 1", "b SCRIPT HELP", "a ACL LOG 1",
         "b MULTI", "b LPUSH own x", "a ACL LOG 1", "b EXEC", "b AUTH eva wrong", "a ACL LOG 1",
         "b hello 2 AUTH eva wrong", "a ACL LOG 1", "b ACL WHOAMI", "a ACL LOG 1", "a ACL LOG RESET",
         "a ACL LOG", "a ACL LOG -1", "a ACL LOG 0");
    PLAY("a ACL SETUSER eva +exists (+exists ~own ~more)", "b EXISTS more strange", "a ACL LOG 1",
         "b EXISTS own more strange", "a ACL LOG 1", "a CONFIG SET acllog-max-len 2", "b LLEN s1",
         "b LLEN s2", "b LLEN s3", "a CONFIG SET acllog-max-len 128");
    assert_int_equal(log_entries(pair_of('a')->ours), 2);
    assert_int_equal(log_entries(pair_of('a')->theirs), 2);
}

static void test_dryrun(void **state) {
    (void)state;
    PLAY("a ACL SETUSER eva +@all %R~r* %W~w* %RW~b* &news", "a ACL DRYRUN eva LLEN r",
         "a ACL DRYRUN eva LRANGE w 0 1", "a ACL DRYRUN eva RPUSH w x", "a ACL DRYRUN eva RPUSH r x",
         "a ACL DRYRUN eva LPOP b", "a ACL DRYRUN eva LPOP w", "a ACL DRYRUN eva DEL b",
         "a ACL DRYRUN eva DEL r", "a ACL DRYRUN eva RENAME b1 b2", "a ACL DRYRUN eva RENAME w b",
         "a ACL DRYRUN eva LMOVE b w LEFT LEFT", "a ACL DRYRUN eva LMOVE w r LEFT LEFT",
         "a ACL DRYRUN eva MSET b1 1 b2 2", "a ACL DRYRUN eva MSET b1 1 r 2", "a ACL DRYRUN eva MGET r b",
         "a ACL DRYRUN eva MGET r w", "a ACL DRYRUN eva GET w", "a ACL DRYRUN eva EXISTS r none",
         "a ACL DRYRUN eva TOUCH none", "a ACL DRYRUN eva TYPE none", "a ACL DRYRUN eva MEMORY USAGE none",
         "a ACL DRYRUN eva BLMPOP 0 2 b w LEFT", "a ACL DRYRUN eva PUBLISH news x",
         "a ACL DRYRUN eva PUBLISH other x", "a ACL DRYRUN eva SUBSCRIBE news other",
         "a ACL DRYRUN eva PSUBSCRIBE new*", "a ACL DRYRUN eva UNSUBSCRIBE other");
    PLAY("a ACL DRYRUN eva SET b", "a ACL DRYRUN eva SET", "a ACL DRYRUN eva NOSUCH",
         "a ACL DRYRUN missing PING", "a ACL DRYRUN eva CONFIG", "a ACL DRYRUN eva CONFIG NOSUCH",
         "a ACL DRYRUN eva CLIENT KILL", "a ACL DRYRUN eva CLIENT SETNAME", "a ACL DRYRUN eva ACL WHOAMI x",
         "a ACL DRYRUN eva AUTH x", "a ACL SETUSER eva -@all", "a ACL DRYRUN eva CONFIG GET x",
         "a ACL DRYRUN eva PING", "a ACL DRYRUN eva GET b", "a ACL DRYRUN eva AUTH x",
         "a ACL SETUSER eva +@read", "a ACL DRYRUN eva EVAL_RO x 0", "a ACL DRYRUN eva EVALSHA_RO x 0");
}

static void test_errors(void **state) {
    (void)state;
    PLAY("a ACL", "a ACL WHOAMI x", "a ACL HELP x", "a ACL DELUSER", "a ACL DELUSER default",
         "a ACL DELUSER missing", "a ACL GETUSER", "a ACL SETUSER", "a ACL CAT nosuch", "a ACL GENPASS -5",
         "a ACL GENPASS 5000", "a ACL GENPASS 0", "a ACL GENPASS x", "a ACL DRYRUN", "a ACL DRYRUN missing",
         "a ACL LOG x");
}

static void test_default_user(void **state) {
    (void)state;
    PLAY("a ACL SETUSER eva on >secret +@all ~*", "a ACL SETUSER default off", "a ACL WHOAMI",
         "b AUTH eva secret", "b PING", "a ACL SETUSER default on", "b ACL DELUSER missing", "a PING");
}

/* ---- differences ---- */

/* Steps whose replies differ on purpose. */
static const struct difference {
    const char *step, *ours, *theirs;
} differences[] = {
    /* Reading takes elements, and writing adds them. In Redis, LPOP and the source of LMOVE need both. */
    { "a ACL DRYRUN eva LPOP r", "+OK", " has no permissions to access the 'r' key\"" },
    { "a ACL DRYRUN eva LMOVE r w LEFT LEFT", "+OK", " has no permissions to access the 'r' key\"" },
    { "a ACL DRYRUN eva BLPOP r 0", "+OK", " has no permissions to access the 'r' key\"" },
    /* Lengths and types are read. In Redis, any right is enough. */
    { "a ACL DRYRUN eva LLEN w", " has no permissions to access the 'w' key\"", "+OK" },
    { "a ACL DRYRUN eva EXISTS w", " has no permissions to access the 'w' key\"", "+OK" },
    { "a ACL DRYRUN eva TYPE w", " has no permissions to access the 'w' key\"", "+OK" },
    { "a ACL DRYRUN eva MEMORY USAGE w", " has no permissions to access the 'w' key\"", "+OK" },
    /* Changes of a list that others have filled need both. In Redis, they need the right to write. */
    { "a ACL DRYRUN eva DEL w", " has no permissions to access the 'w' key\"", "+OK" },
    { "a ACL DRYRUN eva LSET w 0 x", " has no permissions to access the 'w' key\"", "+OK" },
    { "a ACL DRYRUN eva LREM w 0 x", " has no permissions to access the 'w' key\"", "+OK" },
    { "a ACL DRYRUN eva EXPIRE w 5", " has no permissions to access the 'w' key\"", "+OK" },
    { "a ACL DRYRUN eva SET w x", " has no permissions to access the 'w' key\"", "+OK" },
    { "a ACL DRYRUN eva BITFIELD r GET u4 0", " has no permissions to access the 'r' key\"", "+OK" },
    /* A script has the rights of the command that it becomes, and no script is run. */
    { "a ACL DRYRUN eva EVAL x 1 r", "+OK", " has no permissions to access the 'r' key\"" },
    /* A pattern needs its mark. */
    { "a ACL SETUSER eva %R", "-ERR Error in ACL SETUSER modifier '%R': Syntax error", "+OK" },
};

static void test_differences(void **state) {
    (void)state;
    PLAY("a ACL SETUSER eva +@all %R~r* %W~w*");
    for (size_t i = 0; i < sizeof differences / sizeof *differences; i++) {
        const struct difference *d = &differences[i];

        assert_string_equal(plain(run(pair_of('a')->ours, d->step + 2)), d->ours);
        assert_string_equal(plain(run(pair_of('a')->theirs, d->step + 2)), d->theirs);
    }
}

/* EXEC does nothing if a right was lost. Redis runs the other commands. */
static void test_lost_right_in_a_transaction(void **state) {
    struct pair *b = pair_of('b');

    (void)state;
    PLAY("a DEL own", "a ACL SETUSER eva on nopass +@all ~own", "b AUTH eva x", "b MULTI", "b RPUSH own x",
         "b LLEN own", "a ACL SETUSER eva -llen");
    assert_memory_equal(run(b->ours, "EXEC"), "-EXECABORT Transaction discarded because of: NOPERM", 50);
    assert_memory_equal(run(b->theirs, "EXEC"), "[:1 -NOPERM", 11);
    assert_string_equal(run(pair_of('a')->ours, "LLEN own"), ":0");
    freeReplyObject(redisCommand(pair_of('a')->theirs, "DEL own"));
}

/* `off` ends the connections of the user. In Redis they stay. */
static void test_user_that_is_off(void **state) {
    struct pair *b = pair_of('b');

    (void)state;
    PLAY("a ACL SETUSER eva on nopass +@all", "b AUTH eva x", "a ACL SETUSER eva off", "c AUTH eva x");
    assert_string_equal(run(b->ours, "PING"), "closed");
    assert_string_equal(run(b->theirs, "PING"), "+PONG");
}

static int start(void **state) {
    redisContext *theirs, *ours;

    (void)state;
    moving_open(&theirs, &ours);
    ports[0] = ours->tcp.port;
    ports[1] = theirs->tcp.port;
    return moving_close(theirs, ours);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_users_and_passwords),
        TEST(test_rules_of_commands),
        TEST(test_rules_of_keys),
        TEST(test_channels),
        TEST(test_revoked_channels),
        TEST(test_selectors),
        TEST(test_log),
        TEST(test_dryrun),
        TEST(test_errors),
        TEST(test_default_user),
        TEST(test_differences),
        TEST(test_lost_right_in_a_transaction),
        TEST(test_user_that_is_off),
    };

    return RUN_SUITE_WITH("users against Redis", tests, start, NULL);
}
