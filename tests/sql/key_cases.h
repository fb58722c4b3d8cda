#ifndef KEY_CASES_H
#define KEY_CASES_H

#include "list_cases.h"

/* Part of statement_cases.h: lists as Redis' keys. */

#define ALL_OF_A_LIST "1", "-32768", "-9223372036854775808", "32767", "9223372036854775807", "100", NOW
#define FROM_2_TO_4 "1", "0", "1", "0", "4", "2", NOW
#define IN_A_GROUP "update pgdisque.job set group_key = 'g' where id = 1"
/* A row with something in every column that is left behind or kept. */
#define KEYED_ROW                                                                                           \
    "update pgdisque.job set delay = 1, nacks = 3, additional_deliveries = 4, replicate = 2, unique_key = " \
    "'k', "                                                                                                 \
    "unique_until = ready_at, worker = 'w', slot = 1, attempts = 9, backoff = 7, leased_at = ready_at, "    \
    "deadqueue = 'd', error = 'e', group_key = 'g', own_expires_at = expires_at, headers = '{}', progress " \
    "= '{}', errors = '[]'"
#define RENAMED_ROW                                                                                      \
    "select concat_ws(' ', delay, nacks, additional_deliveries, replicate, unique_key is null and "      \
    "unique_until is "                                                                                   \
    "null and worker is null and slot is null and leased_at is null and group_key is null and owner is " \
    "null, attempts, backoff, encode(deadqueue, 'escape'), encode(error, 'escape'), own_expires_at = "   \
    "expires_at, headers, progress, errors) from pgdisque.job"

#define KEY_CASES                                                                                            \
    { SQL_EMPTY_LIST,                                                                                        \
      "queued jobs and no others; the end of the queue",                                                     \
      .jobs = IN_A_LIST,                                                                                     \
      .setup = IN_A_GROUP,                                                                                   \
      .params = { ALL_OF_A_LIST },                                                                           \
      .rows = "-2 9 0 6 11:00:00 13:00:00 60 - -; 0 -4 0 6 11:00:00 13:00:00 60 - -; "                       \
              "0 1 0 6 11:00:00 13:00:00 0 \"g\" -; 0 6 0 6 11:00:00 13:00:00 60 - -",                       \
      .left = NOT_IN_A_LIST "2/0/7" },                                                                       \
        { SQL_EMPTY_LIST,                                                                                    \
          "between two keys, as many as the limit",                                                          \
          .jobs = "1/-1/9; 1/0/1; 1/0/2; 1/0/3; 1/0/4; 1/0/5",                                               \
          .params = { FROM_2_TO_4 },                                                                         \
          .rows = "0 2 0 5 11:00:00 13:00:00 60 - -; 0 3 0 5 11:00:00 13:00:00 60 - -",                      \
          .left = "1/-1/9; 1/0/1; 1/0/4; 1/0/5" },                                                           \
        { SQL_EMPTY_LIST,                                                                                    \
          "not behind the second key",                                                                       \
          .jobs = "1/0/4; 1/0/5",                                                                            \
          .params = { FROM_2_TO_4 },                                                                         \
          .rows = "0 4 0 5 11:00:00 13:00:00 60 - -",                                                        \
          .left = "1/0/5" },                                                                                 \
        { SQL_EMPTY_QUEUE,                                                                                   \
          "jobs in all states, as many as the limit",                                                        \
          .jobs = "1/-1/9; 1/0/1; 1/0/2 ready=12:00:30 owner=3; 1/0/3; 1/0/4; 1/0/5",                        \
          .params = { FROM_2_TO_4 },                                                                         \
          .rows = "0 2 0 5 12:00:30 13:00:00 60 - -; 0 3 0 5 11:00:00 13:00:00 60 - -",                      \
          .left = "1/-1/9; 1/0/1; 1/0/4; 1/0/5" },                                                           \
        { SQL_EMPTY_LIST, "nothing", .params = { ALL_OF_A_LIST } },                                          \
        { SQL_DATE_LIST,                                                                                     \
          "queued jobs get another end, with a wake time",                                                   \
          .jobs = IN_A_LIST,                                                                                 \
          .params = { ALL_OF_A_LIST, "@12:30:00", "@12:30:00", "infinity" },                                 \
          .rows = "-2 9 0 6; 0 -4 0 6; 0 1 0 6; 0 6 0 6",                                                    \
          .left = "1/-2/9 expires=12:30:00 wake=12:30:00 body=a; 1/0/-4 expires=12:30:00 wake=12:30:00 "     \
                  "body=b; 1/0/1 expires=12:30:00 wake=12:30:00 retry=0 body=c; " NOT_IN_A_LIST              \
                  "1/0/6 expires=12:30:00 wake=12:30:00 deliveries=2 nacks=1 additional_deliveries=3 "       \
                  "owner=3 body=d; "                                                                         \
                  "2/0/7" },                                                                                 \
        { SQL_DATE_LIST,                                                                                     \
          "between two keys, jobs that expire before; without a wake time",                                  \
          .jobs = "1/0/1; 1/0/2 wake=13:00:00; 1/0/3 expires=14:00:00; 1/0/4; 1/0/5",                        \
          .params = { FROM_2_TO_4, "@20:00:00", "NULL", "@13:30:00" },                                       \
          .rows = "0 2 0 5; 0 4 0 5",                                                                        \
          .left = "1/0/1; 1/0/2 expires=20:00:00; 1/0/3 expires=14:00:00; 1/0/4 expires=20:00:00; 1/0/5",    \
          .query = OWN_ENDS,                                                                                 \
          .found = "1=- 2=13:00 3=- 4=13:00 5=-" },                                                          \
        { SQL_DATE_LIST,                                                                                     \
          "once more: the end that they had by themselves is kept",                                          \
          .jobs = "1/0/2 expires=12:20:00 wake=12:20:00",                                                    \
          .setup = "update pgdisque.job set own_expires_at = test.at('15:00:00')",                           \
          .params = { FROM_2_TO_4, "@12:30:00", "@12:30:00", "infinity" },                                   \
          .rows = "0 2 0 2",                                                                                 \
          .left = ANY,                                                                                       \
          .query = OWN_ENDS,                                                                                 \
          .found = "2=15:00" },                                                                              \
        { SQL_DATE_LIST, "nothing", .params = { ALL_OF_A_LIST, NOW, NOW, NOW } },                            \
        { SQL_LIST_LIFE, "the longest life of the queued jobs",                                              \
          .jobs = "1/0/1 expires=12:10:00; 1/0/2 expires=12:40:00; 1/0/3 expires=12:20:00; "                 \
                  "1/0/4 ready=12:00:30 owner=3; 1/0/5 wake=11:00:00; 2/0/7",                                \
          .params = { "1", NOW, "@20:00:00" }, .rows = "12:40:00" },                                         \
        { SQL_LIST_LIFE, "a job without an end", .jobs = "1/0/1; 1/0/2 expires=21:00:00; 1/0/3",             \
          .params = { "1", NOW, "@20:00:00" }, .rows = "infinity" },                                         \
        { SQL_LIST_LIFE, "none is queued", .jobs = "1/0/5 wake=11:00:00; 1/0/6 expires=12:00:00",            \
          .params = { "1", NOW, "@20:00:00" }, .rows = "-" },                                                \
        { SQL_RENAME_LIST,                                                                                   \
          "the queued jobs replace the queued jobs of the other queue",                                      \
          .jobs = IN_A_LIST "; 2/0/-8; 2/0/9 ready=12:00:30 owner=3 deliveries=1",                           \
          .setup = IN_A_GROUP,                                                                               \
          .params = { "1", "2", "1", "10", "f", NOW, "10" },                                                 \
          .rows = "- -2 -4 - - - - - 13:00:00 1 4 2; 1 -2 9 11:00:00 13:00:00 60 - - - - - -; "              \
                  "1 0 -4 11:00:00 13:00:00 60 - - - - - -; 1 0 1 11:00:00 13:00:00 0 \"g\" - - - - -; "     \
                  "1 0 6 11:00:00 13:00:00 60 - - 13:00:00 - - -; 2 0 -8 11:00:00 13:00:00 60 - - - - - -; " \
                  "2 0 7 11:00:00 13:00:00 60 - - - - - -",                                                  \
          .left = NOT_IN_A_LIST                                                                              \
          "2/-2/9 ready=12:00:00 body=a; 2/0/-4 ready=12:00:00 body=b; "                                     \
          "2/0/1 ready=12:00:00 retry=0 body=c; "                                                            \
          "2/0/6 ready=12:00:00 wake=13:00:00 deliveries=2 nacks=1 additional_deliveries=4 body=d; "         \
          "2/0/9 ready=12:00:30 deliveries=1 owner=3" },                                                     \
        { SQL_RENAME_LIST,                                                                                   \
          "the reverse: jobs before others do not expire in order",                                          \
          .jobs = "1/0/1; 1/0/-2; 1/0/3 wake=13:00:00",                                                      \
          .params = { "1", "2", "-1", "3", "t", NOW, "10" },                                                 \
          .rows = "- 0 -3 - - - - - 13:00:00 1 3 0; 1 0 -2 11:00:00 13:00:00 60 - - - - - -; "               \
                  "1 0 1 11:00:00 13:00:00 60 - - 13:00:00 - - -; "                                          \
                  "1 0 3 11:00:00 13:00:00 60 - - 13:00:00 - - -",                                           \
          .left = "2/0/-3 ready=12:00:00 wake=13:00:00; 2/0/-1 ready=12:00:00 wake=13:00:00; "               \
                  "2/0/2 ready=12:00:00" },                                                                  \
        { SQL_RENAME_LIST,                                                                                   \
          "of many jobs the result names only those with a group, in a flow, or with an ended lease",        \
          .jobs = "1/0/1; 1/0/2; 1/0/3 ready=11:59:00 owner=3 deliveries=1; 2/0/4; 2/0/5",                   \
          .setup = "update pgdisque.job set group_key = 'g' where id in (2, 5)",                             \
          .params = { "1", "2", "1", "10", "f", NOW, "3" },                                                  \
          .rows = "- 0 1 - - - - - - 1 3 2; 1 0 2 11:00:00 13:00:00 60 \"g\" - - - - -; "                    \
                  "1 0 3 11:59:00 13:00:00 60 - - - - - -; 2 0 5 11:00:00 13:00:00 60 \"g\" - - - - -",      \
          .left = ANY },                                                                                     \
        { SQL_RENAME_LIST,                                                                                   \
          "the job keeps its columns, but not its key, group and slot",                                      \
          .jobs = "1/0/1",                                                                                   \
          .setup = KEYED_ROW,                                                                                \
          .params = { "1", "2", "1", "1", "f", NOW, "10" },                                                  \
          .rows = "- 0 1 - - - - - - 1 1 0; 1 0 1 11:00:00 13:00:00 60 \"g\" - - - - -",                     \
          .left = ANY,                                                                                       \
          .query = RENAMED_ROW,                                                                              \
          .found = "1 3 4 2 t 9 7 d e t {} {} []" },                                                         \
        { SQL_RENAME_LIST, "nothing is there", .jobs = "1/0/1 ready=12:00:30 owner=3; 2/0/2",                \
          .params = { "1", "2", "1", "10", "f", NOW, "10" }, .rows = "- - - - - - - - - 0 0 0" },            \
        { SQL_RENAME_LIST, "too many together", .jobs = "1/0/1; 1/0/2; 2/0/3",                               \
          .params = { "1", "2", "1", "2", "f", NOW, "10" }, .rows = "- - - - - - - - - 2 0 0" },             \
        { SQL_RENAME_LIST, "not the only jobs", .jobs = "1/0/1; 1/0/2; 2/0/3",                               \
          .params = { "1", "2", "1", "2", "t", NOW, "10" }, .rows = "- - - - - - - - - 3 0 0" },

#endif
