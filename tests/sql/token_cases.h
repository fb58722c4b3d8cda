#ifndef TOKEN_CASES_H
#define TOKEN_CASES_H

#include "session.h"

/* Part of statement_cases.h: commands that name jobs with the tokens of their deliveries. */

/* 1: leased, delivered for the first time. 2: for the fourth. 3: its lease is over. 4: never delivered.
 * 5: expired. 6: delayed. */
#define TOKEN_JOBS                                                                \
    "1/0/1 ready=12:00:30 deliveries=1 owner=3; "                                 \
    "1/0/2 ready=12:00:30 deliveries=4 nacks=1 additional_deliveries=2 owner=3; " \
    "1/0/3 deliveries=1 owner=3; "                                                \
    "1/0/4; "                                                                     \
    "1/0/5 ready=12:00:30 expires=11:59:59 deliveries=1 owner=3; "                \
    "1/0/6 ready=12:05:00 wake=12:05:00 delay=300 deliveries=1 nacks=1"
#define TOKEN_KEYS "{1,1,1,1,1,1,1}", "{0,0,0,0,0,0,0}", "{1,2,3,4,5,6,99}"

#define TOKEN_CASES                                                                                         \
    { SQL_ACK_TOKENS,                                                                                       \
      "the token of the last delivery, whether its lease is over or not",                                   \
      .jobs = TOKEN_JOBS,                                                                                   \
      .params = { TOKEN_KEYS, "{1,4,1,1,1,2,1}", NOW },                                                     \
      .rows = "1 12:00:30 - -; 2 12:00:30 - -; 3 11:00:00 - -; 4 11:00:00 - -; "                            \
              "6 290000-01-01 00:00:00+00 - -",                                                             \
      .left = "1/0/5 ready=12:00:30 expires=11:59:59 deliveries=1 owner=3" },                               \
        { SQL_ACK_TOKENS, "tokens of other deliveries: no change; the rows of living jobs say so",          \
          .jobs = TOKEN_JOBS, .params = { TOKEN_KEYS, "{2,3,2,9,2,1,2}", NOW },                             \
          .rows = "1 - - -; 2 - - -; 3 - - -; 4 - - -; 6 - - -" },                                          \
        { SQL_ACK_TOKENS,                                                                                   \
          "no token is needed; a stale token does not stop the others",                                     \
          .jobs = "1/0/1; 1/0/2 deliveries=2 additional_deliveries=1 owner=3; 1/0/3; 2/0/1",                \
          .params = { "{1,1,1}", "{0,0,0}", "{1,2,3}", "{0,1,1}", NOW },                                    \
          .rows = "1 11:00:00 - -; 2 - - -; 3 11:00:00 - -",                                                \
          .left = "1/0/2 deliveries=2 additional_deliveries=1 owner=3; 2/0/1" },                            \
        { SQL_ACK_TOKENS,                                                                                   \
          "a job twice: with an old token, and with the last token",                                        \
          .jobs = "1/0/1 deliveries=2 additional_deliveries=1 owner=3",                                     \
          .params = { "{1,1}", "{0,0}", "{1,1}", "{1,2}", NOW },                                            \
          .rows = "1 - - -; 2 11:00:00 - -",                                                                \
          .left = "" },                                                                                     \
        { SQL_ACK_TOKENS, "a token larger than any number of deliveries",                                   \
          .jobs = "1/0/1 deliveries=1 owner=3",                                                             \
          .params = { "{1}", "{0}", "{1}", "{9223372036854775807}", NOW }, .rows = "1 - - -" },             \
        { SQL_REQUEUE_JOBS,                                                                                 \
          "NACK with tokens: stale ones do nothing, also of what is queued",                                \
          .jobs = "1/0/1 ready=12:00:30 deliveries=1 owner=3; 1/0/2 ready=12:00:30 deliveries=2 "           \
                  "additional_deliveries=1 "                                                                \
                  "owner=3; "                                                                               \
                  "1/0/3 deliveries=1 additional_deliveries=1 owner=3; 1/0/4 deliveries=1 owner=3; 1/0/5 "  \
                  "ready=12:00:30 "                                                                         \
                  "owner=3",                                                                                \
          .params = { "{1,1,1,1,1,1}", "{0,0,0,0,0,0}", "{1,2,3,4,5,99}", "{1,1,1,1,1,1}", "{}", "{}", NOW, \
                      "{1,1,1,1,0,1}" },                                                                    \
          .rows = "1 12:00:30 - f; 2 - - -; 3 - - -; 5 12:00:30 - f",                                       \
          .left = "1/0/1 ready=12:00:00 deliveries=1 nacks=1; "                                             \
                  "1/0/2 ready=12:00:30 deliveries=2 additional_deliveries=1 owner=3; "                     \
                  "1/0/3 deliveries=1 additional_deliveries=1 owner=3; 1/0/4 deliveries=1 owner=3; 1/0/5 "  \
                  "ready=12:00:00 "                                                                         \
                  "nacks=1" },                                                                              \
        { SQL_REQUEUE_JOBS_AGAIN,                                                                           \
          "NACK with tokens: done by the first try, not done, stale",                                       \
          .jobs = "1/0/1 ready=11:59:50 deliveries=1 nacks=1; 1/0/2 ready=12:00:30 deliveries=1 owner=3; "  \
                  "1/0/3 ready=12:00:45 deliveries=2 additional_deliveries=1 owner=4",                      \
          .params = { "{1,1,1}", "{0,0,0}", "{1,2,3}", "{1,1,1}", "{}", "{}",                               \
                      "{@11:59:50,@11:59:50,@11:59:50}", "{@11:59:55,@11:59:55,@11:59:55}", NOW, "3",       \
                      "{1,1,1}", "{}" },                                                                    \
          .rows = "1 t 11:59:50 - f f; 2 f 12:00:30 - f f; 3 - - - - -",                                    \
          .left = "1/0/1 ready=11:59:50 deliveries=1 nacks=1; 1/0/2 ready=11:59:50 deliveries=1 nacks=1; "  \
                  "1/0/3 ready=12:00:45 deliveries=2 additional_deliveries=1 owner=4" },                    \
        { SQL_WORKING_JOBS,                                                                                 \
          "with tokens: after its lease a job continues its delivery; stale tokens do nothing",             \
          .jobs = "1/0/1 deliveries=1 owner=3; 1/0/2 ready=12:00:30 deliveries=2 additional_deliveries=1 "  \
                  "owner=3; "                                                                               \
                  "1/0/3 deliveries=1 owner=3",                                                             \
          .params = { "{1,1,1}", "{0,0,0}", "{1,2,3}", "{@11:59:00,@11:59:00,@11:59:00}", "{}", NOW, "4",   \
                      "{1,1,0}", "{}" },                                                                    \
          .rows = "1 60 12:01:00 f t 11:00:00 f f f; 2 - 12:00:30 f f 12:00:30 f f f; 3 60 12:01:00 f t "   \
                  "11:00:00 f f f",                                                                         \
          .left = "1/0/1 ready=12:01:00 deliveries=1 owner=4; "                                             \
                  "1/0/2 ready=12:00:30 deliveries=2 additional_deliveries=1 owner=3; "                     \
                  "1/0/3 ready=12:01:00 deliveries=1 additional_deliveries=1 owner=4" },                    \
        { SQL_WORKING_JOBS,                                                                                 \
          "a worker's name where it is missing, and of a worker that continues a queued job",               \
          .jobs = "1/0/1 ready=12:00:30 deliveries=1 owner=3; 1/0/2 ready=12:00:30 deliveries=1 owner=3; "  \
                  "1/0/3 deliveries=1 owner=3",                                                             \
          .setup = "update pgdisque.job set worker = 'anna' where id <> 1",                                 \
          .params = { "{1,1,1}", "{0,0,0}", "{1,2,3}", "{@11:59:00,@11:59:00,@11:59:00}", "{}", NOW, "4",   \
                      "{}", "{bert,bert,bert}" },                                                           \
          .rows = ANY,                                                                                      \
          .left = "1/0/1 ready=12:01:00 deliveries=1 owner=4; 1/0/2 ready=12:01:00 deliveries=1 owner=4; "  \
                  "1/0/3 ready=12:01:00 deliveries=1 additional_deliveries=1 owner=4",                      \
          .query = "select string_agg(id || '=' || worker, ' ' order by id) from pgdisque.job",             \
          .found = "1=bert 2=anna 3=bert" },                                                                \
        { SQL_ACK_TOKENS, "nothing", .jobs = "1/0/1", .params = { NO_KEYS, "{}", NOW } },

#endif
