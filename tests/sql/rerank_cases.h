#ifndef RERANK_CASES_H
#define RERANK_CASES_H

#include "group_cases.h"
#include "session.h"

/* Part of statement_cases.h: jobs that get another rank. */

/* A row with a value in every column, and its former values. */
#define FULL_ROW                                                                                          \
    "update pgdisque.job set wake_at = expires_at, delay = 1, deliveries = 2, nacks = 3, "                \
    "additional_deliveries = 4, "                                                                         \
    "replicate = 2, owner = 5, unique_key = 'k', unique_until = ready_at, unique_start = true, worker = " \
    "'w', slot = 1, "                                                                                     \
    "attempts = 9, backoff = 7, leased_at = ready_at, deadqueue = 'd', error = 'e', sorted_set = 's', "   \
    "own_expires_at = "                                                                                   \
    "expires_at, headers = '{}', progress = '{}', errors = '[]'; "                                        \
    "insert into pgdisque.unique_key (id, expires_at, until, queue_id, retry, rank, key) "                \
    "select id, expires_at, expires_at, queue_id, retry, rank, unique_key from pgdisque.job; "            \
    "drop table if exists pg_temp.was; create temp table was as select to_jsonb(j) as job from "          \
    "pgdisque.job as j"
#define CHANGED_COLUMNS                                                                            \
    "select string_agg(n.key, ' ' order by n.key) || ' | ' || (select count(*) from pg_temp.was, " \
    "jsonb_each(job) as o where o.value = 'null' and o.key not in ('group_key', 'in_flow')) || "   \
    "coalesce((select ' | ' || "                                                                   \
    "rank from "                                                                                   \
    "pgdisque.unique_key), '') "                                                                   \
    "from pgdisque.job as j, pg_temp.was as w, jsonb_each(to_jsonb(j)) as n "                      \
    "where n.value is distinct from w.job -> n.key"

#define RERANK_CASES                                                                                        \
    { SQL_RERANK_JOBS,                                                                                      \
      "queued and delayed jobs that have not expired",                                                      \
      .jobs = ALL_STATES,                                                                                   \
      .params = { ALL_KEYS, "{-5,-5,-5,-5,-5,-5,-5,-5,-5}", NOW },                                          \
      .rows = "1 t t 13:00:00 60 13:00:00; 3 t t 13:00:00 60 13:00:00; 4 t f 13:00:00 60 12:05:00; "        \
              "5 t f 13:00:00 60 11:00:00; 6 t t 13:00:00 60 13:00:00",                                     \
      .left = "1/-5/1 wake=13:00:00; 1/-5/3 wake=13:00:00 deliveries=1 owner=3; "                           \
              "1/-5/4 ready=12:05:00 wake=12:05:00 delay=300; 1/-5/5 wake=11:00:00 delay=300; "             \
              "1/-5/6 wake=13:00:00; 1/0/2 ready=12:00:30 deliveries=1 owner=3; "                           \
              "1/0/7 ready=10:00:00 expires=11:59:59; 1/0/8 ready=infinity retry=0 deliveries=1 owner=3" }, \
        { SQL_RERANK_JOBS,                                                                                  \
          "a job that is about to die is not changed",                                                      \
          .jobs = "1/0/1 deliveries=2 attempts=2; 1/0/2 deliveries=1 attempts=2",                           \
          .params = { "{1,1}", "{0,0}", "{1,2}", "{-5,-5}", NOW },                                          \
          .rows = "2 t t 13:00:00 60 13:00:00",                                                             \
          .left = "1/-5/2 wake=13:00:00 deliveries=1 attempts=2; 1/0/1 deliveries=2 attempts=2" },          \
        { SQL_RERANK_JOBS, "jobs of groups are not changed", .jobs = "1/0/1; 2/0/2", .setup = IN_GROUPS,    \
          .params = { "{1,2}", "{0,0}", "{1,2}", "{-5,-5}", NOW } },                                        \
        { SQL_RERANK_JOBS,                                                                                  \
          "a job added by a clock that is ahead",                                                           \
          .jobs = "1/0/1 ready=12:00:01",                                                                   \
          .params = { "{1}", "{0}", "{1}", "{-5}", NOW },                                                   \
          .rows = "1 t t 13:00:00 60 13:00:00",                                                             \
          .left = "1/-5/1 ready=12:00:01 wake=13:00:00" },                                                  \
        { SQL_RERANK_JOBS,                                                                                  \
          "to rank 0, each in its own queue; a job given twice takes the first rank",                       \
          .jobs = "1/-5/1 wake=13:00:00; 2/-5/2 wake=13:00:00",                                             \
          .params = { "{1,2,1}", "{-5,-5,-5}", "{1,2,1}", "{0,-9,-3}", NOW },                               \
          .rows = "1 t t 13:00:00 60 13:00:00; 2 t t 13:00:00 60 13:00:00",                                 \
          .left = "1/0/1 wake=13:00:00; 2/-9/2 wake=13:00:00" },                                            \
        { SQL_RERANK_JOBS, "a job that has the rank, by its own key or the old one, also while it runs",    \
          .jobs = "1/-5/1 wake=13:00:00; 1/-5/2 ready=12:00:30 deliveries=1 owner=3; "                      \
                  "1/-5/3 wake=11:59:59 expires=11:59:59; 2/-5/4 wake=13:00:00",                            \
          .params = { "{1,1,1,1,1}", "{-5,0,0,0,0}", "{1,1,2,3,4}", "{-5,-5,-5,-5,-5}", NOW },              \
          .rows = "1 f t 13:00:00 60 13:00:00; 2 f t 13:00:00 60 13:00:00; 3 f f 13:00:00 60 -" },          \
        { SQL_RERANK_JOBS,                                                                                  \
          "the job keeps its columns but not its slot; its unique key points to it",                        \
          .jobs = "1/0/1",                                                                                  \
          .setup = FULL_ROW,                                                                                \
          .params = { "{1}", "{0}", "{1}", "{-5}", NOW },                                                   \
          .rows = "1 t t 13:00:00 60 13:00:00",                                                             \
          .left = ANY,                                                                                      \
          .query = CHANGED_COLUMNS,                                                                         \
          .found = "rank slot | 0 | -5" },                                                                  \
        { SQL_RERANK_JOBS, "nothing", .params = { NO_KEYS, "{}", NOW } },

#endif
