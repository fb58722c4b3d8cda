#ifndef METADATA_CASES_H
#define METADATA_CASES_H

#include "statement_cases.h"

#define METADATA "headers={\"a\":\"b\"} progress={\"percent\":5} errors=[{\"at\":1}]"

/* Part of statement_cases.h: headers, progress and errors of jobs. */
static const struct stmt_case metadata_cases[] = {
    { SQL_ADD_RARE, "with headers, for a waiting client, and without rare properties",
      .params = { "{1,2,3}", "{@11:00:00,@12:00:35,@11:00:00}", "{@13:00:00,@13:00:00,@13:00:00}",
                  "{NULL,NULL,NULL}", "{1,1,1}", "{60,30,60}", "{0,0,0}", "{0,0,0}", "{1,1,1}",
                  "{NULL,7,NULL}", "{x,x,x}", "{3,2,NULL}", "{NULL,5,NULL}", "{NULL,d,NULL}",
                  "{NULL,NULL,NULL}", "{\"{\\\"headers\\\": {\\\"a\\\": \\\"b\\\"}}\",\"{}\",NULL}" },
      .left = "1/0/1 attempts=3 headers={\"a\":\"b\"}; 1/0/2 ready=12:00:35 retry=30 deliveries=1 owner=7 "
              "attempts=2 "
              "backoff=5 leased=2020-01-01 00:00:00+00 deadqueue=d; 1/0/3" },
    { SQL_ADD_MISSING, "with headers",
      .params = { "{1}", "{@11:00:00}", "{@13:00:00}", "{NULL}", "{1}", "{60}", "{0}", "{0}", "{1}", "{NULL}",
                  "{x}", "{NULL}", "{NULL}", "{NULL}", "{NULL}",
                  "{\"{\\\"headers\\\": {\\\"a\\\": \\\"b\\\"}}\"}" },
      .rows = "1 f", .left = "1/0/1 headers={\"a\":\"b\"}" },
    { SQL_ADD_UNIQUE, "with headers",
      .params = { "{1}", "{@11:00:00}", "{@13:00:00}", "{NULL}", "{1}", "{60}", "{0}", "{0}", "{1}", "{NULL}",
                  "{x}", "{NULL}", "{NULL}", "{NULL}", "{NULL}", "{k}", "{NULL}", NOW,
                  "{\"{\\\"headers\\\": {\\\"a\\\": \\\"b\\\"}}\"}" },
      .rows = "0 0 1 13:00:00 60 f - -", .left = "1/0/1 headers={\"a\":\"b\"}" },
    { SQL_CLAIM_SCAN, "with headers", .jobs = "1/0/1 headers={\"a\":\"b\"}",
      .params = { "1", FIRST, "9", NOW, "9", NOW },
      .rows = "0 1 12:01:00 13:00:00 60 0 0 \"x\" - {\"a\": \"b\"} (0,2)",
      .left = "1/0/1 ready=12:01:00 deliveries=1 owner=9 headers={\"a\":\"b\"}" },
    { SQL_CLAIM_KEYS, "with headers", .jobs = "1/0/1 headers={\"a\":\"b\"}",
      .params = { "{1}", "{0}", "{1}", NOW, "9" },
      .rows = "1 0 1 12:01:00 13:00:00 60 0 0 \"x\" - {\"a\": \"b\"}", .left = ANY },
    { SQL_CLAIM_IN_TXN, "with headers", .jobs = "1/0/1 headers={\"a\":\"b\"}",
      .params = { "{1}", "{-32768}", "{0}", "9", NOW, "9" },
      .rows = "1 1 0 1 12:01:00 13:00:00 60 0 0 \"x\" - {\"a\": \"b\"}", .left = ANY },
    { SQL_CLAIM_LIMITED, "with headers", .jobs = "1/0/1 headers={\"a\":\"b\"}",
      .params = { "1", FIRST, "9", NOW, "9", "{}", "{}", "{}" },
      .rows = "0 1 12:01:00 13:00:00 60 0 0 \"x\" - {\"a\": \"b\"} t 9 f -", .left = ANY },
    { SQL_POP_FIRST, "with metadata", .jobs = "1/0/1 " METADATA, .params = { "1", FIRST, "1", NOW },
      .rows =
          "0 1 11:00:00 13:00:00 60 0 0 \"x\" 0 - - - - - - - {\"a\": \"b\"} {\"percent\": 5} [{\"at\": 1}] "
          "0 1 - - -",
      .left = "" },
    { SQL_PUT_BACK_JOBS, "with metadata",
      .params = { "{1}",
                  "{@11:00:00}",
                  "{@13:00:00}",
                  "{NULL}",
                  "{1}",
                  "{60}",
                  "{x}",
                  "{0}",
                  "{0}",
                  "{0}",
                  "{0}",
                  "{NULL}",
                  "{NULL}",
                  "{NULL}",
                  "{NULL}",
                  "{NULL}",
                  "{NULL}",
                  "{NULL}",
                  "{\"{\\\"a\\\": \\\"b\\\"}\"}",
                  "{\"{\\\"percent\\\": 5}\"}",
                  "{\"[{\\\"at\\\": 1}]\"}",
                  "{0}",
                  "{1}" },
      .rows = "1 0 1 -", .left = "1/0/1 " METADATA },
    { SQL_MOVE_FIRST, "with metadata", .jobs = "1/0/1 " METADATA,
      .params = { "1", FIRST, "1", NOW, "{2}", "{7}" }, .rows = ANY,
      .left = "2/0/7 ready=12:00:00 " METADATA },
    { SQL_RERANK_JOBS, "with metadata", .jobs = "1/0/1 wake=13:00:00 " METADATA,
      .params = { "{1}", "{0}", "{1}", "{-3}", NOW }, .rows = ANY, .left = "1/-3/1 wake=13:00:00 " METADATA },
    { SQL_SET_ELEMENT, "with metadata", .jobs = "1/0/1 " METADATA,
      .params = { "1", FIRST, NOW, "0", "NULL", "{y}" }, .rows = "0 1 t", .left = "1/0/1 body=y " METADATA },
    { SQL_RENAME_LIST, "with metadata", .jobs = "1/0/1 " METADATA,
      .params = { "1", "2", "1", "9", "f", NOW, "9" }, .rows = ANY,
      .left = "2/0/1 ready=12:00:00 " METADATA },
    { SQL_DEAD_LETTER_JOBS, "with metadata, as a dead job and in another queue",
      .jobs =
          "1/0/1 deliveries=1 attempts=1 " METADATA "; 1/0/2 deliveries=1 attempts=1 deadqueue=q " METADATA,
      .setup = "insert into pgdisque.queue (name) values ('a'), ('q')",
      .params = { "{1,1}", "{0,0}", "{1,2}", NOW }, .rows = ANY,
      .left = "2/0/2 ready=12:00:00 expires=2040-01-03 01:00:00+00 wake=2040-01-03 01:00:00+00 " METADATA,
      .query = "select test.dead()", .found = "1/0/1 died=12:00:00 deliveries=1 attempts=1 " METADATA },
    { SQL_DEAD_LETTER_JOBS, "the trace of a job",
      .jobs = "1/0/1 deliveries=1 attempts=1 headers={\"traceparent\":\"00-a\"}; "
              "1/0/2 deliveries=1 attempts=1 headers={\"trace\":\"b\"}",
      .params = { "{1,1}", "{0,0}", "{1,2}", NOW },
      .rows = "1 - - - 13:00:00 60 - f - 1 00-a; 2 - - - 13:00:00 60 - f - 1 -", .left = "" },
    { SQL_REVIVE_JOBS, "with metadata", .setup = "call test.die('1/0/1 attempts=2 " METADATA "')",
      .params = { "{1}", "{0}", "{1}", NOW }, .rows = "1 13:00:00",
      .left = "1/0/1 ready=12:00:00 wake=13:00:00 additional_deliveries=1 attempts=2 " METADATA },
    { SQL_REVIVE_QUEUE, "with metadata", .setup = "call test.die('1/0/1 attempts=2 " METADATA "')",
      .params = { "1", FIRST, "9", NOW }, .rows = ANY,
      .left = "1/0/1 ready=12:00:00 wake=13:00:00 additional_deliveries=1 attempts=2 " METADATA },
    { SQL_RETAIN_JOBS, "with metadata", .jobs = "1/0/1 " METADATA,
      .params = { "{1}", "{0}", "{1}", "{0}", "{5}", "{a}", "{r}", NOW, "7" }, .rows = "1 11:00:00 t - -",
      .left = "", .query = "select headers, progress, errors from pgdisque.retained",
      .found = "{\"a\": \"b\"} {\"percent\": 5} [{\"at\": 1}]" },
    { SQL_CANCEL_JOBS, "jobs without a worker go; a leased job is marked, and taken over, once",
      .jobs = "1/0/1; 1/0/2 ready=12:00:30 deliveries=1 owner=3 attempts=5; 1/0/3 deliveries=1 owner=3; "
              "1/0/4 ready=12:05:00 wake=12:05:00 delay=300; 1/0/5 expires=12:00:00; "
              "1/0/6 ready=infinity retry=0 deliveries=1 owner=3; 1/0/7 ready=12:00:30 deliveries=1 owner=3 "
              "attempts=-4",
      .setup = "insert into pgdisque.queue (name) values ('mail')",
      .params = { "{1,1,1,1,1,1,1,1}", "{0,0,0,0,0,0,0,0}", "{1,2,3,4,5,6,7,99}", NOW, "9" },
      .rows = "1 13:00:00 60 - 11:00:00 - - - -; 2 13:00:00 60 12:00:30 - - - - \"mail\"; "
              "3 13:00:00 60 - 11:00:00 - - - -; 4 13:00:00 60 - 290000-01-01 00:00:00+00 - - - -; "
              "6 13:00:00 0 infinity - - - - \"mail\"",
      .left = "1/0/2 ready=12:00:30 deliveries=1 owner=9 attempts=-5; 1/0/5 expires=12:00:00; "
              "1/0/6 ready=infinity retry=0 deliveries=1 owner=9 attempts=0; "
              "1/0/7 ready=12:00:30 deliveries=1 owner=3 attempts=-4" },
    { SQL_CANCEL_JOBS, "a job that waits in its group", .jobs = "1/0/1 ready=infinity",
      .setup = "update pgdisque.job set group_key = 'g'", .params = { "{1}", "{0}", "{1}", NOW, "9" },
      .rows = "1 13:00:00 60 - 290001-01-01 00:00:00+00 \"g\" - - -", .left = "" },
    { SQL_CANCEL_JOBS, "nothing", .jobs = "1/0/1", .params = { NO_KEYS, NOW, "9" } },
    { SQL_WORKING_JOBS, "a cancelled job is told, and not changed",
      .jobs = "1/0/1 ready=12:00:30 deliveries=1 owner=3 attempts=-5",
      .params = { "{1}", "{0}", "{1}", "{@11:59:00}", "{NULL}", NOW, "9", "{0}", "{NULL}" },
      .rows = "1 60 12:00:30 t f 12:00:30 t f t" },
    { SQL_REQUEUE_JOBS, "a cancelled job ends by NACK, also at most once, and not by ENQUEUE",
      .jobs = "1/0/1 ready=12:00:30 deliveries=1 owner=3 attempts=-5; "
              "1/0/2 ready=infinity retry=0 deliveries=1 owner=3 attempts=0; "
              "1/0/3 ready=12:00:30 deliveries=1 owner=3 attempts=-5; 1/0/4 deliveries=1 owner=3 attempts=0",
      .params = { "{1,1,1,1}", "{0,0,0,0}", "{1,2,3,4}", "{1,1,0,0}", "{60}", "{NULL}", NOW, "{0,0,0,0}" },
      .rows = "1 12:00:30 - t; 2 infinity - t", .left = ANY },
    { SQL_REQUEUE_JOBS_AGAIN, "a job that was cancelled since the first try: NACK ends it, ENQUEUE does not",
      .jobs = "1/0/1 ready=12:00:30 deliveries=1 owner=3 attempts=-5; "
              "1/0/2 ready=12:00:30 deliveries=1 owner=3 attempts=-5",
      .params = { "{1,1}", "{0,0}", "{1,2}", "{1,0}", "{NULL,NULL}", "{NULL,NULL}", "{@11:59:40,@11:59:40}",
                  "{@11:59:50,@11:59:50}", NOW, "9", "{0,0}", "{0,0}" },
      .rows = "1 f 12:00:30 - t f", .left = ANY },
    { SQL_REQUEUE_JOBS, "the failure is appended, with its attempt; none without an error",
      .jobs =
          "1/0/1 ready=12:00:30 deliveries=2 owner=3 errors=[1]; 1/0/2 ready=12:00:30 deliveries=1 owner=3",
      .params = { "{1,1}", "{0,0}", "{1,2}", "{1,1}", "{NULL,NULL}", "{e,NULL}", NOW, "{0,0}",
                  "{\"{\\\"at\\\": 7}\",NULL}" },
      .rows = "1 12:00:30 - f; 2 12:00:30 - f",
      .left = "1/0/1 ready=12:00:00 deliveries=2 nacks=1 error=e errors=[1,{\"at\":7,\"attempt\":2}]; "
              "1/0/2 ready=12:00:00 deliveries=1 nacks=1" },
    { SQL_REQUEUE_JOBS, "20 failures are kept", .jobs = "1/0/1 ready=12:00:30 deliveries=1 owner=3",
      .setup = "update pgdisque.job set errors = (select jsonb_agg(n) from generate_series(1, 20) as n)",
      .params = { "{1}", "{0}", "{1}", "{1}", "{NULL}", "{e}", NOW, "{0}", "{\"{}\"}" },
      .rows = "1 12:00:30 - f", .left = ANY,
      .query = "select jsonb_array_length(errors), errors -> 0, errors -> 19 from pgdisque.job",
      .found = "20 2 {\"attempt\": 1}" },
    { SQL_CLAIM_SCAN, "the end of a lease is noted; not that of DEQUEUE",
      .jobs = "1/0/1 ready=11:30:00 deliveries=2 owner=3; 1/0/2 ready=11:30:00 owner=3",
      .params = { "1", FIRST, "9", NOW, "9", NOW }, .rows = ANY, .left = ANY,
      .query = "select string_agg(errors::text, ' ') from pgdisque.job",
      .found = "[{\"at\": 1893497400000, \"error\": \"the lease ended\", \"attempt\": 2}]" },
    { SQL_DEAD_LETTER_JOBS, "the end of the last lease is noted, and not after a NACK",
      .jobs =
          "1/0/1 ready=11:30:00 deliveries=2 attempts=2 owner=3; 1/0/2 deliveries=2 attempts=2 errors=[1]",
      .params = { "{1,1}", "{0,0}", "{1,2}", NOW }, .rows = ANY, .left = "",
      .query = "select string_agg(errors::text, ' ' order by id) from pgdisque.dead_job",
      .found = "[{\"at\": 1893497400000, \"error\": \"the lease ended\", \"attempt\": 2}] [1]" },
    { SQL_WORKING_JOBS, "progress, also at most once, and kept without a new one",
      .jobs = "1/0/1 ready=12:00:30 deliveries=1 owner=3; 1/0/2 ready=infinity retry=0 deliveries=1 owner=3; "
              "1/0/3 ready=12:00:30 deliveries=1 owner=3 progress=[3]",
      .params = { "{1,1,1}", "{0,0,0}", "{1,2,3}", "{@11:59:00,@11:59:00,@11:59:00}", "{NULL,NULL,NULL}", NOW,
                  "9", "{0,0,0}", "{NULL,NULL,NULL}", "{[1],[2],NULL}" },
      .rows = ANY,
      .left = "1/0/1 ready=12:01:00 deliveries=1 owner=9 progress=[1]; "
              "1/0/2 ready=infinity retry=0 deliveries=1 owner=3 progress=[2]; "
              "1/0/3 ready=12:01:00 deliveries=1 owner=9 progress=[3]" },
    { SQL_DEAD_LETTER_JOBS, "a cancelled job is only deleted",
      .jobs = "1/0/1 deliveries=1 attempts=-5 deadqueue=q; 1/0/2 deliveries=0 attempts=0",
      .setup = "insert into pgdisque.queue (name) values ('a'), ('q')",
      .params = { "{1,1}", "{0,0}", "{1,2}", NOW },
      .rows = "1 - 2 - 13:00:00 60 - t - 1 -; 2 - - - 13:00:00 60 - t - 0 -", .left = "",
      .query = "select test.dead()", .found = "" },
    { SQL_SHOW_JOBS, "with metadata",
      .setup = "call test.die('1/0/2 attempts=2 " METADATA "'); call test.put('1/0/1 " METADATA "')",
      .params = { "{1,1}", "{0,0}", "{1,2}", NOW },
      .rows = "1 1 0 1 11:00:00 13:00:00 f - 60 0 0 0 1 \"x\" 0 - - - - - - - {\"a\": "
              "\"b\"} {\"percent\": 5} [{\"at\": 1}] - - t - - - -; 2 1 0 2 infinity "
              "13:00:00 f - 60 0 0 0 1 \"x\" 0 2 - - - 11:00:00 - - {\"a\": \"b\"} "
              "{\"percent\": 5} [{\"at\": 1}] - - t - - - -" },
    { SQL_SCAN_QUEUE, "with metadata, whose bytes count", .jobs = "1/0/1 " METADATA,
      .params = { "1", FIRST, "9", NOW, "true", "9999" },
      .rows =
          "292 1 0 1 11:00:00 13:00:00 f - 60 0 0 0 1 \"x\" 0 - - - - - - - {\"a\": \"b\"} {\"percent\": 5} "
          "[{\"at\": 1}] - - t" },
    { SQL_SCAN_QUEUE, "a job that the filter does not select has no body, and few bytes",
      .jobs = "1/0/1 " METADATA "; 1/0/2 error=lost",
      .params = { "1", FIRST, "9", NOW, "true", "9999", "NULL", "lost" },
      .rows = "256 1 0 1 11:00:00 13:00:00 f - 60 0 0 0 1 - 0 - - - - - - - - - - - - f; "
              "517 1 0 2 11:00:00 13:00:00 f - 60 0 0 0 1 \"x\" 0 - - - \"lost\" - - - - - - - - t" },
    { SQL_SCAN_JOBS, "by headers; a null stands for any text",
      .jobs = "1/0/1 headers={\"a\":\"b\",\"c\":\"d\"}; 1/0/2 headers={\"a\":\"b\"}; 1/0/3; "
              "1/0/4 headers={\"a\":\"x\",\"c\":\"d\"}",
      .params = { "1", FIRST, "9", NOW, "false", "9999", "{\"a\": \"b\", \"c\": null}" },
      .rows = "256 1 0 1 11:00:00 13:00:00 f - 60 0 0 0 1 - 0 - - - - - - - - - - - - t; "
              "512 1 0 2 11:00:00 13:00:00 f - 60 0 0 0 1 - 0 - - - - - - - - - - - - f; "
              "768 1 0 3 11:00:00 13:00:00 f - 60 0 0 0 1 - 0 - - - - - - - - - - - - f; "
              "1024 1 0 4 11:00:00 13:00:00 f - 60 0 0 0 1 - 0 - - - - - - - - - - - - f",
      .ordered = true },
    { SQL_SCAN_QUEUE_DEAD, "by the error and a header",
      .setup = "call test.die('1/0/1 attempts=1 error=smtp-lost headers={\"a\":\"b\"}; 1/0/2 attempts=1 "
               "error=lost')",
      .params = { "1", FIRST, "9", "true", "9999", "{\"a\": null}", "lost" },
      .rows =
          "276 1 0 1 infinity 13:00:00 f - 60 0 0 0 1 \"x\" 0 1 - - \"smtp-lost\" 11:00:00 - - {\"a\": "
          "\"b\"} - - "
          "- - t; 536 1 0 2 infinity 13:00:00 f - 60 0 0 0 1 - 0 1 - - \"lost\" 11:00:00 - - - - - - - f" },
    { SQL_DELETE_QUEUE_DEAD, "the jobs that have a header",
      .setup =
          "call test.die('1/0/1 attempts=2 headers={\"a\":\"b\"}; 1/0/2 attempts=2 headers={\"c\":\"a\"}')",
      .params = { "1", FIRST, "9", NOW, "9", "NULL", "NULL", "NULL", "{\"a\": null}" }, .rows = "0 2 1",
      .query = "select test.dead()", .found = "1/0/2 attempts=2 headers={\"c\":\"a\"}" },
};

#endif
