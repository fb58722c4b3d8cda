#ifndef REPAIR_CASES_H
#define REPAIR_CASES_H

#include "statement_cases.h"

/* Part of test_statements.c: workflows that are repaired, members of batches, success jobs, and
 * batches that stay open. */

/* A job that a dead letter in queue 1 holds: (predecessor, successor). */
#define HOLDS(values)                                                                               \
    "insert into pgdisque.dependency (predecessor_id, successor_id, holds) select p, s, true from " \
    "(values " values ") as v (p, s)"
#define ENDED(id) "; update pgdisque.flow_job set ended_at = now(), is_settled = true where id = " #id
#define DIED(id) "call test.die('1/0/" #id " attempts=1 error=e')"
#define DEAD_NOW \
    "select string_agg(concat_ws(':', id, encode(error, 'escape')), ' ' order by id) from pgdisque.dead_job"
#define BODIES_NOW "select string_agg(id || encode(body, 'escape'), ' ' order by id) from pgdisque.job"
#define SUCCESS(id) "; update pgdisque.batch set success_id = id + 200, success_body = 's' where id = " #id

static const struct stmt_case repair_cases[] = {
    { SQL_ADD_IN_FLOW, "hold: a dead predecessor has not ended", .setup = DIED(1),
      .params = { ADD_2("2", "0", "2"), "{1}", "{1}", "{0}", "{1}", NOW, "false" }, .rows = "1 2",
      .query =
          "select (" WAITING_NOW ") || ', ' || (select string_agg(concat_ws(':', is_counted, holds), ' ') "
          "from pgdisque.dependency)",
      .found = "2:1:0, f:t" },
    { SQL_ADD_IN_FLOW, "hold: another end counts", .setup = FLOW_JOBS("(5, null, 3::smallint)") ENDED(5),
      .params = { ADD_2("2", "0", "2"), "{1}", "{1}", "{0}", "{5}", NOW, "false" }, .rows = "1 6",
      .query = WAITING_NOW, .found = "2:0:1:3" },
    { SQL_ADD_IN_FLOW, "a failed predecessor cancels as a failure", .setup = DIED(1),
      .params = { ADD_2("2", "0", "0"), "{1}", "{1}", "{0}", "{1}", NOW, "false" }, .rows = "1 6",
      .query = "select after_failure from pgdisque.waiting_job", .found = "t" },
    { SQL_ADD_IN_FLOW, "a cancelled batch takes no job",
      .setup = BATCHES("(9, 1, 0, true)") "; update pgdisque.batch set is_cancelled = true",
      .params = { ADD_2("2", "9", "0"), "{1}", "{0}", "{0}", "{0}", NOW, "false" }, .rows = "1 4" },
    { SQL_END_IN_FLOWS,
      "a dead letter counts for its batch and for a job that does not hold; the other one is not counted",
      .setup = DIED(1) "; " FLOW_JOBS("(1, 9, 2::smallint), (3, null, null), (4, null, null)") "; " WAITING(
          "(3, 1, false, timestamptz " LATER "), (4, 1, true, " LATER
          ")") "; " HOLDS("(1, 3)") "; " AFTER("(1, 4)") "; " BATCHES("(9, 2, 0, true)"),
      .params = { "{1}", NOW, "100", "{0}", "{0}" }, .rows = ANY, .left = ANY,
      .query = "select (" FLOWS_NOW ") || ', ' || (" WAITING_NOW ") || ', ' || (" BATCHES_NOW ")",
      .found = "1:9:2:t 3:f 4:f, 3:1:0, 9:2:0:1:0:f" },
    { SQL_END_IN_FLOWS, "after the dead letter was deleted, it counts once more for the job that holds",
      .setup = FLOW_JOBS("(1, 9, 2::smallint), (3, null, null)") ENDED(1) "; " WAITING(
          "(3, 1, false, timestamptz " LATER ")") "; " HOLDS("(1, 3)") "; " BATCHES("(9, 2, 0, true)"),
      .params = { "{1}", NOW, "100", "{0}", "{0}" },
      .rows = "2 - - 3 - - - - - - - - -; 3 1 0 1 13:00:00 60 - - 1 - t 3 f",
      .query = "select (" WAITING_NOW ") || ', ' || (" BATCHES_NOW ") || ', ' || (select after_failure from "
               "pgdisque.waiting_job)",
      .found = "3:0:1:3, 9:2:0:0:0:f, true" },
    { SQL_END_IN_FLOWS,
      "a waiting job that a failure has cancelled becomes a dead letter, as does an expired one; a cancelled "
      "one is deleted",
      .setup = FLOW_JOBS("(3, null, null), (4, null, null), (5, null, null)") "; " WAITING(
          "(3, 0, false, timestamptz " LATER "), (4, 0, false, " LATER
          "), (5, 1, false, '2020-01-01')") "; update pgdisque.waiting_job set outcome = 3, after_failure = "
                                            "id = 3 where id < 5; "
                                            "insert into pgdisque.queue_setting values (1, 'expired', "
                                            "'dead')",
      .params = { "{3,4,5}", NOW, "100", "{0,0,0}", "{0,0,0}" },
      .rows = "3 1 0 3 13:00:00 60 - - 1 3 - - t; 3 1 0 4 13:00:00 60 - - 2 3 - - f; "
              "3 1 0 5 13:00:00 60 - - 3 2 - - t",
      .query =
          "select (" DEAD_NOW ") || ', ' || (select string_agg(concat_ws(':', id, outcome, after_failure, "
          "encode(result, 'escape')), ' ' order by id) from pgdisque.flow_job)",
      .found = "3:a predecessor failed 5:the time to live ended, 3:3:t:a predecessor failed 4:3:f "
               "5:2:f:the time to live ended" },
    { SQL_END_IN_FLOWS, "a revived job whose batch was deleted ends", .setup = FLOW_JOBS("(1, 9, null)"),
      .params = { "{1}", NOW, "100", "{0}", "{0}" }, .rows = "3 1 0 1 13:00:00 60 - - 1 - - - f",
      .query = FLOWS_NOW, .found = "1:9:1:t" },
    { SQL_END_IN_FLOWS, "a failed batch without a completion job is no dead letter",
      .setup =
          FLOW_JOBS("(9, null, null)") "; " COMPLETION("9") "; update pgdisque.waiting_job set has_body = "
                                                            "false, outcome = 2",
      .params = { "{9}", NOW, "100", "{0}", "{0}" }, .rows = "3 1 0 9 13:00:00 60 - - 1 2 - - f",
      .query = "select (" FLOWS_NOW ") || ', ' || (select count(*) from pgdisque.dead_job)",
      .found = "9:2:t, 0" },
    { SQL_END_IN_FLOWS, "a settled job counts once more for new successors, also if it is a dead letter",
      .setup = DIED(1) "; " FLOW_JOBS("(1, null, 2::smallint), (2, null, 1), (3, null, null)") ENDED(1)
          ENDED(2) "; " WAITING("(3, 3, true, timestamptz " LATER "), (4, 1, true, " LATER
                                ")") "; " AFTER("(1, 3), (2, 3)") "; " HOLDS("(1, 4)"),
      .params = { "{1,2}", NOW, "100", "{0,0}", "{0,0}" },
      .rows = "3 1 0 1 13:00:00 60 - - 1 - f 3 f; 3 1 0 2 13:00:00 60 - - 2 - f 3 f",
      .query = "select (" FLOWS_NOW ") || ', ' || (" WAITING_NOW ")",
      .found = "1:2:t 2:1:t 3:f, 3:1:1 4:1:0" },
    { SQL_PRUNE_FLOWS, "finds settled jobs whose end does not count for a successor that they do not hold",
      .setup = DIED(1) "; " FLOW_JOBS("(1, null, 2::smallint), (2, null, 2), (3, null, 1), (4, null, 1)")
          ENDED(1) ENDED(2) ENDED(3) ENDED(4) "; " AFTER("(1, 5), (3, 5)") "; " HOLDS(
              "(2, 5)") "; update "
                        "pgdisque.dependency set is_counted = true "
                        "where predecessor_id = 3",
      .params = { "-infinity", "-infinity", "0", "100", "-infinity" }, .rows = "1 t; 4 f" },
    { SQL_END_IN_FLOWS, "the next page of successors",
      .setup = FLOW_JOBS("(1, null, null), (3, null, null), (4, null, null)") "; " WAITING(
          "(3, 2, false, timestamptz " LATER "), (4, 2, false, " LATER ")") "; " AFTER("(1, 3), (1, 4)"),
      .params = { "{1}", NOW, "1", "{0}", "{3}" }, .rows = "4 1 0 1 13:00:00 60 - - 1 - f 4 f",
      .query = WAITING_NOW, .found = "3:2:0 4:1:0" },
    { SQL_END_IN_FLOWS, "the success job follows the last job, if all are done",
      .setup = FLOW_JOBS("(1, 9, null), (2, 8, null), (8, null, null), (9, null, null)") "; " COMPLETION(
          "9") "; " COMPLETION("8") "; " BATCHES("(8, 2, 0, true), (9, 2, 1, true)") SUCCESS(8)
          SUCCESS(9) "; update pgdisque.batch set failed = 1, failed_at = now() where id = 8",
      .params = { "{1,2}", NOW, "100", "{0,0}", "{0,0}" }, .rows = ANY, .left = ANY,
      .query = "select (" BODIES_NOW
               ") || ', ' || (select string_agg(concat_ws(':', id, succeeded_at is not null), "
               "' ' order by id) from pgdisque.batch)",
      .found = "8x 9x 209s, 8:f 9:t" },
    { SQL_END_IN_FLOWS, "the success job follows the last revived job of a complete batch",
      .setup = FLOW_JOBS("(1, 9, null)") "; " BATCHES("(9, 2, 1, true)")
          SUCCESS(9) "; update pgdisque.batch set completed_at = now(), failed_at = now()",
      .params = { "{1}", NOW, "100", "{0}", "{0}" }, .rows = ANY, .left = ANY,
      .query = "select (" BODIES_NOW ") || ', ' || (" BATCHES_NOW ")", .found = "209s, 9:2:2:0:0:t" },
    { SQL_COMPLETE_BATCHES, "with a success job",
      .setup = COMPLETION("9") "; " BATCHES("(8, 1, 0, true), (9, 0, 0, true)") SUCCESS(8) SUCCESS(9),
      .params = { "{8,9}", NOW }, .rows = ANY, .left = ANY, .query = BODIES_NOW, .found = "9x 209s" },
    { SQL_REVIVE_JOBS, "a job of a batch has not ended any more",
      .setup = DIED(1) "; " DIED(2) "; " DIED(3) "; " FLOW_JOBS(
          "(1, 9, 2::smallint), (2, 9, 3::smallint), (4, null, null)") ENDED(1)
          ENDED(2) "; " BATCHES("(9, 3, 1, true)") "; update pgdisque.batch set failed = 1, cancelled = 1",
      .params = { "{1,1,1}", "{0,0,0}", "{1,2,3}", NOW }, .rows = ANY, .left = ANY,
      .query = "select (" FLOWS_NOW ") || ', ' || (" BATCHES_NOW
               ") || ', ' || (select string_agg(concat_ws(':', id, "
               "in_flow), ' ' order by id) from pgdisque.job)",
      .found = "1:9:f 2:9:f 4:f, 9:3:1:0:0:f, 1:t 2:t 3" },
    { SQL_REVIVE_QUEUE, "into another queue, before the end was counted",
      .setup = DIED(1) "; " FLOW_JOBS("(1, 9, 2::smallint)") "; " BATCHES("(9, 3, 1, true)"),
      .params = { "1", "-32768", "0", "9", NOW, "NULL", "NULL", "NULL", "NULL", "NULL", "2", "NULL", "NULL" },
      .rows = ANY, .left = ANY,
      .query =
          "select (select concat_ws(':', queue_id, outcome, ended_at) from pgdisque.flow_job) || ', ' || "
          "(" BATCHES_NOW ")",
      .found = "2, 9:3:1:0:0:f" },
    { SQL_PRUNE_FLOWS, "keeps dead letters, and batches with failed jobs",
      .setup = DIED(1) "; " FLOW_JOBS("(1, 9, 2::smallint), (2, 9, 1)") ENDED(1) ENDED(2) "; " BATCHES(
          "(7, 1, 1, true), (8, 1, 0, true), (9, 1, 0, true)") "; update pgdisque.batch set completed_at = "
                                                               "'2020-01-01', failed = 1 - done; "
                                                               "update pgdisque.batch set completed_at = "
                                                               "'2000-01-01' where id = 8",
      .params = { "@13:00:00", "@13:00:00", "0", "100", "2010-01-01" }, .rows = "2 f",
      .query = "select (" FLOWS_NOW ") || ', ' || (" BATCHES_NOW ")", .found = "1:9:2:t, 9:1:0:1:0:t" },
    { SQL_STUCK_HOLDS, "settled predecessors without a dead letter, and the last one of the page",
      .setup = DIED(1) "; " FLOW_JOBS("(1, null, 2::smallint), (2, null, 2), (3, null, null)") ENDED(1)
          ENDED(2) "; " HOLDS("(1, 5), (2, 5), (2, 6), (3, 5)"),
      .params = { "0", "100" }, .rows = "2 t; 3 f" },
    { SQL_EXPIRED_WAITING, "whose time is over",
      .setup = WAITING("(3, 1, false, timestamptz " LATER "), (4, 1, false, '2020-01-01')"),
      .params = { NOW, "100" }, .rows = "4" },
    { SQL_CLOSE_OLD_BATCHES, "adds the failure job of an open batch, once",
      .setup = BATCHES(
          "(7, 1, 0, false), (8, 1, 0, false), (9, 1, 0, true)") "; update pgdisque.batch set closes_at = "
                                                                 "'2030-01-01 12:00' where id > 7",
      .params = { NOW, "100" }, .rows = "8 1 0 108 2088-01-19 03:14:07+00 60", .left = ANY,
      .query =
          "select string_agg(concat_ws(':', id, is_expired, closed_at is not null), ' ' order by id) from "
          "pgdisque.batch",
      .found = "7:f:f 8:t:t 9:f:t" },
    { SQL_DROP_QUEUES, "not while a batch may add its success job or its failure job",
      .setup =
          "insert into pgdisque.queue (name) select n::text::bytea from generate_series(1, 5) as n; " BATCHES(
              "(1, 1, 0, true), (2, 1, 1, true), (3, 1, 1, true), (4, 1, 0, true), (5, 1, 1, true)")
              SUCCESS(1) SUCCESS(2)
                  SUCCESS(3) "; update pgdisque.batch set queue_id = id, succeeded_at = case when id = 2 "
                             "then now() end, is_expired = id = 3, completed_at = case when id <> 4 then "
                             "now() end",
      .params = { "{1,2,3,4,5}", NODE_2 }, .rows = "2; 3; 5" },
    { SQL_CANCEL_BATCH, "by one of its jobs, unless it is complete",
      .setup = FLOW_JOBS("(1, 9, null)") "; " BATCHES("(9, 1, 0, false)"), .params = { "1" }, .rows = "9",
      .query = "select is_cancelled and closed_at is not null from pgdisque.batch", .found = "t" },
    { SQL_BATCH_MEMBERS, "that have not ended",
      .setup = FLOW_JOBS("(1, 9, null), (2, 9, null), (3, 9, 1::smallint), (4, 8, null), (5, 9, null)")
          ENDED(3) "; " BATCHES("(5, 0, 0, false)"),
      .params = { "9", "1", "100" }, .rows = "1 0 2 f; 1 0 5 t" },
    { SQL_CANCEL_JOBS, "the completion job of a batch: the batch is closed",
      .setup = COMPLETION("9") "; " BATCHES("(9, 1, 0, false)"), .params = { "{1}", "{0}", "{9}", NOW, "3" },
      .rows = "1 - - - - - - t -", .query = "select closed_at is not null from pgdisque.batch",
      .found = "t" },
    { SQL_COUNT_WAITING, "those that a dead letter holds",
      .setup = FLOW_JOBS("(1, null, 2::smallint), (2, null, null)") ENDED(1) "; " WAITING(
          "(3, 1, false, timestamptz " LATER "), (4, 1, false, " LATER "), (5, 1, false, " LATER
          ")") "; " HOLDS("(1, 3), (2, 4)") "; " AFTER("(1, 5)") "; update pgdisque.waiting_job set holds = "
                                                                 "id < 5",
      .params = { "{1,1}", NOW, "{0,1}" }, .rows = "1 3 0; 2 3 1" },
    { SQL_SHOW_BATCH, "by its success job", .setup = BATCHES("(9, 1, 0, false)") SUCCESS(9),
      .params = { "209" }, .rows = ANY },
    { SQL_SHOW_JOBS, "of a batch", .jobs = "1/0/1",
      .setup = IN_FLOW(1) "; update pgdisque.flow_job set batch_id = 9; " BATCHES("(9, 1, 0, false)"),
      .params = { "{1}", "{0}", "{1}", NOW },
      .rows = "1 1 0 1 11:00:00 13:00:00 f - 60 0 0 0 1 \"x\" 0 - - - - - - - - - - - - t 1 0 9 60" },
    { SQL_SCAN_BATCH, "a page of its jobs by one of them: living, dead, waiting, ended and of another key",
      .jobs = "1/0/1; 1/0/7",
      .setup =
          DIED(3) "; " FLOW_JOBS("(1, 9, null), (2, 9, 1::smallint), (3, 9, 2), (4, 9, null), (5, 8, null), "
                                 "(6, 9, null)") "; update pgdisque.job set in_flow = true where id = "
                                                 "1; " WAITING("(4, 1, false, timestamptz " LATER
                                                               ")") "; " BATCHES("(9, 1, 0, false)"),
      .params = { "1", "0", "4", NOW, "true", "9999", "NULL", "NULL" },
      .rows = "257 1 0 1 11:00:00 13:00:00 f - 60 0 0 0 1 \"x\" 0 - - - - - - - - - - - - t; "
              "513 1 0 2 infinity 13:00:00 f - 60 0 0 0 1 - 0 - - - - - - - - - - - - f; "
              "771 1 0 3 infinity 13:00:00 f - 60 0 0 0 1 \"x\" 0 1 - - \"e\" 11:00:00 - - - - - - - t; "
              "1028 1 0 4 infinity 13:00:00 f - 60 0 0 0 1 \"x\" 0 - - - - - - - - - - 1 - t",
      .left = ANY, .ordered = true },
    { SQL_OPEN_BATCH, "in an unknown parent: the statement fails",
      .params = { "5", "@13:00:00", "1", "60", "x", "6", "y", "9", "7", "z", "@14:00:00", "true" },
      .rows = "error 2201F" },
    { SQL_OPEN_BATCH, "below the last level: the statement fails", .setup = NESTED("16"),
      .params = { "5", "@13:00:00", "1", "60", "x", "6", "y", "9", "7", "z", "@14:00:00", "true" },
      .rows = "error 2201G" },
};

#endif
