/* Replies of a Redis: a reply that fits a shape has the parts that the shape promises. */
#include <string.h>

#include "check.h"
#include "tools/redis_reply.h"

#define DEPTH_MAX 8

static void require_text(const redisReply *r) {
    REQUIRE(r->str != NULL && strlen(r->str) <= r->len);
}

static void require_pairs(const redisReply *r) {
    static const char *const names[] = { "name", "lag", "" };

    for (size_t i = 0; i < LENGTH(names); i++) {
        const redisReply *value = redis_reply_field(r, names[i]);
        const char *text = redis_reply_text(r, names[i]);

        REQUIRE(text == NULL || (value != NULL && text == value->str));
    }
}

static void require_parts(const redisReply *r) {
    if (redis_reply_fits(r, "s"))
        require_text(r);
    if (redis_reply_fits(r, "[s*]"))
        for (size_t i = 0; i < r->elements; i++)
            require_text(r->element[i]);
    if (redis_reply_fits(r, "[[sa]*]"))
        for (size_t i = 0; i < r->elements; i++)
            require_text(r->element[i]->element[0]);
    if (redis_reply_fits(r, "[(sa)*]")) {
        REQUIRE(r->elements % 2 == 0);
        require_pairs(r);
    }
    if (redis_reply_fits(r, "[s[s*]?]"))
        REQUIRE(r->elements == 2 &&
                (r->element[1]->type == REDIS_REPLY_NIL || r->element[1]->elements < SIZE_MAX));
    if (redis_reply_fits(r, "[(si[an?])*]"))
        REQUIRE(r->elements % 3 == 0);
}

static void require_all_parts(const redisReply *r, int depth) {
    require_parts(r);
    if (depth == DEPTH_MAX || !redis_reply_fits(r, "[a*]"))
        return;
    for (size_t i = 0; i < r->elements; i++)
        require_all_parts(r->element[i], depth + 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    redisReader *reader = redisReaderCreate();
    void *reply = NULL;

    REQUIRE(reader != NULL);
    if (redisReaderFeed(reader, (const char *)data, size) == REDIS_OK)
        while (redisReaderGetReply(reader, &reply) == REDIS_OK && reply != NULL) {
            require_all_parts(reply, 0);
            freeReplyObject(reply);
        }
    redisReaderFree(reader);
    return 0;
}
