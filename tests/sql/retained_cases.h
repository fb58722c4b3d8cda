#ifndef RETAINED_CASES_H
#define RETAINED_CASES_H

#include "session.h"

/* Part of statement_cases.h: finished jobs that are retained. */

/* Key, table, times, worker, deliveries, nacks, additional_deliveries, result and body of all retained jobs. */
#define RETAINED                                                                                             \
    "select string_agg(concat(f.queue_id, '/', f.rank, '/', f.id, ' ', replace(f.tableoid::regclass::text, " \
    "'pgdisque.retained_', ''), ' ', (f.finished_at at time zone 'UTC')::time, ' ', "                        \
    "(f.keep_until at time zone 'UTC')::time, ' ', f.node, ' ', f.worker, ' ', f.deliveries, ' ', f.nacks, " \
    "' ', f.additional_deliveries, "                                                                         \
    "' ', coalesce(encode(f.result, 'escape'), '-'), ' ', encode(f.body, 'escape')), '; ' order by "         \
    "f.queue_id, f.rank, f.id) "                                                                             \
    "from pgdisque.retained as f"
#define ONE_RETAINED(queue, rank, id, until, bucket, result)                          \
    "(" id ", '" DAY " 11:00+00', '" DAY " " until "+00', '" DAY " 13:00+00', " queue \
    ", 60, 0, 1, 0, 0, " rank ", 1, " bucket ", 7, 'w', null, " result ", 'x')"
#define TWO_RETAINED                                             \
    "insert into pgdisque.retained values " ONE_RETAINED(        \
        "1", "0", "3", "12:00:01", "5",                          \
        "'r'") ", " ONE_RETAINED("1", "0", "4", "12:00:00", "5", \
                                 "null") ", " ONE_RETAINED("1", "0", "5", "12:00:01", "26", "null")
#define MANY_RETAINED                                                                                          \
    "insert into pgdisque.retained values " ONE_RETAINED(                                                      \
        "2", "-1", "1", "12:00:01", "0",                                                                       \
        "null") ", " ONE_RETAINED("1", "0", "7", "12:00:01", "3",                                              \
                                  "null") ", " ONE_RETAINED("1", "0", "8", "12:00:01", "3",                    \
                                                            "null") ", " ONE_RETAINED("1", "0", "9",           \
                                                                                      "12:00:01", "1",         \
                                                                                      "'r'") ","               \
                                                                                             " " ONE_RETAINED( \
                                                                                                 "2", "0",     \
                                                                                                 "0",          \
                                                                                                 "12:00:00",   \
                                                                                                 "1",          \
                                                                                                 "null")
#define FULL_RETAINED                                                                                   \
    "insert into pgdisque.retained select 1, now(), now(), now(), 1, 60, 0, 1, 0, 0, 0, 1, b, 7, 'w', " \
    "null, null, 'x' "                                                                                  \
    "from generate_series(0, 27) as b"

#define RETAINED_CASES                                                                                      \
    { SQL_COUNT_KEPT, "until their time, of each queue; 0 for a queue without such jobs",                   \
      .setup = TWO_RETAINED, .params = { "{3,1}", NOW }, .rows = "1 0; 2 2" },                              \
        { SQL_RETAIN_JOBS,                                                                                  \
          "retained as long as given or configured; with a result for a minute at least; or not at all",    \
          .jobs = ALL_STATES "; 2/-3/1 wake=13:00:00 deliveries=2 nacks=1 additional_deliveries=1 owner=3 " \
                             "replicate=2 body=y; 2/0/2",                                                   \
          .setup =                                                                                          \
              "insert into pgdisque.queue_setting values (2, 'retention', '100'), (2, 'retry', '5'), (1, "  \
              "'ttl', '9')",                                                                                \
          .params = { "{1,1,1,1,1,2,2,9}", "{0,0,0,0,0,-3,0,0}", "{1,2,3,7,8,1,2,1}", "{0,0,0,0,0,0,0,0}",  \
                      "{0,10,0,10,NULL,NULL,0,NULL}", "{a,b,c,d,\"e\\\\\\\\xff\",f,g,h}",                   \
                      "{NULL,NULL,r,NULL,NULL,\"\",NULL,r}", NOW, "7" },                                    \
          .rows = "1 11:00:00 f - -; 2 12:00:30 t - -; 3 11:00:00 t - -; 5 infinity f - -; 6 11:00:00 t - " \
                  "-; 7 11:00:00 f - -",                                                                    \
          .left = "1/0/4 ready=12:05:00 wake=12:05:00 delay=300; 1/0/5 wake=11:00:00 delay=300; 1/0/6 "     \
                  "wake=13:00:00; "                                                                         \
                  "1/0/7 ready=10:00:00 expires=11:59:59",                                                  \
          .query = RETAINED,                                                                                \
          .found = "1/0/2 2 12:00:00 12:00:10 7 b 1 0 0 - x; 1/0/3 5 12:00:00 12:01:00 7 c 1 0 1 r x; "     \
                   "2/-3/1 9 12:00:00 12:01:40 7 f 2 1 2  y" },                                             \
        { SQL_RETAIN_REQUIRED,                                                                              \
          "each job must be there",                                                                         \
          .jobs = "1/0/1",                                                                                  \
          .params = { "{1}", "{0}", "{1}", "{0}", "{5}", "{a}", "{r}", NOW, "7" },                          \
          .rows = "1 11:00:00 t - -",                                                                       \
          .left = "",                                                                                       \
          .query = RETAINED,                                                                                \
          .found = "1/0/1 1 12:00:00 12:00:05 7 a 0 0 0 r x" },                                             \
        { SQL_RETAIN_JOBS,                                                                                  \
          "an ID given twice counts once",                                                                  \
          .jobs = "1/0/1",                                                                                  \
          .params = { "{1,1}", "{0,0}", "{1,1}", "{0,0}", "{5,5}", "{a,b}", "{r,s}", NOW, "7" },            \
          .rows = "1 11:00:00 t - -",                                                                       \
          .left = "",                                                                                       \
          .query = RETAINED,                                                                                \
          .found = "1/0/1 1 12:00:00 12:00:05 7 a 0 0 0 r x" },                                             \
        { SQL_RETAIN_JOBS, "nothing", .jobs = "1/0/1",                                                      \
          .params = { NO_KEYS, "{}", "{}", "{}", "{}", NOW, "7" } },                                        \
        { SQL_LOOK_JOBS,                                                                                    \
          "living, done, expired and unknown jobs",                                                         \
          .jobs = "1/0/1; 1/0/2 expires=12:00:00",                                                          \
          .setup = TWO_RETAINED,                                                                            \
          .params = { "{1,1,1,1,1}", "{0,0,0,0,0}", "{4,1,2,3,99}", NOW },                                  \
          .rows = "1 f - - - f - f; 2 t - - - f - f; 3 f - - - f - f; 4 f 11:00:00 7 \"r\" f - f; "         \
                  "5 f - - - f - f",                                                                        \
          .ordered = true },                                                                                \
        { SQL_SHOW_RETAINED,                                                                                \
          "as often as asked for, unless it is over",                                                       \
          .jobs = "1/0/1",                                                                                  \
          .setup = TWO_RETAINED,                                                                            \
          .params = { "{1,1,1,1,1}", "{0,0,0,0,0}", "{3,4,1,5,3}", NOW },                                   \
          .rows = "1 1 0 3 11:00:00 12:00:01 13:00:00 60 0 1 0 0 1 w - \"r\" \"x\" - - -; "                 \
                  "4 1 0 5 11:00:00 12:00:01 13:00:00 60 0 1 0 0 1 w - - \"x\" - - -; "                     \
                  "5 1 0 3 11:00:00 12:00:01 13:00:00 60 0 1 0 0 1 w - \"r\" \"x\" - - -" },                \
        { SQL_SCAN_RETAINED,                                                                                \
          "pages in key order over all tables, without bodies",                                             \
          .setup = MANY_RETAINED,                                                                           \
          .params = { "1", "0", "7", "3", NOW, "false", "2147483647", "9999" },                             \
          .rows = "257 1 0 8 11:00:00 12:00:01 13:00:00 60 0 1 0 0 1 w - - - - - - t; "                     \
                  "514 1 0 9 11:00:00 12:00:01 13:00:00 60 0 1 0 0 1 w - - - - - - t; "                     \
                  "771 2 -1 1 11:00:00 12:00:01 13:00:00 60 0 1 0 0 1 w - - - - - - t",                     \
          .ordered = true },                                                                                \
        { SQL_SCAN_RETAINED, "of a queue, with bodies", .setup = MANY_RETAINED,                             \
          .params = { "1", "0", "8", "9", NOW, "true", "1", "9999" },                                       \
          .rows = "259 1 0 9 11:00:00 12:00:01 13:00:00 60 0 1 0 0 1 w - \"r\" \"x\" - - - t" },            \
        { SQL_EXPIRED_RETAINED, "of each class the expired table, if it has rows", .setup = FULL_RETAINED,  \
          .params = { NOW }, .rows = "15; 19; 20; 27; 3; 7; 8" },                                           \
        { SQL_EXPIRED_RETAINED, "none that is empty", .setup = TWO_RETAINED, .params = { NOW } },           \
        { SQL_EMPTY_RETAINED, "by the clock; see test_retained", .params = { NULL } },

#endif
