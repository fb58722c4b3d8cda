/* Parses a cron expression, and asks for its next times, which must grow. */
#include "base/cron_expr.h"
#include "base/util.h"
#include "check.h"

static int32_t fuzz_cron_offset(int64_t at) {
    /* A clock that is turned forward and back in turn. */
    return (at / 15000000) % 2 != 0 ? 3600 : -1800;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    int64_t at = 1700000000;
    struct cron_expr e;
    char error[200];

    if (!cron_parse((struct slice){ .ptr = (const char *)data, .len = size }, &e, error, sizeof error)) {
        REQUIRE(error[0] != '\0');
        return 0;
    }
    for (int i = 0; i < 4 && at != CRON_NEVER; i++) {
        int64_t next = cron_next(&e, 1700000000, at, fuzz_cron_offset);

        REQUIRE(next > at);
        at = next;
    }
    return 0;
}
