#ifndef FLOW_CASES_H
#define FLOW_CASES_H

#include "session.h"

/* Part of statement_cases.h: workflows and batches. */

#define LATER "'2030-01-01 13:00'"
/* Jobs of workflows, as (id, batch_id, outcome). */
#define FLOW_JOBS(values)                                                                              \
    "insert into pgdisque.flow_job (id, batch_id, outcome, queue_id, rank, expires_at, retry) select " \
    "v.id, v.batch_id::bigint, v.outcome::smallint, 1, 0, " LATER ", 60 from (values " values          \
    ") as v (id, batch_id, outcome)"
/* Waiting jobs, as (id, pending, continues, expires_at). */
#define WAITING(values)                                                                                    \
    "insert into pgdisque.waiting_job (id, pending, continues, expires_at, queue_id, retry, delay, rank, " \
    "replicate, body) select v.id, v.pending, v.continues, v.expires_at, 1, 60, 0, 0, 1, 'x' from "        \
    "(values " values ") as v (id, pending, continues, expires_at)"
#define AFTER(values) "insert into pgdisque.dependency (predecessor_id, successor_id) values " values
/* Batches, as (id, total, done, is_closed). */
#define BATCHES(values)                                                                                   \
    "insert into pgdisque.batch (id, failure_id, total, done, closed_at, queue_id, retry, failure_body) " \
    "select v.id, v.id + 100, v.total, v.done, case when v.is_closed then now() end, 1, 60, 'f' from "    \
    "(values " values ") as v (id, total, done, is_closed)"
/* Batch 9 is on this level of nested batches. Batch 10 is around it, and so on. */
#define NESTED(level)                                                                                      \
    "insert into pgdisque.flow_job (id, batch_id, queue_id, rank, expires_at, retry) select n, n + 1, 1, " \
    "0, " LATER ", 60 from generate_series(9, 7 + " level ") as n; " BATCHES("(9, 1, 0, false)")
#define COMPLETION(id) \
    WAITING("(" id ", 0, false, timestamptz " LATER ")") "; update pgdisque.waiting_job set is_batch = true"
/* A job of workflows, and its row. */
#define IN_FLOW(id) \
    "update pgdisque.job set in_flow = true where id = " #id "; " FLOW_JOBS("(" #id ", null, null)")
/* A delayed job in the sorted set s. */
#define DELAYED_MEMBER                            \
    .jobs = "1/0/1 ready=12:05:00 wake=12:05:00", \
    .setup = IN_FLOW(1) "; update pgdisque.job set sorted_set = 's', body = 'x'"
#define FLOWS_NOW                                                                                 \
    "select string_agg(concat_ws(':', id, batch_id, outcome, is_settled), ' ' order by id) from " \
    "pgdisque.flow_job"
/* The rows of predecessors, and the marks of their jobs. */
#define MOVED_NOW                                                                                           \
    "select string_agg(concat_ws(':', f.id, f.queue_id, f.batch_id, f.outcome, f.result, "                  \
    "f.is_settled, f.turn, coalesce(j.in_flow::text, '')), ' ' order by f.id) from pgdisque.flow_job as f " \
    "left join pgdisque.job as j on j.id = f.id where f.id <> 2"
#define WAITING_NOW                                                                          \
    "select string_agg(concat_ws(':', id, pending, failed, outcome), ' ' order by id) from " \
    "pgdisque.waiting_job"
#define BATCHES_NOW                                                                                        \
    "select string_agg(concat_ws(':', id, total, done, failed, cancelled, completed_at is not null), ' ' " \
    "order by id) from pgdisque.batch"
#define ADD_2(id, batch, continues)                                                                          \
    "{" id "}", "{@12:00:00}", "{@13:00:00}", "{NULL}", "{1}", "{60}", "{0}", "{0}", "{1}", "{NULL}", "{x}", \
        "{NULL}", "{NULL}", "{NULL}", "{NULL}", "{NULL}", "{" batch "}", "{" continues "}"

/* The row of a job whose end was counted, in the queue from which it was moved to queue 2. */
#define ENDED_IN_FORMER_QUEUE           \
    FLOW_JOBS("(1, null, 1::smallint)") \
    "; update pgdisque.flow_job set ended_at = now(), is_settled = true"
#define SETTLED "update pgdisque.flow_job set ended_at = now(), is_settled = true where outcome is not null"
#define DEAD_IN_QUEUE_2                                                                            \
    "insert into pgdisque.dead_job (id, died_at, expires_at, queue_id, retry, delay, deliveries, " \
    "nacks, additional_deliveries, rank, replicate, body) values (1, now(), " LATER                \
    ", 2, 60, 0, 0, 0, 0, 0, 1, 'x')"

#define ADD_2_AND_3                                                                                        \
    "{2,3}", "{@12:00:00,@12:00:00}", "{@13:00:00,@13:00:00}", "{NULL,NULL}", "{1,1}", "{60,60}", "{0,0}", \
        "{0,0}", "{1,1}", "{NULL,NULL}", "{x,y}", "{NULL,NULL}", "{NULL,NULL}", "{NULL,NULL}",             \
        "{NULL,NULL}", "{NULL,NULL}", "{0,0}", "{0,0}"

#define FLOW_CASES                                                                                           \
    {                                                                                                        \
        SQL_ADD_IN_FLOW,                                                                                     \
        "the first predecessor gets its row, and the job waits",                                             \
        .jobs = "1/0/1",                                                                                     \
        .params = { ADD_2("2", "0", "0"), "{1,1}", "{1,1}", "{0,0}", "{1,1}", NOW, "false" },                \
        .rows = "1 2",                                                                                       \
        .query = FLOWS_NOW,                                                                                  \
        .found = "1:f 2:f"                                                                                   \
    },                                                                                                       \
        { SQL_ADD_IN_FLOW,                                                                                   \
          "predecessors that have ended count at once",                                                      \
          .jobs = "1/0/1",                                                                                   \
          .setup = FLOW_JOBS("(1, null, null), (5, null, 1::smallint)") "; update pgdisque.flow_job set "    \
                                                                        "ended_at = now() where id = 5",     \
          .params = { ADD_2("2", "0", "0"), "{1}", "{1}", "{0}", "{5}", NOW, "false" },                      \
          .rows = "1 1",                                                                                     \
          .left = ANY,                                                                                       \
          .query = "select string_agg(id || ':' || coalesce(in_flow::text, ''), ' ' order by id) from "      \
                   "pgdisque.job",                                                                           \
          .found = "1: 2:true" },                                                                            \
        { SQL_ADD_IN_FLOW,                                                                                   \
          "a predecessor that failed: cancelled",                                                            \
          .setup = FLOW_JOBS("(5, null, 2::smallint)") "; update pgdisque.flow_job set ended_at = now()",    \
          .params = { ADD_2("2", "0", "0"), "{1}", "{1}", "{0}", "{5}", NOW, "false" },                      \
          .rows = "1 6",                                                                                     \
          .query = WAITING_NOW,                                                                              \
          .found = "2:0:1:3" },                                                                              \
        { SQL_ADD_IN_FLOW,                                                                                   \
          "a job of another queue has the number of a predecessor: its counted end gives way",               \
          .jobs = "2/0/1; 2/0/4",                                                                            \
          .setup = FLOW_JOBS("(1, 9, 2::smallint), (4, null, null)") "; update pgdisque.flow_job set "       \
                                                                     "ended_at = now(), result = 'r', "      \
                                                                     "is_settled = true where id = 1",       \
          .params = { ADD_2("2", "0", "0"), "{1}", "{2}", "{0}", "{1}", NOW, "false" },                      \
          .rows = "1 2",                                                                                     \
          .query = MOVED_NOW,                                                                                \
          .found = "1:2:f:1:true 4:1:f:0:" },                                                                \
        { SQL_ADD_IN_FLOW,                                                                                   \
          "the other end is not counted: the predecessor is unknown, and its row is unchanged",              \
          .jobs = "2/0/1",                                                                                   \
          .setup = FLOW_JOBS("(1, 9, 2::smallint)"),                                                         \
          .params = { ADD_2("2", "0", "0"), "{1}", "{2}", "{0}", "{1}", NOW, "false" },                      \
          .rows = "1 3",                                                                                     \
          .query = MOVED_NOW,                                                                                \
          .found = "1:1:9:2:f:0:" },                                                                         \
        { SQL_ADD_IN_FLOW,                                                                                   \
          "the predecessor is a dead letter of its new queue",                                               \
          .setup = ENDED_IN_FORMER_QUEUE "; " DEAD_IN_QUEUE_2,                                               \
          .params = { ADD_2("2", "0", "0"), "{1}", "{2}", "{0}", "{1}", NOW, "false" },                      \
          .rows = "1 6",                                                                                     \
          .query = WAITING_NOW,                                                                              \
          .found = "2:0:1:3" },                                                                              \
        { SQL_ADD_IN_FLOW,                                                                                   \
          "a job, and then the job of its number in another queue",                                          \
          .jobs = "2/0/1",                                                                                   \
          .setup = ENDED_IN_FORMER_QUEUE,                                                                    \
          .params = { ADD_2_AND_3, "{1,2}", "{1,2}", "{0,0}", "{1,1}", NOW, "false" },                       \
          .rows = "1 1; 2 3",                                                                                \
          .left = ANY,                                                                                       \
          .query = MOVED_NOW,                                                                                \
          .found = "1:1:1:t:0:" },                                                                           \
        { SQL_ADD_IN_FLOW,                                                                                   \
          "the same jobs in the other order",                                                                \
          .jobs = "2/0/1",                                                                                   \
          .setup = ENDED_IN_FORMER_QUEUE,                                                                    \
          .params = { ADD_2_AND_3, "{1,2}", "{2,1}", "{0,0}", "{1,1}", NOW, "false" },                       \
          .rows = "1 3; 2 1",                                                                                \
          .left = ANY,                                                                                       \
          .query = MOVED_NOW,                                                                                \
          .found = "1:1:1:t:0: 3:1:f:0:true" },                                                              \
        { SQL_ADD_IN_FLOW,                                                                                   \
          "one job after both",                                                                              \
          .jobs = "2/0/1",                                                                                   \
          .setup = ENDED_IN_FORMER_QUEUE,                                                                    \
          .params = { ADD_2("2", "0", "0"), "{1,1}", "{1,2}", "{0,0}", "{1,1}", NOW, "false" },              \
          .rows = "1 3" },                                                                                   \
        { SQL_ADD_IN_FLOW,    "a job in its queue, and its number in another queue",                         \
          .jobs = "2/0/1",    .params = { ADD_2_AND_3, "{1,2}", "{2,1}", "{0,0}", "{1,1}", NOW, "false" },   \
          .rows = "1 2; 2 3", .left = ANY },                                                                 \
        { SQL_ADD_IN_FLOW,    "the same in the other order",                                                 \
          .jobs = "2/0/1",    .params = { ADD_2_AND_3, "{1,2}", "{1,2}", "{0,0}", "{1,1}", NOW, "false" },   \
          .rows = "1 3; 2 2", .left = ANY },                                                                 \
        { SQL_ADD_IN_FLOW, "an unknown predecessor",                                                         \
          .params = { ADD_2("2", "0", "0"), "{1}", "{1}", "{0}", "{7}", NOW, "false" }, .rows = "1 3" },     \
        { SQL_ADD_IN_FLOW,                                                                                   \
          "to the batch of another job; its end did not come yet",                                           \
          .setup = FLOW_JOBS("(5, 9, null)") "; " BATCHES("(9, 1, 0, true)"),                                \
          .params = { ADD_2("2", "5", "0"), "{0}", "{0}", "{0}", "{0}", NOW, "false" },                      \
          .rows = "1 1",                                                                                     \
          .left = ANY,                                                                                       \
          .query = BATCHES_NOW,                                                                              \
          .found = "9:2:0:0:0:f" },                                                                          \
        { SQL_ADD_IN_FLOW, "a complete batch takes no job",                                                  \
          .setup = BATCHES("(9, 1, 1, true)") "; update pgdisque.batch set completed_at = now()",            \
          .params = { ADD_2("2", "9", "0"), "{0}", "{0}", "{0}", "{0}", NOW, "false" }, .rows = "1 4" },     \
        { SQL_ADD_IN_FLOW, "an earlier try has added it", .setup = FLOW_JOBS("(2, null, null)"),             \
          .params = { ADD_2("2", "0", "0"), "{0}", "{0}", "{0}", "{0}", NOW, "false" }, .rows = "1 5" },     \
        { SQL_ADD_IN_FLOW, "an unknown predecessor fails the statement",                                     \
          .params = { ADD_2("2", "0", "0"), "{1}", "{1}", "{0}", "{7}", NOW, "true" },                       \
          .rows = "error 2201E" },                                                                           \
        { SQL_ADD_IN_FLOW, "an unknown batch fails the statement",                                           \
          .params = { ADD_2("2", "9", "0"), "{0}", "{0}", "{0}", "{0}", NOW, "true" },                       \
          .rows = "error 2201F" },                                                                           \
        { SQL_END_IN_FLOWS,                                                                                  \
          "releases the jobs that wait for nothing else",                                                    \
          .setup =                                                                                           \
              FLOW_JOBS("(1, null, null), (2, null, null), (3, null, null), (4, null, null)") "; " WAITING(  \
                  "(3, 2, false, timestamptz " LATER "), (4, 3, false, " LATER                               \
                  ")") "; " AFTER("(1, 3), (2, 3), "                                                         \
                                  "(1, 4), (2, 4)"),                                                         \
          .params = { "{1,2,1}", NOW, "100", "{0,0,0}", "{0,0,0}" },                                         \
          .rows = ANY,                                                                                       \
          .left = ANY,                                                                                       \
          .query = "select (" FLOWS_NOW ") || ', ' || (" WAITING_NOW ") || ', ' || (select count(*) from "   \
                   "pgdisque.job where id = 3)",                                                             \
          .found = "1:1:t 2:1:t 3:f 4:f, 4:1:0, 1" },                                                        \
        { SQL_END_IN_FLOWS,                                                                                  \
          "a failure cancels, unless the job continues",                                                     \
          .setup = FLOW_JOBS("(1, null, 2::smallint), (3, null, null), (4, null, null)") "; " WAITING(       \
              "(3, 2, false, timestamptz " LATER "), (4, 2, true, " LATER ")") "; " AFTER("(1, 3), (1, 4)"), \
          .params = { "{1}", NOW, "100", "{0}", "{0}" },                                                     \
          .rows = "2 - - 3 - - - - - - - - -; 3 1 0 1 13:00:00 60 - - 1 - f 4 f",                            \
          .query = WAITING_NOW,                                                                              \
          .found = "3:1:1:3 4:1:1" },                                                                        \
        { SQL_END_IN_FLOWS,                                                                                  \
          "more jobs wait than the limit",                                                                   \
          .setup = FLOW_JOBS("(1, null, null), (3, null, null), (4, null, null)") "; " WAITING(              \
              "(3, 2, false, timestamptz " LATER "), (4, 2, false, " LATER                                   \
              ")") "; " AFTER("(1, 3), (1, 4)"),                                                             \
          .params = { "{1}", NOW, "1", "{0}", "{0}" },                                                       \
          .rows = "4 1 0 1 13:00:00 60 - - 1 - f 3 f",                                                       \
          .query = "select sum(pending) from pgdisque.waiting_job",                                          \
          .found = "3" },                                                                                    \
        { SQL_END_IN_FLOWS,                                                                                  \
          "jobs that exist or wait have not ended; an expired waiting job has",                              \
          .jobs = "1/0/1",                                                                                   \
          .setup = FLOW_JOBS("(1, null, null), (2, null, null), (3, null, null)") "; " WAITING(              \
              "(2, 1, false, timestamptz " LATER "), (3, 1, false, '2020-01-01')"),                          \
          .params = { "{1,2,3,4}", NOW, "100", "{0,0,0,0}", "{0,0,0,0}" },                                   \
          .rows = "3 1 0 3 13:00:00 60 - - 3 4 - - f",                                                       \
          .query = "select (" FLOWS_NOW ") || ', ' || (" WAITING_NOW ")",                                    \
          .found = "1:f 2:f 3:4:t, 2:1:0" },                                                                 \
        { SQL_END_IN_FLOWS,                                                                                  \
          "the last job of a closed batch: the completion job; the first failure: the failure job",          \
          .setup = FLOW_JOBS("(1, 9, 2::smallint), (2, 9, 3::smallint), (9, null, null)") "; " COMPLETION(   \
              "9") "; " BATCHES("(9, 3, 1, true)"),                                                          \
          .params = { "{1,2}", NOW, "100", "{0,0}", "{0,0}" },                                               \
          .rows = ANY,                                                                                       \
          .left = ANY,                                                                                       \
          .query =                                                                                           \
              "select (" BATCHES_NOW ") || ', ' || (select string_agg(id || encode(body, 'escape'), ' ' "    \
              "order by id) from pgdisque.job)",                                                             \
          .found = "9:3:1:1:1:t, 9x 109f" },                                                                 \
        { SQL_END_IN_FLOWS,                                                                                  \
          "an open batch does not complete; a batch counts an end once",                                     \
          .setup = FLOW_JOBS("(1, 9, null), (9, null, null)") "; " COMPLETION("9") "; " BATCHES(             \
              "(9, 1, 0, false)") "; update pgdisque.flow_job set ended_at = now(), outcome = 1 where id = " \
                                  "1",                                                                       \
          .params = { "{1}", NOW, "100", "{0}", "{0}" },                                                     \
          .rows = "3 1 0 1 13:00:00 60 - - 1 - - - f",                                                       \
          .query = BATCHES_NOW,                                                                              \
          .found = "9:1:0:0:0:f" },                                                                          \
        { SQL_COMPLETE_BATCHES,                                                                              \
          "closed, and nothing is pending",                                                                  \
          .setup = COMPLETION("8") "; " COMPLETION(                                                          \
              "9") "; update pgdisque.waiting_job set has_body = id = "                                      \
                   "9; " BATCHES("(7, 1, 0, true), (8, 1, 1, true), (9, 1, 1, true)"),                       \
          .params = { "{7,8,9}", NOW },                                                                      \
          .rows = "1 1 0 9 13:00:00 60 - - - - - - -; 2 - - 8 - - - - - - - - -",                            \
          .left = ANY,                                                                                       \
          .query = "select (" BATCHES_NOW ") || ', ' || (" WAITING_NOW ")",                                  \
          .found = "7:1:0:0:0:f 8:1:1:0:0:t 9:1:1:0:0:t, 8:0:0:1" },                                         \
        { SQL_STUCK_FLOWS,                                                                                   \
          "jobs that have ended, and the last job of the page",                                              \
          .jobs = "1/0/1; 1/0/4",                                                                            \
          .setup = FLOW_JOBS("(1, null, null), (2, null, null), (4, null, null)"),                           \
          .params = { NOW, "0", "100" },                                                                     \
          .rows = "2 t; 4 f" },                                                                              \
        { SQL_STUCK_FLOWS, "no settled job, whatever its number",                                            \
          .setup = FLOW_JOBS("(-7, null, null), (-8, null, 1::smallint), (3, null, 1)") "; " SETTLED,        \
          .params = { NOW, "-100", "100" }, .rows = "-7 t" },                                                \
        { SQL_STUCK_BATCHES, "closed, and nothing is pending",                                               \
          .setup = BATCHES("(7, 1, 0, true), (8, 1, 1, false), (9, 1, 1, true)"), .params = { "100" },       \
          .rows = "9" },                                                                                     \
        { SQL_PRUNE_FLOWS,                                                                                   \
          "settled jobs that no job waits for, with their dependencies; old batches",                        \
          .setup =                                                                                           \
              FLOW_JOBS("(1, null, 1::smallint), (2, null, 1), (3, null, 1), (4, null, null)") "; " AFTER(   \
                  "(1, 2), (3, 4)") "; update pgdisque.flow_job set is_settled = true, ended_at = "          \
                                    "'2020-01-01' "                                                          \
                                    "where id < 4; " BATCHES(                                                \
                                        "(9, 1, 1, true)") "; update pgdisque.batch set "                    \
                                                           "completed_at = '2020-01-01'",                    \
          .params = { NOW, NOW, "0", "100", "2010-01-01" },                                                  \
          .rows = "1 t; 3 t",                                                                                \
          .query =                                                                                           \
              "select (" FLOWS_NOW ") || ', ' || (select count(*) from pgdisque.dependency) || ', ' || "     \
              "(select count(*) from pgdisque.batch)",                                                       \
          .found = "1:1:t 3:1:t 4:f, 1, 0" },                                                                \
        { SQL_OPEN_BATCH,                                                                                    \
          "in an open parent",                                                                               \
          .setup = BATCHES("(9, 1, 0, false)"),                                                              \
          .params = { "5", "@13:00:00", "1", "60", "x", "6", "y", "9", "7", "NULL", "@14:00:00", "false" },  \
          .rows = "t f",                                                                                     \
          .query = "select (" BATCHES_NOW ") || ', ' || (" FLOWS_NOW ") || ', ' || (" WAITING_NOW ")",       \
          .found = "5:0:0:0:0:f 9:2:0:0:0:f, 5:9:f, 5:0:0" },                                                \
        { SQL_OPEN_BATCH, "in an unknown parent",                                                            \
          .params = { "5", "@13:00:00", "1", "60", "x", "6", "y", "9", "7", "NULL", "@14:00:00", "false" },  \
          .rows = "f f" },                                                                                   \
        { SQL_OPEN_BATCH,                                                                                    \
          "on the last level",                                                                               \
          .setup = NESTED("15"),                                                                             \
          .params = { "5", "@13:00:00", "1", "60", "x", "6", "y", "9", "7", "NULL", "@14:00:00", "false" },  \
          .rows = "t f",                                                                                     \
          .query = BATCHES_NOW,                                                                              \
          .found = "5:0:0:0:0:f 9:2:0:0:0:f" },                                                              \
        { SQL_OPEN_BATCH,                                                                                    \
          "below the last level",                                                                            \
          .setup = NESTED("16"),                                                                             \
          .params = { "5", "@13:00:00", "1", "60", "x", "6", "y", "9", "7", "NULL", "@14:00:00", "false" },  \
          .rows = "f t",                                                                                     \
          .query = "select (" BATCHES_NOW ") || ', ' || coalesce((" WAITING_NOW "), '-')",                   \
          .found = "9:1:0:0:0:f, -" },                                                                       \
        { SQL_CLOSE_BATCH,                                                                                   \
          "by one of its jobs",                                                                              \
          .setup = FLOW_JOBS("(1, 9, null)") "; " BATCHES("(9, 1, 0, false)"),                               \
          .params = { "1" },                                                                                 \
          .rows = "9 t",                                                                                     \
          .query = "select closed_at is not null from pgdisque.batch",                                       \
          .found = "t" },                                                                                    \
        { SQL_SHOW_BATCH, "by its failure job",                                                              \
          .setup =                                                                                           \
              BATCHES("(9, 1, 0, false)") "; update pgdisque.batch set created_at = '2030-01-01 11:00'",     \
          .params = { "109" }, .rows = "1 0 9 60 11:00:00 - - - 1 0 0 0 - - - - - -" },                      \
        { SQL_SHOW_PREDECESSORS, "with their results, once they have ended",                                 \
          .setup = FLOW_JOBS("(1, null, 1::smallint), (2, null, null)") "; " AFTER(                          \
              "(1, 3), (2, 3)") "; "                                                                         \
                                "update pgdisque.flow_job set ended_at = now(), result = 'r' where id = 1",  \
          .params = { "3" }, .rows = "1 0 1 13:00:00 60 1 \"r\"; 1 0 2 13:00:00 60 - -" },                   \
        { SQL_COUNT_WAITING, "of each queue, without those that end",                                        \
          .setup = WAITING("(3, 1, false, timestamptz " LATER                                                \
                           "), (4, 1, false, '2020-01-01'), (5, 1, false, " LATER                            \
                           ")") "; update pgdisque.waiting_job set outcome = 3 where id = 5",                \
          .params = { "{2,1}", NOW, "{0,1}" }, .rows = "1 0 0; 2 1 0" },                                     \
        { SQL_PAGE_WAITING, "of each queue, without those that end",                                         \
          .setup = WAITING("(3, 1, false, timestamptz " LATER                                                \
                           "), (4, 1, false, '2020-01-01'), (5, 1, false, " LATER "), "                      \
                           "(6, 1, false, " LATER "), (7, 1, false, " LATER                                  \
                           ")") "; update pgdisque.waiting_job set outcome = 3 where id = 5; "               \
                                "update pgdisque.waiting_job set queue_id = 2, rank = -1 where id > 5",      \
          .params = { "0", "0", "0", "100", NOW }, .rows = "1 0 5 1; 2 -1 7 2" },                            \
        { SQL_SCAN_WAITING,                                                                                  \
          "pages in key order; those that end do not match",                                                 \
          .setup = WAITING("(3, 1, false, timestamptz " LATER                                                \
                           "), (4, 1, false, '2020-01-01'), (5, 1, false, " LATER "), "                      \
                           "(6, 1, false, " LATER "), (7, 1, false, " LATER                                  \
                           ")") "; update pgdisque.waiting_job set outcome = 3 where id = 5; "               \
                                "update pgdisque.waiting_job set queue_id = 2, rank = -1 where id > 5",      \
          .params = { "1", "0", "3", "3", NOW, "false", "9", "9999" },                                       \
          .rows = "256 1 0 4 infinity 2020-01-01 00:00:00+00 f - 60 0 0 0 1 - 0 - - - - - - - - - - 1 - f; " \
                  "512 1 0 5 infinity 13:00:00 f - 60 0 0 0 1 - 0 - - - - - - - - - - 1 - f; "               \
                  "768 2 -1 6 infinity 13:00:00 f - 60 0 0 0 1 - 0 - - - - - - - - - - 1 - t",               \
          .ordered = true },                                                                                 \
        { SQL_SCAN_WAITING, "of a queue, by a header",                                                       \
          .setup = WAITING("(3, 1, false, timestamptz " LATER "), (4, 1, false, " LATER                      \
                           ")") "; update pgdisque.waiting_job set headers = '{\"a\":\"b\"}' where id = 4;"  \
                                "update pgdisque.waiting_job set queue_id = 2 where id = 3",                 \
          .params = { "1", "0", "0", "9", NOW, "true", "1", "9999", "{\"a\": null}" },                       \
          .rows =                                                                                            \
              "267 1 0 4 infinity 13:00:00 f - 60 0 0 0 1 \"x\" 0 - - - - - - - {\"a\": \"b\"} - - 1 - t" }, \
        { SQL_PAGE_WAITING, "a part of a queue",                                                             \
          .setup = WAITING("(3, 1, false, timestamptz " LATER "), (4, 1, false, " LATER                      \
                           "), (5, 1, false, " LATER ")"),                                                   \
          .params = { "1", "0", "3", "1", NOW }, .rows = "1 0 4 1" },                                        \
        { SQL_PAGE_WAITING, "after the last one", .setup = WAITING("(3, 1, false, timestamptz " LATER ")"),  \
          .params = { "1", "0", "3", "1", NOW }, .rows = "" },                                               \
        { SQL_DELETE_JOBS,                                                                                   \
          "waiting jobs, once",                                                                              \
          .setup = WAITING("(3, 1, false, timestamptz " LATER "), (4, 1, false, '2020-01-01')"),             \
          .params = { "{1,1,1}", "{0,0,0}", "{3,4,5}", NOW },                                                \
          .rows = "1 - - - t",                                                                               \
          .query = WAITING_NOW,                                                                              \
          .found = "3:1:0:3 4:1:0" },                                                                        \
        { SQL_DELETE_JOBS,                                                                                   \
          "a job of a workflow is cancelled",                                                                \
          .jobs = "1/0/1; 1/0/2",                                                                            \
          .setup = IN_FLOW(1),                                                                               \
          .params = { "{1,1}", "{0,0}", "{1,2}", NOW },                                                      \
          .rows = "1 11:00:00 - t -; 2 11:00:00 - - -",                                                      \
          .left = "",                                                                                        \
          .query = FLOWS_NOW,                                                                                \
          .found = "1:3:f" },                                                                                \
        { SQL_CANCEL_JOBS,                                                                                   \
          "jobs of workflows: queued, running, waiting, and none",                                           \
          .jobs = "1/0/1; 1/0/2 ready=12:00:30 deliveries=1 owner=3; 1/0/4",                                 \
          .setup = IN_FLOW(1) "; " IN_FLOW(2) "; " WAITING("(3, 1, false, timestamptz " LATER ")"),          \
          .params = { "{1,1,1,1}", "{0,0,0,0}", "{1,2,3,4}", NOW, "9" },                                     \
          .rows = "1 13:00:00 60 - 11:00:00 - t - -; 2 13:00:00 60 12:00:30 - - - - -; 3 - - - - - - t -; "  \
                  "4 13:00:00 60 - 11:00:00 - - - -",                                                        \
          .left = ANY,                                                                                       \
          .query = "select (" FLOWS_NOW ") || ', ' || (" WAITING_NOW ")",                                    \
          .found = "1:3:f 2:3:f, 3:1:0:3" },                                                                 \
        { SQL_RETAIN_JOBS,                                                                                   \
          "a cancelled job stays cancelled",                                                                 \
          .jobs = "1/0/1; 1/0/2",                                                                            \
          .setup = IN_FLOW(1) "; " IN_FLOW(2) "; update pgdisque.flow_job set outcome = 3 where id = 1",     \
          .params = { "{1,1}", "{0,0}", "{1,2}", "{0,0}", "{5,5}", "{a,a}", "{r,r}", NOW, "7" },             \
          .rows = "1 11:00:00 t - t; 2 11:00:00 t - t",                                                      \
          .left = "",                                                                                        \
          .query = FLOWS_NOW,                                                                                \
          .found = "1:3:f 2:1:f" },                                                                          \
        { SQL_ADD_IN_FLOW,                                                                                   \
          "a running predecessor that is cancelled",                                                         \
          .jobs = "1/0/1 ready=12:00:30 deliveries=1 owner=3 attempts=0",                                    \
          .params = { ADD_2("2", "0", "0"), "{1}", "{1}", "{0}", "{1}", NOW, "false" },                      \
          .rows = "1 2",                                                                                     \
          .left = ANY,                                                                                       \
          .query = FLOWS_NOW,                                                                                \
          .found = "1:3:f 2:f" },                                                                            \
        { SQL_REMOVE_RANGE,   "a job of a workflow is cancelled",                                            \
          DELAYED_MEMBER,     .params = { "s", "-infinity", "infinity", "0", "10", "0", "false", NOW },      \
          .rows = ANY,        .left = "",                                                                    \
          .query = FLOWS_NOW, .found = "1:3:f" },                                                            \
        { SQL_REMOVE_MEMBERS, "a job of a workflow is cancelled",                                            \
          DELAYED_MEMBER,     .params = { "s", "{x}", NOW },                                                 \
          .rows = ANY,        .left = "",                                                                    \
          .query = FLOWS_NOW, .found = "1:3:f" },                                                            \
        { SQL_ADD_MEMBERS,                                                                                   \
          "a replaced job of a workflow is cancelled",                                                       \
          DELAYED_MEMBER,                                                                                    \
          .params = { "{11}", "{@12:10:00}", "{x}", "1", "s", "60", "600", "0", "false", NOW },              \
          .rows = ANY,                                                                                       \
          .left = ANY,                                                                                       \
          .query = FLOWS_NOW,                                                                                \
          .found = "1:3:f" },                                                                                \
        { SQL_EMPTY_QUEUE,                                                                                   \
          "a job of a workflow is cancelled",                                                                \
          .jobs = "1/0/1; 1/0/2",                                                                            \
          .setup = IN_FLOW(1),                                                                               \
          .params = { "1", FIRST, "0", "9", "9", NOW },                                                      \
          .rows = ANY,                                                                                       \
          .left = "",                                                                                        \
          .query = FLOWS_NOW,                                                                                \
          .found = "1:3:f" },                                                                                \
    {                                                                                                        \
        SQL_SET_ELEMENT, "a job of a workflow stays",                                                        \
            .jobs = "1/0/1", .setup = IN_FLOW(1), .params = { "1", FIRST, NOW, "0", "NULL", "{new}" },       \
            .rows = "0 1 t", .left = ANY, .query = "select in_flow from pgdisque.job", .found = "t"          \
    }

#endif
