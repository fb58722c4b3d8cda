#ifndef WORKER_CASES_H
#define WORKER_CASES_H

#include "session.h"

/* Part of statement_cases.h: jobs and their workers. */

/* In queue 1 anna has jobs 1 and 2. Job 3 has no worker's name. Job 4 was anna's and is queued. Job 5 has expired. bert
 * has job 6, without an end of the lease. In queue 2 anna has job 7 by SQL, and job 8 by node 3. */
#define WORKER_JOBS                                              \
    "1/0/1 ready=12:00:30 deliveries=1 owner=3; "                \
    "1/0/2 ready=12:00:40 deliveries=1 owner=3; "                \
    "1/0/3 ready=12:00:50 deliveries=1 owner=3; "                \
    "1/0/4 deliveries=1 owner=3; "                               \
    "1/0/5 ready=12:00:30 expires=11:59:59 owner=3; "            \
    "1/0/6 ready=infinity retry=0 deliveries=1 owner=3; "        \
    "1/0/9 ready=12:05:00 wake=12:05:00; "                       \
    "2/-1/7 ready=12:00:30 wake=13:00:00 deliveries=1 owner=0; " \
    "2/0/8 ready=12:00:20 deliveries=1 additional_deliveries=1 owner=3"
#define WORKER_SETUP                                                                                        \
    "update pgdisque.job set worker = case when id = 6 then 'bert' when id not in (3, 9) then 'anna' end; " \
    "insert into pgdisque.queue (name) values ('q1'), ('q2')"
#define GIVEN_AGAIN \
    "1/0/1 ready=12:01:00 deliveries=2 additional_deliveries=1 owner=4; 1/0/2 deliveries=1 owner=3"
#define WORKERS_NOW \
    "select string_agg(id || '=' || worker, ' ' order by id) from pgdisque.job where worker is not null"
#define BEFORE_ALL "-2147483648", "-32768", "0"

#define WORKER_CASES                                                                                       \
    { SQL_NAME_WORKERS,                                                                                    \
      "leases that are still the same, of that node",                                                      \
      .jobs = WORKER_JOBS,                                                                                 \
      .params = { "{1,1,1,1,2,2}", "{0,0,0,0,-1,0}", "{1,2,4,99,7,8}",                                     \
                  "{@12:00:30,@12:00:41,@11:00:00,@12:00:30,@12:00:30,@12:00:20}",                         \
                  "{anna,bert,carl,dora,emil,\"7-127.0.0.1:9\"}", "3" },                                   \
      .query = WORKERS_NOW,                                                                                \
      .found = "1=anna 4=carl 8=7-127.0.0.1:9" },                                                          \
        { SQL_NAME_WORKERS, "nothing", .params = { NO_KEYS, "{}", "{}", "3" } },                           \
        { SQL_LIST_WORKERS,                                                                                \
          "all queues",                                                                                    \
          .jobs = WORKER_JOBS,                                                                             \
          .setup = WORKER_SETUP,                                                                           \
          .params = { BEFORE_ALL, "2147483647", "10", NOW },                                               \
          .rows = "1 0 1 3 anna 12:00:30; 1 0 2 3 anna 12:00:40; 1 0 3 3 - 12:00:50; "                     \
                  "1 0 6 3 bert infinity; 2 -1 7 0 anna 12:00:30; 2 0 8 3 anna 12:00:20",                  \
          .ordered = true },                                                                               \
        { SQL_LIST_WORKERS,                                                                                \
          "one queue",                                                                                     \
          .jobs = WORKER_JOBS,                                                                             \
          .setup = WORKER_SETUP,                                                                           \
          .params = { BEFORE_ALL, "1", "10", NOW },                                                        \
          .rows = "1 0 1 3 anna 12:00:30; 1 0 2 3 anna 12:00:40; 1 0 3 3 - 12:00:50; "                     \
                  "1 0 6 3 bert infinity",                                                                 \
          .ordered = true },                                                                               \
        { SQL_LIST_WORKERS,                                                                                \
          "a full page behind a key",                                                                      \
          .jobs = WORKER_JOBS,                                                                             \
          .setup = WORKER_SETUP,                                                                           \
          .params = { "1", "0", "1", "2", "3", NOW },                                                      \
          .rows = "1 0 2 3 anna 12:00:40; 1 0 3 3 - 12:00:50; 1 0 4 - - -",                                \
          .ordered = true },                                                                               \
        { SQL_WORKER_JOBS,                                                                                 \
          "running jobs only, with the begin of their leases",                                             \
          .jobs = WORKER_JOBS,                                                                             \
          .setup = WORKER_SETUP "; update pgdisque.job set leased_at = '2030-01-01 11:59', "               \
                                "progress = '{\"percent\": 5}' where id = 8",                              \
          .params = { "{1,1,1,1,1,2}", "{0,0,0,0,0,0}", "{1,4,5,9,99,8}", NOW },                           \
          .rows = "1 13:00:00 60 12:00:30 11:59:30 1 -; "                                                  \
                  "6 13:00:00 60 12:00:20 11:59:00 1 {\"percent\": 5}" },                                  \
        { SQL_SHOW_JOBS,                                                                                   \
          "the workers of jobs",                                                                           \
          .jobs = "1/0/1 ready=12:00:30 deliveries=1 owner=3; 1/0/2",                                      \
          .setup = "update pgdisque.job set worker = 'anna'",                                              \
          .params = { "{1,1}", "{0,0}", "{1,2}", NOW },                                                    \
          .rows = "1 1 0 1 12:00:30 13:00:00 f 3 60 0 0 0 1 \"x\" 1 - - - - - - - - - - - anna "           \
                  "t - - - -; "                                                                            \
                  "2 1 0 2 11:00:00 13:00:00 f - 60 0 0 0 1 \"x\" 0 - - - - - - - - - - - - t - - - -" },  \
        { SQL_SCAN_QUEUE,                                                                                  \
          "the workers of jobs",                                                                           \
          .jobs = "1/0/1 ready=12:00:30 deliveries=1 owner=3; 1/0/2",                                      \
          .setup = "update pgdisque.job set worker = 'anna'",                                              \
          .params = { "1", FIRST, "9", NOW, "false", "9999" },                                             \
          .rows = "260 1 0 1 12:00:30 13:00:00 f 3 60 0 0 0 1 - 1 - - - - - - - - - - - anna t; "          \
                  "520 1 0 2 11:00:00 13:00:00 f - 60 0 0 0 1 - 0 - - - - - - - - - - - - t" },            \
        { SQL_LOAD_LEASES,                                                                                 \
          "with their workers",                                                                            \
          .jobs = "1/0/1 ready=12:00:30 deliveries=1 owner=3",                                             \
          .setup = "update pgdisque.job set worker = 'anna'",                                              \
          .params = { NOW, NOW },                                                                          \
          .rows = "1 0 1 12:00:30 3 f anna" },                                                             \
        { SQL_FIND_LEASES,                                                                                 \
          "with their workers",                                                                            \
          .jobs = "1/0/1 ready=12:00:30 deliveries=1 owner=3; 1/0/2 owner=3; 1/0/3",                       \
          .setup = "update pgdisque.job set worker = 'anna'",                                              \
          .params = { "{1,1,1}", "{0,0,0}", "{1,2,3}", NOW },                                              \
          .rows = "1 12:00:30 3 f anna; 2 11:00:00 3 f anna" },                                            \
        { SQL_FIND_HELD,                                                                                   \
          "by a worker, wherever",                                                                         \
          .jobs = WORKER_JOBS,                                                                             \
          .setup = WORKER_SETUP,                                                                           \
          .params = { BEFORE_ALL, "2147483647", "10", NOW, "anna", "NULL" },                               \
          .rows = "1 0 1 12:00:30; 1 0 2 12:00:40; 2 -1 7 12:00:30; 2 0 8 12:00:20",                       \
          .ordered = true },                                                                               \
        { SQL_FIND_HELD,                                                                                   \
          "at a node, in a full page behind a key",                                                        \
          .jobs = WORKER_JOBS,                                                                             \
          .setup = WORKER_SETUP,                                                                           \
          .params = { "1", "0", "1", "2", "3", NOW, "NULL", "3" },                                         \
          .rows = "1 0 2 12:00:40; 1 0 3 12:00:50; 1 0 4 -",                                               \
          .ordered = true },                                                                               \
        { SQL_FIND_HELD,                                                                                   \
          "both",                                                                                          \
          .jobs = WORKER_JOBS,                                                                             \
          .setup = WORKER_SETUP,                                                                           \
          .params = { BEFORE_ALL, "2147483647", "10", NOW, "anna", "0" },                                  \
          .rows = "2 -1 7 12:00:30" },                                                                     \
        { SQL_RELEASE_HELD,                                                                                \
          "leases that are still the same",                                                                \
          .jobs = WORKER_JOBS,                                                                             \
          .params = { "{1,1,1,1,1,1,2,2}", "{0,0,0,0,0,0,-1,0}", "{1,2,4,5,9,99,7,8}",                     \
                      "{@12:00:30,@12:00:41,@11:00:00,@12:00:30,@12:05:00,@12:00:30,@12:00:30,@12:00:20}", \
                      NOW },                                                                               \
          .rows = "1 f; 7 f; 8 f",                                                                         \
          .left = "1/0/1 ready=12:00:00 deliveries=1 additional_deliveries=1; "                            \
                  "1/0/2 ready=12:00:40 deliveries=1 owner=3; "                                            \
                  "1/0/3 ready=12:00:50 deliveries=1 owner=3; 1/0/4 deliveries=1 owner=3; "                \
                  "1/0/5 ready=12:00:30 expires=11:59:59 owner=3; "                                        \
                  "1/0/6 ready=infinity retry=0 deliveries=1 owner=3; "                                    \
                  "1/0/9 ready=12:05:00 wake=12:05:00; "                                                   \
                  "2/-1/7 ready=12:00:00 wake=13:00:00 deliveries=1 additional_deliveries=1; "             \
                  "2/0/8 ready=12:00:00 deliveries=1 additional_deliveries=2" },                           \
        { SQL_RELEASE_HELD, "nothing", .params = { NO_KEYS, "{}", NOW } },                                 \
        { SQL_CLAIM_KEYS,                                                                                  \
          "the former worker's name is removed",                                                           \
          .jobs = "1/0/1 deliveries=1 owner=3; 1/0/2 deliveries=1 owner=3",                                \
          .setup = "update pgdisque.job set worker = 'anna'",                                              \
          .params = { "{1}", "{0}", "{1}", NOW, "4" },                                                     \
          .rows = ANY,                                                                                     \
          .left = GIVEN_AGAIN,                                                                             \
          .query = WORKERS_NOW,                                                                            \
          .found = "2=anna" },                                                                             \
        { SQL_CLAIM_SCAN,                                                                                  \
          "the former worker's name is removed",                                                           \
          .jobs = "1/0/1 deliveries=1 owner=3; 1/0/2 deliveries=1 owner=3",                                \
          .setup = "update pgdisque.job set worker = 'anna'",                                              \
          .params = { "1", "0", "0", "1", NOW, "4", NOW },                                                 \
          .rows = ANY,                                                                                     \
          .left = GIVEN_AGAIN,                                                                             \
          .query = WORKERS_NOW,                                                                            \
          .found = "2=anna" },                                                                             \
        { SQL_DEQUEUE_JOBS,                                                                                \
          "the former worker's name is removed",                                                           \
          .jobs = "1/0/1 deliveries=1 owner=3; 1/0/2 deliveries=1 owner=3",                                \
          .setup = "update pgdisque.job set worker = 'anna'",                                              \
          .params = { "{1}", "{0}", "{1}", NOW, "4" },                                                     \
          .rows = ANY,                                                                                     \
          .left = "1/0/1 ready=12:01:00 deliveries=1 additional_deliveries=1 owner=4; 1/0/2 deliveries=1 " \
                  "owner=3",                                                                               \
          .query = WORKERS_NOW,                                                                            \
          .found = "2=anna" },

#endif
