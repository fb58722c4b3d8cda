#ifndef UNIQUE_CASES_H
#define UNIQUE_CASES_H

#include "session.h"

/* Part of statement_cases.h: jobs with keys. */

/* Jobs with keys, and two keys without a job: the first is held for another hour, the second until now. */
#define UNIQUE_KEYS                                                                                 \
    "update pgdisque.job set unique_key = case when id = 2 then 'expired' else 'alive' end::bytea " \
    "where id in (1, 2, 3); "                                                                       \
    "insert into pgdisque.unique_key (id, expires_at, until, queue_id, retry, rank, key) values "   \
    "(77, '" DAY " 14:00+00', '" DAY " 13:00+00', 1, 30, -1, 'passing'), "                          \
    "(78, '" DAY " 14:00+00', '" DAY " 12:00+00', 1, 30, -1, 'ended')"
#define TWO(t) "{" t "," t "}"
#define SEVEN(t) "{" t "," t "," t "," t "," t "," t "," t "}"
#define ONE_UNIQUE(id, key, until)                                                                           \
    "{" id "}", "{@11:00:00}", "{@13:00:00}", "{NULL}", "{1}", "{60}", "{0}", "{0}", "{1}", "{NULL}", "{x}", \
        "{NULL}", "{NULL}", "{NULL}", "{NULL}", "{" #key "}", "{" until "}"

#define UNIQUE_CASES                                                                                         \
    { SQL_ADD_UNIQUE,                                                                                        \
      "keys that are free, or taken: by a job, an expired job, a job of another queue, a job with FOR",      \
      .jobs = "1/0/1; 1/-3/2 expires=11:59:59; 2/0/3; 1/0/4",                                                \
      .setup = UNIQUE_KEYS,                                                                                  \
      .params = { "{11,12,13,14,15,16,17}", SEVEN("@11:00:00"), SEVEN("@13:00:00"), SEVEN("NULL"),           \
                  "{1,1,1,1,1,1,2}", SEVEN("60"), SEVEN("0"), "{0,0,-2,0,0,0,0}", SEVEN("1"), SEVEN("NULL"), \
                  SEVEN("x"), SEVEN("NULL"), SEVEN("NULL"), SEVEN("NULL"), SEVEN("NULL"),                    \
                  "{free,alive,expired,alive,passing,ended,ended}", SEVEN("NULL"), NOW },                    \
      .rows =                                                                                                \
          "2 0 1 13:00:00 60 f - -; 4 0 1 13:00:00 60 f - -; 5 -1 77 14:00:00 30 f - -; 0 0 11 13:00:00 60 " \
          "f - -; 0 -2 13 13:00:00 60 f - -; 0 0 16 13:00:00 60 f - -; 0 0 17 13:00:00 60 f - -",            \
      .ordered = true,                                                                                       \
      .left = "1/-3/2 expires=11:59:59; 1/-2/13; 1/0/1; 1/0/4; 1/0/11; 1/0/16; 2/0/3; 2/0/17",               \
      .query = "select string_agg(j.id || '=' || encode(j.unique_key, 'escape'), ' ' order by j.id) from "   \
               "pgdisque.job as j",                                                                          \
      .found = "1=alive 3=alive 11=free 13=expired 16=ended 17=ended" },                                     \
        { SQL_ADD_UNIQUE, "the same key twice: the first job is added, and the other is not",                \
          .params = { "{12,11}", TWO("@11:00:00"), TWO("@13:00:00"), TWO("NULL"), TWO("1"), TWO("60"),       \
                      TWO("0"), TWO("0"), TWO("1"), TWO("NULL"), TWO("x"), TWO("NULL"), TWO("NULL"),         \
                      TWO("NULL"), TWO("NULL"), TWO("k"), TWO("NULL"), NOW },                                \
          .rows = "0 0 11 13:00:00 60 f - -; 1 - - - - f - -", .left = "1/0/11" },                           \
        { SQL_ADD_UNIQUE, "each job must be added: a key that another job takes fails the statement",        \
          .params = { "{12,11}",        TWO("@11:00:00"),                                                    \
                      TWO("@13:00:00"), TWO("NULL"),                                                         \
                      TWO("1"),         TWO("60"),                                                           \
                      TWO("0"),         TWO("0"),                                                            \
                      TWO("1"),         TWO("NULL"),                                                         \
                      TWO("x"),         TWO("NULL"),                                                         \
                      TWO("NULL"),      TWO("NULL"),                                                         \
                      TWO("NULL"),      TWO("k"),                                                            \
                      TWO("NULL"),      NOW,                                                                 \
                      TWO("NULL"),      "t" },                                                               \
          .rows = "error 23502" },                                                                           \
        { SQL_ADD_UNIQUE,                                                                                    \
          "each job must be added, or its key held; an expired job is none of them",                         \
          .jobs = "1/0/1",                                                                                   \
          .setup = UNIQUE_KEYS,                                                                              \
          .params = { "{11,12,13}",                                                                          \
                      "{@11:00:00,@11:00:00,@11:00:00}",                                                     \
                      "{@13:00:00,@13:00:00,-infinity}",                                                     \
                      "{NULL,NULL,NULL}",                                                                    \
                      "{1,1,1}",                                                                             \
                      "{60,60,60}",                                                                          \
                      "{0,0,0}",                                                                             \
                      "{0,0,0}",                                                                             \
                      "{1,1,1}",                                                                             \
                      "{NULL,NULL,NULL}",                                                                    \
                      "{x,x,x}",                                                                             \
                      "{NULL,NULL,NULL}",                                                                    \
                      "{NULL,NULL,NULL}",                                                                    \
                      "{NULL,NULL,NULL}",                                                                    \
                      "{NULL,NULL,NULL}",                                                                    \
                      "{alive,free,other}",                                                                  \
                      "{NULL,NULL,NULL}",                                                                    \
                      NOW,                                                                                   \
                      "{NULL,NULL,NULL}",                                                                    \
                      "t" },                                                                                 \
          .rows = "0 0 12 13:00:00 60 f - -; 1 0 1 13:00:00 60 f - -",                                       \
          .left = "1/0/1; 1/0/12" },                                                                         \
        { SQL_ADD_UNIQUE,                                                                                    \
          "traces of a key that another job takes; a committed try without a trace, and with one",           \
          .setup = "insert into pgdisque.commit_marker (node, transaction) values (9, 30)",                  \
          .params = { "{11,12,13,14}",                                                                       \
                      "{@11:00:00,@11:00:00,@11:00:00,@11:00:00}",                                           \
                      "{@13:00:00,@13:00:00,@13:00:00,@13:00:00}",                                           \
                      "{NULL,NULL,NULL,NULL}",                                                               \
                      "{1,1,1,1}",                                                                           \
                      "{60,60,60,60}",                                                                       \
                      "{0,0,0,0}",                                                                           \
                      "{0,0,0,0}",                                                                           \
                      "{1,1,1,1}",                                                                           \
                      "{NULL,NULL,NULL,NULL}",                                                               \
                      "{x,x,x,x}",                                                                           \
                      "{NULL,NULL,NULL,NULL}",                                                               \
                      "{NULL,NULL,NULL,NULL}",                                                               \
                      "{NULL,NULL,NULL,NULL}",                                                               \
                      "{NULL,NULL,NULL,NULL}",                                                               \
                      "{k,k,l,m}",                                                                           \
                      "{NULL,NULL,NULL,NULL}",                                                               \
                      NOW,                                                                                   \
                      "{NULL,NULL,NULL,NULL}",                                                               \
                      "f",                                                                                   \
                      "{41,42,43,44}",                                                                       \
                      "{0,0,29,30}",                                                                         \
                      "9" },                                                                                 \
          .rows = "0 0 11 13:00:00 60 f - -; 0 0 14 13:00:00 60 f - -; 2 - - - - f - -",                     \
          .left = ANY,                                                                                       \
          .query =                                                                                           \
              "select string_agg(transaction::text, ' ' order by transaction) from pgdisque.commit_marker",  \
          .found = "30 42" },                                                                                \
        { SQL_ADD_UNIQUE,                                                                                    \
          "REPLACE: a committed try without a trace replaces nothing again",                                 \
          .jobs = "1/0/1",                                                                                   \
          .setup = "update pgdisque.job set unique_key = 'k'",                                               \
          .params = { ONE_UNIQUE("11", "k", "NULL"), NOW, "{\"{\\\"replace_delay\\\": false}\"}", "f",       \
                      "{41}", "{30}", "9" },                                                                 \
          .rows = "1 0 1 13:00:00 60 f - -" },                                                               \
        { SQL_ADD_UNIQUE,                                                                                    \
          "its own job of a lost transaction",                                                               \
          .jobs = "1/0/11",                                                                                  \
          .setup = "update pgdisque.job set unique_key = 'k'",                                               \
          .params = { ONE_UNIQUE("11", "k", "NULL"), NOW },                                                  \
          .rows = "1 0 11 13:00:00 60 f - -" },                                                              \
        { SQL_ADD_UNIQUE,                                                                                    \
          "for a time; after it the next job begins a new time",                                             \
          .setup = UNIQUE_KEYS,                                                                              \
          .params = { ONE_UNIQUE("11", "ended", "@12:30:00"), NOW },                                         \
          .rows = "0 0 11 13:00:00 60 f - -",                                                                \
          .left = "1/0/11",                                                                                  \
          .query = "select id, until, queue_id, retry, rank, expires_at from pgdisque.unique_key where key " \
                   "= 'ended'",                                                                              \
          .found = "11 12:30:00 1 60 0 13:00:00" },                                                          \
        { SQL_ADD_UNIQUE,                                                                                    \
          "an expired job is not added, and gets the owner of the key",                                      \
          .jobs = "1/0/1",                                                                                   \
          .setup = UNIQUE_KEYS,                                                                              \
          .params = { "{11,12}", TWO("@11:00:00"), "{-infinity,@12:00:00}", TWO("NULL"), TWO("1"),           \
                      TWO("60"), TWO("0"), TWO("0"), TWO("1"), TWO("NULL"), TWO("x"), TWO("NULL"),           \
                      TWO("NULL"), TWO("NULL"), TWO("NULL"), "{alive,free}", TWO("NULL"), NOW },             \
          .rows = "1 0 1 13:00:00 60 f - -",                                                                 \
          .left = "1/0/1" },                                                                                 \
        { SQL_ADD_UNIQUE,                                                                                    \
          "of a group",                                                                                      \
          .params = { "{11}", "{@11:00:00}", "{@13:00:00}", "{NULL}", "{1}", "{60}", "{0}", "{0}", "{1}",    \
                      "{NULL}", "{x}", "{NULL}", "{NULL}", "{NULL}", "{g}", "{k}", "{NULL}", NOW },          \
          .rows = "0 0 11 13:00:00 60 f - -",                                                                \
          .left = "1/0/11",                                                                                  \
          .query = "select encode(group_key, 'escape') from pgdisque.job",                                   \
          .found = "g" },                                                                                    \
        { SQL_ADD_UNIQUE, "nothing",                                                                         \
          .params = { NO_KEYS, "{}", "{}", "{}", "{}", "{}", "{}", "{}", "{}", "{}", "{}", "{}", "{}", "{}", \
                      "{}", NOW } },                                                                         \
        { SQL_PRUNE_KEYS,                                                                                    \
          "keys whose time is over, to the microsecond",                                                     \
          .setup = UNIQUE_KEYS,                                                                              \
          .params = { NOW, "10", "-infinity" },                                                              \
          .query = "select string_agg(encode(key, 'escape'), ' ') from pgdisque.unique_key",                 \
          .found = "passing" },                                                                              \
        { SQL_PRUNE_KEYS,                                                                                    \
          "no more than the limit, the oldest first: there may be more",                                     \
          .setup = UNIQUE_KEYS "; update pgdisque.unique_key set until = until - interval '1 hour'",         \
          .params = { NOW, "1", "-infinity" },                                                               \
          .rows = "11:00:00",                                                                                \
          .query = "select string_agg(encode(key, 'escape'), ' ') from pgdisque.unique_key",                 \
          .found = "passing" },                                                                              \
        { SQL_PRUNE_KEYS,                                                                                    \
          "from a time on",                                                                                  \
          .setup = UNIQUE_KEYS "; update pgdisque.unique_key set until = until - interval '1 hour'",         \
          .params = { NOW, "1", "@12:00:00" },                                                               \
          .rows = "12:00:00",                                                                                \
          .query = "select string_agg(encode(key, 'escape'), ' ') from pgdisque.unique_key",                 \
          .found = "ended" },                                                                                \
        { SQL_ADD_UNIQUE,                                                                                    \
          "a delivered job until whose start a key was taken gives the key up",                              \
          .jobs = "1/0/1 owner=3 deliveries=1 ready=12:30:00; 1/0/2 nacks=1",                                \
          .setup = "update pgdisque.job set unique_start = true, unique_key = case id when 1 then 'k' "      \
                   "else 'm' end::bytea",                                                                    \
          .params = { "{11,12}", TWO("@11:00:00"), TWO("@13:00:00"), TWO("NULL"), TWO("1"), TWO("60"),       \
                      TWO("0"), TWO("0"), TWO("1"), TWO("NULL"), TWO("x"), TWO("NULL"), TWO("NULL"),         \
                      TWO("NULL"), TWO("NULL"), "{k,m}", TWO("NULL"), NOW, TWO("NULL") },                    \
          .rows = "0 0 11 13:00:00 60 f - -; 0 0 12 13:00:00 60 f - -",                                      \
          .left = ANY,                                                                                       \
          .query = "select string_agg(j.id || '=' || encode(j.unique_key, 'escape'), ' ' order by j.id) "    \
                   "from pgdisque.job as j",                                                                 \
          .found = "11=k 12=m" },                                                                            \
        { SQL_ADD_UNIQUE,                                                                                    \
          "REPLACE: a queued job, and a delayed job that gets a delay; no delivered job",                    \
          .jobs = "1/0/1 owner=3 deliveries=1; 1/0/2 ready=12:05:00 wake=12:05:00; "                         \
                  "1/0/3 owner=3 deliveries=1 ready=12:30:00",                                               \
          .setup = "update pgdisque.job set unique_key = (array['k', 'm', 'n'])[id]::bytea",                 \
          .params = { "{11,12,13}", "{@12:10:00,@12:10:00,@12:10:00}", "{@13:00:00,@13:00:00,@13:00:00}",    \
                      "{@12:10:00,@12:10:00,@12:10:00}", "{1,1,1}", "{60,60,60}", "{600,600,600}",           \
                      "{0,0,0}", "{1,1,1}", "{NULL,NULL,NULL}", "{x,y,z}", "{NULL,NULL,NULL}",               \
                      "{NULL,NULL,NULL}", "{NULL,NULL,NULL}", "{NULL,NULL,NULL}", "{k,m,n}",                 \
                      "{NULL,NULL,NULL}", NOW,                                                               \
                      "{\"{\\\"replace_delay\\\": false}\",\"{\\\"replace_delay\\\": true}\","               \
                      "\"{\\\"replace_delay\\\": true}\"}" },                                                \
          .rows = "1 0 1 13:00:00 60 t - -; 2 0 2 13:00:00 60 t 290000-01-01 00:00:00+00 12:10:00; "         \
                  "3 0 3 13:00:00 60 f - -",                                                                 \
          .left = ANY,                                                                                       \
          .query = "select string_agg(concat(j.id, encode(j.body, 'escape'), j.owner), ' ' order by j.id) "  \
                   "from pgdisque.job as j",                                                                 \
          .found = "1x3 2y 3x3" },                                                                           \
        { SQL_ADD_UNIQUE,                                                                                    \
          "REPLACE with a delay, and without, in one statement: the last body, and the delay",               \
          .jobs = "1/0/1",                                                                                   \
          .setup = "update pgdisque.job set unique_key = 'k'",                                               \
          .params = { "{11,12}", "{@12:10:00,@12:00:00}", TWO("@13:00:00"), "{@12:10:00,NULL}", TWO("1"),    \
                      TWO("60"), "{600,0}", TWO("0"), TWO("1"), TWO("NULL"), "{x,y}", TWO("NULL"),           \
                      TWO("NULL"), TWO("NULL"), TWO("NULL"), TWO("k"), TWO("NULL"), NOW,                     \
                      "{\"{\\\"replace_delay\\\": true}\",\"{\\\"replace_delay\\\": false}\"}" },            \
          .rows = "1 0 1 13:00:00 60 t - -; 2 0 1 13:00:00 60 t 11:00:00 12:10:00",                          \
          .left = ANY,                                                                                       \
          .query = "select concat(encode(j.body, 'escape'), j.delay, j.ready_at = j.wake_at) "               \
                   "from pgdisque.job as j",                                                                 \
          .found = "y600t" },                                                                                \
        { SQL_UNLOCK_KEYS,                                                                                   \
          "of a job, for a time, and two keys that are free",                                                \
          .jobs = "1/0/1; 1/0/4",                                                                            \
          .setup = UNIQUE_KEYS,                                                                              \
          .params = { "{1,1,1,2}", "{alive,passing,ended,passing}", NOW },                                   \
          .rows = "1 t; 2 t; 3 f; 4 f",                                                                      \
          .left = ANY,                                                                                       \
          .query = "select concat((select count(*) from pgdisque.unique_key), count(j.unique_key)) "         \
                   "from pgdisque.job as j",                                                                 \
          .found = "00" },

#endif
