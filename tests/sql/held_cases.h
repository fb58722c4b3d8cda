#ifndef HELD_CASES_H
#define HELD_CASES_H

#include "session.h"

/* Part of statement_cases.h: jobs with RETRY 0 that were held back after a restore, see sql/by-hand. Their ready time
 * is infinity and they have no owner, as a job that waits for its turn in a group. But they have no group. */
#define HELD "1/0/1 ready=infinity retry=0; 1/0/2 ready=infinity retry=0 wake=13:00:00; 1/0/3 ready=infinity"
#define ALL_HELD "{1,1,1}", "{0,0,0}", "{1,2,3}"
#define ONE_IN_A_GROUP "update pgdisque.job set group_key = 'a' where id = 3"

#define HELD_CASES                                                                                          \
    { SQL_REQUEUE_JOBS,                                                                                     \
      "ENQUEUE and NACK of jobs that are held",                                                             \
      .jobs = HELD,                                                                                         \
      .setup = ONE_IN_A_GROUP,                                                                              \
      .params = { ALL_HELD, "{0,1,0}", "{NULL,NULL,NULL}", "{NULL,NULL,NULL}", NOW, "{}" },                 \
      .rows = "1 290001-01-01 00:00:00+00 - f; 2 290001-01-01 00:00:00+00 - f",                             \
      .left = "1/0/1 ready=12:00:00 retry=0; 1/0/2 ready=12:00:00 wake=13:00:00 retry=0 nacks=1; "          \
              "1/0/3 ready=infinity" },                                                                     \
        { SQL_REQUEUE_JOBS_AGAIN,                                                                           \
          "jobs that are held",                                                                             \
          .jobs = HELD,                                                                                     \
          .setup = ONE_IN_A_GROUP,                                                                          \
          .params = { ALL_HELD, "{0,1,0}", "{NULL,NULL,NULL}", "{NULL,NULL,NULL}",                          \
                      "{@11:59:30,@11:59:30,@11:59:30}", "{@11:59:50,@11:59:50,@11:59:50}", NOW, "9", "{}", \
                      "{}" },                                                                               \
          .rows = "1 f 290001-01-01 00:00:00+00 - f f; 2 f 290001-01-01 00:00:00+00 - f f",                 \
          .left = "1/0/1 ready=11:59:30 retry=0; 1/0/2 ready=11:59:30 wake=13:00:00 retry=0 nacks=1; "      \
                  "1/0/3 ready=infinity" },                                                                 \
        { SQL_WORKING_JOBS,                                                                                 \
          "jobs that are held",                                                                             \
          .jobs = HELD,                                                                                     \
          .setup = ONE_IN_A_GROUP,                                                                          \
          .params = { ALL_HELD, "{@11:30:00,@11:30:00,@11:30:00}", "{NULL,NULL,NULL}", NOW, "9", "{}",      \
                      "{}" },                                                                               \
          .rows = "1 0 infinity f f 290001-01-01 00:00:00+00 f f f; 2 0 infinity f f 290001-01-01 "         \
                  "00:00:00+00 f f f" },                                                                    \
        { SQL_DEQUEUE_JOBS, "not the held jobs", .jobs = HELD, .setup = ONE_IN_A_GROUP,                     \
          .params = { ALL_HELD, NOW, "9" } },                                                               \
    {                                                                                                       \
        SQL_SHOW_JOBS, "jobs that are held",                                                                \
            .jobs = HELD, .params = { "{1}", "{0}", "{1}", NOW },                                           \
            .rows = "1 1 0 1 infinity 13:00:00 f - 0 0 0 0 1 \"x\" 0 - - - - - - - - - - - - "              \
                    "t - - - -"                                                                             \
    }

#endif
