/* Lists as Redis' keys over several servers: deleted, renamed, given an end. */
#include "servers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { A, B, C };

/* Elements 0, 1, 2 ... from the right, some hundreds at a time. */
#define AT_ONCE 500

static void fill(int n, const char *key, int count) {
    for (int i = 0; i < count; i += AT_ONCE) {
        char *text = NULL;
        size_t size = 0;
        FILE *f = open_memstream(&text, &size);

        fprintf(f, "RPUSH %s", key);
        for (int k = i; k < i + AT_ONCE && k < count; k++)
            fprintf(f, " %d", k);
        fclose(f);
        expect_start(at[n], ":", text);
        free(text);
    }
}

/* ---- DEL ---- */

static void test_deleted_elsewhere(void **state) {
    (void)state;
    expect(at[A], ":3", "RPUSH elsewhere a b c");
    EVENTUALLY(all_have("elsewhere", 3));
    expect(at[B], ":1", "DEL elsewhere");
    assert_int_equal(jobs_in_database("elsewhere"), 0);
    expect(at[A], "nil", "LPOP elsewhere");
    EVENTUALLY(all_have("elsewhere", 0));
    expect(at[C], ":1", "RPUSH elsewhere d");
    EVENTUALLY(all_have("elsewhere", 1));
    expect(at[A], "\"d\"", "LPOP elsewhere");
}

static void test_many_pages(void **state) {
    (void)state;
    fill(A, "pages", 5500);
    EVENTUALLY(all_have("pages", 5500));
    expect(at[B], ":1", "DEL pages none");
    assert_int_equal(jobs_in_database("pages"), 0);
    EVENTUALLY(all_have("pages", 0));
    expect(at[A], ":1", "RPUSH pages x");
    expect(at[A], "\"x\"", "LPOP pages");
}

/* DEL of the first job of a group releases the next one, and wakes clients in WAITJOB. */
static void test_jobs(void **state) {
    const char *first = add_job(at[A], "grouped", "first", "GROUP g");
    struct wire w;

    (void)state;
    add_job(at[A], "grouped", "second", "GROUP g");
    EVENTUALLY(all_have("grouped", 1));
    raw_open(&w);
    wire_words(&w, "WAITJOB", first, NULL);
    EVENTUALLY(blocked_clients() == 1);
    expect(at[B], ":1", "DEL grouped");
    raw_expect(&w, "[\"gone\" $-1]");
    wire_close(&w);
    EVENTUALLY(all_have("grouped", 1));
    get_job(at[A], "grouped", "second");
}

/* ---- RENAME ---- */

static void test_renamed_elsewhere(void **state) {
    struct wire w;

    (void)state;
    expect(at[A], ":4", "RPUSH before 1 2 3 4");
    EVENTUALLY(all_have("before", 4));
    /* Servers have passed by younger jobs of this queue than the next ones. */
    expect(at[A], ":1", "RPUSH after x");
    expect(at[A], "\"x\"", "LPOP after");
    EVENTUALLY(all_have("after", 0));
    raw_open_on(&w, group_size[C]);
    wire_words(&w, "BLPOP", "after", "0", NULL);
    EVENTUALLY(strcmp(queue_field(at[C], "after", "blocked"), "1") == 0);
    expect(at[B], "+OK", "RENAME before after");
    raw_expect(&w, "[\"after\" \"1\"]");
    EVENTUALLY(all_have("after", 3));
    EVENTUALLY(all_have("before", 0));
    expect(at[A], "[\"2\" \"3\" \"4\"]", "LPOP after 9");
    expect(at[B], "-ERR no such key", "RENAME before after");
    wire_close(&w);
}

/* Each takes the whole list, or nothing. */
static void test_renamed_by_all(void **state) {
    (void)state;
    expect(at[A], ":5", "RPUSH all 1 2 3 4 5");
    EVENTUALLY(all_have("all", 5));
    for (int i = 0; i < 3; i++)
        later(at[i], "RENAME all part%d", i);
    for (int i = 0; i < 3; i++)
        redisBufferWrite(at[i], NULL);
    for (int i = 0; i < 3; i++) {
        const char *reply = next_reply(at[i]);

        if (strcmp(reply, "+OK") == 0)
            expect(at[i], "[\"1\" \"2\" \"3\" \"4\" \"5\"]", "LRANGE part%d 0 -1", i);
        else
            assert_string_equal(reply, "-ERR no such key");
    }
    assert_int_equal(jobs_in_database("part0") + jobs_in_database("part1") + jobs_in_database("part2"), 5);
}

/* A list of this length moves over a connection of its own. Until its end, clients push to the old list,
 * and use another list. */
static void test_a_long_list_is_renamed(void **state) {
    struct wire w;
    long long left;
    int pushes = 0;

    (void)state;
    fill(A, "many", 100001);
    fill(A, "fewer", 3000);
    EVENTUALLY(all_have("many", 100001));
    raw_open_on(&w, group_size[A]);
    wire_words(&w, "RENAME", "many", "fewer", NULL);
    while (wire_pending(&w) == 0) {
        expect_start(at[A], ":", "RPUSH many later%d", pushes++);
        expect(at[B], ":1", "RPUSH beside %d", pushes);
        expect(at[B], text_of("\"%d\"", pushes), "LPOP beside");
    }
    raw_expect(&w, "+OK");
    left = number(at[A], "LLEN many");
    EVENTUALLY(all_have("fewer", 100001 + pushes - left));
    expect(at[C], "[\"0\" \"1\"]", "LPOP fewer 2");
    expect(at[A], "[\"2\" \"3\"]", "LPOP fewer 2");
    for (; left > 0; left--)
        expect(at[A], text_of("\"later%lld\"", pushes - left), "LPOP many");
    expect(at[A], ":1", "DEL fewer");
    wire_close(&w);
}

static void test_too_many_in_a_transaction(void **state) {
    (void)state;
    fill(A, "many", 100001);
    expect(at[A], "+OK", "MULTI");
    expect(at[A], "+QUEUED", "RENAME many fewer");
    expect(at[A],
           "-EXECABORT Transaction discarded because of: LIMIT no more than 100000 jobs of both lists "
           "together can "
           "be renamed in a transaction",
           "EXEC");
    expect(at[A], ":100001", "LLEN many");
    expect(at[A], ":1", "DEL many");
}

/* ---- EXPIRE ---- */

static void test_an_end_for_all(void **state) {
    (void)state;
    fill(A, "ends", 2500);
    EVENTUALLY(all_have("ends", 2500));
    expect(at[B], ":1", "PEXPIRE ends 60000");
    assert_in_range(number(at[C], "TTL ends"), 1, 60);
    expect(at[C], ":1", "PEXPIRE ends 20000");
    expect(at[A], ":1", "PERSIST ends");
    expect(at[B], ":-1", "TTL ends");
    expect(at[B], ":1", "PEXPIRE ends 200");
    expect_start(at[A], ":", "RPUSH ends later");
    EVENTUALLY(jobs_in_database("ends") == 1);
    EVENTUALLY(all_have("ends", 1));
    expect(at[C], "\"later\"", "LPOP ends");
}

/* ---- lost connections ---- */

static void end_sessions(void) {
    redisBufferWrite(at[A], NULL);
    sessions_end("");
}

static void test_after_lost_connections(void **state) {
    (void)state;
    expect(at[A], ":3", "RPUSH lost0 a b c");
    EVENTUALLY(all_have("lost0", 3));
    for (int i = 0; i < 30; i++) {
        later(at[A], "RENAME lost%d lost%d", i % 2, (i + 1) % 2);
        if (i % 5 == 0)
            end_sessions();
        expect_next(at[A], "+OK");
    }
    EVENTUALLY(all_have("lost0", 3));
    EVENTUALLY(all_have("lost1", 0));
    expect(at[A], "[\"a\" \"b\" \"c\"]", "LRANGE lost0 0 -1");
    later(at[A], "DEL lost0");
    end_sessions();
    expect_next(at[A], ":1");
    EVENTUALLY(all_have("lost0", 0));
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, servers_setup, servers_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_deleted_elsewhere),         TEST(test_many_pages),     TEST(test_jobs),
        TEST(test_renamed_elsewhere),         TEST(test_renamed_by_all), TEST(test_a_long_list_is_renamed),
        TEST(test_too_many_in_a_transaction), TEST(test_an_end_for_all), TEST(test_after_lost_connections),
    };

    return RUN_SUITE("list_keys", tests);
}
