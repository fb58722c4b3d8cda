#ifndef GROUP_CASES_H
#define GROUP_CASES_H

#include "session.h"

/* Rows of the table change so often that the other rows do not lie in its last pages. */
#define WORN(table, rows)                                                                             \
    "do $$ begin for i in 1..8000 loop update pgdisque." table " set queue_id = queue_id where " rows \
    "; end loop; end $$"

/* Part of statement_cases.h: jobs of groups. */

/* All jobs of queue 1 belong to group a, and those of queue 2 to b. */
#define IN_GROUPS "update pgdisque.job set group_key = case queue_id when 1 then 'a' else 'b' end::bytea"
/* Group a, and the job of it that was let go last. */
#define GROUP_A(id) "insert into pgdisque.job_group (queue_id, key, rank, id) values (1, 'a', 0, " id ")"
/* Queue 1 has these limits for each group. */
#define PER_GROUP(most, rate)                                                                          \
    "insert into pgdisque.queue_setting values (1, 'per-group', '1'), (1, 'max-active', '" most "'), " \
    "(1, 'rate', '" rate "')"
/* Group a has so many tokens, and gets no more for an hour. */
#define TOKENS(tokens) \
    "update pgdisque.job_group set tokens = " tokens ", settled_at = now() + interval '1 hour'"
#define PLACES_NOW                                                                                     \
    "select concat_ws(':', id, array_to_string(ids, ','), array_to_string(ranks, ','), tokens::text, " \
    "next_at > settled_at) from pgdisque.job_group"
#define FOUR_WAIT "1/0/4 ready=infinity; 1/0/5 ready=infinity; 1/0/6 ready=infinity; 1/0/7 ready=infinity"
/* The next search is not the thousandth. */
#define NOT_WHOLE "update pgdisque.job_group set turn = 1"
#define IDS_NOW "select id || ' ' || coalesce(ids::text, '-') from pgdisque.job_group"
#define GROUPS_NOW                                                                                     \
    "select string_agg(concat_ws(':', queue_id, encode(key, 'escape'), rank, id, turn), ' ' order by " \
    "queue_id, "                                                                                       \
    "key) from pgdisque.job_group"

#define FOUR_UNUSED                                                   \
    "insert into pgdisque.job_group (queue_id, key, used_at) values " \
    "(1, 'a', '2000-01-01'), (1, 'b', '2000-01-01'), (2, 'a', '2000-01-01'), (2, 'b', '2000-01-01')"

#define GROUP_CASES                                                                                          \
    { SQL_ADD_MISSING,                                                                                       \
      "they wait; existing jobs are not changed",                                                            \
      .jobs = "1/0/2 ready=12:00:30 owner=3 deliveries=1",                                                   \
      .params = { "{3,2}", "{infinity,infinity}", "{@13:00:00,@13:00:00}", "{NULL,NULL}", "{1,1}",           \
                  "{60,60}", "{0,0}", "{0,0}", "{1,1}", "{NULL,NULL}", "{x,x}", "{NULL,NULL}",               \
                  "{NULL,NULL}", "{NULL,NULL}", "{k,k}" },                                                   \
      .rows = "3 f",                                                                                         \
      .left = "1/0/2 ready=12:00:30 deliveries=1 owner=3; 1/0/3 ready=infinity",                             \
      .query = "select string_agg(id || '=' || encode(group_key, 'escape'), ' ') from pgdisque.job",         \
      .found = "3=k" },                                                                                      \
        { SQL_NEXT_IN_GROUPS,                                                                                \
          "the first in the order of the queue, after the job before it has ended",                          \
          .jobs = "1/0/5 ready=infinity; 1/0/4 ready=infinity; 1/-1/6 ready=infinity; 1/-2/7 "               \
                  "ready=infinity expires=11:00:00",                                                         \
          .setup = IN_GROUPS "; " GROUP_A("1"),                                                              \
          .params = { "{1}", "{a}", NOW, "{0}" },                                                            \
          .rows = "1 - - -; 1 -1 6 -",                                                                       \
          .left = "1/-2/7 ready=infinity expires=11:00:00; 1/-1/6 ready=12:00:00; 1/0/4 ready=infinity; "    \
                  "1/0/5 ready=infinity",                                                                    \
          .query = GROUPS_NOW,                                                                               \
          .found = "1:a:-1:6:1" },                                                                           \
        { SQL_NEXT_IN_GROUPS,                                                                                \
          "none while it is there: queued, leased, or delayed",                                              \
          .jobs = "1/0/4 ready=12:05:00 wake=12:05:00; 1/0/3 ready=infinity",                                \
          .setup = IN_GROUPS "; " GROUP_A("4"),                                                              \
          .params = { "{1}", "{a}", NOW, "{0}" },                                                            \
          .rows = "1 - - -",                                                                                 \
          .query = GROUPS_NOW,                                                                               \
          .found = "1:a:0:4:0" },                                                                            \
        { SQL_NEXT_IN_GROUPS,                                                                                \
          "an expired job does not count",                                                                   \
          .jobs = "1/0/4 expires=12:00:00; 1/0/5 ready=infinity",                                            \
          .setup = IN_GROUPS "; " GROUP_A("4"),                                                              \
          .params = { "{1}", "{a}", NOW, "{0}" },                                                            \
          .rows = "1 - - -; 1 0 5 -",                                                                        \
          .left = "1/0/4 expires=12:00:00; 1/0/5 ready=12:00:00" },                                          \
        { SQL_NEXT_IN_GROUPS,                                                                                \
          "a new group is made, and checked again; an empty group releases no job",                          \
          .jobs = "2/0/4 ready=infinity",                                                                    \
          .setup = IN_GROUPS "; " GROUP_A("1"),                                                              \
          .params = { "{2,1}", "{b,a}", NOW, "{0,0}" },                                                      \
          .rows = "2 - - -",                                                                                 \
          .query = GROUPS_NOW,                                                                               \
          .found = "1:a:0:1:0 2:b:0" },                                                                      \
        { SQL_NEXT_IN_GROUPS,                                                                                \
          "the same group twice releases one job",                                                           \
          .jobs = "1/0/4 ready=infinity; 1/0/5 ready=infinity",                                              \
          .setup = IN_GROUPS "; " GROUP_A("1"),                                                              \
          .params = { "{1,1}", "{a,a}", NOW, "{0,0}" },                                                      \
          .rows = ANY,                                                                                       \
          .left = "1/0/4 ready=12:00:00; 1/0/5 ready=infinity" },                                            \
        { SQL_NEXT_IN_GROUPS,                                                                                \
          "a search begins five seconds before the last released job, and before jobs of other priorities",  \
          .jobs = "1/0/60000000000 ready=infinity; 1/0/70000000000 ready=infinity; 1/1/3 ready=infinity",    \
          .setup = IN_GROUPS "; " GROUP_A("90000000000") "; " NOT_WHOLE,                                     \
          .params = { "{1}", "{a}", NOW, "{0}" },                                                            \
          .rows = "1 - - -; 1 0 70000000000 -",                                                              \
          .left = "1/0/60000000000 ready=infinity; 1/0/70000000000 ready=12:00:00; 1/1/3 ready=infinity" },  \
        { SQL_NEXT_IN_GROUPS,                                                                                \
          "a job of a higher priority, and one that was moved to the front, come first, whatever their ids", \
          .jobs = "1/0/90000000001 ready=infinity; 1/0/-5 ready=infinity; 1/-1/4 ready=infinity",            \
          .setup =                                                                                           \
              IN_GROUPS "; " GROUP_A("90000000000") "; " NOT_WHOLE "; insert into pgdisque.queue_setting "   \
                                                    "values (1, 'group-max-active', '2')",                   \
          .params = { "{1}", "{a}", NOW, "{0}" },                                                            \
          .rows = "1 - - -; 1 -1 4 -; 1 0 -5 -",                                                             \
          .left = "1/-1/4 ready=12:00:00; 1/0/-5 ready=12:00:00; 1/0/90000000001 ready=infinity" },          \
        { SQL_NEXT_IN_GROUPS,                                                                                \
          "a request for a late job searches the whole group",                                               \
          .jobs = "1/0/3 ready=infinity; 1/0/90000000001 ready=infinity",                                    \
          .setup = IN_GROUPS "; " GROUP_A("90000000000") "; " NOT_WHOLE,                                     \
          .params = { "{1}", "{a}", NOW, "{1}" },                                                            \
          .rows = "1 - - -; 1 0 3 -",                                                                        \
          .left = "1/0/3 ready=12:00:00; 1/0/90000000001 ready=infinity",                                    \
          .query = IDS_NOW,                                                                                  \
          .found = "3 -" },                                                                                  \
        { SQL_NEXT_IN_GROUPS,                                                                                \
          "or makes the next search whole, if no job can be released",                                       \
          .jobs = "1/0/3 ready=infinity; 1/0/90000000000",                                                   \
          .setup = IN_GROUPS "; " GROUP_A("90000000000") "; " NOT_WHOLE,                                     \
          .params = { "{1}", "{a}", NOW, "{1}" },                                                            \
          .rows = "1 - - -",                                                                                 \
          .query = IDS_NOW,                                                                                  \
          .found = "90000000000 {0}" },                                                                      \
        { SQL_NEXT_IN_GROUPS,                                                                                \
          "the next search is whole, and the search after it is not",                                        \
          .jobs = "1/0/3 ready=infinity; 1/0/90000000001 ready=infinity",                                    \
          .setup = IN_GROUPS "; " GROUP_A(                                                                   \
              "90000000000") "; " NOT_WHOLE "; update pgdisque.job_group set ids = '{0}', ranks = '{0}'",    \
          .params = { "{1}", "{a}", NOW, "{0}" },                                                            \
          .rows = "1 - - -; 1 0 3 -",                                                                        \
          .left = "1/0/3 ready=12:00:00; 1/0/90000000001 ready=infinity",                                    \
          .query = IDS_NOW,                                                                                  \
          .found = "3 -" },                                                                                  \
        { SQL_NEXT_IN_GROUPS,                                                                                \
          "each thousandth search is whole",                                                                 \
          .jobs = "1/0/3 ready=infinity; 1/0/90000000001 ready=infinity",                                    \
          .setup = IN_GROUPS "; " GROUP_A("90000000000") "; update pgdisque.job_group set turn = 7000",      \
          .params = { "{1}", "{a}", NOW, "{0}" },                                                            \
          .rows = "1 - - -; 1 0 3 -",                                                                        \
          .left = "1/0/3 ready=12:00:00; 1/0/90000000001 ready=infinity" },                                  \
        { SQL_NEXT_IN_GROUPS,                                                                                \
          "groups in the last pages, and outside",                                                           \
          .jobs = "1/0/4 ready=infinity; 2/0/5 ready=infinity",                                              \
          .setup = IN_GROUPS "; " GROUP_A("1") "; insert into pgdisque.job_group (queue_id, key, rank, id) " \
                                               "values (2, 'b', 0, 2); " WORN("job_group", "key = 'a'"),     \
          .params = { "{1,2}", "{a,b}", NOW, "{0,0}" },                                                      \
          .rows = "1 - - -; 1 0 4 -; 2 - - -; 2 0 5 -",                                                      \
          .left = "1/0/4 ready=12:00:00; 2/0/5 ready=12:00:00",                                              \
          .query = GROUPS_NOW,                                                                               \
          .found = "1:a:0:4:1 2:b:0:5:1" },                                                                  \
        { SQL_FIND_GROUPS,                                                                                   \
          "of the existing jobs with a group",                                                               \
          .jobs = "1/0/4; 2/-1/5; 3/0/6",                                                                    \
          .setup = IN_GROUPS "; update pgdisque.job set group_key = null where id = 6",                      \
          .params = { "{2,1,3,1}", "{-1,0,0,0}", "{5,4,6,7}" },                                              \
          .rows = "1 \"a\" 4; 2 \"b\" 5; 3 - 6" },                                                           \
        { SQL_STUCK_GROUPS,                                                                                  \
          "whose job has ended, while others wait",                                                          \
          .jobs = "1/0/4 ready=infinity; 2/0/5 ready=infinity; 2/0/6",                                       \
          .setup = IN_GROUPS                                                                                 \
          "; " GROUP_A("1") "; insert into pgdisque.job_group (queue_id, key, rank, id) "                    \
                            "values (2, 'b', 0, 6), (2, 'empty', 0, 7), (1, 'new', null, null)",             \
          .params = { NOW, "10" },                                                                           \
          .rows = "1 \"a\"" },                                                                               \
        { SQL_NEXT_IN_GROUPS,                                                                                \
          "group-max-active and group-rate go before the limits of the queue",                               \
          .jobs = FOUR_WAIT,                                                                                 \
          .setup = IN_GROUPS                                                                                 \
          "; " GROUP_A("1") "; insert into pgdisque.queue_setting values "                                   \
                            "(1, 'group-max-active', '2'), (1, 'max-active', '9'), (1, 'rate', '1')",        \
          .params = { "{1}", "{a}", NOW, "{0}" },                                                            \
          .rows = "1 - - -; 1 0 4 -; 1 0 5 -",                                                               \
          .left = "1/0/4 ready=12:00:00; 1/0/5 ready=12:00:00; 1/0/6 ready=infinity; 1/0/7 "                 \
                  "ready=infinity",                                                                          \
          .query = PLACES_NOW,                                                                               \
          .found = "4:5:0" },                                                                                \
        { SQL_NEXT_IN_GROUPS,                                                                                \
          "group-rate with a period and a burst",                                                            \
          .jobs = FOUR_WAIT,                                                                                 \
          .setup = IN_GROUPS                                                                                 \
          "; " GROUP_A("1") "; insert into pgdisque.queue_setting values (1, 'group-max-active', '9'), "     \
                            "(1, 'group-rate', '2'), (1, 'group-rate-period', '10'), "                       \
                            "(1, 'group-rate-burst', '3')",                                                  \
          .params = { "{1}", "{a}", NOW, "{0}" },                                                            \
          .rows = "1 - - 5000; 1 0 4 -; 1 0 5 -; 1 0 6 -",                                                   \
          .left = "1/0/4 ready=12:00:00; 1/0/5 ready=12:00:00; 1/0/6 ready=12:00:00; 1/0/7 "                 \
                  "ready=infinity" },                                                                        \
        { SQL_NEXT_IN_GROUPS,                                                                                \
          "with per-group the period and the burst of the queue",                                            \
          .jobs = FOUR_WAIT,                                                                                 \
          .setup = IN_GROUPS "; " GROUP_A("1") "; " PER_GROUP("9", "6") "; insert into "                     \
                                                                        "pgdisque.queue_setting values "     \
                                                                        "(1, 'rate-period', '60'), "         \
                                                                        "(1, 'group-rate-burst', '3'), "     \
                                                                        "(1, 'rate-burst', '2')",            \
          .params = { "{1}", "{a}", NOW, "{0}" },                                                            \
          .rows = "1 - - 10000; 1 0 4 -; 1 0 5 -",                                                           \
          .left = "1/0/4 ready=12:00:00; 1/0/5 ready=12:00:00; 1/0/6 ready=infinity; 1/0/7 "                 \
                  "ready=infinity" },                                                                        \
        { SQL_NEXT_IN_GROUPS,                                                                                \
          "with per-group as many as may be active, in their order",                                         \
          .jobs = FOUR_WAIT,                                                                                 \
          .setup = IN_GROUPS "; " GROUP_A("1") "; " PER_GROUP("3", "0"),                                     \
          .params = { "{1}", "{a}", NOW, "{0}" },                                                            \
          .rows = "1 - - -; 1 0 4 -; 1 0 5 -; 1 0 6 -",                                                      \
          .left = "1/0/4 ready=12:00:00; 1/0/5 ready=12:00:00; 1/0/6 ready=12:00:00; 1/0/7 "                 \
                  "ready=infinity",                                                                          \
          .query = PLACES_NOW,                                                                               \
          .found = "4:5,6:0,0" },                                                                            \
        { SQL_NEXT_IN_GROUPS,                                                                                \
          "existing jobs count, at any place of their note",                                                 \
          .jobs = "1/0/3; 1/0/2 ready=12:00:30 owner=3; " FOUR_WAIT,                                         \
          .setup = IN_GROUPS                                                                                 \
          "; " GROUP_A("1") "; " PER_GROUP("3", "0") "; update pgdisque.job_group "                          \
                                                     "set ranks = '{0,0,0}', ids = '{3,99,2}'",              \
          .params = { "{1}", "{a}", NOW, "{0}" },                                                            \
          .rows = "1 - - -; 1 0 4 -",                                                                        \
          .left = "1/0/2 ready=12:00:30 owner=3; 1/0/3; 1/0/4 ready=12:00:00; 1/0/5 ready=infinity; "        \
                  "1/0/6 ready=infinity; 1/0/7 ready=infinity",                                              \
          .query = PLACES_NOW,                                                                               \
          .found = "4:3,2:0,0" },                                                                            \
        { SQL_NEXT_IN_GROUPS,                                                                                \
          "none while more are there than a limit that was lowered",                                         \
          .jobs = "1/0/1; 1/0/2; " FOUR_WAIT,                                                                \
          .setup = IN_GROUPS "; " GROUP_A("1") "; update pgdisque.job_group set ranks = '{0}', ids = "       \
                                               "'{2}'",                                                      \
          .params = { "{1}", "{a}", NOW, "{0}" },                                                            \
          .rows = "1 - - -",                                                                                 \
          .query = PLACES_NOW,                                                                               \
          .found = "1:2:0" },                                                                                \
        { SQL_NEXT_IN_GROUPS,                                                                                \
          "each job takes a token, and the next job waits for its own",                                      \
          .jobs = FOUR_WAIT,                                                                                 \
          .setup = IN_GROUPS "; " GROUP_A("1") "; " PER_GROUP("9", "10") "; " TOKENS("2.5"),                 \
          .params = { "{1}", "{a}", NOW, "{0}" },                                                            \
          .rows = "1 - - 100; 1 0 4 -",                                                                      \
          .left = "1/0/4 ready=12:00:00; 1/0/5 ready=infinity; 1/0/6 ready=infinity; 1/0/7 "                 \
                  "ready=infinity",                                                                          \
          .query = PLACES_NOW,                                                                               \
          .found = "4:0:t" },                                                                                \
        { SQL_NEXT_IN_GROUPS,                                                                                \
          "no token is needed if no job waits for its release, or without a free place",                     \
          .jobs = "1/0/1; 1/0/4 ready=infinity",                                                             \
          .setup = IN_GROUPS "; " GROUP_A("1") "; " PER_GROUP("0", "200") "; " TOKENS("0.5"),                \
          .params = { "{1}", "{a}", NOW, "{0}" },                                                            \
          .rows = "1 - - -",                                                                                 \
          .query = PLACES_NOW,                                                                               \
          .found = "1:0.5" },                                                                                \
        { SQL_NEXT_IN_GROUPS,                                                                                \
          "a group that is new has its tokens",                                                              \
          .jobs = FOUR_WAIT,                                                                                 \
          .setup = IN_GROUPS "; " GROUP_A("1") "; " PER_GROUP("9", "30"),                                    \
          .params = { "{1}", "{a}", NOW, "{0}" },                                                            \
          .left = "1/0/4 ready=12:00:00; 1/0/5 ready=12:00:00; 1/0/6 ready=12:00:00; "                       \
                  "1/0/7 ready=infinity",                                                                    \
          .rows = "1 - - 34; 1 0 4 -; 1 0 5 -; 1 0 6 -" },                                                   \
        { SQL_STUCK_GROUPS,                                                                                  \
          "that no server has checked yet, or that have more places now",                                    \
          .jobs = "1/0/2; 1/0/4 ready=infinity; 2/0/5 ready=infinity",                                       \
          .setup = IN_GROUPS "; " GROUP_A("2") "; " PER_GROUP("2", "0"),                                     \
          .params = { NOW, "10" },                                                                           \
          .rows = "1 \"a\"; 2 \"b\"" },                                                                      \
        { SQL_STUCK_GROUPS, "not groups without a free place or that wait for tokens",                       \
          .jobs = "1/0/2; 1/0/3; 1/0/4 ready=infinity; 2/0/5 ready=infinity",                                \
          .setup = IN_GROUPS "; " GROUP_A("1") "; " PER_GROUP(                                               \
              "2", "0") "; update pgdisque.job_group "                                                       \
                        "set ranks = '{0,0}', ids = '{2,3}'; insert into pgdisque.job_group "                \
                        "(queue_id, key, next_at, settled_at) values (2, 'b', '2040-01-01 00:00:05', "       \
                        "'2040-01-01'); insert into pgdisque.queue_setting values (2, 'group-rate', '2'), "  \
                        "(2, 'group-rate-period', '10')",                                                    \
          .params = { NOW, "10" } },                                                                         \
        { SQL_STUCK_GROUPS,                                                                                  \
          "groups that wait for the tokens of a former rate",                                                \
          .jobs = "1/0/4 ready=infinity; 2/0/5 ready=infinity",                                              \
          .setup = IN_GROUPS "; insert into pgdisque.job_group (queue_id, key, next_at, settled_at) "        \
                             "select n, case n when 1 then 'a' else 'b' end::bytea, "                        \
                             "'2040-01-01 00:00:05', '2040-01-01' from generate_series(1, 2) as n; "         \
                             "insert into pgdisque.queue_setting values (2, 'group-rate', '3'), "            \
                             "(2, 'group-rate-period', '10')",                                               \
          .params = { NOW, "10" },                                                                           \
          .rows = "1 \"a\"; 2 \"b\"" },                                                                      \
        { SQL_PRUNE_GROUPS,                                                                                  \
          "those without jobs, if unused since then",                                                        \
          .jobs = "1/0/4 ready=infinity",                                                                    \
          .setup = IN_GROUPS                                                                                 \
          "; " GROUP_A("1") "; insert into pgdisque.job_group (queue_id, key, used_at) "                     \
                            "values (2, 'b', '2000-01-01'), (2, 'used', '2040-01-01'); "                     \
                            "update pgdisque.job_group set used_at = '2000-01-01' where key = 'a'",          \
          .params = { NOW, "10", NOW, "0", "x" },                                                            \
          .query = GROUPS_NOW,                                                                               \
          .found = "1:a:0:1:0 2:used:0" },                                                                   \
        { SQL_PRUNE_GROUPS,      "those of a page; after a full page there may be more",                     \
          .setup = FOUR_UNUSED,  .params = { NOW, "2", NOW, "1", "a" },                                      \
          .rows = "2 \"a\"",     .query = GROUPS_NOW,                                                        \
          .found = "1:a:0 2:b:0" },                                                                          \
        { SQL_PRUNE_GROUPS,     "those of the last page",                                                    \
          .setup = FOUR_UNUSED, .params = { NOW, "2", NOW, "2", "a" },                                       \
          .query = GROUPS_NOW,  .found = "1:a:0 1:b:0 2:a:0" },                                              \
    {                                                                                                        \
        SQL_PRUNE_GROUPS, "not those that lack tokens of a rate",                                            \
            .setup =                                                                                         \
                "insert into pgdisque.queue_setting values (1, 'group-rate', '2'), "                         \
                "(1, 'group-rate-period', '3600'), (1, 'group-rate-burst', '3'); "                           \
                "insert into pgdisque.job_group (queue_id, key, used_at, tokens, settled_at) "               \
                "select q, k::bytea, '2000-01-01', t, '2030-01-01 11:00+00' from (values (1, 'few', 0.9), "  \
                "(1, 'full', 1), (1, 'new', null), (2, 'free', 0)) as g (q, k, t)",                          \
            .params = { NOW, "10", NOW, "0", "x" }, .query = GROUPS_NOW, .found = "1:few:0"                  \
    }

#endif
