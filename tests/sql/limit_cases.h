#ifndef LIMIT_CASES_H
#define POP(limit) "1", FIRST, limit, NOW
#define TAKE_2 "{0,0}", "{0,0}"
#define UNDELIVERED(id, place, wake) \
    "0 " id " 11:00:00 13:00:00 60 0 0 \"x\" 0 " NONE " " place " " wake "13:00:00 "
#define NO_POP "- - - - - - - - - - - - - - - - - - - - - - - - - - - "

#define LIMIT_CASES_H

#include "group_cases.h"

/* Part of statement_cases.h: queues with limits. */

/* Queue 1 may have so many running, and has five slots, of which 1 and 2 were given to jobs 1 and 2. */
#define MAX_ACTIVE(most)                                                                 \
    "insert into pgdisque.queue_setting values (1, 'max-active', '" most "'); "          \
    "insert into pgdisque.slot (queue_id, n) select 1, n from generate_series(1, 5) n; " \
    "update pgdisque.slot set rank = 0, id = n where n <= 2; "                           \
    "update pgdisque.job set slot = id where id <= 2"
/* Queue 1 has so many tokens, and gets no more for an hour. */
#define RATE(rate, tokens)                                                \
    "insert into pgdisque.queue_setting values (1, 'rate', '" rate "'); " \
    "insert into pgdisque.bucket values (" tokens ", now() + interval '1 hour', 1)"
/* Queue 1 has a rate with a period of 10 seconds and a burst of 3, so many tokens, and gets no more for an hour. */
#define RATE_10S(rate, tokens)                                                       \
    "insert into pgdisque.queue_setting values (1, 'rate', '" rate "'), "            \
    "(1, 'rate-period', '10'), (1, 'rate-burst', '3'); insert into pgdisque.bucket " \
    "values (" tokens " - 1e6, now() + interval '8760001 hours', 1)"
/* The tokens of each queue, and whether an older server finds any. */
#define BUCKETS                                                                                   \
    "select string_agg(concat_ws(':', queue_id, round(case when settled_at > '3000-01-01' then "  \
    "tokens + 1e6 else tokens end), case when settled_at > '3000-01-01' and tokens < 1 then 'f' " \
    "else 'o' end), ' ' order by queue_id) from pgdisque.bucket"
#define WALK(limit) "1", FIRST, limit, NOW, "9"
#define NOTHING_RETURNED "{1}", "{0}", "{0}"
#define SLOTS                                                                                             \
    "select string_agg(concat_ws(':', n, id, turn), ' ' order by n) from pgdisque.slot where turn > 0 or" \
    " n <= 2"
/* Running in slots 1 and 2; behind them two more. */
#define TWO_RUNNING \
    "1/0/1 ready=12:00:30 deliveries=1 owner=3; 1/0/2 ready=12:00:30 deliveries=1 owner=3; 1/0/3; 1/0/4"
#define TAKEN(job) job " ready=12:01:00 deliveries=1 owner=9"
#define ROW_OF(id, walked, room) "0 " id " 12:01:00 13:00:00 60 0 0 \"x\" - - " walked " " room " f -"
#define ROW_WAIT(id, room, wait) "0 " id " 12:01:00 13:00:00 60 0 0 \"x\" - - t " room " f " wait
#define STARTED_3 "{@11:59:00,@11:59:00,@11:59:00}"
#define STARTED_5 "{@11:59:00,@11:59:00,@11:59:00,@11:59:00,@11:59:00}"
#define NO_ROW "- - - - - - - - - - - "

#define LIMIT_CASES                                                                                          \
    { SQL_CLAIM_LIMITED,                                                                                     \
      "in slots that are free",                                                                              \
      .jobs = TWO_RUNNING,                                                                                   \
      .setup = MAX_ACTIVE("3"),                                                                              \
      .params = { WALK("10"), NOTHING_RETURNED },                                                            \
      .rows = ROW_OF("3", "t", "1"),                                                                         \
      .left =                                                                                                \
          "1/0/1 ready=12:00:30 deliveries=1 owner=3; 1/0/2 ready=12:00:30 deliveries=1 owner=3; " TAKEN(    \
              "1/0/3") "; 1/0/4",                                                                            \
      .query = SLOTS,                                                                                        \
      .found = "1:1:0 2:2:0 3:3:1" },                                                                        \
        { SQL_CLAIM_LIMITED,                                                                                 \
          "none is free",                                                                                    \
          .jobs = TWO_RUNNING,                                                                               \
          .setup = MAX_ACTIVE("2"),                                                                          \
          .params = { WALK("10"), NOTHING_RETURNED },                                                        \
          .rows = NO_ROW "0 f -" },                                                                          \
        { SQL_CLAIM_LIMITED,                                                                                 \
          "the limit has gone",                                                                              \
          .jobs = "1/0/3",                                                                                   \
          .params = { WALK("10"), NOTHING_RETURNED },                                                        \
          .rows = "0 3 12:01:00 13:00:00 60 0 0 \"x\" - - t 10 f -",                                         \
          .left = TAKEN("1/0/3") },                                                                          \
        { SQL_CLAIM_LIMITED,                                                                                 \
          "slots of jobs that have ended, have expired, or were delivered elsewhere since",                  \
          .jobs = "1/0/1 ready=12:00:30 expires=12:00:00 owner=3; 1/0/3; 1/0/4; 1/0/5",                      \
          .setup = MAX_ACTIVE("3") "; update pgdisque.slot set id = 4, rank = 0 where n = 3; "               \
                                   "update pgdisque.job set slot = 5 where id = 4",                          \
          .params = { WALK("10"), NOTHING_RETURNED },                                                        \
          .rows = ROW_OF("3", "t", "3") "; " ROW_OF("4", "t", "3") "; " ROW_OF("5", "t", "3"),               \
          .left = "1/0/1 ready=12:00:30 expires=12:00:00 owner=3; " TAKEN("1/0/3") "; " TAKEN(               \
              "1/0/4") "; " TAKEN("1/0/5"),                                                                  \
          .query = SLOTS,                                                                                    \
          .found = "1:3:1 2:4:1 3:5:1" },                                                                    \
        { SQL_CLAIM_LIMITED,                                                                                 \
          "a job with an ended lease goes first, in its slot",                                               \
          .jobs = "1/-9/3; 1/0/1 ready=11:00:00 deliveries=1 owner=3; 1/0/2 ready=12:00:30 owner=3",         \
          .setup = MAX_ACTIVE("2"),                                                                          \
          .params = { WALK("10"), "{1,1}", "{0,0}", "{0,1}" },                                               \
          .rows = "0 1 12:01:00 13:00:00 60 0 1 \"x\" - - f 0 f -",                                          \
          .left = "1/-9/3; 1/0/1 ready=12:01:00 deliveries=2 additional_deliveries=1 owner=9; 1/0/2 "        \
                  "ready=12:00:30 owner=3",                                                                  \
          .query = SLOTS,                                                                                    \
          .found = "1:1:0 2:2:0" },                                                                          \
        { SQL_CLAIM_LIMITED,                                                                                 \
          "a returned job by its key, before the other jobs; no job twice",                                  \
          .jobs = "1/0/6; 1/0/7; 1/0/8; 1/0/9",                                                              \
          .setup = MAX_ACTIVE("3"),                                                                          \
          .params = { "1", "0", "7", "10", NOW, "9", "{1,1,1}", "{0,0,0}", "{6,8,99}" },                     \
          .rows = ROW_OF("6", "f", "1") "; " ROW_OF("8", "f", "1") "; " ROW_OF("9", "t", "1"),               \
          .left = TAKEN("1/0/6") "; 1/0/7; " TAKEN("1/0/8") "; " TAKEN("1/0/9") },                           \
        { SQL_CLAIM_LIMITED,                                                                                 \
          "no delayed job whose time has come, by its key",                                                  \
          .jobs = "1/0/5 wake=11:00:00 delay=300; 1/0/6",                                                    \
          .setup = MAX_ACTIVE("3"),                                                                          \
          .params = { "1", "0", "9", "10", NOW, "9", "{1,1}", "{0,0}", "{5,6}" },                            \
          .rows = ROW_OF("6", "f", "2"),                                                                     \
          .left = "1/0/5 wake=11:00:00 delay=300; " TAKEN("1/0/6") },                                        \
        { SQL_CLAIM_LIMITED,                                                                                 \
          "as many as were asked for",                                                                       \
          .jobs = "1/0/6; 1/0/7; 1/0/8",                                                                     \
          .setup = MAX_ACTIVE("3"),                                                                          \
          .params = { WALK("2"), NOTHING_RETURNED },                                                         \
          .rows = ROW_OF("6", "t", "2") "; " ROW_OF("7", "t", "2"),                                          \
          .left = TAKEN("1/0/6") "; " TAKEN("1/0/7") "; 1/0/8" },                                            \
        { SQL_CLAIM_LIMITED,                                                                                 \
          "lowered: as many run as may",                                                                     \
          .jobs = TWO_RUNNING,                                                                               \
          .setup = MAX_ACTIVE("1"),                                                                          \
          .params = { WALK("10"), NOTHING_RETURNED },                                                        \
          .rows = NO_ROW "0 f -" },                                                                          \
        { SQL_CLAIM_LIMITED,                                                                                 \
          "lowered: a job above the limit is running, and one job may be taken",                             \
          .jobs = "1/0/1 ready=12:00:30 deliveries=1 owner=3; 1/0/3; 1/0/4",                                 \
          .setup = MAX_ACTIVE("2") "; update pgdisque.slot set rank = 0, id = case when n = 5 then 1 end; "  \
                                   "update pgdisque.job set slot = 5 where id = 1",                          \
          .params = { WALK("10"), NOTHING_RETURNED },                                                        \
          .rows = ROW_OF("3", "t", "1"),                                                                     \
          .left = "1/0/1 ready=12:00:30 deliveries=1 owner=3; " TAKEN("1/0/3") "; 1/0/4",                    \
          .query = SLOTS,                                                                                    \
          .found = "1:3:1 2:0 5:1:1" },                                                                      \
        { SQL_CLAIM_LIMITED,                                                                                 \
          "a rate: no more tokens than come in a tenth of a second, and then a wait",                        \
          .jobs = "1/0/1; 1/0/2; 1/0/3",                                                                     \
          .setup = RATE("20", "5"),                                                                          \
          .params = { WALK("10"), NOTHING_RETURNED },                                                        \
          .rows =                                                                                            \
              "0 1 12:01:00 13:00:00 60 0 0 \"x\" - - t 2 f 50; 0 2 12:01:00 13:00:00 60 0 0 \"x\" - - t 2 " \
              "f 50",                                                                                        \
          .left = TAKEN("1/0/1") "; " TAKEN("1/0/2") "; 1/0/3",                                              \
          .query = "select tokens, settled_at <= clock_timestamp() from pgdisque.bucket",                    \
          .found = "0 t" },                                                                                  \
        { SQL_CLAIM_LIMITED,                                                                                 \
          "in a free slot that is not in the last pages",                                                    \
          .jobs = TWO_RUNNING,                                                                               \
          .setup = MAX_ACTIVE("3") "; " WORN("slot", "n <= 2"),                                              \
          .params = { WALK("10"), NOTHING_RETURNED },                                                        \
          .rows = ROW_OF("3", "t", "1"),                                                                     \
          .left = "1/0/1 ready=12:00:30 deliveries=1 owner=3; 1/0/2 ready=12:00:30 deliveries=1 "            \
                  "owner=3; " TAKEN("1/0/3") "; 1/0/4",                                                      \
          .query = SLOTS,                                                                                    \
          .found = "1:1:0 2:2:0 3:3:1" },                                                                    \
        { SQL_CLAIM_LIMITED,                                                                                 \
          "in a free slot of the last pages, while the running jobs have slots that are not there",          \
          .jobs = TWO_RUNNING,                                                                               \
          .setup = MAX_ACTIVE("3") "; " WORN("slot", "n = 3"),                                               \
          .params = { WALK("10"), NOTHING_RETURNED },                                                        \
          .rows = ROW_OF("3", "t", "1"),                                                                     \
          .left = "1/0/1 ready=12:00:30 deliveries=1 owner=3; 1/0/2 ready=12:00:30 deliveries=1 "            \
                  "owner=3; " TAKEN("1/0/3") "; 1/0/4",                                                      \
          .query = SLOTS,                                                                                    \
          .found = "1:1:0 2:2:0 3:3:1" },                                                                    \
        { SQL_CLAIM_LIMITED,                                                                                 \
          "lowered: the slot above the limit counts, in the last pages",                                     \
          .jobs = "1/0/1 ready=12:00:30 deliveries=1 owner=3; 1/0/3; 1/0/4",                                 \
          .setup = MAX_ACTIVE("1") "; update pgdisque.slot set rank = 0, id = case when n = 5 then 1 end; "  \
                                   "update pgdisque.job set slot = 5 where id = 1; " WORN("slot", "n = 5"),  \
          .params = { WALK("10"), NOTHING_RETURNED },                                                        \
          .rows = NO_ROW "0 f -" },                                                                          \
        { SQL_CLAIM_LIMITED,                                                                                 \
          "lowered: the slot above the limit counts, outside the last pages",                                \
          .jobs = "1/0/1 ready=12:00:30 deliveries=1 owner=3; 1/0/3; 1/0/4",                                 \
          .setup = MAX_ACTIVE("1") "; update pgdisque.slot set rank = 0, id = case when n = 5 then 1 end; "  \
                                   "update pgdisque.job set slot = 5 where id = 1; " WORN("slot", "n = 1"),  \
          .params = { WALK("10"), NOTHING_RETURNED },                                                        \
          .rows = NO_ROW "0 f -" },                                                                          \
        { SQL_CLAIM_LIMITED,                                                                                 \
          "a rate: the tokens of a row in the last pages",                                                   \
          .jobs = "1/0/1; 1/0/2; 1/0/3",                                                                     \
          .setup = RATE("20", "5") "; " WORN("bucket", "true"),                                              \
          .params = { WALK("10"), NOTHING_RETURNED },                                                        \
          .rows = "0 1 12:01:00 13:00:00 60 0 0 \"x\" - - t 2 f 50; 0 2 12:01:00 13:00:00 60 0 0 \"x\" - - " \
                  "t 2 f 50",                                                                                \
          .left = TAKEN("1/0/1") "; " TAKEN("1/0/2") "; 1/0/3",                                              \
          .query = "select tokens, settled_at <= clock_timestamp() from pgdisque.bucket",                    \
          .found = "0 t" },                                                                                  \
        { SQL_CLAIM_LIMITED,                                                                                 \
          "a rate: the tokens of a row outside the last pages",                                              \
          .jobs = "1/0/1; 1/0/2; 1/0/3",                                                                     \
          .setup = RATE("20", "5") "; insert into pgdisque.bucket values (0, now(), 2); " WORN(              \
              "bucket", "queue_id = 2"),                                                                     \
          .params = { WALK("10"), NOTHING_RETURNED },                                                        \
          .rows = "0 1 12:01:00 13:00:00 60 0 0 \"x\" - - t 2 f 50; 0 2 12:01:00 13:00:00 60 0 0 \"x\" - - " \
                  "t 2 f 50",                                                                                \
          .left = TAKEN("1/0/1") "; " TAKEN("1/0/2") "; 1/0/3",                                              \
          .query = "select tokens, settled_at <= clock_timestamp() from pgdisque.bucket where queue_id = 1", \
          .found = "0 t" },                                                                                  \
        { SQL_CLAIM_LIMITED,                                                                                 \
          "a rate: not a whole token",                                                                       \
          .jobs = "1/0/1",                                                                                   \
          .setup = RATE("20", "0.5"),                                                                        \
          .params = { WALK("10"), NOTHING_RETURNED },                                                        \
          .rows = NO_ROW "0 f 25" },                                                                         \
        { SQL_CLAIM_LIMITED,                                                                                 \
          "a rate, and slots",                                                                               \
          .jobs = TWO_RUNNING "; 1/0/5",                                                                     \
          .setup = MAX_ACTIVE("4") "; " RATE("10", "1"),                                                     \
          .params = { WALK("10"), NOTHING_RETURNED },                                                        \
          .rows = "0 3 12:01:00 13:00:00 60 0 0 \"x\" - - t 1 f 100",                                        \
          .left = "1/0/1 ready=12:00:30 deliveries=1 owner=3; 1/0/2 ready=12:00:30 deliveries=1 "            \
                  "owner=3; " TAKEN("1/0/3") "; 1/0/4; 1/0/5" },                                             \
        { SQL_CLAIM_LIMITED,                                                                                 \
          "a rate with a period: a wait of seconds",                                                         \
          .jobs = "1/0/1; 1/0/2; 1/0/3; 1/0/4",                                                              \
          .setup = RATE_10S("2", "2.5"),                                                                     \
          .params = { WALK("10"), NOTHING_RETURNED },                                                        \
          .rows =                                                                                            \
              "0 1 12:01:00 13:00:00 60 0 0 \"x\" - - t 2 f 2500; 0 2 12:01:00 13:00:00 60 0 0 \"x\" - -"    \
              " t 2 f 2500",                                                                                 \
          .left = TAKEN("1/0/1") "; " TAKEN("1/0/2") "; 1/0/3; 1/0/4",                                       \
          .query = "select tokens + 1e6, settled_at - interval '8760000 hours' <= clock_timestamp(), "       \
                   "settled_at > '3000-01-01' from pgdisque.bucket",                                         \
          .found = "0.5 t t" },                                                                              \
        { SQL_CLAIM_LIMITED,                                                                                 \
          "a burst: no more tokens, however long the pause was; the fence of the former rate is removed",    \
          .jobs = "1/0/1; 1/0/2; 1/0/3; 1/0/4",                                                              \
          .setup = RATE_10S("2", "9") "; update pgdisque.queue_setting set value = '1' "                     \
                                      "where name = 'rate-period'; update pgdisque.queue_setting "           \
                                      "set value = '0' where name = 'rate-burst'; "                          \
                                      "update pgdisque.queue_setting set value = '30' where name = 'rate'",  \
          .params = { WALK("10"), NOTHING_RETURNED },                                                        \
          .rows = ROW_WAIT("1", "3", "34") "; " ROW_WAIT("2", "3", "34") "; " ROW_WAIT("3", "3", "34"),      \
          .query = "select tokens, settled_at <= clock_timestamp() from pgdisque.bucket",                    \
          .found = "0 t",                                                                                    \
          .left = TAKEN("1/0/1") "; " TAKEN("1/0/2") "; " TAKEN("1/0/3") "; 1/0/4" },                        \
        { SQL_POP_LIMITED,                                                                                   \
          "a rate with a period and a burst",                                                                \
          .jobs = "1/0/3; 1/0/4",                                                                            \
          .setup = RATE_10S("2", "1"),                                                                       \
          .params = { POP("2"), "f", TAKE_2 },                                                               \
          .rows = UNDELIVERED("3", "1", "13:00:00 ") "1 f 5000",                                             \
          .left = "1/0/4",                                                                                   \
          .query = BUCKETS,                                                                                  \
          .found = "1:0:f" },                                                                                \
        { SQL_POP_LIMITED,                                                                                   \
          "the first jobs, up to the limit and the wanted number",                                           \
          .jobs = TWO_RUNNING "; 1/0/5 wake=13:00:00",                                                       \
          .setup = MAX_ACTIVE("3"),                                                                          \
          .params = { POP("2"), "f", TAKE_2 },                                                               \
          .rows = UNDELIVERED("3", "1", "13:00:00 ") "2 f -; " UNDELIVERED("4", "2", "13:00:00 ") "2 f -",   \
          .left = "1/0/1 ready=12:00:30 deliveries=1 owner=3; 1/0/2 ready=12:00:30 deliveries=1 owner=3; "   \
                  "1/0/5 wake=13:00:00" },                                                                   \
        { SQL_POP_LIMITED,          "nothing, while as many run as may", .jobs = TWO_RUNNING,                \
          .setup = MAX_ACTIVE("2"), .params = { POP("2"), "f", TAKE_2 }, .rows = NO_POP "0 f -" },           \
        { SQL_POP_LIMITED,                                                                                   \
          "a job whose lease is over does not run",                                                          \
          .jobs = "1/0/1 ready=11:30:00 deliveries=1 owner=3; 1/0/2 ready=12:00:30 deliveries=1 owner=3",    \
          .setup = MAX_ACTIVE("2"),                                                                          \
          .params = { POP("2"), "t", TAKE_2 },                                                               \
          .rows = "0 1 11:30:00 13:00:00 60 0 0 \"x\" 1 " NONE " 1 13:00:00 13:00:00 2 f -",                 \
          .left = "1/0/2 ready=12:00:30 deliveries=1 owner=3" },                                             \
        { SQL_POP_LIMITED,                                                                                   \
          "the last jobs are moved; to the same queue, too",                                                 \
          .jobs = TWO_RUNNING,                                                                               \
          .setup = MAX_ACTIVE("3"),                                                                          \
          .params = { POP("2"), "t", "{2,1}", "{9,-8}" },                                                    \
          .rows = UNDELIVERED("3", "2", "13:00:00 ") "2 f -; " UNDELIVERED("4", "1", "- ") "2 f -",          \
          .left = "1/0/-8 ready=12:00:00 wake=13:00:00; 1/0/1 ready=12:00:30 deliveries=1 owner=3; "         \
                  "1/0/2 ready=12:00:30 deliveries=1 owner=3; 2/0/9 ready=12:00:00" },                       \
        { SQL_POP_LIMITED,                                                                                   \
          "each takes a token",                                                                              \
          .jobs = "1/0/3; 1/0/4; 1/0/5",                                                                     \
          .setup = RATE("10", "1"),                                                                          \
          .params = { POP("2"), "f", TAKE_2 },                                                               \
          .rows = UNDELIVERED("3", "1", "13:00:00 ") "1 f 100",                                              \
          .left = "1/0/4; 1/0/5",                                                                            \
          .query = "select tokens from pgdisque.bucket",                                                     \
          .found = "0" },                                                                                    \
        { SQL_POP_LIMITED,                                                                                   \
          "none is left",                                                                                    \
          .jobs = "1/0/3",                                                                                   \
          .setup = RATE("20", "0.5"),                                                                        \
          .params = { POP("2"), "f", TAKE_2 },                                                               \
          .rows = NO_POP "0 f 25" },                                                                         \
        { SQL_POP_LIMITED,                                                                                   \
          "the limit has gone",                                                                              \
          .jobs = "1/0/3",                                                                                   \
          .params = { POP("2"), "f", TAKE_2 },                                                               \
          .rows = UNDELIVERED("3", "1", "13:00:00 ") "2 f -",                                                \
          .left = "" },                                                                                      \
        { SQL_WORKING_LIMITED,                                                                               \
          "takes free slots, for a job that is named twice as well; where none is left, nothing is done",    \
          .jobs = TWO_RUNNING "; 1/0/5 ready=12:00:30; 1/0/6",                                               \
          .setup = MAX_ACTIVE("4"),                                                                          \
          .params = { "{1,1,1,1,1}", "{0,0,0,0,0}", "{3,3,4,5,1}", STARTED_5, "{}", NOW, "9", "{}", "{}" },  \
          .rows = "1 60 12:01:00 f t 11:00:00 f f f; 2 60 12:01:00 f t 11:00:00 f f f; "                     \
                  "3 60 12:01:00 f t 11:00:00 f f f; 4 60 12:00:30 f f 12:00:30 f t f; "                     \
                  "5 60 12:01:00 f f 12:00:30 f f f",                                                        \
          .left = "1/0/1 ready=12:01:00 deliveries=1 owner=9; 1/0/2 ready=12:00:30 deliveries=1 owner=3; "   \
                  "1/0/3 ready=12:01:00 owner=9; 1/0/4 ready=12:01:00 owner=9; 1/0/5 ready=12:00:30; 1/0/6", \
          .query = SLOTS,                                                                                    \
          .found = "1:1:0 2:2:0 3:3:1 4:4:1" },                                                              \
        { SQL_WORKING_LIMITED,                                                                               \
          "a job keeps its slot after its lease, and beyond a lower limit during its lease",                 \
          .jobs = "1/0/1 deliveries=1 owner=3; 1/0/2 ready=12:00:30 deliveries=1 owner=3; 1/0/3",            \
          .setup = MAX_ACTIVE("1"),                                                                          \
          .params = { "{1,1,1}", "{0,0,0}", "{1,2,3}", STARTED_3, "{}", NOW, "9", "{}", "{}" },              \
          .rows = "1 60 12:01:00 f t 11:00:00 f f f; 2 60 12:01:00 f f 12:00:30 f f f; 3 60 11:00:00 f t "   \
                  "11:00:00 f t f",                                                                          \
          .left = "1/0/1 ready=12:01:00 deliveries=1 additional_deliveries=1 owner=9; 1/0/2 ready=12:01:00 " \
                  "deliveries=1 "                                                                            \
                  "owner=9; "                                                                                \
                  "1/0/3",                                                                                   \
          .query = SLOTS,                                                                                    \
          .found = "1:1:0 2:2:0" },                                                                          \
        { SQL_WORKING_LIMITED,                                                                               \
          "after a lower limit, a job with an ended lease takes another slot",                               \
          .jobs = "1/0/2 deliveries=1 owner=3",                                                              \
          .setup = MAX_ACTIVE("1"),                                                                          \
          .params = { "{1}", "{0}", "{2}", "{@11:59:00}", "{}", NOW, "9", "{}", "{}" },                      \
          .rows = "1 60 12:01:00 f t 11:00:00 f f f",                                                        \
          .left = "1/0/2 ready=12:01:00 deliveries=1 additional_deliveries=1 owner=9",                       \
          .query = SLOTS,                                                                                    \
          .found = "1:2:1 2:2:0" },                                                                          \
        { SQL_WORKING_LIMITED,                                                                               \
          "takes no slot while a job runs beyond a lower limit",                                             \
          .jobs = "1/0/2 ready=12:00:30 deliveries=1 owner=3; 1/0/3",                                        \
          .setup = MAX_ACTIVE("1"),                                                                          \
          .params = { "{1}", "{0}", "{3}", "{@11:59:00}", "{}", NOW, "9", "{}", "{}" },                      \
          .rows = "1 60 11:00:00 f t 11:00:00 f t f" },                                                      \
        { SQL_WORKING_LIMITED,                                                                               \
          "needs no slot where each group has its own limit",                                                \
          .jobs = "1/0/3",                                                                                   \
          .setup = MAX_ACTIVE("2") "; insert into pgdisque.queue_setting values (1, 'per-group', '1')",      \
          .params = { "{1}", "{0}", "{3}", "{@11:59:00}", "{}", NOW, "9", "{}", "{}" },                      \
          .rows = "1 60 12:01:00 f t 11:00:00 f f f",                                                        \
          .left = "1/0/3 ready=12:01:00 owner=9",                                                            \
          .query = SLOTS,                                                                                    \
          .found = "1:1:0 2:2:0" },                                                                          \
        { SQL_RUNNING_JOBS,                                                                                  \
          "jobs with a slot and a lease, of each queue",                                                     \
          .jobs = TWO_RUNNING "; 1/0/5 ready=12:00:30 owner=3; 1/0/6 owner=3",                               \
          .setup = MAX_ACTIVE("3") "; update pgdisque.slot set id = 6, rank = 0 where n = 3; "               \
                                   "update pgdisque.job set slot = 3 where id = 6",                          \
          .params = { "{2,1}", NOW },                                                                        \
          .rows = "1 0; 2 2",                                                                                \
          .ordered = true },                                                                                 \
        { SQL_SET_SETTINGS,                                                                                  \
          "slots for as many as may run; those that are there stay as they are",                             \
          .setup = MAX_ACTIVE("5"),                                                                          \
          .params = { "{1,2,2}", "{max-active,retry,max-active}", "{3,9,2}" },                               \
          .rows = "t f",                                                                                     \
          .query = "select string_agg(concat_ws(':', queue_id, n, id), ' ' order by queue_id, n) "           \
                   "from pgdisque.slot",                                                                     \
          .found = "1:1:1 1:2:2 1:3 1:4 1:5 2:1 2:2" },                                                      \
        { SQL_SET_SETTINGS,                                                                                  \
          "a bucket for each rate: full and fenced with a period or a burst, else empty",                    \
          .params = { "{1,1,2,2,3,3,4}", "{rate,rate-period,rate,rate-period,rate,rate-burst,rate-burst}",   \
                      "{2,10,2,1,9,4,5}" },                                                                  \
          .rows = "t f",                                                                                     \
          .query = BUCKETS,                                                                                  \
          .found = "1:1000000:f 2:0:o 3:1000000:f" },                                                        \
    {                                                                                                        \
        SQL_SET_SETTINGS, "the fence of an existing bucket follows the rate, and the tokens stay",           \
            .setup = RATE("30", "7") "; insert into pgdisque.queue_setting values (2, 'rate', '2'), "        \
                                     "(2, 'rate-period', '10'), (3, 'rate', '2'), (3, 'rate-burst', '4'); "  \
                                     "insert into pgdisque.bucket select 4 - 1e6, now() + "                  \
                                     "interval '8760000 hours', n from generate_series(2, 3) as n",          \
            .params = { "{1,2,2,3}", "{rate-burst,rate,rate-period,rate-burst}", "{3,5,1,0}" },              \
            .rows = "t f", .query = BUCKETS, .found = "1:7:f 2:4:o 3:4:o"                                    \
    }

#endif
