/* Parses job IDs and tokens. No bytes give a job, because the secret is not in them. */
#include <string.h>

#include "base/job_key.h"
#include "check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const unsigned char secret[JOBID_SECRET_LEN] = "secret";
    struct slice text = { .ptr = (const char *)data, .len = size };
    char id[JOBID_LEN];
    struct job_key key = { .queue_id = 0 }, back;
    int64_t token;

    jobid_set_secret(secret);
    (void)jobid_parse_token(text, &key, &token);
    (void)jobid_parse(text, &key);
    if (size < sizeof key)
        return 0;
    memcpy(&key.queue_id, data, sizeof key.queue_id);
    memcpy(&key.id, data + sizeof key.queue_id, sizeof key.id);
    key.rank = (int16_t) - (data[12] % 256);
    jobid_format(id, key, "0123456789abcdef0123456789abcdef01234567", data[13] * 60, true);
    if (jobid_parse((struct slice){ .ptr = id, .len = JOBID_LEN }, &back) == JOBID_OK)
        REQUIRE(back.queue_id == key.queue_id && back.id == key.id && back.rank == key.rank);
    return 0;
}
