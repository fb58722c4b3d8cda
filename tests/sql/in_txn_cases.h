#ifndef IN_TXN_CASES_H
#define IN_TXN_CASES_H

#include "key_cases.h"
#include "list_cases.h"
#include "session.h"

/* Part of statement_cases.h: GETJOB and commands about lists and keys in a transaction. */

#define FROM_FIRST "{-32768,-32768}", "{0,0}"

#define LIVES_ANY "-infinity", "infinity"
#define REMOVES "t", NOW, NOW, "NULL"

#define IN_TXN_CASES                                                                                         \
    { SQL_END_IN_TXN,                                                                                        \
      "removes the queued jobs of some queues, and no others",                                               \
      .jobs = IN_A_LIST "; 3/0/-8; 4/0/9 ready=12:00:30 owner=3",                                            \
      .setup = IN_A_GROUP,                                                                                   \
      .params = { "{3,1,4,5}", NOW, "@20:00:00", LIVES_ANY, REMOVES },                                       \
      .rows = "1 -2 9 11:00:00 13:00:00 60 - -; 1 0 -4 11:00:00 13:00:00 60 - -; "                           \
              "1 0 1 11:00:00 13:00:00 0 \"g\" -; 1 0 6 11:00:00 13:00:00 60 - -; "                          \
              "3 0 -8 11:00:00 13:00:00 60 - -",                                                             \
      .left = NOT_IN_A_LIST "2/0/7; 4/0/9 ready=12:00:30 owner=3" },                                         \
        { SQL_END_IN_TXN,                                                                                    \
          "another end for jobs that expire in order",                                                       \
          .jobs = "1/0/1 wake=13:00:00; 1/0/2 expires=14:00:00; 1/0/3 ready=12:00:30 owner=3",               \
          .params = { "{1}", NOW, "@20:00:00", LIVES_ANY, "f", "@13:30:00", "@19:00:00", "NULL" },           \
          .rows = "1 0 1 11:00:00 19:00:00 60 - -",                                                          \
          .left = "1/0/1 expires=19:00:00; 1/0/2 expires=14:00:00; 1/0/3 ready=12:00:30 owner=3",            \
          .query = OWN_ENDS,                                                                                 \
          .found = "1=13:00 2=- 3=-" },                                                                      \
        { SQL_END_IN_TXN,                                                                                    \
          "the longest life is between two times, both included",                                            \
          .jobs = "1/0/1 expires=12:10:00; 1/0/2 expires=12:40:00; 1/0/3 expires=15:00:00 wake=11:00:00",    \
          .params = { "{1}", NOW, "@20:00:00", "@12:40:00", "@12:40:00", "f", "infinity", "@12:50:00",       \
                      "@12:50:00" },                                                                         \
          .rows = "1 0 1 11:00:00 12:50:00 60 - -; 1 0 2 11:00:00 12:50:00 60 - -",                          \
          .left = "1/0/1 expires=12:50:00 wake=12:50:00; 1/0/2 expires=12:50:00 wake=12:50:00; "             \
                  "1/0/3 expires=15:00:00 wake=11:00:00" },                                                  \
        { SQL_END_IN_TXN, "it does not", .jobs = "1/0/1 expires=12:10:00; 1/0/2 expires=12:40:00",           \
          .params = { "{1}", NOW, "@20:00:00", "@12:40:01", "infinity", REMOVES },                           \
          .left = "1/0/1 expires=12:10:00; 1/0/2 expires=12:40:00" },                                        \
        { SQL_END_IN_TXN,                                                                                    \
          "a job without an end",                                                                            \
          .jobs = "1/0/1 expires=12:10:00; 1/0/2 expires=21:00:00; 2/0/3",                                   \
          .params = { "{1,2}", NOW, "@20:00:00", "infinity", "infinity", REMOVES },                          \
          .rows = "1 0 1 11:00:00 12:10:00 60 - -; 1 0 2 11:00:00 21:00:00 60 - -",                          \
          .left = "2/0/3" },                                                                                 \
        { SQL_CLAIM_IN_TXN,                                                                                  \
          "ready jobs, from the left, by priority and age, up to the limit",                                 \
          .jobs = "1/0/1; 1/-1/2; 1/0/3; 2/0/4; 2/0/5",                                                      \
          .params = { "{2,1}", FROM_FIRST, "3", NOW, "9" },                                                  \
          .rows = "1 2 0 4 12:01:00 13:00:00 60 0 0 \"x\" - -; 1 2 0 5 12:01:00 13:00:00 60 0 0 \"x\" - -; " \
                  "2 1 -1 2 12:01:00 13:00:00 60 0 0 \"x\" - -",                                             \
          .left = "1/-1/2 ready=12:01:00 deliveries=1 owner=9; 1/0/1; 1/0/3; "                               \
                  "2/0/4 ready=12:01:00 deliveries=1 owner=9; 2/0/5 ready=12:01:00 deliveries=1 owner=9" },  \
        { SQL_CLAIM_IN_TXN,                                                                                  \
          "behind a key of each queue, and not delayed, leased or expired jobs",                             \
          .jobs = "1/0/1; 1/0/2 ready=12:00:30 owner=3 deliveries=1; 1/0/3 wake=11:00:00 delay=300; "        \
                  "1/0/4 expires=12:00:00; 1/0/5 retry=0; 2/0/6; 2/0/7 owner=3 deliveries=1",                \
          .params = { "{1,2}", "{0,0}", "{1,6}", "9", NOW, "9" },                                            \
          .rows = "1 1 0 5 infinity 13:00:00 0 0 0 \"x\" - -; 2 2 0 7 12:01:00 13:00:00 60 0 1 \"x\" - -",   \
          .left = "1/0/1; 1/0/2 ready=12:00:30 deliveries=1 owner=3; 1/0/3 wake=11:00:00 delay=300; "        \
                  "1/0/4 expires=12:00:00; 1/0/5 ready=infinity retry=0 deliveries=1 owner=9; 2/0/6; "       \
                  "2/0/7 ready=12:01:00 deliveries=2 additional_deliveries=1 owner=9" },                     \
        { SQL_CLAIM_IN_TXN,                                                                                  \
          "the last attempt is reported; a job without attempts is passed by",                               \
          .jobs = "1/0/1 deliveries=1 attempts=2; 1/0/2 deliveries=2 attempts=2; "                           \
                  "1/0/3 backoff=3 deliveries=1 attempts=2",                                                 \
          .params = { "{1}", "{-32768}", "{0}", "9", NOW, "9" },                                             \
          .rows =                                                                                            \
              "1 1 0 1 12:01:00 13:00:00 60 0 0 \"x\" -1 -; 1 1 0 3 12:01:00 13:00:00 60 0 0 \"x\" -1 -",    \
          .left = "1/0/1 ready=12:01:00 deliveries=2 owner=9 attempts=2; 1/0/2 deliveries=2 attempts=2; "    \
                  "1/0/3 ready=12:01:00 deliveries=2 owner=9 attempts=2 backoff=3 leased=12:00:00" },        \
        { SQL_CLAIM_IN_TXN,                                                                                  \
          "a queue named twice gives a job once",                                                            \
          .jobs = "1/0/1",                                                                                   \
          .params = { "{1,1}", FROM_FIRST, "1", NOW, "9" },                                                  \
          .rows = "1 1 0 1 12:01:00 13:00:00 60 0 0 \"x\" - -",                                              \
          .left = "1/0/1 ready=12:01:00 deliveries=1 owner=9" },                                             \
        { SQL_POP_IN_TXN,                                                                                    \
          "the first jobs of the first queue with jobs, up to the limit",                                    \
          .jobs = "1/0/1 ready=12:00:30 owner=3 deliveries=1; 2/-1/2; 2/0/-3 body=y; 2/0/4; 3/0/5",          \
          .params = { "{0,1,2,3}", "{-32768,-32768,-32768,-32768}", "{0,0,0,0}", "{0,0,0,0}", "2", NOW },    \
          .rows = "-1 2 11:00:00 13:00:00 60 0 0 \"x\" 0 " NONE                                              \
                  " 3; 0 -3 11:00:00 13:00:00 60 0 0 \"y\" 0 " NONE " 3",                                    \
          .left = "1/0/1 ready=12:00:30 deliveries=1 owner=3; 2/0/4; 3/0/5" },                               \
        { SQL_POP_IN_TXN,                                                                                    \
          "the last ones",                                                                                   \
          .jobs = "1/-1/2; 1/0/-3 body=y; 1/0/4; 2/0/5",                                                     \
          .params = { "{1,2}", "{-32768,-32768}", "{0,0}", "{1,0}", "2", NOW },                              \
          .rows = "0 -3 11:00:00 13:00:00 60 0 0 \"y\" 0 " NONE                                              \
                  " 1; 0 4 11:00:00 13:00:00 60 0 0 \"x\" 0 " NONE " 1",                                     \
          .left = "1/-1/2; 2/0/5" },                                                                         \
        { SQL_POP_IN_TXN,                                                                                    \
          "behind a key, and not delayed, leased, spent or expired jobs; with all columns",                  \
          .jobs = "1/0/1; 1/0/2 ready=12:00:30 owner=3 deliveries=1; 1/0/3 wake=11:00:00 delay=300; "        \
                  "1/0/4 expires=12:00:00; 1/0/5 deliveries=2 attempts=2; "                                  \
                  "1/0/6 deliveries=1 attempts=2 backoff=4 deadqueue=q error=e key=k",                       \
          .params = { "{1}", "{0}", "{1}", "{0}", "9", NOW },                                                \
          .rows = "0 6 11:00:00 13:00:00 60 0 0 \"x\" 1 2 4 \"q\" \"e\" \"k\" - - - - - 0 1 - - - 1",        \
          .left = "1/0/1; 1/0/2 ready=12:00:30 deliveries=1 owner=3; 1/0/3 wake=11:00:00 delay=300; "        \
                  "1/0/4 expires=12:00:00; 1/0/5 deliveries=2 attempts=2" },                                 \
        { SQL_POP_IN_TXN, "nothing", .params = { "{}", "{}", "{}", "{}", "9", NOW } },                       \
        { SQL_PUSH_IF_ANY,                                                                                   \
          "to lists that have something queued",                                                             \
          .jobs = "1/0/1; 2/0/1 ready=12:00:30 owner=3 deliveries=1; 3/0/1 expires=12:00:00",                \
          .params = { "{-5,6,7,8}", "{@12:00:00,@12:00:00,@12:00:00,@12:00:00}",                             \
                      "{@13:00:00,@13:00:00,@13:00:00,@13:00:00}", "{@13:00:00,NULL,NULL,NULL}",             \
                      "{1,1,2,3}", "{60,0,60,60}", "{0,0,0,0}", "{0,0,0,0}", "{1,1,1,1}",                    \
                      "{NULL,NULL,NULL,NULL}", "{a,b,c,d}", "{3,NULL,NULL,NULL}", "{4,NULL,NULL,NULL}",      \
                      "{q,NULL,NULL,NULL}", "{NULL,NULL,NULL,NULL}", NOW },                                  \
          .rows = "-5; 6",                                                                                   \
          .ordered = true,                                                                                   \
          .left = "1/0/-5 ready=12:00:00 wake=13:00:00 body=a attempts=3 backoff=4 deadqueue=q; 1/0/1; "     \
                  "1/0/6 ready=12:00:00 retry=0 body=b; 2/0/1 ready=12:00:30 deliveries=1 owner=3; 3/0/1 "   \
                  "expires=12:00:00" },                                                                      \
    {                                                                                                        \
        SQL_CLAIM_IN_TXN, "no such queue", .jobs = "1/0/1", .params = { "{0,0}", FROM_FIRST, "5", NOW, "9" } \
    }

#endif
