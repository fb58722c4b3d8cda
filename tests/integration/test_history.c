/* HISTORY: the figures of a queue and of the server agree with what was done. */
#include "fixture.h"

#include <string.h>

/* Deadline for two steps of a queue's history. */
#define TWO_STEPS_MS 60000

/* The sum of a series of a reply to HISTORY, a map in RESP2. `last`: only its last element; -1 if there is none. */
static long long series(const redisReply *reply, const char *name, bool last) {
    const redisReply *values = NULL;
    long long sum = 0;

    for (size_t i = 0; i + 1 < reply->elements; i += 2)
        if (strcmp(reply->element[i]->str, name) == 0)
            values = reply->element[i + 1];
    assert_non_null(values);
    if (last)
        return values->elements == 0 ? -1 : values->element[values->elements - 1]->integer;
    for (size_t i = 0; i < values->elements; i++)
        sum += values->element[i]->integer;
    return sum;
}

static bool sums_are(redisContext *c, const char *command, long long added, long long delivered,
                     long long acked) {
    redisReply *reply = redisCommand(c, command);
    bool same;

    assert_non_null(reply);
    same = series(reply, "added", false) == added && series(reply, "delivered", false) == delivered &&
           series(reply, "acknowledged", false) == acked;
    freeReplyObject(reply);
    return same;
}

static bool depths_are(redisContext *c, const char *command, long long len, long long active) {
    redisReply *reply = redisCommand(c, command);
    bool same;

    assert_non_null(reply);
    same = series(reply, "len", true) == len && series(reply, "active", true) == active;
    freeReplyObject(reply);
    return same;
}

static void test_figures(void **state) {
    redisContext *c = client_open();
    const char *ids[3];

    (void)state;
    for (int i = 0; i < 3; i++)
        ids[i] = add_job(c, "figures", "x", "");
    get_job(c, "figures", "x");
    get_job(c, "figures", "x");
    expect(c, ":1", "ACKJOB %s", ids[0]);
    EVENTUALLY(depths_are(c, "HISTORY", 1, 1));
    EVENTUALLY(sums_are(c, "HISTORY", 3, 2, 1));
    assert_true(WAIT_UNTIL(sums_are(c, "HISTORY figures", 3, 2, 1), TWO_STEPS_MS));
    assert_true(WAIT_UNTIL(depths_are(c, "HISTORY figures", 1, 1), TWO_STEPS_MS));
    assert_true(depths_are(c, "HISTORY figures HOURS", -1, -1) ||
                sums_are(c, "HISTORY figures HOURS", 3, 2, 1));
    redisFree(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_figures),
    };

    return RUN_SUITE("history", tests);
}
