#ifndef ADDERS_H
#define ADDERS_H

#include <stdlib.h>
#include <string.h>
#include "commands/dispatch.h"
#include "getters.h"

/*
 * ADDJOB without sockets, by getters[0]. The reply goes to the log of the getters: "add:D" for an
 * ID, or the error's code.
 */
static char adder_reply[64];
static struct req *adder_req; /* the last one */

static inline void adder_on_end(struct req *r) {
    snprintf(adder_reply, sizeof adder_reply, "%.*s", (int)buf_len(&r->own), buf_ptr(&r->own));
    if (r->client != NULL)
        buf_printf(&getter_log, " add:%.*s", adder_reply[0] == '+' ? 1 : (int)strcspn(adder_reply + 1, " "),
                   adder_reply + 1);
    req_free(r);
}

/* words: as of the command, separated by blanks. */
static inline void add(const char *words) {
    struct slice argv[16];
    struct req *r;
    int argc = 0;

    while (*words != '\0') {
        argv[argc++] = (struct slice){ words, strcspn(words, " ") };
        words += argv[argc - 1].len;
        words += *words == ' ';
    }
    queue_named("q1");
    r = req_new(argc, argv, NULL, adder_on_end);
    r->client = &getters[0].client;
    adder_req = r;
    cmd_addjob(r);
}

/* The id in the ID that was replied last. */
static inline int64_t adder_id(void) {
    struct job_key key;

    assert_int_equal(adder_reply[0], '+');
    assert_int_equal(jobid_parse((struct slice){ adder_reply + 1, JOBID_LEN }, &key), JOBID_OK);
    return key.id;
}

#endif
