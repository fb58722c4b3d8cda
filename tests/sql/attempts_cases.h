#ifndef ATTEMPTS_CASES_H
#define ATTEMPTS_CASES_H

#include "statement_cases.h"

/* Dead jobs of queue a go to b, those of b to c, and those of c to a missing queue. */
#define DEAD_CHAIN                                                                             \
    "insert into pgdisque.queue (name) values ('a'), ('b'), ('c'), ('d'); "                    \
    "insert into pgdisque.queue_setting values (1, 'deadqueue', 'b'), (2, 'deadqueue', 'c'), " \
    "(3, 'deadqueue', 'none')"
#define DEAD_CHAIN_NOW                                                                  \
    "select string_agg(convert_from(value, 'UTF8'), ' ' order by queue_id, name) from " \
    "pgdisque.queue_setting"

/* Part of statement_cases.h: jobs with a limit of deliveries. */
static const struct stmt_case attempts_cases[] = {
    { SQL_ADD_JOBS, "with attempts, backoff and deadqueue; delivered at once: since its creation",
      .params = { "{1,4194304000}", "{@11:00:00,@12:00:35}", "{@13:00:00,@13:00:00}", "{NULL,NULL}", "{1,1}",
                  "{60,30}", "{0,0}", "{0,0}", "{1,1}", "{NULL,7}", "{x,x}", "{3,2}", "{NULL,5}", "{NULL,d}",
                  "{NULL,NULL}" },
      .left = "1/0/1 attempts=3; 1/0/4194304000 ready=12:00:35 retry=30 deliveries=1 owner=7 attempts=2 "
              "backoff=5 leased=2020-01-01 00:00:01+00 deadqueue=d" },
    { SQL_CLAIM_SCAN, "the last attempt; a job without attempts is reported and not changed",
      .jobs = "1/0/1 deliveries=1 attempts=2; 1/0/2 deliveries=2 attempts=2 owner=3; 1/0/3 attempts=2",
      .params = { "1", FIRST, "100", NOW, "9", NOW },
      .rows = "0 1 12:01:00 13:00:00 60 0 0 \"x\" -1 - (0,4); "
              "0 2 11:00:00 13:00:00 60 0 0 \"x\" -1 - (0,5); "
              "0 3 12:01:00 13:00:00 60 0 0 \"x\" - - (0,6)",
      .left = "1/0/1 ready=12:01:00 deliveries=2 owner=9 attempts=2; 1/0/2 deliveries=2 owner=3 attempts=2; "
              "1/0/3 ready=12:01:00 deliveries=1 owner=9 attempts=2" },
    { SQL_CLAIM_SCAN, "a backoff lengthens the lease, by up to an eighth more, to at most an hour",
      .jobs = "1/0/1 backoff=4; 1/0/2 deliveries=3 backoff=4; 1/0/3 deliveries=50 backoff=4; "
              "1/0/4 deliveries=1 attempts=2 backoff=4",
      .params = { "1", FIRST, "100", NOW, "9", NOW }, .rows = ANY, .left = ANY,
      .query =
          "select string_agg((extract(epoch from ready_at - leased_at) - 60 between w[1] and w[2])::text,"
          " ' ' order by id) from pgdisque.job,"
          " lateral (select case id when 1 then array[4, 4.5] when 2 then array[32, 36]"
          " when 3 then array[3600, 3600] else array[0, 0] end) as x (w)",
      .found = "true true true true" },
    { SQL_CLAIM_KEYS, "the last attempt; a job without attempts is reported and not changed",
      .jobs = "1/0/1 deliveries=1 attempts=2 backoff=4; 1/0/2 deliveries=2 attempts=2 owner=3",
      .params = { "{1,1}", "{0,0}", "{1,2}", NOW, "9" },
      .rows = "1 0 1 12:01:00 13:00:00 60 0 0 \"x\" -1 -; 1 0 2 11:00:00 13:00:00 60 0 0 \"x\" -1 -",
      .left = "1/0/1 ready=12:01:00 deliveries=2 owner=9 attempts=2 backoff=4 leased=12:00:00; "
              "1/0/2 deliveries=2 owner=3 attempts=2" },
    { SQL_CLAIM_KEYS, "a backoff lengthens the lease", .jobs = "1/0/1 deliveries=3 backoff=4",
      .params = { "{1}", "{0}", "{1}", NOW, "9" }, .rows = ANY, .left = ANY,
      .query =
          "select extract(epoch from ready_at - leased_at) between 60 + 32 and 60 + 36 from pgdisque.job",
      .found = "t" },
    { SQL_ACK_JOBS, "a job that is about to die was not queued",
      .jobs = "1/0/1 deliveries=2 attempts=2 owner=3; 1/0/2 ready=12:00:30 deliveries=2 attempts=2 owner=3",
      .params = { "{1,1}", "{0,0}", "{1,2}", NOW }, .rows = "1 -infinity - -; 2 12:00:30 - -", .left = "" },
    { SQL_WAKE_EXPIRED, "a job that was about to die was not queued",
      .jobs = "1/0/1 expires=11:30:00 wake=11:30:00 deliveries=2 attempts=2 owner=3",
      .params = { "{1}", "{0}", "{1}", NOW }, .rows = "1 0 1 -infinity 11:30:00 60 - f -", .left = "" },
    { SQL_EXPIRE_IN_ORDER, "a job that was about to die was not queued",
      .jobs = "1/0/1 expires=11:30:00 deliveries=2 attempts=2 owner=3",
      .params = { "{1}", "{0}", "{0}", "{9}", "9", NOW }, .rows = "1 0 1 -infinity 11:30:00 60 - f -",
      .left = "" },
    { SQL_REQUEUE_JOBS,
      "NACK: its delay and error; a delay of 0 is none; never past the end; the last one dies",
      .jobs =
          "1/0/1 ready=12:00:30 deliveries=1 owner=3; 1/0/2 ready=12:00:30 deliveries=1 owner=3 backoff=9; "
          "1/0/3 ready=12:00:30 deliveries=1 owner=3; 1/0/4 ready=12:00:30 deliveries=2 attempts=2 owner=3 "
          "backoff=9 error=old; 1/0/5 ready=12:00:30 deliveries=1 attempts=2 owner=3 error=old",
      .params = { "{1,1,1,1,1}", "{0,0,0,0,0}", "{1,2,3,4,5}", "{1,1,1,1,1}", "{5,0,99999,NULL,NULL}",
                  "{e,NULL,NULL,new,NULL}", NOW, "{}" },
      .rows = "1 12:00:30 12:00:05 f; 2 12:00:30 - f; 3 12:00:30 12:59:59.999 f; 4 12:00:30 - t; "
              "5 12:00:30 - f",
      .left = "1/0/1 ready=12:00:05 wake=12:00:05 deliveries=1 nacks=1 error=e; "
              "1/0/2 ready=12:00:00 deliveries=1 nacks=1 backoff=9; "
              "1/0/3 ready=12:59:59.999 wake=12:59:59.999 deliveries=1 nacks=1; "
              "1/0/4 ready=12:00:00 deliveries=2 nacks=1 attempts=2 backoff=9 error=new; "
              "1/0/5 ready=12:00:00 deliveries=1 nacks=1 attempts=2 error=old" },
    { SQL_REQUEUE_JOBS, "NACK: a backoff is twice as long each time",
      .jobs = "1/0/1 ready=12:00:30 deliveries=3 owner=3 backoff=4",
      .params = { "{1}", "{0}", "{1}", "{1}", "{NULL}", "{NULL}", NOW, "{}" }, .rows = ANY, .left = ANY,
      .query = "select wake_at = ready_at and ready_at - '2030-01-01 12:00:00+00' between '16s' and '18s' "
               "from pgdisque.job",
      .found = "t" },
    { SQL_REQUEUE_JOBS, "ENQUEUE resets the attempts, also of a job that is about to die",
      .jobs = "1/0/1 ready=12:00:30 deliveries=2 attempts=2 owner=3; 1/0/2 deliveries=2 attempts=2",
      .params = { "{1,1}", "{0,0}", "{1,2}", "{0,0}", "{NULL,NULL}", "{NULL,NULL}", NOW, "{}" },
      .rows = "1 12:00:30 - f; 2 11:00:00 - f",
      .left = "1/0/1 ready=12:00:00 additional_deliveries=1 attempts=2; 1/0/2 ready=12:00:00 attempts=2" },
    { SQL_REQUEUE_JOBS_AGAIN, "NACK with a delay: done, not done, done and delivered; the last job dies",
      .jobs = "1/0/1 ready=11:59:45 wake=11:59:45 deliveries=1 nacks=1; "
              "1/0/2 ready=12:00:30 deliveries=1 owner=9; "
              "1/0/3 ready=12:09:00 leased=11:59:46 deliveries=2 nacks=1 owner=9; "
              "1/0/4 ready=11:59:40 deliveries=2 nacks=1 attempts=2; "
              "1/0/5 ready=12:00:30 deliveries=2 attempts=2 owner=9; "
              "1/0/6 ready=12:09:00 leased=11:59:30 deliveries=1 owner=9",
      .params = { "{1,1,1,1,1,1}", "{0,0,0,0,0,0}", "{1,2,3,4,5,6}", "{1,1,1,1,1,1}", "{5,5,5,5,5,5}",
                  "{e,e,e,e,e,e}", "{@11:59:40,@11:59:40,@11:59:40,@11:59:40,@11:59:40,@11:59:40}",
                  "{@11:59:50,@11:59:50,@11:59:50,@11:59:50,@11:59:50,@11:59:50}", NOW, "9", "{}", "{}" },
      .rows = "1 t 290000-01-01 00:00:00+00 11:59:45 f f; 2 f 12:00:30 11:59:45 f f; 3 f 12:09:00 - f f; 4 f "
              "11:59:40 - t f; 5 f 12:00:30 - t f; 6 f 12:09:00 11:59:45 f f",
      .left = "1/0/1 ready=11:59:45 wake=11:59:45 deliveries=1 nacks=1 error=e; "
              "1/0/2 ready=11:59:45 wake=11:59:45 deliveries=1 nacks=1 error=e; "
              "1/0/3 ready=11:59:40 deliveries=1 nacks=1 leased=11:59:46 error=e; "
              "1/0/4 ready=11:59:40 deliveries=2 nacks=1 attempts=2 error=e; "
              "1/0/5 ready=11:59:40 deliveries=2 nacks=1 attempts=2 error=e; "
              "1/0/6 ready=11:59:45 wake=11:59:45 deliveries=1 nacks=1 leased=11:59:30 error=e" },
    { SQL_DEQUEUE_JOBS, "not a job that is about to die", .jobs = "1/0/1 deliveries=2 attempts=2",
      .params = { "{1}", "{0}", "{1}", NOW, "9" } },
    { SQL_WORKING_JOBS, "for a time of its own, returned with its beginning; the last attempt is reported",
      .jobs = "1/0/1 ready=12:00:30 deliveries=1 attempts=2 owner=3; "
              "1/0/2 ready=12:00:30 deliveries=2 attempts=2 backoff=4 owner=3",
      .params = { "{1,1}", "{0,0}", "{1,2}", "{@11:59:00,@11:59:00}", "{90,NULL}", NOW, "9", "{}", "{}" },
      .rows = "1 90 12:01:30 f f 12:00:30 f f f; 2 60 12:01:00 f f 12:00:30 t f f",
      .left = "1/0/1 ready=12:01:30 deliveries=1 owner=9 attempts=2 leased=12:00:00; "
              "1/0/2 ready=12:01:00 deliveries=2 owner=9 attempts=2 backoff=4 leased=12:00:00" },
    { SQL_COUNT_QUEUES, "dead jobs; a job that is about to die is not queued",
      .setup = "call test.die('1/0/2 attempts=2; 1/0/3 attempts=2'); "
               "call test.put('1/0/4 deliveries=2 attempts=2')",
      .params = { "{1}", NOW }, .rows = "1 1 0 0 0 2 0 0" },
    { SQL_LOAD_COUNTS, "a job that is about to die is not queued", .jobs = "1/0/1 deliveries=2 attempts=2",
      .params = { NOW }, .rows = "1 1 0 0 0 1 - - 0" },
    { SQL_LOAD_LEASES, "a job that is about to die, and one in its last attempt",
      .jobs = "1/0/1 deliveries=2 attempts=2 owner=3; 1/0/2 ready=12:00:30 deliveries=2 attempts=2 owner=3; "
              "1/0/3 ready=12:00:30 deliveries=1 attempts=2 owner=3; 1/0/4 deliveries=1 attempts=2 owner=3",
      .params = { NOW, NOW }, .rows = "1 0 1 11:00:00 3 t -; 1 0 2 12:00:30 3 t -; 1 0 3 12:00:30 3 f -" },
    { SQL_FIND_LEASES, "a job that is about to die, and one in its last attempt",
      .jobs = "1/0/1 deliveries=2 attempts=2; 1/0/2 ready=12:00:30 deliveries=2 attempts=2 owner=3",
      .params = { "{1,1}", "{0,0}", "{1,2}", NOW }, .rows = "1 11:00:00 0 t -; 2 12:00:30 3 t -" },
    { SQL_ADOPT_LEASES, "a job that is about to die, and one in its last attempt at another node",
      .jobs = "1/0/1 deliveries=2 attempts=2; 1/0/2 ready=12:00:30 deliveries=2 attempts=2 owner=3; "
              "1/0/3 ready=12:00:30 deliveries=2 attempts=2 owner=4",
      .params = { NOW, "{4}" }, .rows = "1 0 1 11:00:00 0 t; 1 0 2 12:00:30 3 t" },
    { SQL_PEEK_FIRST, "not a job that is about to die", .jobs = "1/0/1 deliveries=2 attempts=2",
      .params = { "1", FIRST, "9", NOW, LAST, "9999" } },
    { SQL_PEEK_LAST, "not a job that is about to die", .jobs = "1/0/1 deliveries=2 attempts=2",
      .params = { "1", FIRST, "9", NOW, LAST, "9999" } },
    { SQL_SHOW_JOBS, "attempts of the living and the dead",
      .setup = "call test.die('1/0/2 deliveries=2 attempts=2 error=e'); "
               "call test.put('1/0/1 deliveries=1 attempts=2 backoff=3 deadqueue=d error=e')",
      .params = { "{1,1}", "{0,0}", "{1,2}", NOW },
      .rows = "1 1 0 1 11:00:00 13:00:00 f - 60 0 0 0 1 \"x\" 1 2 3 \"d\" \"e\" - - - "
              "- - - - - t - - - -; 2 1 0 2 infinity 13:00:00 f - 60 0 0 0 1 \"x\" 2 2 "
              "- - \"e\" 11:00:00 - - - - - - - t - - - -" },
    { SQL_DEAD_LETTER_JOBS, "only jobs whose last attempt is over",
      .jobs =
          "1/0/1 deliveries=1 attempts=2; 1/0/2 ready=12:00:30 deliveries=2 attempts=2 owner=3; "
          "1/0/3 deliveries=2; 1/0/4 expires=12:00:00 deliveries=2 attempts=2; "
          "1/0/5 deliveries=2 attempts=2 nacks=1 additional_deliveries=1 error=e backoff=7 body=b owner=3",
      .params = { "{1,1,1,1,1,1}", "{0,0,0,0,0,0}", "{1,2,3,4,5,6}", NOW },
      .rows = "5 - - - 13:00:00 60 - f - 2 -",
      .left = "1/0/1 deliveries=1 attempts=2; 1/0/2 ready=12:00:30 deliveries=2 owner=3 attempts=2; "
              "1/0/3 deliveries=2; 1/0/4 expires=12:00:00 deliveries=2 attempts=2",
      .query = "select test.dead()",
      .found = "1/0/5 died=12:00:00 deliveries=2 nacks=1 additional_deliveries=1 body=b attempts=2 backoff=7 "
               "error=e" },
    { SQL_DEAD_LETTER_JOBS, "to the queue that they name, with a new TTL; or later, if the queue has no row",
      .jobs = "7/-3/4194304000 deliveries=2 attempts=2 nacks=2 deadqueue=d error=e owner=3 key=k; "
              "7/0/2 deliveries=1 attempts=1 deadqueue=other",
      .setup = "insert into pgdisque.queue (name) values ('d')",
      .params = { "{7,7}", "{-3,0}", "{4194304000,2}", NOW }, .rows = ANY, .left = ANY,
      .query = "select concat_ws(' ', queue_id, rank, id, ready_at::time, wake_at = expires_at,"
               " (expires_at - ready_at)::text, deliveries, nacks, attempts, deadqueue is null,"
               " encode(error, 'escape'), owner, unique_key) from pgdisque.job where queue_id = 1",
      .found = "1 -3 4194304000 12:00:00 t 3653 days 12:59:59 0 2 t e" },
    { SQL_DEAD_LETTER_JOBS, "the key is free; a job that is there already is not changed",
      .setup = "call test.die('1/0/1 attempts=2 body=first'); "
               "call test.put('1/0/1 deliveries=2 attempts=2; 1/0/2 deliveries=2 attempts=2 key=k')",
      .params = { "{1,1}", "{0,0}", "{1,2}", NOW },
      .rows = "1 - - - 13:00:00 60 - f - 2 -; 2 - - - 13:00:00 60 - f - 2 -", .left = "",
      .query = "select test.dead()",
      .found = "1/0/1 body=first attempts=2; 1/0/2 died=12:00:00 deliveries=2 attempts=2 key=k" },
    { SQL_REVIVE_JOBS, "it takes its key again; if another job has the key, it stays dead; an ID given twice",
      .setup = "call test.die('1/0/1 attempts=2 key=free; 1/0/2 attempts=2 key=taken; "
               "1/0/3 attempts=2 key=both; 2/0/5 attempts=2 key=taken'); "
               "call test.die('1/0/4 attempts=2 key=both'); "
               "call test.put('1/0/9 key=taken')",
      .params = { "{1,1,1,1,1,2}", "{0,0,0,0,0,0}", "{1,2,1,3,4,5}", NOW },
      .rows = "3 13:00:00; 4 13:00:00; 6 13:00:00", .left = ANY,
      .query = "select concat(string_agg(concat_ws(' ', id, encode(unique_key, 'escape')), '; ' order by id),"
               " ' | ', test.dead()) from pgdisque.job",
      .found = "1 free; 3 both; 5 taken; 9 taken | 1/0/2 attempts=2 key=taken; 1/0/4 attempts=2 key=both" },
    { SQL_REVIVE_JOBS, "with all attempts and the last error; an expired TTL begins again",
      .setup = "call test.die('1/0/1 deliveries=2 attempts=2 nacks=1 backoff=3 error=e; "
               "1/0/331350016000 expires=10:00:00 attempts=2; 1/0/3 attempts=1')",
      .params = { "{1,1,1}", "{0,0,0}", "{1,331350016000,4}", NOW }, .rows = ANY, .left = ANY,
      .query = "select concat(string_agg(concat_ws(' ', id, ready_at::time, wake_at = expires_at,"
               " expires_at > ready_at, deliveries, nacks, additional_deliveries, attempts, backoff, "
               "encode(error, 'escape')),"
               " '; ' order by id), ' | ', test.dead()) from pgdisque.job",
      .found = "1 12:00:00 t t 0 1 1 2 3 e; 331350016000 12:00:00 t t 0 0 1 2 | 1/0/3 attempts=1" },
    { SQL_REVIVE_JOBS, "the TTL of a job at the consume end begins again as that of others",
      .setup = "call test.die('1/0/331350016000 expires=10:00:00 attempts=2; 1/0/-331350016000 "
               "expires=10:00:00 attempts=2')",
      .params = { "{1,1}", "{0,0}", "{331350016000,-331350016000}", NOW }, .rows = ANY, .left = ANY,
      .query = "select count(distinct expires_at), count(*) from pgdisque.job", .found = "1 2" },
    { SQL_REVIVE_QUEUE, "the TTL of a job at the consume end begins again as that of others",
      .setup = "call test.die('1/0/331350016000 expires=10:00:00 attempts=2; 1/0/-331350016000 "
               "expires=10:00:00 attempts=2')",
      .params = { "1", FIRST, "100", NOW }, .rows = ANY, .left = ANY,
      .query = "select count(distinct expires_at), count(*) from pgdisque.job", .found = "1 2" },
    { SQL_DEAD_LETTER_JOBS, "the TTL of a job at the consume end begins again as that of others",
      .jobs = "1/0/331350016000 deliveries=2 attempts=2 deadqueue=d; "
              "1/0/-331350016000 deliveries=2 attempts=2 deadqueue=d",
      .setup = "insert into pgdisque.queue (name) values ('d')",
      .params = { "{1,1}", "{0,0}", "{331350016000,-331350016000}", NOW }, .rows = ANY, .left = ANY,
      .query = "select count(distinct expires_at), count(*) from pgdisque.job", .found = "1 2" },
    { SQL_REVIVE_QUEUE, "the last job of the page comes first, and stays dead, because its key is taken",
      .setup = "call test.die('1/0/1 attempts=2; 1/0/2 attempts=2 key=k; 1/0/3 attempts=2'); "
               "call test.put('1/0/9 key=k')",
      .params = { "1", "0", "1", "1", NOW }, .rows = "0 2 -", .ordered = true, .query = "select test.dead()",
      .found = "1/0/1 attempts=2; 1/0/2 attempts=2 key=k; 1/0/3 attempts=2" },
    { SQL_REVIVE_QUEUE, "the first jobs of a queue",
      .setup = "call test.die('1/0/1 attempts=2; 1/-1/2 attempts=2; 1/0/3 attempts=2; 2/0/4 attempts=2')",
      .params = { "1", FIRST, "2", NOW }, .rows = "-1 2 13:00:00; 0 1 -; 0 1 13:00:00",
      .left = "1/-1/2 ready=12:00:00 wake=13:00:00 additional_deliveries=1 attempts=2; "
              "1/0/1 ready=12:00:00 wake=13:00:00 additional_deliveries=1 attempts=2",
      .query = "select test.dead()", .found = "1/0/3 attempts=2; 2/0/4 attempts=2" },
    { SQL_REVIVE_QUEUE, "the jobs that the filters match; the page ends after the last job that it looked at",
      .setup =
          "call test.die('1/0/1 attempts=2 error=lost; 1/0/2 attempts=2 error=smtp-lost; 1/0/3 attempts=2; "
          "1/0/4 attempts=2 error=lost'); update pgdisque.dead_job set headers = '{\"a\": \"b\", \"c\": "
          "\"d\"}', "
          "died_at = died_at - interval '1 hour' where id in (1, 2)",
      .params = { "1", FIRST, "3", NOW, "9", "lost", "60", "7200", "{\"a\": \"b\"}" },
      .rows = "0 1 13:00:00; 0 2 13:00:00; 0 3 -", .left = ANY,
      .query = "select count(*) from pgdisque.dead_job", .found = "2" },
    { SQL_REVIVE_QUEUE, "the limit ends the search after the last job that it takes",
      .setup = "call test.die('1/0/1 attempts=2; 1/0/2 attempts=2; 1/0/3 attempts=2')",
      .params = { "1", FIRST, "9", NOW, "2" }, .rows = "0 1 13:00:00; 0 2 -; 0 2 13:00:00", .left = ANY,
      .query = "select string_agg(id::text, ' ') from pgdisque.dead_job", .found = "3" },
    { SQL_REVIVE_QUEUE, "with a rate each job is delayed; in another queue it has no unique key",
      .setup = "call test.die('1/0/1 attempts=2 key=k; 1/0/2 attempts=2 key=l')",
      .params = { "1", FIRST, "9", NOW, "9", "NULL", "NULL", "NULL", "NULL", "2", "@12:00:10", "500000" },
      .rows = ANY, .left = ANY,
      .query = "select string_agg(concat_ws(' ', queue_id, id, ready_at::time, wake_at = ready_at, "
               "encode(unique_key, 'escape')), '; ' order by id) from pgdisque.job",
      .found = "2 1 12:00:10 t; 2 2 12:00:10.5 t" },
    { SQL_DELETE_QUEUE_DEAD, "the jobs that the filters match",
      .setup = "call test.die('1/0/1 attempts=2 error=lost; 1/0/2 attempts=2; 1/0/3 attempts=2 error=lost; "
               "2/0/4 attempts=2 error=lost')",
      .params = { "1", FIRST, "9", NOW, "9", "lost" }, .rows = "0 3 2", .query = "select test.dead()",
      .found = "1/0/2 attempts=2; 2/0/4 attempts=2 error=lost" },
    { SQL_EDIT_DEAD, "what is given is changed",
      .setup = "call test.die('1/0/1 attempts=2 backoff=3; 1/0/2 attempts=2')",
      .params = { "1", "0", "1", "new", "NULL", "5", "0" }, .rows = "1", .query = "select test.dead()",
      .found = "1/0/1 body=new attempts=5; 1/0/2 attempts=2" },
    { SQL_EXPIRE_DEAD, "the first that died, as many as the limit of each queue",
      .setup = "call test.die('1/0/1 attempts=2; 1/0/2 attempts=2; 2/0/3 attempts=2; 3/0/4 attempts=2'); "
               "update pgdisque.dead_job set died_at = died_at - interval '1 hour' where id = 2",
      .params = { "{1,2}", "{@13:00:00,@10:00:00}", "1" }, .rows = "1", .query = "select test.dead()",
      .found = "1/0/1 attempts=2; 2/0/3 attempts=2; 3/0/4 attempts=2" },
    { SQL_WAKE_EXPIRED,
      "a job becomes a dead letter if its queue keeps expired jobs; an element that EXPIRE dated does not",
      .setup = "insert into pgdisque.queue_setting values (1, 'expired', 'dead'), (2, 'expired', 'drop'); "
               "call test.put('1/0/1 expires=11:00:00 wake=11:00:00 error=e; 2/0/2 expires=11:00:00 "
               "wake=11:00:00; "
               "1/0/3 expires=11:00:00 wake=11:00:00'); "
               "update pgdisque.job set own_expires_at = 'infinity' where id = 3",
      .params = { "{1,2,1}", "{0,0,0}", "{1,2,3}", NOW },
      .rows = "1 0 1 290000-01-01 00:00:00+00 11:00:00 60 - t -; 1 0 3 290000-01-01 00:00:00+00 11:00:00 60 "
              "- f -; 2 0 2 290000-01-01 00:00:00+00 11:00:00 60 - f -",
      .left = "",
      .query = "select string_agg(concat_ws(' ', queue_id, id, died_at::time, attempts, encode(error, "
               "'escape')), ';') "
               "from pgdisque.dead_job",
      .found = "1 1 11:00:00 the time to live ended" },
    { SQL_EXPIRE_IN_ORDER, "a job becomes a dead letter if its queue keeps expired jobs",
      .setup = "insert into pgdisque.queue_setting values (1, 'expired', 'dead'); call test.put('1/0/1 "
               "expires=11:00:00')",
      .params = { "{1}", "{0}", "{0}", "{9}", "9", NOW }, .rows = "1 0 1 11:00:00 11:00:00 60 - t -",
      .left = "", .query = "select count(*) from pgdisque.dead_job where attempts is null", .found = "1" },
    { SQL_EXPIRE_IN_ORDER, "a dead letter gives back a key that it had until its first delivery",
      .setup = "insert into pgdisque.queue_setting values (1, 'expired', 'dead'); call test.put('1/0/1 "
               "expires=11:00:00; 1/0/2 expires=11:00:00'); update pgdisque.job set unique_key = ('k' || "
               "id)::bytea, "
               "unique_start = nullif(id = 1, false)",
      .params = { "{1}", "{0}", "{0}", "{9}", "9", NOW }, .rows = ANY, .left = "",
      .query = "select string_agg(id || coalesce(encode(unique_key, 'escape'), ''), ' ' order by id) from "
               "pgdisque.dead_job",
      .found = "1 2k2" },
    { SQL_RELEASE_HELD, "the last attempt is reported",
      .jobs = "1/0/1 ready=12:00:30 deliveries=2 attempts=2 owner=3",
      .params = { "{1}", "{0}", "{1}", "{@12:00:30}", NOW }, .rows = "1 t",
      .left = "1/0/1 ready=12:00:00 deliveries=2 additional_deliveries=1 attempts=2" },
    { SQL_DELETE_DEAD, "by key", .setup = "call test.die('1/0/1 attempts=2; 2/0/1 attempts=2')",
      .params = { "{1,1,1}", "{0,0,1}", "{1,9,1}", "{0,0,0}" }, .rows = "1", .query = "select test.dead()",
      .found = "2/0/1 attempts=2" },
    { SQL_DELETE_DEAD, "only tokens of the last delivery are valid",
      .setup = "call test.die('1/0/1 attempts=2 nacks=1 additional_deliveries=1; 1/0/2 attempts=2 "
               "additional_deliveries=1')",
      .params = { "{1,1}", "{0,0}", "{1,2}", "{2,2}" }, .rows = "2", .query = "select test.dead()",
      .found = "1/0/1 nacks=1 additional_deliveries=1 attempts=2" },
    { SQL_ACK_TOKENS, "a job that is about to die was not queued",
      .jobs = "1/0/1 deliveries=2 attempts=2 owner=3", .params = { "{1}", "{0}", "{1}", "{1}", NOW },
      .rows = "1 -infinity - -", .left = "" },
    { SQL_SET_SETTINGS, "a dead queue that leads elsewhere", .setup = DEAD_CHAIN,
      .params = { "{4,4}", "{retry,deadqueue}", "{5,a}" }, .rows = "t f", .query = DEAD_CHAIN_NOW,
      .found = "b c none a 5" },
    { SQL_SET_SETTINGS, "a dead queue that leads back over others: nothing is stored", .setup = DEAD_CHAIN,
      .params = { "{3,3}", "{retry,deadqueue}", "{5,a}" }, .rows = "f t", .query = DEAD_CHAIN_NOW,
      .found = "b c none" },
    { SQL_SET_SETTINGS, "itself as its dead queue", .setup = DEAD_CHAIN,
      .params = { "{1}", "{deadqueue}", "{a}" }, .rows = "f t" },
    { SQL_SET_SETTINGS, "none any more", .setup = DEAD_CHAIN, .params = { "{2}", "{deadqueue}", "{\"\"}" },
      .rows = "t f", .query = DEAD_CHAIN_NOW, .found = "b  none" },
    { SQL_LOAD_COUNTS, "dead jobs of each queue",
      .setup = "call test.die('1/0/1 attempts=2; 2/0/1 attempts=2; 2/0/2 attempts=2'); "
               "call test.put('2/0/3')",
      .params = { NOW }, .rows = "1 0 0 0 0 - - - 1; 2 0 0 0 0 - - - 2; 2 1 1 0 0 3 0 3 0" },
    { SQL_SCAN_DEAD, "pages over all queues",
      .setup = "call test.die('1/0/1 attempts=2; 1/0/2 deliveries=2 attempts=2 error=e; 2/-1/3 attempts=9; "
               "2/0/1 attempts=1')",
      .params = { "1", "0", "1", "2", "false", "9999" },
      .rows = "257 1 0 2 infinity 13:00:00 f - 60 0 0 0 1 - 2 2 - - \"e\" 11:00:00 - - - - - - - t; "
              "513 2 -1 3 infinity 13:00:00 f - 60 0 0 0 1 - 0 9 - - - 11:00:00 - - - - - - - t",
      .ordered = true },
    { SQL_SCAN_QUEUE_DEAD, "pages of a queue",
      .setup = "call test.die('1/0/1 attempts=2; 2/0/1 attempts=2; 2/0/2 attempts=2; 3/0/1 attempts=2')",
      .params = { "2", "0", "1", "9", "true", "9999" },
      .rows = "257 2 0 2 infinity 13:00:00 f - 60 0 0 0 1 \"x\" 0 2 - - - 11:00:00 - - - - - - - t",
      .ordered = true },
    { SQL_SCAN_DEAD_NEWEST, "pages over all queues, the last that died first",
      .setup = "call test.die('1/0/1 attempts=1; 1/0/2 attempts=1; 2/-1/3 attempts=1; 2/0/4 attempts=1'); "
               "update pgdisque.dead_job set died_at = died_at - interval '1 hour' where id = 4",
      .params = { "2030-01-01 11:00", "3", "9", "false", "9999", "NULL", "NULL" },
      .rows = "256 1 0 2 infinity 13:00:00 f - 60 0 0 0 1 - 0 1 - - - 11:00:00 - - - - - - - t; "
              "512 1 0 1 infinity 13:00:00 f - 60 0 0 0 1 - 0 1 - - - 11:00:00 - - - - - - - t; "
              "768 2 0 4 infinity 13:00:00 f - 60 0 0 0 1 - 0 1 - - - 10:00:00 - - - - - - - t",
      .ordered = true },
    { SQL_SCAN_QUEUE_DEAD_NEWEST, "pages of a queue, the last that died first",
      .setup = "call test.die('1/0/1 attempts=1; 1/-5/2 attempts=1; 2/0/3 attempts=1; 1/0/4 attempts=1')",
      .params = { "infinity", "9", "2", "true", "9999", "NULL", "NULL", "1" },
      .rows = "257 1 0 4 infinity 13:00:00 f - 60 0 0 0 1 \"x\" 0 1 - - - 11:00:00 - - - - - - - t; "
              "514 1 -5 2 infinity 13:00:00 f - 60 0 0 0 1 \"x\" 0 1 - - - 11:00:00 - - - - - - - t",
      .ordered = true },
};

#endif
