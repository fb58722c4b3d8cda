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
      .rows = "2 0 1 13:00:00 60; 4 0 1 13:00:00 60; 5 -1 77 14:00:00 30; 0 0 11 13:00:00 60; "              \
              "0 -2 13 13:00:00 60; 0 0 16 13:00:00 60; 0 0 17 13:00:00 60",                                 \
      .ordered = true,                                                                                       \
      .left = "1/-3/2 expires=11:59:59; 1/-2/13; 1/0/1; 1/0/4; 1/0/11; 1/0/16; 2/0/3; 2/0/17",               \
      .query = "select string_agg(j.id || '=' || encode(j.unique_key, 'escape'), ' ' order by j.id) from "   \
               "pgdisque.job as j",                                                                          \
      .found = "1=alive 3=alive 11=free 13=expired 16=ended 17=ended" },                                     \
        { SQL_ADD_UNIQUE, "the same key twice: the first job is added, and the other is not",                \
          .params = { "{12,11}", TWO("@11:00:00"), TWO("@13:00:00"), TWO("NULL"), TWO("1"), TWO("60"),       \
                      TWO("0"), TWO("0"), TWO("1"), TWO("NULL"), TWO("x"), TWO("NULL"), TWO("NULL"),         \
                      TWO("NULL"), TWO("NULL"), TWO("k"), TWO("NULL"), NOW },                                \
          .rows = "0 0 11 13:00:00 60", .left = "1/0/11" },                                                  \
        { SQL_ADD_UNIQUE,                                                                                    \
          "its own job of a lost transaction",                                                               \
          .jobs = "1/0/11",                                                                                  \
          .setup = "update pgdisque.job set unique_key = 'k'",                                               \
          .params = { ONE_UNIQUE("11", "k", "NULL"), NOW },                                                  \
          .rows = "1 0 11 13:00:00 60" },                                                                    \
        { SQL_ADD_UNIQUE,                                                                                    \
          "for a time; after it the next job begins a new time",                                             \
          .setup = UNIQUE_KEYS,                                                                              \
          .params = { ONE_UNIQUE("11", "ended", "@12:30:00"), NOW },                                         \
          .rows = "0 0 11 13:00:00 60",                                                                      \
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
          .rows = "1 0 1 13:00:00 60",                                                                       \
          .left = "1/0/1" },                                                                                 \
        { SQL_ADD_UNIQUE,                                                                                    \
          "of a group",                                                                                      \
          .params = { "{11}", "{@11:00:00}", "{@13:00:00}", "{NULL}", "{1}", "{60}", "{0}", "{0}", "{1}",    \
                      "{NULL}", "{x}", "{NULL}", "{NULL}", "{NULL}", "{g}", "{k}", "{NULL}", NOW },          \
          .rows = "0 0 11 13:00:00 60",                                                                      \
          .left = "1/0/11",                                                                                  \
          .query = "select encode(group_key, 'escape') from pgdisque.job",                                   \
          .found = "g" },                                                                                    \
        { SQL_ADD_UNIQUE, "nothing",                                                                         \
          .params = { NO_KEYS, "{}", "{}", "{}", "{}", "{}", "{}", "{}", "{}", "{}", "{}", "{}", "{}", "{}", \
                      "{}", NOW } },                                                                         \
        { SQL_PRUNE_KEYS,                                                                                    \
          "keys whose time is over, to the microsecond",                                                     \
          .setup = UNIQUE_KEYS,                                                                              \
          .params = { NOW, "10" },                                                                           \
          .query = "select string_agg(encode(key, 'escape'), ' ') from pgdisque.unique_key",                 \
          .found = "passing" },                                                                              \
        { SQL_PRUNE_KEYS,                                                                                    \
          "no more than the limit, the oldest first",                                                        \
          .setup = UNIQUE_KEYS "; update pgdisque.unique_key set until = until - interval '1 hour'",         \
          .params = { NOW, "1" },                                                                            \
          .query = "select string_agg(encode(key, 'escape'), ' ') from pgdisque.unique_key",                 \
          .found = "passing" },

#endif
