/* What every statement of sql/queries/ answers and does, alone in the database. */
#include "session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Jobs in all states a job can have. 2: leased by node 3. 3: its lease has ended. 4: delayed.
 * 5: delayed, and due. 6: with a TTL of its own. 7: expired. 8: leased for ever, as retry is 0. */
#define ALL_STATES                                   \
    "1/0/1; "                                        \
    "1/0/2 ready=12:00:30 deliveries=1 owner=3; "    \
    "1/0/3 deliveries=1 owner=3; "                   \
    "1/0/4 ready=12:05:00 wake=12:05:00 delay=300; " \
    "1/0/5 wake=11:00:00 delay=300; "                \
    "1/0/6 wake=13:00:00; "                          \
    "1/0/7 ready=10:00:00 expires=11:59:59; "        \
    "1/0/8 ready=infinity retry=0 deliveries=1 owner=3"
#define ALL_KEYS "{1,1,1,1,1,1,1,1,1}", "{0,0,0,0,0,0,0,0,0}", "{1,2,3,4,5,6,7,8,99}"
#define NO_KEYS "{}", "{}", "{}"
#define NODE_2 "2222222222222222222222222222222222222222"
#define NODE_7 "7777777777777777777777777777777777777777"
#define TIMES_12(t) "{" t "," t "," t "," t "," t "," t "," t "," t "," t "," t "," t "," t "}"
/* For results that no text can foretell. */
#define ANY "*"
/* Before and behind every job. */
#define FIRST "-32768", "-9223372036854775808"
#define LAST "32767", "9223372036854775807"

struct stmt_case {
    enum sql_stmt stmt;
    const char *what;
    const char *jobs;  /* before */
    const char *setup; /* SQL, before */
    const char *params[STATEMENT_PARAMS];
    const char *rows;          /* the result, sorted unless ordered; NULL: none */
    const char *left;          /* the jobs afterwards; NULL: as before */
    const char *query, *found; /* SQL, and its result afterwards */
    bool ordered;
};

static const struct stmt_case cases[] = {
    /* ---- adding ---- */
    { SQL_ADD_JOBS, "queued, delayed, with a TTL, delivered at once",
      .params = { "{1,2,3,4,5}", "{@11:00:00,@12:05:00,@12:00:00,@12:00:30,infinity}",
                  "{@13:00:00,@13:00:00,@12:30:00,@13:00:00,@13:00:00}",
                  "{NULL,@12:05:00,@12:30:00,NULL,NULL}", "{1,1,2,2,2}", "{60,60,60,30,0}", "{0,300,0,0,0}",
                  "{0,0,-5,0,0}", "{1,1,3,1,1}", "{NULL,NULL,NULL,7,7}", "{x,b,c,d,e}" },
      .left = "1/0/1; 1/0/2 ready=12:05:00 wake=12:05:00 delay=300 body=b; "
              "2/-5/3 ready=12:00:00 expires=12:30:00 wake=12:30:00 replicate=3 body=c; "
              "2/0/4 ready=12:00:30 retry=30 deliveries=1 owner=7 body=d; "
              "2/0/5 ready=infinity retry=0 deliveries=1 owner=7 body=e" },
    { SQL_ADD_JOBS, "an id twice adds none of them", .jobs = "1/0/2",
      .params = { "{1,2}", "{@11:00:00,@11:00:00}", "{@13:00:00,@13:00:00}", "{NULL,NULL}", "{1,1}",
                  "{60,60}", "{0,0}", "{0,0}", "{1,1}", "{NULL,NULL}", "{x,x}" },
      .rows = "error 23505" },
    { SQL_ADD_JOBS, "a negative retry is refused",
      .params = { "{1}", "{@11:00:00}", "{@13:00:00}", "{NULL}", "{1}", "{-1}", "{0}", "{0}", "{1}", "{NULL}",
                  "{x}" },
      .rows = "error 23514" },
    { SQL_ADD_JOBS, "nothing", .params = { NO_KEYS, "{}", "{}", "{}", "{}", "{}", "{}", "{}", "{}" } },
    { SQL_ADD_JOBS_ALIKE, "queued; a TTL counts from the millisecond in the id",
      .params = { "{1,4194304000,4194304001}", "{x,b,c}", "1", "60", "-5", "3", "@11:00:00", "@13:00:00",
                  "NULL" },
      .left = "1/-5/1 replicate=3; 1/-5/4194304000 expires=13:00:01 replicate=3 body=b; "
              "1/-5/4194304001 expires=13:00:01 replicate=3 body=c" },
    { SQL_ADD_JOBS_ALIKE, "delivered at once",
      .params = { "{1,2}", "{x,b}", "1", "30", "0", "1", "@12:00:30", "@13:00:00", "7" },
      .left = "1/0/1 ready=12:00:30 retry=30 deliveries=1 owner=7; "
              "1/0/2 ready=12:00:30 retry=30 deliveries=1 owner=7 body=b" },
    { SQL_ADD_JOBS_ALIKE, "an id twice adds none of them", .jobs = "1/0/2",
      .params = { "{1,2}", "{x,x}", "1", "60", "0", "1", "@11:00:00", "@13:00:00", "NULL" },
      .rows = "error 23505" },
    { SQL_ADD_JOBS_AGAIN, "only those that are not there, in order",
      .jobs = "1/0/2 ready=12:00:30 owner=3 deliveries=1",
      .params = { "{3,2,1}", "{@11:00:00,@11:00:00,@12:00:30}", "{@13:00:00,@13:00:00,@13:00:00}",
                  "{NULL,NULL,NULL}", "{1,1,1}", "{60,60,60}", "{0,0,0}", "{0,0,0}", "{1,1,1}",
                  "{NULL,NULL,7}", "{x,x,x}" },
      .rows = "3; 1", .ordered = true,
      .left = "1/0/1 ready=12:00:30 deliveries=1 owner=7; 1/0/2 ready=12:00:30 deliveries=1 owner=3; 1/0/3" },

    /* ---- claiming ---- */
    { SQL_CLAIM_WALK, "what is queued, not what is leased, delayed or expired", .jobs = ALL_STATES,
      .params = { "1", FIRST, "100", NOW, "9" },
      .rows = "0 1 12:01:00 13:00:00 60 0 0 \"x\"; 0 3 12:01:00 13:00:00 60 0 1 \"x\"; "
              "0 6 12:01:00 13:00:00 60 0 0 \"x\"",
      .left = "1/0/1 ready=12:01:00 deliveries=1 owner=9; "
              "1/0/2 ready=12:00:30 deliveries=1 owner=3; "
              "1/0/3 ready=12:01:00 deliveries=2 extras=1 owner=9; "
              "1/0/4 ready=12:05:00 wake=12:05:00 delay=300; "
              "1/0/5 wake=11:00:00 delay=300; "
              "1/0/6 ready=12:01:00 wake=13:00:00 deliveries=1 owner=9; "
              "1/0/7 ready=10:00:00 expires=11:59:59; "
              "1/0/8 ready=infinity retry=0 deliveries=1 owner=3" },
    { SQL_CLAIM_WALK, "the first ones by rank, then id", .jobs = "1/-2/9; 1/0/1; 1/0/2; 1/3/0",
      .params = { "1", FIRST, "2", NOW, "9" },
      .rows = "-2 9 12:01:00 13:00:00 60 0 0 \"x\"; 0 1 12:01:00 13:00:00 60 0 0 \"x\"",
      .left = "1/-2/9 ready=12:01:00 deliveries=1 owner=9; 1/0/1 ready=12:01:00 deliveries=1 owner=9; "
              "1/0/2; 1/3/0" },
    { SQL_CLAIM_WALK, "only behind the frontier, and of one queue", .jobs = "1/0/1; 1/0/2; 1/0/3; 2/0/4",
      .params = { "1", "0", "2", "10", NOW, "9" }, .rows = "0 3 12:01:00 13:00:00 60 0 0 \"x\"",
      .left = "1/0/1; 1/0/2; 1/0/3 ready=12:01:00 deliveries=1 owner=9; 2/0/4" },
    { SQL_CLAIM_WALK, "retry 0 is leased for ever", .jobs = "1/0/1 retry=0 nacks=2",
      .params = { "1", FIRST, "1", NOW, "9" }, .rows = "0 1 infinity 13:00:00 0 2 0 \"x\"",
      .left = "1/0/1 ready=infinity retry=0 deliveries=1 nacks=2 owner=9" },
    { SQL_CLAIM_WALK, "ready to the microsecond, gone to the microsecond",
      .jobs = "1/0/1 ready=12:00:00; 1/0/2 ready=12:00:00.000001; 1/0/3 expires=12:00:00",
      .params = { "1", FIRST, "9", NOW, "9" }, .rows = "0 1 12:01:00 13:00:00 60 0 0 \"x\"",
      .left = "1/0/1 ready=12:01:00 deliveries=1 owner=9; 1/0/2 ready=12:00:00.000001; "
              "1/0/3 expires=12:00:00" },
    { SQL_CLAIM_WALK, "limit 0 takes nothing", .jobs = "1/0/1", .params = { "1", FIRST, "0", NOW, "9" } },
    { SQL_CLAIM_KEYS, "of several queues, what is ready, an id given twice once",
      .jobs = "1/0/1; 1/0/2; 2/-1/3 owner=3 deliveries=1; 2/0/4 ready=12:00:01 owner=3 deliveries=1; "
              "2/0/5 expires=12:00:00; 2/0/6 retry=0",
      .params = { "{2,2,2,2,1,1,1}", "{0,0,0,-1,0,0,0}", "{6,5,4,3,1,1,99}", NOW, "9" },
      .rows = "1 0 1 12:01:00 13:00:00 60 0 0 \"x\"; 2 -1 3 12:01:00 13:00:00 60 0 1 \"x\"; "
              "2 0 6 infinity 13:00:00 0 0 0 \"x\"",
      .left = "1/0/1 ready=12:01:00 deliveries=1 owner=9; 1/0/2; "
              "2/-1/3 ready=12:01:00 deliveries=2 extras=1 owner=9; "
              "2/0/4 ready=12:00:01 deliveries=1 owner=3; 2/0/5 expires=12:00:00; "
              "2/0/6 ready=infinity retry=0 deliveries=1 owner=9" },
    { SQL_CLAIM_KEYS, "nothing", .jobs = "1/0/1", .params = { NO_KEYS, NOW, "9" } },

    /* ---- ending, putting back, extending ---- */
    { SQL_ACK_JOBS, "in every state but expired", .jobs = ALL_STATES, .params = { ALL_KEYS, NOW },
      .rows = "1 11:00:00; 2 12:00:30; 3 11:00:00; 4 infinity; 5 infinity; 6 11:00:00; 8 infinity",
      .left = "1/0/7 ready=10:00:00 expires=11:59:59" },
    { SQL_ACK_JOBS, "an id given twice counts once; queue and rank are part of the key",
      .jobs = "1/0/1; 1/5/2; 2/0/1", .params = { "{1,1,1}", "{0,0,0}", "{1,1,2}", NOW }, .rows = "1 11:00:00",
      .left = "1/5/2; 2/0/1" },
    { SQL_ACK_JOBS, "nothing", .jobs = "1/0/1", .params = { NO_KEYS, NOW } },
    { SQL_REQUEUE_JOBS, "NACK: what is leased or delayed, but at most once means once",
      .jobs = ALL_STATES "; 1/0/9 ready=12:05:00 wake=12:05:00 retry=0 delay=300",
      .params = { "{1,1,1,1,1,1,1,1,1}", "{0,0,0,0,0,0,0,0,0}", "{1,2,3,4,5,6,7,8,9}", "{1,1,1,1,1,1,1,1,1}",
                  NOW },
      .rows = "2; 4; 9",
      .left = "1/0/1; 1/0/2 ready=12:00:00 deliveries=1 nacks=1; 1/0/3 deliveries=1 owner=3; "
              "1/0/4 ready=12:00:00 wake=13:00:00 delay=300 nacks=1; 1/0/5 wake=11:00:00 delay=300; "
              "1/0/6 wake=13:00:00; 1/0/7 ready=10:00:00 expires=11:59:59; "
              "1/0/8 ready=infinity retry=0 deliveries=1 owner=3; "
              "1/0/9 ready=12:00:00 wake=13:00:00 retry=0 delay=300 nacks=1" },
    { SQL_REQUEUE_JOBS, "ENQUEUE counts an additional delivery, NACK a nack; both in one statement",
      .jobs = "1/0/1 ready=12:00:30 deliveries=1 owner=3; 1/0/2 ready=12:00:30 deliveries=1 owner=3; "
              "1/0/3 ready=12:05:00 wake=12:05:00 delay=300; 1/0/4 ready=12:00:30 expires=12:00:00 owner=3",
      .params = { "{1,1,1,1,1}", "{0,0,0,0,0}", "{1,2,3,4,1}", "{0,1,0,0,0}", NOW }, .rows = "1; 2; 3",
      .left = "1/0/1 ready=12:00:00 deliveries=1 extras=1; 1/0/2 ready=12:00:00 deliveries=1 nacks=1; "
              "1/0/3 ready=12:00:00 wake=13:00:00 delay=300; 1/0/4 ready=12:00:30 expires=12:00:00 owner=3" },
    { SQL_REQUEUE_JOBS_AGAIN, "NACK: what the first try has not done; what it has done is found and left",
      /* 2: done. 3, 12: done, and leased by a flight that is lost. 4: done, and given out since.
       * 5: not done, and its lease has ended. 9: leased by another node. */
      .jobs = "1/0/1 ready=12:00:30 deliveries=1 owner=9; 1/0/2 ready=11:59:40 deliveries=1 nacks=1; "
              "1/0/3 ready=12:00:40 deliveries=2 nacks=1 owner=9; "
              "1/0/4 ready=12:00:51 deliveries=2 nacks=1 owner=9; 1/0/5 ready=11:59:45 deliveries=1 owner=9; "
              "1/0/6 ready=12:05:00 wake=12:05:00 delay=300; 1/0/7 ready=11:59:45 wake=11:59:45 delay=300; "
              "1/0/8 ready=infinity retry=0 deliveries=1 owner=9; "
              "1/0/9 ready=12:00:45 deliveries=1 owner=3; 1/0/10; "
              "1/0/11 ready=11:59:40 expires=12:00:00 deliveries=1 nacks=1; "
              "1/0/12 ready=11:59:48 retry=5 deliveries=2 nacks=1 owner=9",
      .params = { "{1,1,1,1,1,1,1,1,1,1,1,1}", "{0,0,0,0,0,0,0,0,0,0,0,0}", "{1,2,3,4,5,6,7,8,9,10,11,12}",
                  "{1,1,1,1,1,1,1,1,1,1,1,1}", TIMES_12("@11:59:40"), TIMES_12("@11:59:50"), NOW, "9" },
      .rows = "1 f; 12 t; 2 t; 3 f; 6 f",
      .left = "1/0/1 ready=11:59:40 deliveries=1 nacks=1; 1/0/2 ready=11:59:40 deliveries=1 nacks=1; "
              "1/0/3 ready=11:59:40 deliveries=1 nacks=1; "
              "1/0/4 ready=12:00:51 deliveries=2 nacks=1 owner=9; 1/0/5 ready=11:59:45 deliveries=1 owner=9; "
              "1/0/6 ready=11:59:40 wake=13:00:00 delay=300 nacks=1; "
              "1/0/7 ready=11:59:45 wake=11:59:45 delay=300; "
              "1/0/8 ready=infinity retry=0 deliveries=1 owner=9; "
              "1/0/9 ready=12:00:45 deliveries=1 owner=3; 1/0/10; "
              "1/0/11 ready=11:59:40 expires=12:00:00 deliveries=1 nacks=1; "
              "1/0/12 ready=11:59:40 retry=5 deliveries=1 nacks=1" },
    { SQL_REQUEUE_JOBS_AGAIN, "ENQUEUE counts one additional delivery; an id given twice counts once",
      .jobs = "1/0/1 ready=12:00:30 deliveries=1 owner=9; 1/0/2 ready=11:59:40 deliveries=1 extras=1; "
              "1/0/3 ready=12:00:40 deliveries=2 extras=1 owner=9",
      .params = { "{1,1,1,1}", "{0,0,0,0}", "{1,2,3,1}", "{0,0,0,0}",
                  "{@11:59:40,@11:59:40,@11:59:40,@11:59:40}", "{@11:59:50,@11:59:50,@11:59:50,@11:59:50}",
                  NOW, "9" },
      .rows = "1 f; 2 t; 3 f",
      .left = "1/0/1 ready=11:59:40 deliveries=1 extras=1; 1/0/2 ready=11:59:40 deliveries=1 extras=1; "
              "1/0/3 ready=11:59:40 deliveries=1 extras=1" },
    { SQL_DEQUEUE_JOBS, "what is queued, for its retry time or for ever",
      .jobs = ALL_STATES "; 1/0/9 retry=0",
      .params = { "{1,1,1,1,1,1,1,1,1}", "{0,0,0,0,0,0,0,0,0}", "{1,2,3,4,5,6,7,8,9}", NOW, "9" },
      .rows = "1 12:01:00; 3 12:01:00; 6 12:01:00; 9 infinity",
      .left = "1/0/1 ready=12:01:00 owner=9; 1/0/2 ready=12:00:30 deliveries=1 owner=3; "
              "1/0/3 ready=12:01:00 deliveries=1 extras=1 owner=9; "
              "1/0/4 ready=12:05:00 wake=12:05:00 delay=300; 1/0/5 wake=11:00:00 delay=300; "
              "1/0/6 ready=12:01:00 wake=13:00:00 owner=9; 1/0/7 ready=10:00:00 expires=11:59:59; "
              "1/0/8 ready=infinity retry=0 deliveries=1 owner=3; 1/0/9 ready=infinity retry=0 owner=9" },
    { SQL_WORKING_JOBS, "starts the retry time anew, also of what is queued or delayed", .jobs = ALL_STATES,
      .params = { ALL_KEYS,
                  "{@11:30:00,@11:30:00,@11:30:00,@11:30:00,@11:30:00,@11:30:00,@11:30:00,@11:30:00,@11:30:"
                  "00}",
                  NOW, "9" },
      .rows =
          "1 60 12:01:00 f t; 2 60 12:01:00 f f; 3 60 12:01:00 f t; 4 60 12:01:00 f f; 5 60 12:01:00 f f; "
          "6 60 12:01:00 f t; 8 0 infinity f f",
      .left = "1/0/1 ready=12:01:00 owner=9; 1/0/2 ready=12:01:00 deliveries=1 owner=9; "
              "1/0/3 ready=12:01:00 deliveries=1 extras=1 owner=9; "
              "1/0/4 ready=12:01:00 wake=13:00:00 delay=300 owner=9; "
              "1/0/5 ready=12:01:00 wake=13:00:00 delay=300 owner=9; "
              "1/0/6 ready=12:01:00 wake=13:00:00 owner=9; 1/0/7 ready=10:00:00 expires=11:59:59; "
              "1/0/8 ready=infinity retry=0 deliveries=1 owner=3" },
    { SQL_WORKING_JOBS, "too late, and unchanged, when more than half of the TTL is over",
      .jobs = "1/0/1 ready=12:00:30 owner=3; 1/0/2 ready=12:00:30 owner=3",
      .params = { "{1,1}", "{0,0}", "{1,2}", "{@11:00:00,@10:59:59}", NOW, "9" },
      .rows = "1 60 12:01:00 f f; 2 60 12:00:30 t f",
      .left = "1/0/1 ready=12:01:00 owner=9; 1/0/2 ready=12:00:30 owner=3" },
    { SQL_WORKING_JOBS, "an id given twice: both rows tell when it comes back",
      .jobs = "1/0/1 ready=12:00:30 owner=3",
      .params = { "{1,1}", "{0,0}", "{1,1}", "{@11:30:00,@11:30:00}", NOW, "9" },
      .rows = "1 60 12:01:00 f f; 2 60 12:01:00 f f", .left = "1/0/1 ready=12:01:00 owner=9" },
    { SQL_RELEASE_JOBS, "only running leases of that node",
      .jobs =
          "1/0/1 ready=12:00:30 deliveries=2 extras=1 owner=9; 1/0/2 ready=12:00:30 deliveries=1 owner=3; "
          "1/0/3 deliveries=1 owner=9; 1/0/4 ready=infinity retry=0 deliveries=1 owner=9; 1/0/5",
      .params = { "{1,1,1,1,1}", "{0,0,0,0,0}", "{1,2,3,4,5}", NOW, "9" }, .rows = "1; 4",
      .left = "1/0/1 ready=12:00:00 deliveries=1 extras=1; 1/0/2 ready=12:00:30 deliveries=1 owner=3; "
              "1/0/3 deliveries=1 owner=9; 1/0/4 ready=12:00:00 retry=0; 1/0/5" },
    { SQL_POSTPONE_JOBS, "only leases that have ended", .jobs = ALL_STATES "; 1/0/9 retry=0 owner=3",
      .params = { "{1,1,1,1,1,1,1,1,1}", "{0,0,0,0,0,0,0,0,0}", "{1,2,3,4,5,6,7,8,9}", NOW },
      .rows = "3 12:01:00",
      .left = "1/0/1; 1/0/2 ready=12:00:30 deliveries=1 owner=3; 1/0/3 ready=12:01:00 deliveries=1 owner=3; "
              "1/0/4 ready=12:05:00 wake=12:05:00 delay=300; 1/0/5 wake=11:00:00 delay=300; "
              "1/0/6 wake=13:00:00; 1/0/7 ready=10:00:00 expires=11:59:59; "
              "1/0/8 ready=infinity retry=0 deliveries=1 owner=3; 1/0/9 retry=0 owner=3" },

    /* ---- the clock ---- */
    { SQL_WAKE_DUE, "the due, not before their time and not the expired",
      .jobs = ALL_STATES "; 1/0/9 ready=12:00:00 wake=12:00:00 delay=60; "
                         "2/0/1 ready=11:58:00 wake=11:58:00 expires=11:59:00 delay=60",
      .params = { "-infinity", NOW, "100", "{}" }, .rows = "1 0 5 11:00:00; 1 0 9 12:00:00",
      .left = "1/0/1; 1/0/2 ready=12:00:30 deliveries=1 owner=3; 1/0/3 deliveries=1 owner=3; "
              "1/0/4 ready=12:05:00 wake=12:05:00 delay=300; 1/0/5 wake=13:00:00 delay=300; "
              "1/0/6 wake=13:00:00; 1/0/7 ready=10:00:00 expires=11:59:59; "
              "1/0/8 ready=infinity retry=0 deliveries=1 owner=3; "
              "1/0/9 ready=12:00:00 wake=13:00:00 delay=60; "
              "2/0/1 ready=11:58:00 expires=11:59:00 wake=11:58:00 delay=60" },
    { SQL_WAKE_DUE, "the longest due first, after from, as many as the limit",
      .jobs = "1/0/1 ready=11:00:03 wake=11:00:03; 1/0/2 ready=11:00:02 wake=11:00:02; "
              "1/0/3 ready=11:00:01 wake=11:00:01",
      .params = { "@11:00:01", NOW, "1", "{}" }, .rows = "1 0 2 11:00:02",
      .left = "1/0/1 ready=11:00:03 wake=11:00:03; 1/0/2 ready=11:00:02 wake=13:00:00; "
              "1/0/3 ready=11:00:01 wake=11:00:01" },
    { SQL_WAKE_DUE, "in a queue that is paused in: put off, but retry 0 is not, and never past the end",
      .jobs = "1/0/1 wake=11:00:00; 1/0/2 wake=11:00:00 retry=0; 1/0/3 wake=11:00:00 expires=12:00:20; "
              "2/0/4 wake=11:00:00",
      .params = { "-infinity", NOW, "100", "{7,1}" },
      .rows = "1 0 1 12:01:00; 1 0 2 11:00:00; 1 0 3 12:00:20; 2 0 4 11:00:00",
      .left = "1/0/1 ready=12:01:00 wake=12:01:00; 1/0/2 wake=13:00:00 retry=0; "
              "1/0/3 ready=12:00:20 expires=12:00:20 wake=12:00:20; 2/0/4 wake=13:00:00" },
    { SQL_WAKE_EXPIRED, "those with a delay or TTL of their own that is over",
      .jobs = "1/0/1 expires=12:00:00; 1/0/2 expires=12:00:00 wake=12:00:00; "
              "1/0/3 expires=12:00:00 wake=11:00:00 delay=9; "
              "1/0/4 expires=12:00:00 wake=12:00:00 ready=infinity retry=0 owner=3; "
              "1/0/5 expires=12:00:01 wake=12:00:01; 1/0/6 expires=12:00:00 wake=12:00:00 ready=12:00:00; "
              "1/0/7 expires=12:00:00 wake=12:00:00 ready=12:00:30 owner=3; 1/0/8 wake=11:00:00 delay=9",
      .params = { "-infinity", NOW, "100" },
      .rows = "1 0 2 11:00:00; 1 0 3 infinity; 1 0 4 infinity; 1 0 6 12:00:00; 1 0 7 12:00:30",
      .left = "1/0/1 expires=12:00:00; 1/0/5 expires=12:00:01 wake=12:00:01; 1/0/8 wake=11:00:00 delay=9" },
    { SQL_WAKE_EXPIRED, "after from, as many as the limit",
      .jobs = "1/0/1 expires=11:00:03 wake=11:00:03; 1/0/2 expires=11:00:02 wake=11:00:02; "
              "1/0/3 expires=11:00:01 wake=11:00:01",
      .params = { "@11:00:01", NOW, "1" }, .rows = "1 0 2 11:00:00",
      .left = "1/0/1 expires=11:00:03 wake=11:00:03; 1/0/3 expires=11:00:01 wake=11:00:01" },
    { SQL_WAKE_NEXT, "the next time behind from",
      .jobs = "1/0/1 wake=12:30:00; 2/0/2 wake=12:20:00; 1/0/3 wake=12:10:00; 1/0/4",
      .params = { "@12:10:00" }, .rows = "12:20:00" },
    { SQL_WAKE_NEXT, "none", .jobs = "1/0/1 wake=12:30:00; 1/0/2", .params = { "@12:30:00" } },
    { SQL_EXPIRE_IN_ORDER, "ranges of ids of several queues, those that the clock does not look at",
      .jobs = "1/0/1; 1/0/2; 1/0/3 ready=12:00:30 owner=3; 1/0/4 wake=13:00:00; 1/0/5; 1/0/6; 1/1/3; "
              "2/0/2; 2/0/5; 3/0/2",
      .params = { "{1,2}", "{0,0}", "{1,2}", "5", "100" },
      .rows = "1 0 2 11:00:00; 1 0 3 12:00:30; 1 0 5 11:00:00; 2 0 5 11:00:00",
      .left = "1/0/1; 1/0/4 wake=13:00:00; 1/0/6; 1/1/3; 2/0/2; 3/0/2" },
    { SQL_EXPIRE_IN_ORDER, "the limit holds for each queue", .jobs = "1/0/1; 1/0/2; 2/0/1; 2/0/2",
      .params = { "{1,2}", "{0,0}", "{0,0}", "5", "1" }, .rows = "1 0 1 11:00:00; 2 0 1 11:00:00",
      .left = "1/0/2; 2/0/2" },

    /* ---- reading jobs ---- */
    { SQL_PEEK_FIRST, "what is queued, in order", .jobs = ALL_STATES "; 1/-1/9 body=y; 2/0/10",
      .params = { "1", FIRST, "100", NOW },
      .rows = "1 -1 9 11:00:00 13:00:00 f - 60 0 0 0 1 \"y\"; 1 0 1 11:00:00 13:00:00 f - 60 0 0 0 1 \"x\"; "
              "1 0 3 11:00:00 13:00:00 f 3 60 0 0 0 1 \"x\"; 1 0 5 11:00:00 13:00:00 t - 60 300 0 0 1 \"x\"; "
              "1 0 6 11:00:00 13:00:00 f - 60 0 0 0 1 \"x\"",
      .ordered = true },
    { SQL_PEEK_FIRST, "behind a key, as many as the limit",
      .jobs = "1/0/1; 1/0/2 nacks=4 extras=5 replicate=6; 1/0/3", .params = { "1", "0", "1", "1", NOW },
      .rows = "1 0 2 11:00:00 13:00:00 f - 60 0 4 5 6 \"x\"", .ordered = true },
    { SQL_PEEK_LAST, "newest first, as many as the limit, not before the key",
      .jobs = "1/0/1; 1/0/2; 1/0/3 ready=12:00:30 owner=3; 1/0/4; 1/1/0; 2/0/9",
      .params = { "1", "0", "1", "3", NOW },
      .rows = "1 1 0 11:00:00 13:00:00 f - 60 0 0 0 1 \"x\"; 1 0 4 11:00:00 13:00:00 f - 60 0 0 0 1 \"x\"; "
              "1 0 2 11:00:00 13:00:00 f - 60 0 0 0 1 \"x\"",
      .ordered = true },
    { SQL_PEEK_LAST, "nothing behind the last key", .jobs = "1/0/1", .params = { "1", LAST, "3", NOW } },
    { SQL_SHOW_JOBS, "in every state but expired, and as often as asked for", .jobs = ALL_STATES,
      .params = { "{1,1,1,1,1,1,1}", "{0,0,0,0,0,0,0}", "{8,4,2,1,7,99,1}", NOW },
      .rows =
          "1 1 0 8 infinity 13:00:00 f 3 0 0 0 0 1 \"x\"; 2 1 0 4 12:05:00 13:00:00 t - 60 300 0 0 1 \"x\"; "
          "3 1 0 2 12:00:30 13:00:00 f 3 60 0 0 0 1 \"x\"; 4 1 0 1 11:00:00 13:00:00 f - 60 0 0 0 1 \"x\"; "
          "7 1 0 1 11:00:00 13:00:00 f - 60 0 0 0 1 \"x\"" },
    { SQL_SCAN_JOBS, "pages over all queues, without bodies",
      .jobs = "1/0/1; 1/0/2; 1/0/3 expires=12:00:00; 1/1/1 ready=12:00:30 owner=3; 2/-1/1; 2/0/1",
      .params = { "1", "0", "1", "3", NOW, "false" },
      .rows = "1 0 2 11:00:00 13:00:00 f - 60 0 0 0 1 -; 1 1 1 12:00:30 13:00:00 f 3 60 0 0 0 1 -; "
              "2 -1 1 11:00:00 13:00:00 f - 60 0 0 0 1 -",
      .ordered = true },
    { SQL_SCAN_JOBS, "from the beginning, with bodies", .jobs = "-3/0/1; 5/0/2 wake=11:00:00",
      .params = { "-2147483648", FIRST, "10", NOW, "true" },
      .rows = "-3 0 1 11:00:00 13:00:00 f - 60 0 0 0 1 \"x\"; 5 0 2 11:00:00 13:00:00 t - 60 0 0 0 1 \"x\"",
      .ordered = true },
    { SQL_SCAN_QUEUE, "pages of one queue, in every state but expired",
      .jobs = "1/0/9; 2/0/1; 2/0/2 ready=12:00:30 owner=3; 2/0/3 expires=12:00:00; 2/0/4; 2/0/5; 3/0/1",
      .params = { "2", "0", "1", "2", NOW, "true" },
      .rows = "2 0 2 12:00:30 13:00:00 f 3 60 0 0 0 1 \"x\"; 2 0 4 11:00:00 13:00:00 f - 60 0 0 0 1 \"x\"",
      .ordered = true },
    { SQL_SCAN_QUEUE, "without bodies", .jobs = "2/0/1; 3/0/1", .params = { "2", FIRST, "9", NOW, "false" },
      .rows = "2 0 1 11:00:00 13:00:00 f - 60 0 0 0 1 -" },
    { SQL_LOAD_COUNTS, "all jobs, and those queued; what is due is not counted before it is woken",
      .jobs = ALL_STATES "; 2/0/1 wake=13:00:00; 2/0/4 ready=12:00:30 owner=3; 3/0/1 wake=13:00:00",
      .params = { NOW }, .rows = "1 8 4 1 0 1; 2 2 1 4 0 1; 3 1 1 - 0 1" },
    { SQL_LOAD_COUNTS, "the first that are queued: not what is leased, by rank and by id apart",
      .jobs = "1/0/3; 1/-2/9; 1/0/2 ready=12:00:30 owner=3; 2/0/1 ready=12:00:30 owner=3", .params = { NOW },
      .rows = "1 3 2 2 -2 3; 2 1 0 1 - -" },
    { SQL_LOAD_COUNTS, "no jobs", .params = { NOW } },
    { SQL_LOAD_LEASES, "running leases only", .jobs = ALL_STATES, .params = { NOW },
      .rows = "1 0 2 12:00:30 3; 1 0 8 infinity 3" },
    { SQL_FLUSH_ALL, "jobs and counters go, queues stay", .jobs = ALL_STATES,
      .setup = "insert into pgdisque.queue (name) values ('q'); insert into pgdisque.queue_counter values "
               "(1, 2, 3)",
      .left = "",
      .query = "select (select count(*) from pgdisque.queue), (select count(*) from pgdisque.queue_counter)",
      .found = "1 0" },

    /* ---- queues ---- */
    { SQL_OPEN_QUEUES, "finds what is there and makes what is not",
      .setup = "insert into pgdisque.queue (name, pause, created_at) values ('b', 2, '" DAY " 10:00+00'),"
               "('other', 1, '" DAY " 10:00+00')",
      .params = { "{b}" }, .rows = "1 \"b\" 2 10:00:00" },
    { SQL_OPEN_QUEUES, "makes as many as there are names", .params = { "{a,\"\",c}" }, .rows = ANY,
      .query = "select count(*), min(pause), max(pause), count(distinct id), bool_and(created_at <= now()) "
               "from pgdisque.queue",
      .found = "3 0 0 3 t" },
    { SQL_OPEN_QUEUES, "nothing", .params = { "{}" } },
    { SQL_DROP_QUEUES, "with their counters, unless there are jobs or a pause",
      .jobs = "2/0/1 expires=11:00:00",
      .setup = "insert into pgdisque.queue (name, pause) values ('empty', 0), ('full', 0), ('paused', 2), "
               "('not asked', 0);"
               "insert into pgdisque.queue_counter select generate_series(1, 4), 5, 6",
      .params = { "{1,2,3,99,1}" }, .rows = "1",
      .query = "select string_agg(q.id || ':' || coalesce(c.jobs_in, -1), ' ' order by q.id) "
               "from pgdisque.queue as q full join pgdisque.queue_counter as c on c.queue_id = q.id",
      .found = "2:5 3:5 4:5" },
    { SQL_PAUSE_QUEUES, "each to its own state",
      .setup = "insert into pgdisque.queue (name, pause) values ('a', 0), ('b', 3), ('c', 1)",
      .params = { "{1,2,99}", "{3,0,1}" },
      .query = "select string_agg(id || ':' || pause, ' ' order by id) from pgdisque.queue",
      .found = "1:3 2:0 3:1" },
    { SQL_PAUSE_QUEUES, "there are two bits", .setup = "insert into pgdisque.queue (name) values ('a')",
      .params = { "{1}", "{4}" }, .rows = "error 23514" },
    { SQL_UNPAUSE_ALL, "all",
      .setup = "insert into pgdisque.queue (name, pause) values ('a', 0), ('b', 3), ('c', 1)",
      .query = "select string_agg(id || ':' || pause, ' ' order by id) from pgdisque.queue",
      .found = "1:0 2:0 3:0" },
    { SQL_SAVE_COUNTERS, "adds to what is there",
      .setup = "insert into pgdisque.queue_counter values (2, 100, 50)",
      .params = { "{1,2}", "{3,4}", "{0,2}" },
      .query = "select string_agg(c::text, ' ' order by queue_id) from pgdisque.queue_counter as c",
      .found = "(1,3,0) (2,104,52)" },
    { SQL_LOAD_QUEUES, "with their counters, or zeros",
      .setup = "insert into pgdisque.queue (name, pause, created_at) values ('a', 0, '" DAY " 10:00+00'),"
               "('\\x00ff', 3, '" DAY " 09:00+00'); insert into pgdisque.queue_counter values (2, 7, 8)",
      .rows = "1 \"a\" 0 10:00:00 0 0; 2 \"\\x00\\xff\" 3 09:00:00 7 8", .ordered = true },

    /* ---- servers ---- */
    { SQL_REGISTER_NODE, "gets the smallest free number",
      .setup = "insert into pgdisque.node (number, id) values (1, repeat('1', 40)), (3, repeat('3', 40))",
      .params = { NODE_2, "10.0.0.2", "7711" }, .rows = "2",
      .query = "select number, addr, port from pgdisque.node where id = repeat('2', 40)",
      .found = "2 10.0.0.2 7711" },
    { SQL_REGISTER_NODE, "that was here before keeps its number and tells its new address",
      .setup = "insert into pgdisque.node (number, id, addr, port, started_at) values (7, repeat('7', 40), "
               "'old', 1,"
               "'2000-01-01')",
      .params = { NODE_7, "new", "2" }, .rows = "7",
      .query = "select number, addr, port, started_at > now() - interval '1 minute' from pgdisque.node",
      .found = "7 new 2 t" },
    { SQL_REGISTER_NODE, "the last number there is",
      .setup = "insert into pgdisque.node (number, id) select n, lpad(to_hex(n), 40, '0') "
               "from generate_series(1, 1022) as n",
      .params = { NODE_2, "", "0" }, .rows = "1023" },
    { SQL_REGISTER_NODE, "none is left",
      .setup = "insert into pgdisque.node (number, id) select n, lpad(to_hex(n), 40, '0') "
               "from generate_series(1, 1023) as n",
      .params = { NODE_2, "", "0" }, .rows = "error 23502" },
    { SQL_LOAD_NODES, "all, by number",
      .setup = "insert into pgdisque.node (number, id, addr, port) values (2, repeat('b', 40), 'two', 22),"
               "(1, repeat('a', 40), '', 0)",
      .rows =
          "1 aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa  0; 2 bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb two 22",
      .ordered = true },
    { SQL_LOAD_SECRET, "is there from the beginning, and only once",
      .setup = "update pgdisque.secret set key = '0123456789abcdef'", .rows = "\"0123456789abcdef\"" },
    { SQL_CLOCK, "answers", .rows = ANY },
    { SQL_DEAD_ROWS, "answers", .rows = ANY },
};

#define CASES (sizeof(cases) / sizeof(cases[0]))

static PGconn *conn;

static void same_text(const char *got, const char *want, const char *what) {
    if (strcmp(got, want) != 0)
        fail_msg("%s\n     got: %s\n    want: %s", what, got, want);
}

static void prepare_case(const struct stmt_case *c) {
    tables_clear(conn);
    if (c->jobs)
        jobs_put(conn, c->jobs);
    if (c->setup)
        same_text(sql(conn, "%s", c->setup), "", "setup");
}

static void run_case(void **state) {
    const struct stmt_case *c = *state;
    const char *rows;
    char *before;

    prepare_case(c);
    before = strdup(jobs_now(conn));
    rows = c->ordered ? call(conn, c->stmt, c->params) : call_sorted(conn, c->stmt, c->params);
    if (!c->rows || strcmp(c->rows, ANY) != 0)
        same_text(rows, c->rows ? c->rows : "", "result");
    same_text(jobs_now(conn), c->left ? c->left : before, "jobs afterwards");
    if (c->query)
        same_text(sql(conn, "%s", c->query), c->found, c->query);
    free(before);
}

static void every_statement_has_a_case(void **state) {
    bool seen[SQL_COUNT] = { false };

    (void)state;
    for (size_t i = 0; i < CASES; i++)
        seen[cases[i].stmt] = true;
    for (int i = 0; i < SQL_COUNT; i++)
        if (!seen[i])
            fail_msg("sql/queries/%s.sql has no case", sql_texts[i].name);
}

/* The highest $n of a text, up to its end or to stop. */
static int highest_param(const char *text, const char *stop) {
    int highest = 0;

    for (const char *at = text; *at && at != stop; at++)
        if (*at == '$' && atoi(at + 1) > highest)
            highest = atoi(at + 1);
    return highest;
}

/* The header is what the C code is written against. */
static void every_header_names_all_parameters(void **state) {
    (void)state;
    for (int i = 0; i < SQL_COUNT; i++) {
        const char *text = sql_texts[i].text, *body = text;
        const char *like = strstr(text, "-- params: as ");

        while (strncmp(body, "--", 2) == 0)
            body = strchr(body, '\n') + 1;
        if (like && like < body)
            continue;
        if (body == text || highest_param(text, body) != highest_param(body, NULL))
            fail_msg("%s: the header names $1 to $%d, the statement has $1 to $%d", sql_texts[i].name,
                     highest_param(text, body), highest_param(body, NULL));
    }
}

/* Not the time at which its transaction began. */
static void clock_goes_on(void **state) {
    char *first;

    (void)state;
    sql(conn, "begin");
    first = strdup(CALL(conn, SQL_CLOCK, NULL));
    assert_true(strlen(first) > strlen("2000-01-01 00:00"));
    assert_true(strcmp(CALL(conn, SQL_CLOCK, NULL), first) > 0);
    assert_string_equal(sql(conn, "select '%s' between now() and now() + interval '1 minute'", first), "t");
    sql(conn, "commit");
    free(first);
}

/* Whatever the database says for its other users. */
static void settings_of_a_session_hold(void **state) {
    static const char *const wanted[][2] = {
        { "transaction_isolation", "read committed" },
        { "synchronous_commit", "on" },
        { "plan_cache_mode", "force_generic_plan" },
        { "search_path", "pg_catalog, pg_temp" },
        { "statement_timeout", "0" },
        { "bytea_output", "hex" },
        { "TimeZone", "UTC" },
        { "jit", "off" },
    };
    const char *conninfo = database_new();
    char *name = postgres_query(conninfo, "select current_database()");
    PGconn *own;

    (void)state;
    free(postgres_query(conninfo,
                        text_of("alter database %s set default_transaction_isolation = 'serializable';"
                                "alter database %s set timezone = 'Asia/Tokyo';"
                                "alter database %s set statement_timeout = '1s'",
                                name, name, name)));
    own = session_open(conninfo);
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
        assert_string_equal(sql(own, "select current_setting('%s')", wanted[i][0]), wanted[i][1]);
    PQfinish(own);
    free(name);
}

static int open_database(void **state) {
    (void)state;
    if (!conn)
        conn = session_open(database_new());
    return 0;
}

int main(void) {
    static char names[CASES][160];
    static struct CMUnitTest tests[CASES + 4] = {
        [CASES] = cmocka_unit_test(every_statement_has_a_case),
        [CASES + 1] = cmocka_unit_test(every_header_names_all_parameters),
        [CASES + 2] = cmocka_unit_test_setup(clock_goes_on, open_database),
        [CASES + 3] = cmocka_unit_test(settings_of_a_session_hold),
    };
    int failed;

    for (size_t i = 0; i < CASES; i++) {
        snprintf(names[i], sizeof(names[i]), "%s: %s", sql_texts[cases[i].stmt].name, cases[i].what);
        tests[i] = (struct CMUnitTest){ names[i], run_case, open_database, NULL, (void *)&cases[i] };
    }
    failed = run_sql_suite("statements", tests, sizeof(tests) / sizeof(tests[0]));
    PQfinish(conn);
    return failed;
}
