/* Another host becomes the primary: nothing that was answered is lost, nothing is done twice. */
#include "fixture.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "standby.h"

/* Until a host that has been promoted is found, and the connections are there. */
#define MOVED_MS 20000

static struct postgres primary, standby;
static struct server mover;

/* Each test has a pair of its own, because a promoted standby stays a primary. The server tries the primary first. */
static void start_pair(bool synchronous) {
    const char *database;

    primary_start(&primary);
    standby_start(&standby, &primary);
    if (synchronous)
        primary_waits_for(&primary, STANDBY_NAME);
    database = strstr(postgres_conninfo(&primary, NULL), "dbname=");
    server_start(&mover,
                 forever(text_of("host=%s,%s user=postgres target_session_attrs=read-write %s", primary.dir,
                                 standby.dir, database)),
                 NULL);
}

static int stop_pair(void **state) {
    pid_t sender = primary.pid ? walsender(&primary) : 0;

    (void)state;
    if (sender > 0)
        kill(sender, SIGCONT);
    if (mover.pid && server_stop(&mover) != 0)
        return -1;
    postgres_stop(&standby, true);
    postgres_stop(&primary, true);
    return 0;
}

static bool is_on(redisContext *c, const struct postgres *pg_there) {
    return strstr(ask(c, "INFO pgdisque"), text_of("database_host:%s\\x0d", pg_there->dir)) != NULL;
}

static bool is_logged(const char *text) {
    return file_contains(mover.log, text);
}

/* ---- load ---- */

#define ADDERS 6
#define JOBS_EACH 300
#define JOBS (ADDERS * JOBS_EACH)

/* A client that sends its next command after the reply to the last one. */
struct adder {
    struct wire wire;
    int sent, answered;
};

static struct adder adders[ADDERS];

static void open_adders(void) {
    for (int i = 0; i < ADDERS; i++) {
        adders[i] = (struct adder){ 0 };
        raw_open_on(&adders[i].wire, &mover);
    }
}

static void close_adders(void) {
    for (int i = 0; i < ADDERS; i++)
        wire_close(&adders[i].wire);
}

static void take_answer(struct adder *a) {
    struct value *v = wire_reply(&a->wire, 5000);

    assert_non_null(v);
    if (v->type != '+')
        fail_msg("ADDJOB: -%s", v->text);
    value_free(v);
    a->answered++;
}

/* Every third job may be delivered only once. */
static void step(int i) {
    struct adder *a = &adders[i];

    if (a->answered < a->sent) {
        if (!wire_pending(&a->wire))
            return;
        take_answer(a);
    }
    if (a->sent == JOBS_EACH)
        return;
    wire_words(&a->wire, "ADDJOB", "moving", text_of("%d", i * JOBS_EACH + a->sent), "0", "RETRY",
               a->sent % 3 == 0 ? "0" : "600", NULL);
    a->sent++;
}

static int answered(void) {
    int sum = 0;

    for (int i = 0; i < ADDERS; i++)
        sum += adders[i].answered;
    return sum;
}

static void add_until(int count) {
    int64_t end = now_ms() + patience(MOVED_MS);

    while (answered() < count) {
        if (now_ms() > end)
            fail_msg("stuck at %d answers", answered());
        for (int i = 0; i < ADDERS; i++)
            step(i);
    }
}

static char seen[JOBS];

/* Takes a job and acknowledges it. False if there is none. */
static bool take_one(redisContext *c) {
    redisReply *r = redisCommand(c, "GETJOB NOHANG FROM moving");
    bool found = r != NULL && r->type == REDIS_REPLY_ARRAY;

    if (r == NULL)
        fail_msg("GETJOB: %s", c->errstr);
    if (found) {
        seen[atoi(r->element[0]->element[2]->str)]++;
        expect(c, ":1", "ACKJOB %s", r->element[0]->element[1]->str);
    }
    freeReplyObject(r);
    return found;
}

static void take(redisContext *c, int count) {
    for (int i = 0; i < count; i++)
        if (!take_one(c))
            fail_msg("nothing after %d jobs", i);
}

static void check_all_seen_once(redisContext *c) {
    while (take_one(c))
        continue;
    for (int i = 0; i < JOBS; i++)
        if (seen[i] != 1)
            fail_msg("job %d was delivered %d times", i, seen[i]);
    assert_int_equal(number(c, "QLEN moving"), 0);
}

/* ---- promotions ---- */

/* Under load, half of the jobs there and some of them taken; then on to the end. */
static void fail_over(void (*strike)(void)) {
    redisContext *c = client_open_on(&mover);

    memset(seen, 0, sizeof(seen));
    open_adders();
    add_until(JOBS / 3);
    take(c, JOBS / 6);
    add_until(JOBS / 2);
    assert_true(is_on(c, &primary));
    strike();
    add_until(JOBS);
    EVENTUALLY(is_on(c, &standby));
    check_all_seen_once(c);
    close_adders();
    redisFree(c);
}

static void kill_primary(void) {
    postgres_stop(&primary, true);
    for (int i = 0; i < ADDERS; i++)
        step(i);
    standby_promote(&standby);
}

static void test_killed(void **state) {
    (void)state;
    start_pair(true);
    fail_over(kill_primary);
}

/* The primary lives and receives statements. No standby receives its log any more, so no commit ends. */
static void cut_off_primary(void) {
    walsender_stop(&primary);
    for (int i = 0; i < ADDERS; i++)
        step(i);
    standby_promote(&standby);
}

static void test_cut_off(void **state) {
    redisContext *c;

    (void)state;
    start_pair(true);
    fail_over(cut_off_primary);
    assert_true(is_logged("was promoted: timeline 2 follows 1"));
    /* It is still there, and would take writes again. */
    kill(walsender(&primary), SIGCONT);
    primary_waits_for(&primary, "");
    postgres_stop(&standby, true);
    EVENTUALLY(is_logged("it is a former primary: its timeline is 1, and 2 has been seen"));
    postgres_resume(&standby);
    c = client_open_on(&mover);
    add_job(c, "afterwards", "a", "");
    assert_true(is_on(c, &standby));
    redisFree(c);
}

/* A server with durability async does not wait for a standby. It leaves the old primary as soon as it sees the new one.
 */
static void test_left_although_it_answers(void **state) {
    redisContext *c;

    (void)state;
    start_pair(false);
    c = client_open_on(&mover);
    EVENTUALLY(strstr(ask(c, "INFO persistence"), "on the primary only") != NULL);
    add_job(c, "left", "a", "");
    standby_catches_up(&primary);
    standby_promote(&standby);
    if (!WAIT_UNTIL(is_on(c, &standby), MOVED_MS))
        fail_msg("it stays with the former primary");
    get_job(c, "left", "a");
    redisFree(c);
}

/* The standby does not have the newest queue and the newest consume end, because no commit waited for it. The server finds
 * the jobs that are added to the queue later after its next start, and the elements in their order. */
static void test_queue_that_got_lost(void **state) {
    redisContext *c;

    (void)state;
    start_pair(false);
    c = client_open_on(&mover);
    add_job(c, "old", "a", "");
    add_job(c, "list", "a", "");
    standby_catches_up(&primary);
    walsender_stop(&primary);
    add_job(c, "new", "lost", "");
    expect(c, ":2", "RPUSH list lost");
    postgres_stop(&primary, true);
    standby_promote(&standby);
    add_job(c, "new", "kept", "");
    assert_true(is_on(c, &standby) && is_logged("lacked 1 queues"));
    expect_start(c, ":", "RPUSH list b");
    redisFree(c);
    assert_int_equal(server_stop(&mover), 0);
    server_resume(&mover);
    c = client_open_on(&mover);
    get_job(c, "new", "kept");
    get_job(c, "old", "a");
    expect(c, "[\"a\" \"b\"]", "LRANGE list 0 -1");
    redisFree(c);
}

/* ---- hosts that are no good ---- */

/* A socket that accepts connections and never answers. */
static int deaf_socket(int *port) {
    struct sockaddr_in addr = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
    socklen_t size = sizeof(addr);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0 && bind(fd, (struct sockaddr *)&addr, size) == 0 && listen(fd, 5) == 0 &&
                getsockname(fd, (struct sockaddr *)&addr, &size) == 0);
    *port = ntohs(addr.sin_port);
    return fd;
}

static void test_deaf_host(void **state) {
    const char *database = strstr(postgres_conninfo(&pg, NULL), "dbname=");
    int port, fd = deaf_socket(&port);

    (void)state;
    server_start(&mover,
                 forever(text_of("host=127.0.0.1,%s port=%d,5432 user=postgres %s", pg.dir, port, database)),
                 NULL);
    assert_int_equal(server_stop(&mover), 0);
    close(fd);
}

/* A role without the right to ask for the identity of the database continues without the check. */
static void test_unknown_identity(void **state) {
    struct postgres secretive;
    redisContext *c;

    (void)state;
    postgres_start(&secretive);
    free(postgres_query(postgres_conninfo(&secretive, "postgres"), "create role plain login"));
    free(postgres_query(postgres_conninfo(&secretive, "postgres"), "create database plain owner plain"));
    free(postgres_query(postgres_conninfo(&secretive, "plain"),
                        "revoke execute on function pg_control_system() from public"));
    server_start(&mover, forever(text_of("host=%s user=plain dbname=plain", secretive.dir)), NULL);
    c = client_open_on(&mover);
    assert_true(strstr(ask(c, "INFO pgdisque"), "database_timeline:0\\x0d") != NULL);
    add_job(c, "unknown", "a", "");
    redisFree(c);
    assert_int_equal(server_stop(&mover), 0);
    postgres_stop(&secretive, true);
}

/* Also without target_session_attrs. */
static void test_standby_is_passed_by(void **state) {
    redisContext *c;

    (void)state;
    start_pair(false);
    assert_int_equal(server_stop(&mover), 0);
    standby_catches_up(&primary);
    server_start(&mover,
                 forever(text_of("host=%s,%s user=postgres %s", standby.dir, primary.dir,
                                 strstr(mover.database, "dbname="))),
                 NULL);
    c = client_open_on(&mover);
    assert_true(is_on(c, &primary));
    assert_true(is_logged("is refused: it is a standby"));
    add_job(c, "passed", "a", "");
    redisFree(c);
}

/* A database with the data of another cluster is no successor. */
static void test_other_cluster(void **state) {
    struct postgres is_unauthenticated;
    struct wire w;
    struct value *v;

    (void)state;
    primary_start(&primary);
    postgres_start_new(&is_unauthenticated);
    server_start(
        &mover,
        forever(text_of("host=%s,%s user=postgres dbname=postgres", primary.dir, is_unauthenticated.dir)),
        NULL);
    postgres_stop(&primary, true);
    raw_open_on(&w, &mover);
    wire_words(&w, "ADDJOB", "other", "a", "0", NULL);
    EVENTUALLY(is_logged("it is another database cluster"));
    assert_int_equal(wire_pending(&w), 0);
    postgres_resume(&primary);
    v = wire_reply(&w, EVENTUALLY_MS);
    assert_non_null(v);
    assert_int_equal(v->type, '+');
    value_free(v);
    wire_close(&w);
    postgres_stop(&is_unauthenticated, true);
    standby = (struct postgres){ 0 };
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_deaf_host),
        cmocka_unit_test(test_unknown_identity),
        cmocka_unit_test_teardown(test_standby_is_passed_by, stop_pair),
        cmocka_unit_test_teardown(test_other_cluster, stop_pair),
        cmocka_unit_test_teardown(test_killed, stop_pair),
        cmocka_unit_test_teardown(test_cut_off, stop_pair),
        cmocka_unit_test_teardown(test_queue_that_got_lost, stop_pair),
        cmocka_unit_test_teardown(test_left_although_it_answers, stop_pair),
    };

    return RUN_SUITE("failover", tests);
}
