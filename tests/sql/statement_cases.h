#ifndef STATEMENT_CASES_H
#define STATEMENT_CASES_H

#include "flow_cases.h"
#include "group_cases.h"
#include "held_cases.h"
#include "in_txn_cases.h"
#include "key_cases.h"
#include "limit_cases.h"
#include "list_cases.h"
#include "rerank_cases.h"
#include "retained_cases.h"
#include "session.h"
#include "token_cases.h"
#include "unique_cases.h"
#include "worker_cases.h"

/* The parameters, the result and the effect of each statement of sql/queries/: a table for the program that includes
 * this file. */

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
/* Two nodes that were last seen long ago. NODES tells for each node if it is seen now, is leaving, or has left. */
#define TWO_NODES                                             \
    "insert into pgdisque.node (number, id, seen_at) values " \
    "(2, repeat('2', 40), '2000-01-01'), (7, repeat('7', 40), '2000-01-01')"
#define NODES                                                                             \
    "select number, seen_at > now() - interval '1 minute', leaving, left_at is not null " \
    "from pgdisque.node order by number"
#define SCHEDULE_OF(name, next_at)                                                                           \
    "insert into pgdisque.schedule (name, next_at, cron, queue, body, missed, retry, ttl, delay, priority) " \
    "values (" name ", " next_at ", '0 0 * * *', 'q', 'x', 1, 60, 3600, 0, 0)"
#define A_SCHEDULE SCHEDULE_OF("'a'", "'2030-01-01 12:00+00'")
#define OF_SECONDS(name, next_at) \
    SCHEDULE_OF(name, next_at) "; update pgdisque.schedule set cron = '@every 5s'"
#define FOUR_SCHEDULES                                               \
    SCHEDULE_OF("'c'", "'2030-01-01 13:00+00'")                      \
    "; " SCHEDULE_OF("'b'", "'2030-01-01 11:00+00'") "; " A_SCHEDULE \
                                                     "; " SCHEDULE_OF("'d'", "'2030-01-01 14:00+00'")
#define NO_TICK "update pgdisque.schedule set has_tick = false"
#define TICKS                                                                                        \
    "select string_agg(((next_at at time zone 'UTC')::time, has_tick)::text, ' ' order by id) from " \
    "pgdisque.schedule"
#define SCHEDULES                                                                                         \
    "select string_agg((id, revision, (next_at at time zone 'UTC')::time, last_at, maxlen, retry, ttl, "  \
    "delay, priority, missed, "                                                                           \
    "cron, encode(name, 'escape'), encode(queue, 'escape'), encode(body, 'escape'))::text, ' ' order by " \
    "id) from pgdisque.schedule"
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
    const char *rows;          /* the result, sorted unless ordered; NULL: no rows */
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
                  "{0,0,-5,0,0}", "{1,1,3,1,1}", "{NULL,NULL,NULL,7,7}", "{x,b,c,d,e}",
                  "{NULL,NULL,NULL,NULL,NULL}", "{NULL,NULL,NULL,NULL,NULL}", "{NULL,NULL,NULL,NULL,NULL}",
                  "{NULL,g,NULL,NULL,NULL}" },
      .query =
          "select id || '=' || encode(group_key, 'escape') from pgdisque.job where group_key is not null",
      .found = "2=g",
      .left = "1/0/1; 1/0/2 ready=12:05:00 wake=12:05:00 delay=300 body=b; "
              "2/-5/3 ready=12:00:00 expires=12:30:00 wake=12:30:00 replicate=3 body=c; "
              "2/0/4 ready=12:00:30 retry=30 deliveries=1 owner=7 body=d; "
              "2/0/5 ready=infinity retry=0 deliveries=1 owner=7 body=e" },
    { SQL_ADD_JOBS, "an id twice adds none of them", .jobs = "1/0/2",
      .params = { "{1,2}", "{@11:00:00,@11:00:00}", "{@13:00:00,@13:00:00}", "{NULL,NULL}", "{1,1}",
                  "{60,60}", "{0,0}", "{0,0}", "{1,1}", "{NULL,NULL}", "{x,x}", "{NULL,NULL}", "{NULL,NULL}",
                  "{NULL,NULL}", "{NULL,NULL}" },
      .rows = "error 23505" },
    { SQL_ADD_JOBS, "nothing",
      .params = { NO_KEYS, "{}", "{}", "{}", "{}", "{}", "{}", "{}", "{}", "{}", "{}", "{}", "{}" } },
    { SQL_ADD_JOB, "with all columns",
      .params = { "1", "@12:00:30", "@13:00:00", "@12:30:00", "2", "30", "300", "-5", "3", "7", "x", "4", "5",
                  "d", "g" },
      .query = "select encode(group_key, 'escape') from pgdisque.job", .found = "g",
      .left = "2/-5/1 ready=12:00:30 wake=12:30:00 retry=30 delay=300 deliveries=1 replicate=3 owner=7 "
              "attempts=4 "
              "backoff=5 leased=2020-01-01 00:00:00+00 deadqueue=d" },
    { SQL_ADD_JOB, "queued, with an empty body",
      .params = { "1", "@11:00:00", "@13:00:00", "NULL", "1", "60", "0", "0", "1", "NULL", "", "NULL", "NULL",
                  "NULL", "NULL" },
      .left = "1/0/1 body=" },
    { SQL_ADD_JOB, "an id twice is an error", .jobs = "1/0/1",
      .params = { "1", "@11:00:00", "@13:00:00", "NULL", "1", "60", "0", "0", "1", "NULL", "x", "NULL",
                  "NULL", "NULL", "NULL" },
      .rows = "error 23505" },
    { SQL_ADD_JOBS_ALIKE, "queued; a TTL counts from the millisecond in the id",
      .params = { "{1,4194304000,4194304001}", "{x,b,c}", "1", "60", "-5", "3", "@11:00:00", "@13:00:00" },
      .left = "1/-5/1 replicate=3; 1/-5/4194304000 expires=13:00:01 replicate=3 body=b; "
              "1/-5/4194304001 expires=13:00:01 replicate=3 body=c" },
    { SQL_ADD_JOBS_LEASED, "delivered at once",
      .params = { "{1,2}", "{x,b}", "1", "30", "0", "1", "@12:00:30", "@13:00:00", "7" },
      .rows = "1 (0,1); 2 (0,2)",
      .left = "1/0/1 ready=12:00:30 retry=30 deliveries=1 owner=7; "
              "1/0/2 ready=12:00:30 retry=30 deliveries=1 owner=7 body=b" },
    { SQL_ADD_JOBS_ALIKE, "an id twice adds none of them", .jobs = "1/0/2",
      .params = { "{1,2}", "{x,x}", "1", "60", "0", "1", "@11:00:00", "@13:00:00" }, .rows = "error 23505" },
    { SQL_ADD_JOB_ALIKE, "queued; a TTL counts from the millisecond in the id",
      .params = { "4194304000", "b", "1", "60", "-5", "3", "@11:00:00", "@13:00:00" },
      .left = "1/-5/4194304000 expires=13:00:01 replicate=3 body=b" },
    { SQL_ADD_JOB_LEASED, "delivered at once",
      .params = { "1", "x", "1", "30", "0", "1", "@12:00:30", "@13:00:00", "7" }, .rows = "1 (0,1)",
      .left = "1/0/1 ready=12:00:30 retry=30 deliveries=1 owner=7" },
    { SQL_ADD_JOB_ALIKE, "an id twice is an error", .jobs = "1/0/1",
      .params = { "1", "x", "1", "60", "0", "1", "@11:00:00", "@13:00:00" }, .rows = "error 23505" },
    { SQL_ADD_JOB_LEASED, "an id twice is an error", .jobs = "1/0/1",
      .params = { "1", "x", "1", "60", "0", "1", "@11:00:00", "@13:00:00", "7" }, .rows = "error 23505" },
    { SQL_ADD_MISSING, "only missing jobs, in order", .jobs = "1/0/2 ready=12:00:30 owner=3 deliveries=1",
      .params = { "{3,2,1}", "{@11:00:00,@11:00:00,@12:00:30}", "{@13:00:00,@13:00:00,@13:00:00}",
                  "{NULL,NULL,NULL}", "{1,1,1}", "{60,60,60}", "{0,0,0}", "{0,0,0}", "{1,1,1}",
                  "{NULL,NULL,7}", "{x,x,x}", "{NULL,NULL,NULL}", "{NULL,NULL,NULL}", "{NULL,NULL,NULL}",
                  "{NULL,NULL,NULL}" },
      .rows = "3 f; 1 f", .ordered = true,
      .left = "1/0/1 ready=12:00:30 deliveries=1 owner=7; 1/0/2 ready=12:00:30 deliveries=1 owner=3; 1/0/3" },

    UNIQUE_CASES RERANK_CASES KEY_CASES TOKEN_CASES WORKER_CASES LIST_CASES,

    RETAINED_CASES

    /* ---- claiming ---- */
    { SQL_CLAIM_SCAN, "queued jobs, and not leased, delayed or expired ones", .jobs = ALL_STATES,
      .params = { "1", FIRST, "100", NOW, "9", NOW },
      .rows = "0 1 12:01:00 13:00:00 60 0 0 \"x\" - - (0,9); "
              "0 3 12:01:00 13:00:00 60 0 1 \"x\" - - (0,10); "
              "0 6 12:01:00 13:00:00 60 0 0 \"x\" - - (0,11)",
      .left = "1/0/1 ready=12:01:00 deliveries=1 owner=9; "
              "1/0/2 ready=12:00:30 deliveries=1 owner=3; "
              "1/0/3 ready=12:01:00 deliveries=2 additional_deliveries=1 owner=9; "
              "1/0/4 ready=12:05:00 wake=12:05:00 delay=300; "
              "1/0/5 wake=11:00:00 delay=300; "
              "1/0/6 ready=12:01:00 wake=13:00:00 deliveries=1 owner=9; "
              "1/0/7 ready=10:00:00 expires=11:59:59; "
              "1/0/8 ready=infinity retry=0 deliveries=1 owner=3" },
    { SQL_CLAIM_SCAN, "the first jobs by rank, then ID", .jobs = "1/-2/9; 1/0/1; 1/0/2; 1/3/0",
      .params = { "1", FIRST, "2", NOW, "9", NOW },
      .rows = "-2 9 12:01:00 13:00:00 60 0 0 \"x\" - - (0,5); "
              "0 1 12:01:00 13:00:00 60 0 0 \"x\" - - (0,6)",
      .left = "1/-2/9 ready=12:01:00 deliveries=1 owner=9; 1/0/1 ready=12:01:00 deliveries=1 owner=9; "
              "1/0/2; 1/3/0" },
    { SQL_CLAIM_SCAN, "only behind the scan position, and of one queue", .jobs = "1/0/1; 1/0/2; 1/0/3; 2/0/4",
      .params = { "1", "0", "2", "10", NOW, "9", NOW },
      .rows = "0 3 12:01:00 13:00:00 60 0 0 \"x\" - - (0,5)",
      .left = "1/0/1; 1/0/2; 1/0/3 ready=12:01:00 deliveries=1 owner=9; 2/0/4" },
    { SQL_CLAIM_SCAN, "retry 0 is leased for ever", .jobs = "1/0/1 retry=0 nacks=2",
      .params = { "1", FIRST, "1", NOW, "9", NOW }, .rows = "0 1 infinity 13:00:00 0 2 0 \"x\" - - (0,2)",
      .left = "1/0/1 ready=infinity retry=0 deliveries=1 nacks=2 owner=9" },
    { SQL_CLAIM_SCAN, "ready to the microsecond, gone to the microsecond",
      .jobs = "1/0/1 ready=12:00:00; 1/0/2 ready=12:00:00.000001; 1/0/3 expires=12:00:00",
      .params = { "1", FIRST, "9", NOW, "9", NOW }, .rows = "0 1 12:01:00 13:00:00 60 0 0 \"x\" - - (0,4)",
      .left = "1/0/1 ready=12:01:00 deliveries=1 owner=9; 1/0/2 ready=12:00:00.000001; "
              "1/0/3 expires=12:00:00" },
    { SQL_CLAIM_SCAN, "the delay, and the last attempt of a delayed job",
      .jobs = "1/0/1 delay=300; 1/0/2 delay=300 deliveries=1 attempts=2",
      .params = { "1", FIRST, "9", NOW, "9", NOW },
      .rows = "0 1 12:01:00 13:00:00 60 0 0 \"x\" 300 - (0,3); "
              "0 2 12:01:00 13:00:00 60 0 0 \"x\" -301 - (0,4)",
      .left = ANY },
    { SQL_CLAIM_SCAN, "a lease that begins later", .jobs = "1/0/1; 1/0/2 ready=12:00:01",
      .params = { "1", FIRST, "9", NOW, "9", "@12:00:05" },
      .rows = "0 1 12:01:05 13:00:00 60 0 0 \"x\" - - (0,3)",
      .left = "1/0/1 ready=12:01:05 deliveries=1 owner=9; 1/0/2 ready=12:00:01" },
    { SQL_CLAIM_SCAN, "limit 0 takes nothing", .jobs = "1/0/1",
      .params = { "1", FIRST, "0", NOW, "9", NOW } },
    { SQL_CLAIM_KEYS, "ready jobs of several queues, an ID given twice once",
      .jobs = "1/0/1; 1/0/2; 2/-1/3 owner=3 deliveries=1; 2/0/4 ready=12:00:01 owner=3 deliveries=1; "
              "2/0/5 expires=12:00:00; 2/0/6 retry=0",
      .params = { "{2,2,2,2,1,1,1}", "{0,0,0,-1,0,0,0}", "{6,5,4,3,1,1,99}", NOW, "9" },
      .rows = "1 0 1 12:01:00 13:00:00 60 0 0 \"x\" - -; 2 -1 3 12:01:00 13:00:00 60 0 1 \"x\" - -; "
              "2 0 6 infinity 13:00:00 0 0 0 \"x\" - -",
      .left = "1/0/1 ready=12:01:00 deliveries=1 owner=9; 1/0/2; "
              "2/-1/3 ready=12:01:00 deliveries=2 additional_deliveries=1 owner=9; "
              "2/0/4 ready=12:00:01 deliveries=1 owner=3; 2/0/5 expires=12:00:00; "
              "2/0/6 ready=infinity retry=0 deliveries=1 owner=9" },
    { SQL_CLAIM_KEYS, "a delayed job whose time has come is not woken yet",
      .jobs = "1/0/5 wake=11:00:00 delay=300", .params = { "{1}", "{0}", "{5}", NOW, "9" } },
    { SQL_CLAIM_KEYS, "nothing", .jobs = "1/0/1", .params = { NO_KEYS, NOW, "9" } },
    IN_TXN_CASES,

    /* ---- ending, putting back, extending ---- */
    { SQL_ACK_JOBS, "in every state but expired", .jobs = ALL_STATES, .params = { ALL_KEYS, NOW },
      .rows = "1 11:00:00 - -; 2 12:00:30 - -; 3 11:00:00 - -; 4 290000-01-01 "
              "00:00:00+00 - -; 5 290000-01-01 00:00:00+00 - -; 6 11:00:00 - -; "
              "8 infinity - -",
      .left = "1/0/7 ready=10:00:00 expires=11:59:59" },
    { SQL_ACK_JOBS, "an ID given twice counts once; queue and rank are part of the key",
      .jobs = "1/0/1; 1/5/2; 2/0/1", .params = { "{1,1,1}", "{0,0,0}", "{1,1,2}", NOW },
      .rows = "1 11:00:00 - -", .left = "1/5/2; 2/0/1" },
    { SQL_ACK_JOBS, "nothing", .jobs = "1/0/1", .params = { NO_KEYS, NOW } },
    { SQL_ACK_JOB, "a leased job", .jobs = "1/0/1; 1/0/2 ready=12:00:30 deliveries=1 owner=3",
      .params = { "1", "0", "2", NOW }, .rows = "1 12:00:30 - -", .left = "1/0/1" },
    { SQL_ACK_JOB, "an expired job", .jobs = ALL_STATES, .params = { "1", "0", "7", NOW } },
    { SQL_ACK_JOB, "queue, rank and id are the key", .jobs = "1/5/2; 2/0/2; 1/0/1",
      .params = { "1", "0", "2", NOW } },
    { SQL_ACK_PLACES, "in every state but expired",
      .jobs = "1/0/1; 1/0/2 ready=12:00:30 deliveries=1 owner=3; 1/0/7 expires=11:59:59",
      .params = { "{1,1,1}", "{0,0,0}", "{1,2,7}", "{\"(0,1)\",\"(0,2)\",\"(0,3)\"}", NOW },
      .rows = "1 11:00:00 - -; 2 12:00:30 - -", .left = "1/0/7 expires=11:59:59" },
    { SQL_ACK_PLACES, "rows of other jobs, or of none", .jobs = "1/0/1; 1/5/2; 2/0/3",
      .params = { "{1,1,1,1}", "{0,0,0,0}", "{9,2,3,4}", "{\"(0,1)\",\"(0,2)\",\"(0,3)\",\"(0,4)\"}", NOW } },
    { SQL_ACK_PLACES, "an ID given twice counts once", .jobs = "1/0/1",
      .params = { "{1,1}", "{0,0}", "{1,1}", "{\"(0,1)\",\"(0,1)\"}", NOW }, .rows = "1 11:00:00 - -",
      .left = "" },
    { SQL_ACK_PLACE, "a leased job", .jobs = "1/0/1; 1/0/2 ready=12:00:30 deliveries=1 owner=3",
      .params = { "1", "0", "2", "(0,2)", NOW }, .rows = "1 12:00:30 - -", .left = "1/0/1" },
    { SQL_ACK_PLACE, "the row has moved", .jobs = "1/0/1", .params = { "1", "0", "1", "(0,2)", NOW } },
    { SQL_FIND_LOCKED, "none is locked", .jobs = "1/0/1; 2/0/1",
      .params = { "{1,1,1}", "{0,0,0}", "{1,1,2}" }, .rows = "", .left = "1/0/1; 2/0/1" },
    { SQL_FIND_LOCKED, "nothing", .jobs = "1/0/1", .params = { NO_KEYS } },
    { SQL_REQUEUE_JOBS, "NACK: leased and delayed jobs, but no at-most-once job",
      .jobs = ALL_STATES "; 1/0/9 ready=12:05:00 wake=12:05:00 retry=0 delay=300",
      .params = { "{1,1,1,1,1,1,1,1,1}", "{0,0,0,0,0,0,0,0,0}", "{1,2,3,4,5,6,7,8,9}", "{1,1,1,1,1,1,1,1,1}",
                  "{NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL}",
                  "{NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL}", NOW, "{}" },
      .rows = "2 12:00:30 - f; 4 290000-01-01 00:00:00+00 - f; 9 290000-01-01 00:00:00+00 - f",
      .left = "1/0/1; 1/0/2 ready=12:00:00 deliveries=1 nacks=1; 1/0/3 deliveries=1 owner=3; "
              "1/0/4 ready=12:00:00 wake=13:00:00 delay=300 nacks=1; 1/0/5 wake=11:00:00 delay=300; "
              "1/0/6 wake=13:00:00; 1/0/7 ready=10:00:00 expires=11:59:59; "
              "1/0/8 ready=infinity retry=0 deliveries=1 owner=3; "
              "1/0/9 ready=12:00:00 wake=13:00:00 retry=0 delay=300 nacks=1" },
    { SQL_REQUEUE_JOBS, "ENQUEUE counts an additional delivery, NACK a nack; both in one statement",
      .jobs = "1/0/1 ready=12:00:30 deliveries=1 owner=3; 1/0/2 ready=12:00:30 deliveries=1 owner=3; "
              "1/0/3 ready=12:05:00 wake=12:05:00 delay=300; 1/0/4 ready=12:00:30 expires=12:00:00 owner=3",
      .params = { "{1,1,1,1,1}", "{0,0,0,0,0}", "{1,2,3,4,1}", "{0,1,0,0,0}", "{NULL,NULL,NULL,NULL,NULL}",
                  "{NULL,NULL,NULL,NULL,NULL}", NOW, "{}" },
      .rows = "1 12:00:30 - f; 2 12:00:30 - f; 3 290000-01-01 00:00:00+00 - f",
      .left = "1/0/1 ready=12:00:00 deliveries=1 additional_deliveries=1; 1/0/2 ready=12:00:00 deliveries=1 "
              "nacks=1; "
              "1/0/3 ready=12:00:00 wake=13:00:00 delay=300; 1/0/4 ready=12:00:30 expires=12:00:00 owner=3" },
    { SQL_REQUEUE_JOBS_AGAIN, "NACK: the rest of the first attempt; its changes are found and kept",
      /* 2: done. 3, 12: done, and leased by a transaction that is lost. 4: done, and given out since.
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
                  "{1,1,1,1,1,1,1,1,1,1,1,1}",
                  "{NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL}",
                  "{NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL}", TIMES_12("@11:59:40"),
                  TIMES_12("@11:59:50"), NOW, "9", "{}", "{}" },
      .rows = "1 f 12:00:30 - f f; 12 t 11:59:48 - f f; 2 t 11:59:40 - f f; 3 f 12:00:40 - f f; 6 f "
              "290000-01-01 00:00:00+00 - f f",
      .left = "1/0/1 ready=11:59:40 deliveries=1 nacks=1; 1/0/2 ready=11:59:40 deliveries=1 nacks=1; "
              "1/0/3 ready=11:59:40 deliveries=1 nacks=1; "
              "1/0/4 ready=12:00:51 deliveries=2 nacks=1 owner=9; 1/0/5 ready=11:59:45 deliveries=1 owner=9; "
              "1/0/6 ready=11:59:40 wake=13:00:00 delay=300 nacks=1; "
              "1/0/7 ready=11:59:45 wake=11:59:45 delay=300; "
              "1/0/8 ready=infinity retry=0 deliveries=1 owner=9; "
              "1/0/9 ready=12:00:45 deliveries=1 owner=3; 1/0/10; "
              "1/0/11 ready=11:59:40 expires=12:00:00 deliveries=1 nacks=1; "
              "1/0/12 ready=11:59:40 retry=5 deliveries=1 nacks=1" },
    { SQL_REQUEUE_JOBS_AGAIN, "ENQUEUE counts one additional delivery; an ID given twice counts once",
      .jobs = "1/0/1 ready=12:00:30 deliveries=1 owner=9; 1/0/2 ready=11:59:40 deliveries=1 "
              "additional_deliveries=1; "
              "1/0/3 ready=12:00:40 deliveries=2 additional_deliveries=1 owner=9",
      .params = { "{1,1,1,1}", "{0,0,0,0}", "{1,2,3,1}", "{0,0,0,0}", "{NULL,NULL,NULL,NULL}",
                  "{NULL,NULL,NULL,NULL}", "{@11:59:40,@11:59:40,@11:59:40,@11:59:40}",
                  "{@11:59:50,@11:59:50,@11:59:50,@11:59:50}", NOW, "9", "{}", "{}" },
      .rows = "1 f 12:00:30 - f f; 2 t 11:59:40 - f f; 3 f 12:00:40 - f f",
      .left = "1/0/1 ready=11:59:40 deliveries=1 additional_deliveries=1; 1/0/2 ready=11:59:40 deliveries=1 "
              "additional_deliveries=1; "
              "1/0/3 ready=11:59:40 deliveries=1 additional_deliveries=1" },
    { SQL_REQUEUE_JOBS_AGAIN, "NACK: a lease of DEQUEUE is no delivery and is not undone",
      .jobs = "1/0/1 ready=12:00:45 owner=9",
      .params = { "{1}", "{0}", "{1}", "{1}", "{NULL}", "{NULL}", "{@11:59:40}", "{@11:59:50}", NOW, "9",
                  "{}", "{0}" },
      .rows = "", .left = "1/0/1 ready=12:00:45 owner=9" },
    { SQL_REQUEUE_JOBS_AGAIN,
      "NACK of jobs without a lease: undoes a later lease; a third try finds no result",
      /* 1: leased by a transaction that is lost. 2: the second try undid such a lease. 3: was delayed, and done. */
      .jobs = "1/0/1 ready=12:00:40 deliveries=2 additional_deliveries=1 owner=9; "
              "1/0/2 ready=11:59:55 deliveries=1 additional_deliveries=1; "
              "1/0/3 ready=11:59:40 wake=13:00:00 delay=300 nacks=1",
      .params = { "{1,1,1}", "{0,0,0}", "{1,2,3}", "{1,1,1}", "{}", "{}", "{@11:59:40,@11:59:40,@11:59:40}",
                  "{@11:59:50,@11:59:50,@11:59:50}", NOW, "9", "{}", "{1,1,1}" },
      .rows = "1 f 12:00:40 - f t; 3 t 11:59:40 - f f",
      .left = "1/0/1 ready=12:00:00 deliveries=1 additional_deliveries=1; "
              "1/0/2 ready=11:59:55 deliveries=1 additional_deliveries=1; "
              "1/0/3 ready=11:59:40 wake=13:00:00 delay=300 nacks=1" },
    { SQL_DEQUEUE_JOBS, "queued jobs, for their retry time or without an end",
      .jobs = ALL_STATES "; 1/0/9 retry=0",
      .params = { "{1,1,1,1,1,1,1,1,1}", "{0,0,0,0,0,0,0,0,0}", "{1,2,3,4,5,6,7,8,9}", NOW, "9" },
      .rows = "1 12:01:00 11:00:00; 3 12:01:00 11:00:00; 6 12:01:00 11:00:00; 9 infinity 11:00:00",
      .left = "1/0/1 ready=12:01:00 owner=9; 1/0/2 ready=12:00:30 deliveries=1 owner=3; "
              "1/0/3 ready=12:01:00 deliveries=1 additional_deliveries=1 owner=9; "
              "1/0/4 ready=12:05:00 wake=12:05:00 delay=300; 1/0/5 wake=11:00:00 delay=300; "
              "1/0/6 ready=12:01:00 wake=13:00:00 owner=9; 1/0/7 ready=10:00:00 expires=11:59:59; "
              "1/0/8 ready=infinity retry=0 deliveries=1 owner=3; 1/0/9 ready=infinity retry=0 owner=9" },
    { SQL_WORKING_JOBS, "begins the retry time again, also of queued and delayed jobs", .jobs = ALL_STATES,
      .params = { ALL_KEYS,
                  "{@11:30:00,@11:30:00,@11:30:00,@11:30:00,@11:30:00,@11:30:00,@11:30:00,@11:30:00,@11:30:"
                  "00}",
                  "{NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL}", NOW, "9", "{}", "{}" },
      .rows =
          "1 60 12:01:00 f t 11:00:00 f f f; 2 60 12:01:00 f f 12:00:30 f f f; 3 60 12:01:00 f t 11:00:00 f "
          "f f; 4 60 12:01:00 f f 290000-01-01 00:00:00+00 f f f; 5 60 12:01:00 f f 290000-01-01 00:00:00+00 "
          "f f f; 6 60 12:01:00 f t 11:00:00 f f f; 8 0 infinity f f infinity f f f",
      .left = "1/0/1 ready=12:01:00 owner=9; 1/0/2 ready=12:01:00 deliveries=1 owner=9; "
              "1/0/3 ready=12:01:00 deliveries=1 additional_deliveries=1 owner=9; "
              "1/0/4 ready=12:01:00 wake=13:00:00 delay=300 owner=9; "
              "1/0/5 ready=12:01:00 wake=13:00:00 delay=300 owner=9; "
              "1/0/6 ready=12:01:00 wake=13:00:00 owner=9; 1/0/7 ready=10:00:00 expires=11:59:59; "
              "1/0/8 ready=infinity retry=0 deliveries=1 owner=3" },
    { SQL_WORKING_JOBS, "too late, and unchanged, when more than half of the TTL is over",
      .jobs = "1/0/1 ready=12:00:30 owner=3; 1/0/2 ready=12:00:30 owner=3",
      .params = { "{1,1}", "{0,0}", "{1,2}", "{@11:00:00,@10:59:59}", "{NULL,NULL}", NOW, "9", "{}", "{}" },
      .rows = "1 60 12:01:00 f f 12:00:30 f f f; 2 60 12:00:30 t f 12:00:30 f f f",
      .left = "1/0/1 ready=12:01:00 owner=9; 1/0/2 ready=12:00:30 owner=3" },
    { SQL_WORKING_JOBS, "with tokens: also when half of the TTL is over, but not longer than the TTL",
      .jobs = "1/0/1 ready=12:00:30 deliveries=1 owner=3; 1/0/2 ready=12:00:30 deliveries=1 owner=3; "
              "1/0/3 ready=12:00:30 deliveries=1 owner=3 attempts=0",
      .params = { "{1,1,1}", "{0,0,0}", "{1,2,3}", "{@08:00:00,@08:00:00,@08:00:00}", "{NULL,7200}", NOW, "9",
                  "{1,1,1}", "{}" },
      .rows = "1 60 12:01:00 f f 12:00:30 f f f; 2 3600 13:00:00 f f 12:00:30 f f f; "
              "3 60 12:00:30 t f 12:00:30 t f t",
      .left = "1/0/1 ready=12:01:00 deliveries=1 owner=9; 1/0/2 ready=13:00:00 deliveries=1 owner=9 "
              "leased=12:00:00; 1/0/3 ready=12:00:30 deliveries=1 owner=3 attempts=0" },
    { SQL_WORKING_JOBS, "an ID given twice: both rows have the time of its return",
      .jobs = "1/0/1 ready=12:00:30 owner=3",
      .params = { "{1,1}", "{0,0}", "{1,1}", "{@11:30:00,@11:30:00}", "{NULL,NULL}", NOW, "9", "{}", "{}" },
      .rows = "1 60 12:01:00 f f 12:00:30 f f f; 2 60 12:01:00 f f 12:00:30 f f f",
      .left = "1/0/1 ready=12:01:00 owner=9" },
    { SQL_RELEASE_JOBS, "only running leases of that node, with that end",
      .jobs = "1/0/1 ready=12:00:30 deliveries=2 additional_deliveries=1 owner=9; 1/0/2 ready=12:00:30 "
              "deliveries=1 owner=3; "
              "1/0/3 deliveries=1 owner=9; 1/0/4 ready=infinity retry=0 deliveries=1 owner=9; 1/0/5; "
              "1/0/6 ready=12:00:40 deliveries=1 additional_deliveries=1 owner=9",
      .params = { "{1,1,1,1,1,1}", "{0,0,0,0,0,0}", "{1,2,3,4,5,6}", NOW, "9",
                  "{@12:00:30,@12:00:30,@11:59:00,infinity,@12:00:30,@12:00:30}" },
      .rows = "1 f; 4 f",
      .left = "1/0/1 ready=12:00:00 deliveries=1 additional_deliveries=1; 1/0/2 ready=12:00:30 deliveries=1 "
              "owner=3; "
              "1/0/3 deliveries=1 owner=9; 1/0/4 ready=12:00:00 retry=0; 1/0/5; "
              "1/0/6 ready=12:00:40 deliveries=1 additional_deliveries=1 owner=9" },
    { SQL_RELEASE_JOBS, "a cancelled job: its lease ends",
      .jobs = "1/0/1 ready=12:00:30 deliveries=1 attempts=0 owner=9; 1/0/2 ready=12:00:30 deliveries=1 "
              "attempts=3 "
              "owner=9",
      .params = { "{1,1}", "{0,0}", "{1,2}", NOW, "9", "{@12:00:30,@12:00:30}" }, .rows = "1 t; 2 f",
      .left = "1/0/1 ready=12:00:00 attempts=0; 1/0/2 ready=12:00:00 attempts=3" },
    { SQL_POSTPONE_JOBS, "only leases that have ended", .jobs = ALL_STATES "; 1/0/9 retry=0 owner=3",
      .params = { "{1,1,1,1,1,1,1,1,1}", "{0,0,0,0,0,0,0,0,0}", "{1,2,3,4,5,6,7,8,9}", NOW },
      .rows = "3 12:01:00",
      .left = "1/0/1; 1/0/2 ready=12:00:30 deliveries=1 owner=3; 1/0/3 ready=12:01:00 deliveries=1 owner=3; "
              "1/0/4 ready=12:05:00 wake=12:05:00 delay=300; 1/0/5 wake=11:00:00 delay=300; "
              "1/0/6 wake=13:00:00; 1/0/7 ready=10:00:00 expires=11:59:59; "
              "1/0/8 ready=infinity retry=0 deliveries=1 owner=3; 1/0/9 retry=0 owner=3" },

    /* ---- the clock ---- */
    { SQL_WAKE_DUE, "the due, not before their time, and neither the expired nor others",
      .jobs = ALL_STATES "; 1/0/9 ready=12:00:00 wake=12:00:00 delay=60; "
                         "2/0/1 ready=11:58:00 wake=11:58:00 expires=11:59:00 delay=60; "
                         "2/0/2 ready=11:58:00 wake=11:58:00 delay=60",
      .params = { "{1,1,1,1,1,1,1,1,1,1,2}", "{0,0,0,0,0,0,0,0,0,0,0}", "{1,2,3,4,5,6,7,8,9,99,1}", NOW,
                  "{}" },
      .rows = "1 0 5 11:00:00 13:00:00; 1 0 9 12:00:00 13:00:00",
      .left = "1/0/1; 1/0/2 ready=12:00:30 deliveries=1 owner=3; 1/0/3 deliveries=1 owner=3; "
              "1/0/4 ready=12:05:00 wake=12:05:00 delay=300; 1/0/5 wake=13:00:00 delay=300; "
              "1/0/6 wake=13:00:00; 1/0/7 ready=10:00:00 expires=11:59:59; "
              "1/0/8 ready=infinity retry=0 deliveries=1 owner=3; "
              "1/0/9 ready=12:00:00 wake=13:00:00 delay=60; "
              "2/0/1 ready=11:58:00 expires=11:59:00 wake=11:58:00 delay=60; "
              "2/0/2 ready=11:58:00 wake=11:58:00 delay=60" },
    { SQL_WAKE_DUE, "in a queue that is paused in: put off, but retry 0 is not, and never past the end",
      .jobs = "1/0/1 wake=11:00:00; 1/0/2 wake=11:00:00 retry=0; 1/0/3 wake=11:00:00 expires=12:00:20; "
              "2/0/4 wake=11:00:00",
      .params = { "{1,1,1,2}", "{0,0,0,0}", "{1,2,3,4}", NOW, "{7,1}" },
      .rows = "1 0 1 12:01:00 12:01:00; 1 0 2 11:00:00 13:00:00; 1 0 3 12:00:20 12:00:20; "
              "2 0 4 11:00:00 13:00:00",
      .left = "1/0/1 ready=12:01:00 wake=12:01:00; 1/0/2 wake=13:00:00 retry=0; "
              "1/0/3 ready=12:00:20 expires=12:00:20 wake=12:00:20; 2/0/4 wake=13:00:00" },
    { SQL_WAKE_DUE, "nothing", .jobs = "1/0/1 wake=11:00:00", .params = { NO_KEYS, NOW, "{}" } },
    { SQL_WAKE_EXPIRED, "jobs whose delay or own TTL is over, and no others",
      .jobs = "1/0/1 expires=12:00:00; 1/0/2 expires=12:00:00 wake=12:00:00; "
              "1/0/3 expires=12:00:00 wake=11:00:00 delay=9; "
              "1/0/4 expires=12:00:00 wake=12:00:00 ready=infinity retry=0 owner=3; "
              "1/0/5 expires=12:00:01 wake=12:00:01; 1/0/6 expires=12:00:00 wake=12:00:00 ready=12:00:00; "
              "1/0/7 expires=12:00:00 wake=12:00:00 ready=12:00:30 owner=3; 1/0/8 wake=11:00:00 delay=9; "
              "2/0/2 expires=12:00:00 wake=12:00:00",
      .params = { "{1,1,1,1,1,1,1,1,1}", "{0,0,0,0,0,0,0,0,0}", "{1,2,3,4,5,6,7,8,99}", NOW },
      .rows = "1 0 2 11:00:00 12:00:00 60 - f -; 1 0 3 290000-01-01 00:00:00+00 12:00:00 60 - f -; 1 0 4 "
              "infinity 12:00:00 0 - f -; 1 0 6 290000-01-01 00:00:00+00 12:00:00 60 - f -; 1 0 7 12:00:30 "
              "12:00:00 60 - f -",
      .left = "1/0/1 expires=12:00:00; 1/0/5 expires=12:00:01 wake=12:00:01; 1/0/8 wake=11:00:00 delay=9; "
              "2/0/2 expires=12:00:00 wake=12:00:00" },
    { SQL_WAKE_EXPIRED, "nothing", .jobs = "1/0/1 expires=11:00:00 wake=11:00:00",
      .params = { NO_KEYS, NOW } },
    { SQL_WAKE_NEXT, "the due and the expired after from, and the next row after now",
      .jobs = ALL_STATES "; 1/-1/9 ready=12:00:00 wake=12:00:00 delay=60; "
                         "2/0/1 wake=11:58:00 expires=11:58:00; 2/0/2 wake=10:00:00; "
                         "3/0/1 ready=12:04:00 wake=12:04:00 expires=12:04:00",
      .params = { "@10:00:00", NOW, "100", "@13:00:00" },
      .rows = "1 -1 9 12:00:00 f; 1 0 5 11:00:00 f; 2 0 1 11:58:00 t; 3 0 1 12:04:00 f" },
    { SQL_WAKE_NEXT, "the longest due, as many as the limit, and then no next row",
      .jobs = "1/0/1 wake=11:00:02; 1/0/2 wake=11:00:03; 1/0/3 wake=11:00:01; 1/0/4 wake=12:30:00",
      .params = { "-infinity", NOW, "2", "infinity" }, .rows = "1 0 1 11:00:02 f; 1 0 3 11:00:01 f" },
    { SQL_WAKE_NEXT, "the next row within the time only", .jobs = "1/0/1 wake=12:30:00; 1/0/2",
      .params = { "-infinity", NOW, "9", "@12:30:00" }, .rows = "1 0 1 12:30:00 f" },
    { SQL_WAKE_NEXT, "none", .jobs = "1/0/1 wake=12:30:00; 1/0/2; 1/0/3 wake=11:00:00",
      .params = { "@11:00:00", NOW, "9", "@12:29:59" } },
    { SQL_EXPIRE_IN_ORDER, "ranges of IDs of several queues, without jobs with a wake time",
      .jobs = "1/0/1; 1/0/2; 1/0/3 ready=12:00:30 owner=3; 1/0/4 wake=13:00:00; 1/0/5; 1/0/6; 1/1/3; "
              "2/0/2; 2/0/5; 3/0/2",
      .params = { "{1,2}", "{0,0}", "{1,2}", "{5,5}", "100", "@13:00:00" },
      .rows = "1 0 2 11:00:00 13:00:00 60 - f -; 1 0 3 12:00:30 13:00:00 60 - f -; 1 0 5 11:00:00 13:00:00 "
              "60 - f -; 2 0 5 11:00:00 13:00:00 60 - f -",
      .left = "1/0/1; 1/0/4 wake=13:00:00; 1/0/6; 1/1/3; 2/0/2; 3/0/2" },
    { SQL_EXPIRE_IN_ORDER, "the limit holds for each queue", .jobs = "1/0/1; 1/0/2; 2/0/1; 2/0/2",
      .params = { "{1,2}", "{0,0}", "{0,0}", "{5,5}", "1", "@13:00:00" },
      .rows = "1 0 1 11:00:00 13:00:00 60 - f -; 2 0 1 11:00:00 13:00:00 60 - f -", .left = "1/0/2; 2/0/2" },

    /* ---- reading jobs ---- */
    { SQL_PEEK_FIRST, "queued jobs, in order", .jobs = ALL_STATES "; 1/-1/9 body=y; 2/0/10",
      .params = { "1", FIRST, "100", NOW, LAST, "9999" },
      .rows = "257 1 -1 9 11:00:00 13:00:00 f - 60 0 0 0 1 \"y\"; 514 1 0 1 11:00:00 13:00:00 f - 60 0 0 0 1 "
              "\"x\"; "
              "771 1 0 3 11:00:00 13:00:00 f 3 60 0 0 0 1 \"x\"; 1028 1 0 5 11:00:00 13:00:00 t - 60 300 0 0 "
              "1 \"x\"; "
              "1285 1 0 6 11:00:00 13:00:00 f - 60 0 0 0 1 \"x\"",
      .ordered = true },
    { SQL_PEEK_FIRST, "behind a key, as many as the limit",
      .jobs = "1/0/1; 1/0/2 nacks=4 additional_deliveries=5 replicate=6; 1/0/3",
      .params = { "1", "0", "1", "1", NOW, LAST, "9999" },
      .rows = "257 1 0 2 11:00:00 13:00:00 f - 60 0 4 5 6 \"x\"", .ordered = true },
    { SQL_PEEK_LAST, "newest first, as many as the limit, not before the key",
      .jobs = "1/0/1; 1/0/2; 1/0/3 ready=12:00:30 owner=3; 1/0/4; 1/1/0; 2/0/9",
      .params = { "1", "0", "1", "3", NOW, LAST, "9999" },
      .rows = "257 1 1 0 11:00:00 13:00:00 f - 60 0 0 0 1 \"x\"; 514 1 0 4 11:00:00 13:00:00 f - 60 0 0 0 1 "
              "\"x\"; "
              "771 1 0 2 11:00:00 13:00:00 f - 60 0 0 0 1 \"x\"",
      .ordered = true },
    { SQL_PEEK_LAST, "nothing behind the last key", .jobs = "1/0/1",
      .params = { "1", LAST, "3", NOW, LAST, "9999" } },
    { SQL_SHOW_JOBS, "in every state but expired, and as often as asked for", .jobs = ALL_STATES,
      .params = { "{1,1,1,1,1,1,1}", "{0,0,0,0,0,0,0}", "{8,4,2,1,7,99,1}", NOW },
      .rows = "1 1 0 8 infinity 13:00:00 f 3 0 0 0 0 1 \"x\" 1 - - - - - - - - - - - - "
              "t - - - -; 2 1 0 4 12:05:00 13:00:00 t - 60 300 0 0 1 \"x\" 0 - - - - - "
              "- - - - - - - t - - - -; 3 1 0 2 12:00:30 13:00:00 f 3 60 0 0 0 1 \"x\" "
              "1 - - - - - - - - - - - - t - - - -; 4 1 0 1 11:00:00 13:00:00 f - 60 0 "
              "0 0 1 \"x\" 0 - - - - - - - - - - - - t - - - -; 7 1 0 1 11:00:00 "
              "13:00:00 f - 60 0 0 0 1 \"x\" 0 - - - - - - - - - - - - t - - - -" },
    { SQL_SCAN_JOBS, "pages over all queues, without bodies",
      .jobs = "1/0/1; 1/0/2; 1/0/3 expires=12:00:00; 1/1/1 ready=12:00:30 owner=3; 2/-1/1; 2/0/1",
      .params = { "1", "0", "1", "3", NOW, "false", "9999" },
      .rows = "256 1 0 2 11:00:00 13:00:00 f - 60 0 0 0 1 - 0 - - - - - - - - - - - - t; "
              "512 1 1 1 12:00:30 13:00:00 f 3 60 0 0 0 1 - 0 - - - - - - - - - - - - t; "
              "768 2 -1 1 11:00:00 13:00:00 f - 60 0 0 0 1 - 0 - - - - - - - - - - - - t",
      .ordered = true },
    { SQL_SCAN_JOBS, "from the beginning, with bodies", .jobs = "-3/0/1; 5/0/2 wake=11:00:00",
      .params = { "-2147483648", FIRST, "10", NOW, "true", "9999" },
      .rows = "257 -3 0 1 11:00:00 13:00:00 f - 60 0 0 0 1 \"x\" 0 - - - - - - - - - - - - t; "
              "514 5 0 2 11:00:00 13:00:00 t - 60 0 0 0 1 \"x\" 0 - - - - - - - - - - - - t",
      .ordered = true },
    { SQL_SCAN_QUEUE, "pages of a queue, in every state but expired",
      .jobs = "1/0/9; 2/0/1; 2/0/2 ready=12:00:30 owner=3; 2/0/3 expires=12:00:00; 2/0/4; 2/0/5; 3/0/1",
      .params = { "2", "0", "1", "2", NOW, "true", "9999" },
      .rows = "257 2 0 2 12:00:30 13:00:00 f 3 60 0 0 0 1 \"x\" 0 - - - - - - - - - - - - t; "
              "514 2 0 4 11:00:00 13:00:00 f - 60 0 0 0 1 \"x\" 0 - - - - - - - - - - - - t",
      .ordered = true },
    { SQL_SCAN_QUEUE, "as many as begin within the bytes", .jobs = "2/0/1 body=abc; 2/0/2; 2/0/3",
      .params = { "2", FIRST, "9", NOW, "true", "260" },
      .rows = "259 2 0 1 11:00:00 13:00:00 f - 60 0 0 0 1 \"abc\" 0 - - - - - - - - - - - - t; "
              "516 2 0 2 11:00:00 13:00:00 f - 60 0 0 0 1 \"x\" 0 - - - - - - - - - - - - t" },
    { SQL_SCAN_QUEUE, "without bodies", .jobs = "2/0/1; 3/0/1",
      .params = { "2", FIRST, "9", NOW, "false", "9999" },
      .rows = "256 2 0 1 11:00:00 13:00:00 f - 60 0 0 0 1 - 0 - - - - - - - - - - - - t" },
    { SQL_LOAD_COUNTS, "all jobs and queued jobs; a due job is not counted before it is woken",
      .jobs = ALL_STATES "; 2/0/1 wake=13:00:00; 2/0/4 ready=12:00:30 owner=3; 3/0/1 wake=13:00:00",
      .params = { NOW }, .rows = "1 8 4 2 0 1 0 1 0; 2 2 1 0 0 4 0 1 0; 3 1 1 0 0 - 0 1 0" },
    { SQL_LOAD_COUNTS, "the first queued job, by rank and by ID, and no leased job",
      .jobs = "1/0/3; 1/-2/9; 1/0/2 ready=12:00:30 owner=3; 2/0/1 ready=12:00:30 owner=3", .params = { NOW },
      .rows = "1 3 2 0 0 2 -2 3 0; 2 1 0 0 0 1 - - 0" },
    { SQL_LOAD_COUNTS, "no jobs", .params = { NOW } },
    { SQL_LOAD_LEASES, "running leases only", .jobs = ALL_STATES, .params = { NOW, NOW },
      .rows = "1 0 2 12:00:30 3 f -; 1 0 8 infinity 3 f -" },
    { SQL_LOAD_LEASES, "a lease that has ended since the start, and no job that was added since then",
      .jobs = "1/0/1 ready=11:59:00 owner=3; 1/0/2 ready=11:59:30 owner=3; 1/0/3 ready=11:59:30",
      .params = { "@11:59:00", NOW }, .rows = "1 0 2 11:59:30 3 f -" },
    { SQL_FIND_LEASES, "running and ended leases, and a queued job whose time is in the future",
      .jobs = ALL_STATES "; 2/0/1 owner=4; 2/0/2 ready=12:00:30",
      .params = { "{1,1,1,1,1,1,1,1,2,2,2}", "{0,0,0,0,0,0,0,0,0,0,0}", "{1,2,3,4,5,6,7,8,1,2,3}", NOW },
      .rows = "10 12:00:30 0 f -; 2 12:00:30 3 f -; 3 11:00:00 3 f -; 8 infinity 3 f -; 9 11:00:00 4 f -" },
    { SQL_FIND_LEASES, "nothing", .jobs = "1/0/1", .params = { NO_KEYS, NOW } },
    { SQL_TAKE_SNAPSHOT, "", .rows = "t" },
    { SQL_ADOPT_LEASES, "running jobs of the nodes that are not named",
      .jobs = ALL_STATES "; 2/-1/9 ready=12:00:30 owner=4; 2/0/10 ready=12:00:30 owner=5; 2/0/11 owner=4",
      .params = { NOW, "{5,9}" }, .rows = "1 0 2 12:00:30 3 f; 1 0 8 infinity 3 f; 2 -1 9 12:00:30 4 f" },
    { SQL_ADOPT_LEASES, "no server lives", .jobs = "1/0/1 ready=12:00:30 owner=3", .params = { NOW, "{}" },
      .rows = "1 0 1 12:00:30 3 f" },
    { SQL_FLUSH_ALL, "jobs and counters go, queues stay", .jobs = ALL_STATES,
      .setup = "insert into pgdisque.queue (name) values ('q'); insert into pgdisque.queue_counter values "
               "(1, 2, 3); insert into pgdisque.queue_setting values (1, 'retry', '5')",
      .left = "",
      .query = "select (select count(*) from pgdisque.queue), (select count(*) from pgdisque.queue_counter), "
               "(select count(*) from pgdisque.queue_setting)",
      .found = "1 0 0" },

    /* ---- queues ---- */
    { SQL_OPEN_QUEUES, "finds existing queues and makes missing ones",
      .setup = "insert into pgdisque.queue (name, pause, created_at) values ('b', 2, '" DAY " 10:00+00'),"
               "('other', 1, '" DAY " 10:00+00')",
      .params = { "{b}", "{null}" }, .rows = "1 \"b\" 2 10:00:00 -" },
    { SQL_OPEN_QUEUES, "sets a consume end once",
      .setup =
          "insert into pgdisque.queue (name, consume_end) values ('left', 1), ('none', null), ('kept', 2)",
      .params = { "{left,none,kept,new}", "{2,2,null,1}" }, .rows = ANY,
      .query =
          "select string_agg(convert_from(name, 'UTF8') || consume_end, ' ' order by id) from pgdisque.queue",
      .found = "left1 none2 kept2 new1" },
    { SQL_OPEN_QUEUES, "makes as many as there are names", .params = { "{a,\"\",c}", "{null,null,null}" },
      .rows = ANY,
      .query = "select count(*), min(pause), max(pause), count(distinct id), bool_and(created_at <= now()) "
               "from pgdisque.queue",
      .found = "3 0 0 3 t" },
    { SQL_OPEN_QUEUES, "nothing", .params = { "{}", "{}" } },
    { SQL_DROP_QUEUES, "with their counters, unless there are jobs or a pause",
      .jobs = "2/0/1 expires=11:00:00",
      .setup = "insert into pgdisque.queue (name, pause) values ('empty', 0), ('full', 0), ('paused', 2), "
               "('not asked', 0);"
               "insert into pgdisque.queue_counter select generate_series(1, 4), 5, 6",
      .params = { "{1,2,3,99,1}", NODE_2 }, .rows = "1",
      .query = "select string_agg(q.id || ':' || coalesce(c.jobs_in, -1), ' ' order by q.id) "
               "from pgdisque.queue as q full join pgdisque.queue_counter as c on c.queue_id = q.id",
      .found = "2:5 3:5 4:5" },
    { SQL_DROP_QUEUES, "not queues with settings",
      .setup = "insert into pgdisque.queue (name) values ('a'), ('b');"
               "insert into pgdisque.queue_setting values (2, 'retry', '5')",
      .params = { "{1,2}", NODE_2 }, .rows = "1" },
    { SQL_DROP_QUEUES, "not while another server may use them",
      .setup = "insert into pgdisque.queue (name) values ('empty');"
               "insert into pgdisque.node (number, id) values (2, repeat('2', 40)), (7, repeat('7', 40))",
      .params = { "{1}", NODE_2 }, .query = "select count(*) from pgdisque.queue", .found = "1" },
    { SQL_DROP_QUEUES, "nodes that have left use no queue",
      .setup = "insert into pgdisque.queue (name) values ('empty');"
               "insert into pgdisque.node (number, id, left_at) values (2, repeat('2', 40), null), "
               "(7, repeat('7', 40), now())",
      .params = { "{1}", NODE_2 }, .rows = "1" },
    { SQL_FIND_QUEUES, "by number, with their settings; without missing queues",
      .setup = "insert into pgdisque.queue (name, pause, created_at) values ('a', 0, '" DAY " 10:00+00'),"
               "('\\x00ff', 3, '" DAY " 09:00+00'), ('c', 1, '" DAY " 08:00+00')",
      .params = { "{2,99,1}" }, .rows = "1 \"a\" 0 10:00:00 - -; 2 \"\\x00\\xff\" 3 09:00:00 - -" },
    { SQL_FIND_QUEUES, "a row for each setting, in the order of the queues",
      .setup = "insert into pgdisque.queue (name, created_at) select n::text::bytea, '" DAY " 10:00+00' from "
               "generate_series(1, 3) as n;"
               "insert into pgdisque.queue_setting values (3, 'retry', '5'), (1, 'ttl', '\\x00ff'), "
               "(3, 'maxlen', '0')",
      .params = { "{2,3,1}" },
      .rows = "2 \"2\" 0 10:00:00 - -; 3 \"3\" 0 10:00:00 maxlen \"0\"; "
              "3 \"3\" 0 10:00:00 retry \"5\"; 1 \"1\" 0 10:00:00 ttl \"\\x00\\xff\"",
      .ordered = true },
    { SQL_FIND_QUEUES, "nothing", .params = { "{}" } },
    { SQL_PAGE_QUEUES, "queues behind a number, and if they have jobs",
      .jobs = "2/0/1 expires=11:59:59; 3/0/1; 3/0/2; 4/0/1",
      .setup = "insert into pgdisque.queue (name) select n::text::bytea from generate_series(1, 5) as n",
      .params = { "1", "3", NOW, "true" }, .rows = "2 f; 3 t; 4 t", .ordered = true },
    { SQL_PAGE_QUEUES, "without a look at the jobs", .jobs = "1/0/1",
      .setup = "insert into pgdisque.queue (name) values ('a')", .params = { "0", "3", NOW, "false" },
      .rows = "1 f", .ordered = true },
    { SQL_COUNT_QUEUES,
      "all jobs, queued jobs, and the counters; a due job is not counted before it is woken",
      .jobs = ALL_STATES "; 2/0/1 ready=12:00:30 owner=3",
      .setup = "insert into pgdisque.queue_counter values (2, 7, 8), (3, 1, 1)", .params = { "{9,1,2}", NOW },
      .rows = "9 0 0 0 0 0 0 0; 1 8 4 0 0 0 2 0; 2 1 0 7 8 0 0 0", .ordered = true },
    { SQL_COUNT_QUEUES, "nothing", .params = { "{}", NOW } },
    { SQL_PAUSE_QUEUES, "each to its own state",
      .setup = "insert into pgdisque.queue (name, pause) values ('a', 0), ('b', 3), ('c', 1)",
      .params = { "{1,2,99}", "{3,0,1}" },
      .query = "select string_agg(id || ':' || pause, ' ' order by id) from pgdisque.queue",
      .found = "1:3 2:0 3:1" },
    { SQL_PAUSE_QUEUES, "there are two bits", .setup = "insert into pgdisque.queue (name) values ('a')",
      .params = { "{1}", "{4}" }, .rows = "error 23514" },
    { SQL_SET_SETTINGS, "new settings, and changed ones",
      .setup = "insert into pgdisque.queue_setting values (1, 'retry', '5'), (1, 'ttl', '6')",
      .params = { "{1,1,2}", "{retry,maxlen,retry}", "{7,8,9}" }, .rows = "t f",
      .query = "select string_agg(concat_ws(':', queue_id, name, convert_from(value, 'UTF8')), ' ' "
               "order by queue_id, name) from pgdisque.queue_setting",
      .found = "1:maxlen:8 1:retry:7 1:ttl:6 2:retry:9" },
    { SQL_SET_SETTINGS, "nothing", .params = { "{}", "{}", "{}" }, .rows = "f f" },
    { SQL_RESET_SETTINGS, "all of these queues",
      .setup =
          "insert into pgdisque.queue_setting values (1, 'retry', '5'), (1, 'ttl', '6'), (2, 'ttl', '7')",
      .params = { "{1,99}" },
      .query = "select string_agg(concat_ws(':', queue_id, name), ' ') from pgdisque.queue_setting",
      .found = "2:ttl" },
    LIMIT_CASES,
    GROUP_CASES,
    FLOW_CASES,
    HELD_CASES,
    { SQL_UNPAUSE_ALL, "all",
      .setup = "insert into pgdisque.queue (name, pause, consume_end) values ('a', 0, 1), ('b', 3, null), "
               "('c', 1, 2)",
      .query = "select string_agg(id || ':' || pause || coalesce(consume_end, 9), ' ' order by id) from "
               "pgdisque.queue",
      .found = "1:09 2:09 3:09" },
    { SQL_SAVE_COUNTERS, "adds to the saved counters",
      .setup = "insert into pgdisque.queue_counter values (2, 100, 50)",
      .params = { "{1,2}", "{3,4}", "{0,2}" },
      .query = "select string_agg(c::text, ' ' order by queue_id) from pgdisque.queue_counter as c",
      .found = "(1,3,0) (2,104,52)" },
    { SQL_LOAD_QUEUES, "with their counters, or zeros",
      .setup = "insert into pgdisque.queue (name, pause, created_at) values ('a', 0, '" DAY " 10:00+00'),"
               "('\\x00ff', 3, '" DAY " 09:00+00'); insert into pgdisque.queue_counter values (2, 7, 8)",
      .rows = "1 \"a\" 0 10:00:00 - - 0 0; 2 \"\\x00\\xff\" 3 09:00:00 - - 7 8", .ordered = true },
    { SQL_LOAD_QUEUES, "a row for each setting, in the order of the queues",
      .setup =
          "insert into pgdisque.queue (name, created_at) select n::text::bytea, '" DAY " 10:00+00' from "
          "generate_series(1, 2) as n; insert into pgdisque.queue_counter values (1, 7, 8);"
          "insert into pgdisque.queue_setting values (1, 'retry', '5'), (2, 'ttl', '6'), (1, 'ttl', '7')",
      .rows = "1 \"1\" 0 10:00:00 retry \"5\" 7 8; 1 \"1\" 0 10:00:00 ttl \"7\" 7 8; "
              "2 \"2\" 0 10:00:00 ttl \"6\" 0 0" },

    { SQL_LOOK_QUEUES, "a page, with a row for each setting",
      .setup =
          "insert into pgdisque.queue (name, pause, created_at) select n::text::bytea, n % 4, '" DAY
          " 10:00+00' from generate_series(1, 5) as n;"
          "insert into pgdisque.queue_setting values (2, 'retry', '5'), (3, 'ttl', '6'), (2, 'ttl', '7')",
      .params = { "1", "2" },
      .rows = "2 \"2\" 2 10:00:00 retry \"5\"; 2 \"2\" 2 10:00:00 ttl \"7\"; 3 \"3\" 3 10:00:00 ttl \"6\"" },

    /* ---- jobs that recur ---- */
    { SQL_PUT_SCHEDULE, "new ones",
      .params = { "{a,\\\\x00}", "{0 0 * * *,* * * * *}", "{q,r}", "{x,y}", "{1,2}", "{300,0}", "{86400,60}",
                  "{0,5}", "{0,7}", "{0,9}", "{@13:00:00,@12:01:00}", "{0,3}", "{0,4}", "{\"\",d}" },
      .query = SCHEDULES,
      .found = "(1,1,13:00:00,,,300,86400,0,0,1,\"0 0 * * *\",a,q,x) "
               "(2,1,12:01:00,,7,0,60,5,9,2,\"* * * * *\",\"\\\\000\",r,y)" },
    { SQL_PUT_SCHEDULE, "the same times again: the next tick stays, and the read version is outdated",
      .setup = A_SCHEDULE,
      .params = { "{a}", "{0 0 * * *}", "{r}", "{y}", "{0}", "{1}", "{2}", "{3}", "{4}", "{5}", "{@18:00:00}",
                  "{0}", "{0}", "{\"\"}" },
      .query = SCHEDULES, .found = "(1,2,12:00:00,,4,1,2,3,5,0,\"0 0 * * *\",a,r,y)" },
    { SQL_PUT_SCHEDULE, "other times: another next tick", .setup = A_SCHEDULE,
      .params = { "{a}", "{0 * * * *}", "{q}", "{x}", "{1}", "{60}", "{3600}", "{0}", "{0}", "{0}",
                  "{@18:00:00}", "{0}", "{0}", "{\"\"}" },
      .query = SCHEDULES, .found = "(1,2,18:00:00,,,60,3600,0,0,1,\"0 * * * *\",a,q,x)" },
    { SQL_PUT_SCHEDULE, "schedules of SQL: the first tick is still to be computed, unless the times change",
      .setup = A_SCHEDULE "; " SCHEDULE_OF("'b'", "'2030-01-01 12:00+00'") "; " NO_TICK,
      .params = { "{a,b}", "{0 0 * * *,0 * * * *}", "{q,q}", "{x,x}", "{1,1}", "{60,60}", "{3600,3600}",
                  "{0,0}", "{0,0}", "{0,0}", "{@18:00:00,@18:00:00}", "{0,0}", "{0,0}", "{\"\",\"\"}" },
      .query = TICKS, .found = "(12:00:00,f) (18:00:00,t)" },
    { SQL_LIST_SCHEDULES, "no next tick", .setup = A_SCHEDULE "; " NO_TICK, .params = { "NULL" },
      .rows = "\"a\" 0 0 * * * \"q\" 1 - - - 60 3600 0 - 0 - - - - - - - - -" },
    { SQL_FIRE_SCHEDULES, "the first tick is computed", .setup = A_SCHEDULE "; " NO_TICK,
      .params = { "{1}", "{1}", "{@12:00:00}", "{@13:00:00}", "{NULL}", "{NULL}", "{NULL}", "{NULL}",
                  "{NULL}", "{0}", "{NULL}", NOW, "{@12:00:00}" },
      .query = TICKS, .found = "(13:00:00,t)" },
    { SQL_DROP_SCHEDULE, "if it exists", .setup = A_SCHEDULE, .params = { "{b,a}" }, .rows = "1",
      .query = SCHEDULES, .found = "-" },
    { SQL_LIST_SCHEDULES, "by their names",
      .setup = A_SCHEDULE "; " SCHEDULE_OF("'B'", "'2030-01-01 13:00+00'"), .params = { "NULL" },
      .rows = "\"B\" 0 0 * * * \"q\" 1 13:00:00 - - 60 3600 0 - 0 - - - - - - - - -; "
              "\"a\" 0 0 * * * \"q\" 1 12:00:00 - - 60 3600 0 - 0 - - - - - - - - -",
      .ordered = true },
    { SQL_LIST_SCHEDULES, "a schedule with its job",
      .setup = A_SCHEDULE "; " SCHEDULE_OF("'B'", "'2030-01-01 13:00+00'"), .params = { "{a}", NOW },
      .rows = "\"a\" 0 0 * * * \"q\" 1 12:00:00 - \"x\" 60 3600 0 - 0 - - - - - - - - "
              "{\"tick\": \"2030-01-01T12:00:00Z\"}" },
    { SQL_DUE_SCHEDULES, "the due schedules from a time on, and the next one", .setup = FOUR_SCHEDULES,
      .params = { "@11:30:00", "@13:00:00", "3", "0" },
      .rows = "14:00:00 1 1 13:00:00 13:00:00 0 0 * * * \"q\" 1 60 3600 0 - 0 t - -; "
              "14:00:00 3 1 12:00:00 12:00:00 0 0 * * * \"q\" 1 60 3600 0 - 0 t - -" },
    { SQL_DUE_SCHEDULES, "a full page has no time of the next search", .setup = FOUR_SCHEDULES,
      .params = { "@11:30:00", "@13:00:00", "2", "0" },
      .rows = "- 1 1 13:00:00 13:00:00 0 0 * * * \"q\" 1 60 3600 0 - 0 t - -; "
              "- 3 1 12:00:00 12:00:00 0 0 * * * \"q\" 1 60 3600 0 - 0 t - -" },
    { SQL_DUE_SCHEDULES, "the page after a schedule, in the order of times and numbers",
      .setup = A_SCHEDULE
      "; " SCHEDULE_OF("'b'", "'2030-01-01 12:00+00'") "; " SCHEDULE_OF("'c'", "'2030-01-01 11:00+00'"),
      .params = { "@12:00:00", "@13:00:00", "2", "1" },
      .rows = "- 2 1 12:00:00 12:00:00 0 0 * * * \"q\" 1 60 3600 0 - 0 t - -" },
    { SQL_DUE_SCHEDULES, "no schedule is due, and none comes",
      .params = { "@11:30:00", "@13:00:00", "2", "0" }, .rows = "- - - - - - - - - - - - - - - -" },
    { SQL_DUE_SCHEDULES, "schedules of seconds have the search time of their minute",
      .setup = OF_SECONDS("'a'", "'2030-01-01 13:00:20+00'") "; " OF_SECONDS(
          "'b'", "'2030-01-01 13:00:50+00'") "; " SCHEDULE_OF("'c'", "'2030-01-01 14:00+00'"),
      .params = { "@12:59:00", "@13:00:20", "2", "0" },
      .rows = "13:00:50 1 1 13:00:20 13:00:00 @every 5s \"q\" 1 60 3600 0 - 0 t - -" },
    { SQL_FIRE_SCHEDULES, "several jobs of a schedule, none of another", .jobs = "1/0/1",
      .setup = A_SCHEDULE "; " SCHEDULE_OF(
          "'b'",
          "'2030-01-01 11:00+00'") "; "
                                   "update pgdisque.schedule set attempts = 2, backoff = 3, deadqueue = 'd'",
      .params = { "{1,1,2}", "{1,1,1}", "{@12:00:00,@12:00:00,@11:00:00}", "{@13:00:00,@13:00:00,@14:00:00}",
                  "{@12:00:00,@12:00:00,NULL}", "{7,8,NULL}", "{@11:00:00,@12:05:00,NULL}",
                  "{@13:00:00,@13:00:00,NULL}", "{NULL,@12:05:00,NULL}", "{1,1,0}", "{NULL,NULL,NULL}", NOW,
                  "{@12:00:00,@12:00:00,@11:00:00}" },
      .rows = "1 0 7 t - 13:00:00 60 - -; 1 0 8 t - 13:00:00 60 - -", .ordered = true,
      .left = "1/0/1; 1/0/7 attempts=2 backoff=3 deadqueue=d headers={\"tick\":null}; "
              "1/0/8 ready=12:05:00 wake=12:05:00 attempts=2 backoff=3 deadqueue=d headers={\"tick\":null}",
      .query = "select string_agg((encode(name, 'escape'), (next_at at time zone 'UTC')::time, (last_at at "
               "time zone "
               "'UTC')::time)::text, ' ' order by id) "
               "from pgdisque.schedule",
      .found = "(a,13:00:00,12:00:00) (b,14:00:00,)" },
    { SQL_FIRE_SCHEDULES, "an earlier tick, sent again beside the next one", .setup = A_SCHEDULE,
      .params = { "{1,1}", "{1,1}", "{@11:00:00,@12:00:00}", "{@12:00:00,@13:00:00}", "{@11:00:00,@12:00:00}",
                  "{7,8}", "{@11:00:00,@11:00:00}", "{@13:00:00,@13:00:00}", "{NULL,NULL}", "{1,1}",
                  "{NULL,NULL}", NOW, "{@12:00:00,@12:00:00}" },
      .rows = "1 0 8 t - 13:00:00 60 - -", .left = "1/0/8 headers={\"tick\":null}", .query = TICKS,
      .found = "(13:00:00,t)" },
    { SQL_FIRE_SCHEDULES, "each job has its tick and the headers, the key and the group of the schedule",
      .setup = A_SCHEDULE
      "; update pgdisque.schedule set headers = '{\"a\": \"b\"}', group_key = 'g'; " SCHEDULE_OF(
          "'b'", "'2030-01-01 12:00+00'") "; update pgdisque.schedule set unique_key = 'k' where id = 2",
      .params = { "{1,1,2,2}", "{1,1,1,1}", "{@12:00:00,@12:00:00,@12:00:00,@12:00:00}",
                  "{@13:00:00,@13:00:00,@13:00:00,@13:00:00}", "{@12:00:00,@12:00:00,@12:00:00,@12:00:00}",
                  "{7,8,9,10}", "{@11:00:00,@11:00:00,@11:00:00,@11:00:00}",
                  "{@13:00:00,@13:00:00,@13:00:00,@13:00:00}", "{NULL,NULL,NULL,NULL}", "{1,1,1,1}",
                  "{@10:00:00,@11:00:00,@11:00:00,@12:00:00}", NOW,
                  "{@12:00:00,@12:00:00,@12:00:00,@12:00:00}" },
      .rows = "1 0 7 t - 13:00:00 60 \"g\" -; 1 0 8 t - 13:00:00 60 \"g\" -; 1 0 9 t - 13:00:00 60 - -",
      .left = ANY,
      .query = "select string_agg(concat_ws(' ', id, headers, ready_at = 'infinity', encode(unique_key, "
               "'escape')), '; ' "
               "order by id) from pgdisque.job",
      .found = "7 {\"a\": \"b\", \"tick\": \"2030-01-01T10:00:00Z\"} t; "
               "8 {\"a\": \"b\", \"tick\": \"2030-01-01T11:00:00Z\"} t; "
               "9 {\"tick\": \"2030-01-01T11:00:00Z\"} f k" },
    { SQL_FIRE_SCHEDULES,
      "overlap: skip while the job before it exists, replace it; an ended or expired job is none",
      .jobs = "1/-7/1; 1/0/2 ready=12:00:30 owner=3; 1/0/3 expires=11:00:00; 1/0/4 key=k",
      .setup = A_SCHEDULE "; " SCHEDULE_OF("'b'", "'2030-01-01 12:00+00'") "; " SCHEDULE_OF(
          "'c'",
          "'2030-01-01 12:00+00'") "; " SCHEDULE_OF("'d'",
                                                    "'2030-01-01 12:00+00'") "; "
                                                                             "update pgdisque.schedule set "
                                                                             "last_queue_id = 1, last_id = "
                                                                             "id, overlap = case id when 1 "
                                                                             "then 1 when 3 "
                                                                             "then 1 else 2 end, unique_key "
                                                                             "= case id when 4 then 'k' "
                                                                             "end::bytea",
      .params = { "{1,2,3,4}", "{1,1,1,1}", "{@12:00:00,@12:00:00,@12:00:00,@12:00:00}",
                  "{@13:00:00,@13:00:00,@13:00:00,@13:00:00}", "{@12:00:00,@12:00:00,@12:00:00,@12:00:00}",
                  "{21,22,23,24}", "{@11:00:00,@11:00:00,@11:00:00,@11:00:00}",
                  "{@13:00:00,@13:00:00,@13:00:00,@13:00:00}", "{NULL,NULL,NULL,NULL}", "{1,1,1,1}",
                  "{@12:00:00,@12:00:00,@12:00:00,@12:00:00}", NOW,
                  "{@12:00:00,@12:00:00,@12:00:00,@12:00:00}" },
      .rows = "1 0 2 f 12:00:30 13:00:00 60 - -; 1 0 22 t - 13:00:00 60 - -; 1 0 23 t - 13:00:00 60 - -; 1 0 "
              "24 t - 13:00:00 60 - -; 1 0 4 f 11:00:00 13:00:00 60 - -",
      .left = ANY,
      .query = "select string_agg(concat_ws(' ', id, (next_at at time zone 'UTC')::time, last_id, (last_at "
               "at time zone "
               "'UTC')::time), '; ' order by id) from pgdisque.schedule",
      .found = "1 13:00:00 1; 2 13:00:00 22 12:00:00; 3 13:00:00 23 12:00:00; 4 13:00:00 24 12:00:00" },
    { SQL_FIRE_SCHEDULES, "a unique key that a delivered or an expired job does not hold any more",
      .jobs = "1/0/1 ready=12:00:30 deliveries=1 owner=3 key=k; 1/0/2 expires=11:00:00 key=l; "
              "1/0/3 ready=12:00:30 deliveries=1 owner=3 key=m; 1/0/4 key=n",
      .setup = A_SCHEDULE "; " SCHEDULE_OF("'b'", "'2030-01-01 12:00+00'") "; " //
      SCHEDULE_OF("'c'", "'2030-01-01 12:00+00'") "; " SCHEDULE_OF(
          "'d'", "'2030-01-01 12:00+00'") "; "
                                          "update pgdisque.schedule set unique_key = substr('klmn', "
                                          "id::integer, 1)::bytea, unique_start = true; "
                                          "update pgdisque.job set unique_start = true where id <> 3",
      .params = { "{1,2,3,4}", "{1,1,1,1}", "{@12:00:00,@12:00:00,@12:00:00,@12:00:00}",
                  "{@13:00:00,@13:00:00,@13:00:00,@13:00:00}", "{@12:00:00,@12:00:00,@12:00:00,@12:00:00}",
                  "{21,22,23,24}", "{@11:00:00,@11:00:00,@11:00:00,@11:00:00}",
                  "{@13:00:00,@13:00:00,@13:00:00,@13:00:00}", "{NULL,NULL,NULL,NULL}", "{1,1,1,1}",
                  "{@12:00:00,@12:00:00,@12:00:00,@12:00:00}", NOW,
                  "{@12:00:00,@12:00:00,@12:00:00,@12:00:00}" },
      .rows = "1 0 21 t - 13:00:00 60 - -; 1 0 22 t - 13:00:00 60 - -", .left = ANY,
      .query = "select string_agg(concat_ws(' ', id, encode(unique_key, 'escape'), unique_start), '; ' "
               "order by id) from pgdisque.job",
      .found = "1 t; 2 t; 3 m; 4 n t; 21 k t; 22 l t" },
    { SQL_FIRE_SCHEDULES, "a replaced job of a workflow is cancelled", .jobs = "1/0/1",
      .setup = A_SCHEDULE
      "; update pgdisque.schedule set last_queue_id = 1, last_id = 1, overlap = 2; " IN_FLOW(1),
      .params = { "{1}", "{1}", "{@12:00:00}", "{@13:00:00}", "{@12:00:00}", "{21}", "{@11:00:00}",
                  "{@13:00:00}", "{NULL}", "{1}", "{@12:00:00}", NOW, "{@12:00:00}" },
      .rows = "1 0 1 f 11:00:00 13:00:00 60 - t; 1 0 21 t - 13:00:00 60 - -", .left = ANY, .query = FLOWS_NOW,
      .found = "1:3:f" },
    { SQL_FIRE_SCHEDULES, "no tick that another server has fired, and none of a changed or removed schedule",
      .setup = A_SCHEDULE "; " SCHEDULE_OF("'b'", "'2030-01-01 12:00+00'"),
      .params = { "{1,2,3}", "{1,2,1}", "{@11:59:59,@12:00:00,@12:00:00}", "{@13:00:00,@13:00:00,@13:00:00}",
                  "{NULL,NULL,NULL}", "{7,8,9}", "{@11:00:00,@11:00:00,@11:00:00}",
                  "{@13:00:00,@13:00:00,@13:00:00}", "{NULL,NULL,NULL}", "{1,1,1}", "{NULL,NULL,NULL}", NOW,
                  "{@12:00:00,@12:00:00,@12:00:00}" },
      .query = "select string_agg((next_at at time zone 'UTC')::time::text, ' ' order by id) from "
               "pgdisque.schedule",
      .found = "12:00:00 12:00:00" },

    /* ---- servers ---- */
};

#endif
