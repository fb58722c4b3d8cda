#ifndef LIST_CASES_H
#define LIST_CASES_H

#include "flow_cases.h"
#include "rerank_cases.h"
#include "session.h"

/* Rows of popped jobs: the end of job 3 was counted, and the row of number 4 is that of a job in another queue. */
#define POPPED_FLOWS                                                                       \
    FLOW_JOBS("(1, null, null), (2, null, null), (3, null, 1::smallint), (4, null, null)") \
    "; update pgdisque.flow_job set ended_at = now() where id = 3"                         \
    "; update pgdisque.flow_job set queue_id = 2 where id = 4"

/* Part of statement_cases.h: queues as lists. */

/* Up to the end, however many bytes. */
#define WHOLE LAST, "1000000"
/* Queued jobs between jobs in all other states. */
#define IN_A_LIST                                                                                    \
    "1/-2/9 body=a; 1/0/-4 body=b; 1/0/1 retry=0 body=c; 1/0/2 ready=12:00:30 deliveries=1 owner=3;" \
    " 1/0/3 ready=12:05:00 wake=12:05:00; 1/0/4 wake=11:00:00; 1/0/5 expires=12:00:00;"              \
    " 1/0/6 deliveries=2 nacks=1 additional_deliveries=3 owner=3 wake=13:00:00 body=d; 2/0/7"
#define NOT_IN_A_LIST                                                                                      \
    "1/0/2 ready=12:00:30 deliveries=1 owner=3; 1/0/3 ready=12:05:00 wake=12:05:00; 1/0/4 wake=11:00:00; " \
    "1/0/5 expires=12:00:00; "
/* The values of attempts, backoff, deadqueue, error, unique_key, unique_until, group_key, headers, progress, errors,
 * delay, replicate, own_expires_at, unique_start and in_flow. */
#define NONE "- - - - - - - - - - 0 1 - - -"
#define UNDELIVERED_D "0 6 11:00:00 13:00:00 60 1 3 \"d\" 2 " NONE
#define LEFT_BEHIND                                                                                \
    "id leased_at own_expires_at owner queue_id ready_at slot sorted_set unique_key unique_start " \
    "unique_until worker | 0"
#define OWN_ENDS                                                                                          \
    "select string_agg(id || '=' || coalesce(to_char(own_expires_at, 'HH24:MI'), '-'), ' ' order by id) " \
    "from pgdisque.job"
#define WITH_A_GROUP "select count(*) from pgdisque.job where group_key is not null"
#define CONSUME_ENDS \
    "select string_agg(id || ':' || coalesce(consume_end, 0), ' ' order by id) from pgdisque.queue"

#define LIST_CASES                                                                                           \
    { SQL_FIND_CONSUME_ENDS,                                                                                 \
      "set once",                                                                                            \
      .setup = "insert into pgdisque.queue (name, consume_end) values ('a', null), ('b', 1), ('c', null)",   \
      .params = { "{1,2,9}", "{2,2,1}" },                                                                    \
      .rows = "1 2; 2 1",                                                                                    \
      .query = CONSUME_ENDS,                                                                                 \
      .found = "1:2 2:1 3:0" },                                                                              \
        { SQL_READ_CONSUME_ENDS, "without missing queues",                                                   \
          .setup = "insert into pgdisque.queue (name, consume_end) values ('a', null), ('b', 1), ('c', 2)",  \
          .params = { "{3,1,9}" }, .rows = "1 -; 3 2" },                                                     \
        { SQL_READ_CONSUME_ENDS, "nothing", .params = { "{}" } },                                            \
        { SQL_FIND_CONSUME_ENDS, "nothing", .params = { "{}", "{}" } },                                      \
        { SQL_POP_FIRST,                                                                                     \
          "queued jobs and no others",                                                                       \
          .jobs = IN_A_LIST,                                                                                 \
          .params = { "1", FIRST, "100", NOW },                                                              \
          .rows = "-2 9 11:00:00 13:00:00 60 0 0 \"a\" 0 " NONE                                              \
                  "; 0 -4 11:00:00 13:00:00 60 0 0 \"b\" 0 " NONE "; "                                       \
                  "0 1 11:00:00 13:00:00 0 0 0 \"c\" 0 " NONE "; " UNDELIVERED_D,                            \
          .left = NOT_IN_A_LIST "2/0/7" },                                                                   \
        { SQL_POP_FIRST,                                                                                     \
          "behind a key, as many as the limit",                                                              \
          .jobs = "1/0/-1; 1/0/1; 1/0/2; 1/0/3",                                                             \
          .params = { "1", "0", "-1", "2", NOW },                                                            \
          .rows =                                                                                            \
              "0 1 11:00:00 13:00:00 60 0 0 \"x\" 0 " NONE "; 0 2 11:00:00 13:00:00 60 0 0 \"x\" 0 " NONE,   \
          .left = "1/0/-1; 1/0/3" },                                                                         \
        { SQL_POP_LAST,                                                                                      \
          "from the other end, as many as the limit",                                                        \
          .jobs = IN_A_LIST,                                                                                 \
          .params = { "1", FIRST, "2", NOW },                                                                \
          .rows = "0 1 11:00:00 13:00:00 0 0 0 \"c\" 0 " NONE "; " UNDELIVERED_D,                            \
          .left = "1/-2/9 body=a; 1/0/-4 body=b; " NOT_IN_A_LIST "2/0/7" },                                  \
        { SQL_POP_FIRST,                                                                                     \
          "with all that it has",                                                                            \
          .jobs = "1/0/1 deliveries=1 attempts=3 backoff=4 deadqueue=q error=e",                             \
          .setup =                                                                                           \
              "update pgdisque.job "                                                                         \
              "set unique_key = 'k', unique_until = test.at('13:30:00'), group_key = 'g', delay = 5, "       \
              "replicate = 2, own_expires_at = test.at('14:00:00'), unique_start = true, in_flow = true",    \
          .params = { "1", FIRST, "100", NOW },                                                              \
          .rows = "0 1 11:00:00 13:00:00 60 0 0 \"x\" 1 3 4 \"q\" \"e\" \"k\" 13:30:00 \"g\" - - - 5 2 "     \
                  "14:00:00 t t",                                                                            \
          .left = "" },                                                                                      \
        { SQL_POP_LAST,                                                                                      \
          "with all that it has",                                                                            \
          .jobs = "1/0/1 attempts=3 backoff=4 deadqueue=q error=e key=k",                                    \
          .params = { "1", FIRST, "1", NOW },                                                                \
          .rows = "0 1 11:00:00 13:00:00 60 0 0 \"x\" 0 3 4 \"q\" \"e\" \"k\" - - - - - 0 1 - - -",          \
          .left = "" },                                                                                      \
        { SQL_MOVE_FIRST,                                                                                    \
          "to their places, in order; no longer leased; of keys none",                                       \
          .jobs = IN_A_LIST,                                                                                 \
          .setup = "update pgdisque.job set unique_key = 'k' where id = 9",                                  \
          .params = { "1", FIRST, "3", NOW, "{2,3,1}", "{50,-51,52}" },                                      \
          .rows = "1 -2 9 11:00:00 - \"a\" 13:00:00 60 - 13:00:00; 2 0 -4 11:00:00 13:00:00 \"b\" 13:00:00 " \
                  "60 - 13:00:00; 3 0 1 "                                                                    \
                  "11:00:00 - \"c\" 13:00:00 0 - 13:00:00",                                                  \
          .left = "1/0/2 ready=12:00:30 deliveries=1 owner=3; 1/0/3 ready=12:05:00 wake=12:05:00; "          \
                  "1/0/4 wake=11:00:00; 1/0/5 expires=12:00:00; "                                            \
                  "1/0/6 wake=13:00:00 deliveries=2 nacks=1 additional_deliveries=3 owner=3 body=d; "        \
                  "1/0/52 ready=12:00:00 retry=0 body=c; 2/0/7; 2/0/50 ready=12:00:00 body=a; "              \
                  "3/0/-51 ready=12:00:00 wake=13:00:00 body=b",                                             \
          .query = "select count(*) from pgdisque.job where unique_key is not null",                         \
          .found = "0" },                                                                                    \
        { SQL_MOVE_FIRST,                                                                                    \
          "fewer than places, behind a key",                                                                 \
          .jobs = "1/0/1; 1/0/2",                                                                            \
          .setup = "update pgdisque.job set group_key = 'g' where id = 2",                                   \
          .params = { "1", "0", "1", "3", NOW, "{2,2,2}", "{7,8,9}" },                                       \
          .rows = "1 0 2 11:00:00 - \"x\" 13:00:00 60 \"g\" 13:00:00",                                       \
          .left = "1/0/1; 2/0/7 ready=12:00:00",                                                             \
          .query = WITH_A_GROUP,                                                                             \
          .found = "0" },                                                                                    \
        { SQL_MOVE_FIRST,                                                                                    \
          "the job keeps its columns, but not its key, slot and worker",                                     \
          .jobs = "1/0/1",                                                                                   \
          .setup = FULL_ROW "; delete from pgdisque.unique_key",                                             \
          .params = { "1", "0", "0", "1", NOW, "{2}", "{7}" },                                               \
          .rows = "1 0 1 11:00:00 13:00:00 \"x\" 13:00:00 60 - 13:00:00",                                    \
          .left = ANY,                                                                                       \
          .query = CHANGED_COLUMNS,                                                                          \
          .found = LEFT_BEHIND },                                                                            \
        { SQL_MOVE_FIRST,                                                                                    \
          "the end of its list stays behind; in the same list it stays; who is to live on is not looked "    \
          "for",                                                                                             \
          .jobs = "1/0/1 wake=13:00:00; 1/0/2 wake=13:00:00; 1/0/3 wake=13:00:00; 1/0/4 wake=13:00:00",      \
          .setup = "update pgdisque.job set own_expires_at = case id when 1 then test.at('15:00:00') "       \
                   "when 2 then test.at('12:10:00') when 3 then test.at('15:00:00') "                        \
                   "else test.at('15:00:00') + interval '60 years' end",                                     \
          .params = { "1", "0", "0", "4", NOW, "{2,2,1,2}", "{6,7,8,9}" },                                   \
          .rows = "1 0 1 11:00:00 15:00:00 \"x\" 13:00:00 60 - 15:00:00; "                                   \
                  "2 0 2 11:00:00 13:00:00 \"x\" 13:00:00 60 - 13:00:00; "                                   \
                  "3 0 3 11:00:00 13:00:00 \"x\" 13:00:00 60 - 13:00:00; "                                   \
                  "4 0 4 11:00:00 - \"x\" 13:00:00 60 - 2090-01-01 15:00:00+00",                             \
          .left = ANY,                                                                                       \
          .query = OWN_ENDS,                                                                                 \
          .found = "6=- 7=- 8=15:00 9=-" },                                                                  \
        { SQL_MOVE_LAST,                                                                                     \
          "all that the job is, likewise",                                                                   \
          .jobs = "1/0/1",                                                                                   \
          .setup = FULL_ROW "; delete from pgdisque.unique_key",                                             \
          .params = { "1", FIRST, "1", NOW, "{2}", "{7}" },                                                  \
          .rows = "1 0 1 11:00:00 13:00:00 \"x\" 13:00:00 60 - 13:00:00",                                    \
          .left = ANY,                                                                                       \
          .query = CHANGED_COLUMNS,                                                                          \
          .found = LEFT_BEHIND },                                                                            \
        { SQL_MOVE_LAST,                                                                                     \
          "from the other end, the last job first",                                                          \
          .jobs = "1/-1/5; 1/0/1; 1/0/2 wake=13:00:00 owner=3 deliveries=1",                                 \
          .setup = "update pgdisque.job set group_key = 'g' where id = 1",                                   \
          .params = { "1", FIRST, "2", NOW, "{2,2}", "{8,9}" },                                              \
          .rows = "1 0 2 11:00:00 13:00:00 \"x\" 13:00:00 60 - 13:00:00; 2 0 1 11:00:00 - \"x\" 13:00:00 "   \
                  "60 \"g\" 13:00:00",                                                                       \
          .left = "1/-1/5; 2/0/8 ready=12:00:00 wake=13:00:00 deliveries=1; 2/0/9 ready=12:00:00",           \
          .query = WITH_A_GROUP,                                                                             \
          .found = "0" },                                                                                    \
        { SQL_REMOVE_FIRST,                                                                                  \
          "the first queued and equal elements",                                                             \
          .jobs = "1/0/1; 1/0/2 body=y; 1/0/3; 1/0/4; 1/0/5 ready=12:00:30 owner=3",                         \
          .params = { "1", FIRST, "2", NOW, "{x}" },                                                         \
          .rows = "0 1 11:00:00 13:00:00 60 - -; 0 3 11:00:00 13:00:00 60 - -",                              \
          .left = "1/0/2 body=y; 1/0/4; 1/0/5 ready=12:00:30 owner=3" },                                     \
        { SQL_REMOVE_FIRST,                                                                                  \
          "behind a key; with its group",                                                                    \
          .jobs = "1/0/1; 1/0/2; 1/0/3 retry=5 expires=14:00:00",                                            \
          .setup = "update pgdisque.job set group_key = 'g' where id = 3",                                   \
          .params = { "1", "0", "2", "2", NOW, "{x}" },                                                      \
          .rows = "0 3 11:00:00 14:00:00 5 \"g\" -",                                                         \
          .left = "1/0/1; 1/0/2" },                                                                          \
        { SQL_REMOVE_LAST,                                                                                   \
          "the last ones",                                                                                   \
          .jobs = "1/0/1; 1/0/2 body=y; 1/0/3; 1/0/4",                                                       \
          .params = { "1", FIRST, "2", NOW, "{x}" },                                                         \
          .rows = "0 3 11:00:00 13:00:00 60 - -; 0 4 11:00:00 13:00:00 60 - -",                              \
          .left = "1/0/1; 1/0/2 body=y" },                                                                   \
        { SQL_LIST_FIRST,                                                                                    \
          "queued jobs, in order",                                                                           \
          .jobs = IN_A_LIST,                                                                                 \
          .params = { "1", FIRST, "1", "9", NOW, WHOLE },                                                    \
          .rows = "257 0 -4 \"b\"; 514 0 1 \"c\"; 771 0 6 \"d\"",                                            \
          .ordered = true },                                                                                 \
        { SQL_LIST_FIRST,                                                                                    \
          "between two keys",                                                                                \
          .jobs = "1/0/1 body=a; 1/0/2 body=b; 1/0/3 body=c; 1/0/4 body=d",                                  \
          .params = { "1", "0", "1", "0", "9", NOW, "0", "4", "9999" },                                      \
          .rows = "257 0 2 \"b\"; 514 0 3 \"c\"",                                                            \
          .ordered = true },                                                                                 \
        { SQL_LIST_LAST,                                                                                     \
          "the other way round, as many as the limit",                                                       \
          .jobs = IN_A_LIST,                                                                                 \
          .params = { "1", FIRST, "1", "2", NOW, WHOLE },                                                    \
          .rows = "257 0 1 \"c\"; 514 0 -4 \"b\"",                                                           \
          .ordered = true },                                                                                 \
        { SQL_LIST_FIRST,                                                                                    \
          "as many as begin within the bytes; skipped elements do not count",                                \
          .jobs = "1/0/1 body=aaaa; 1/0/2 body=bb; 1/0/3 body=c; 1/0/4",                                     \
          .params = { "1", FIRST, "1", "9", NOW, LAST, "259" },                                              \
          .rows = "258 0 2 \"bb\"; 515 0 3 \"c\"",                                                           \
          .ordered = true },                                                                                 \
        { SQL_LIST_LAST, "one element of any size", .jobs = "1/0/1; 1/0/2 body=bb",                          \
          .params = { "1", FIRST, "0", "9", NOW, LAST, "1" }, .rows = "258 0 2 \"bb\"" },                    \
        { SQL_LIST_LAST, "between two keys", .jobs = "1/0/1 body=a; 1/0/2 body=b; 1/0/3 body=c",             \
          .params = { "1", "0", "1", "0", "9", NOW, "0", "3", "9999" }, .rows = "257 0 2 \"b\"" },           \
        { SQL_WHOLE_FIRST,                                                                                   \
          "the bodies, after the offset",                                                                    \
          .jobs = "1/0/1 body=aaaa; 1/0/2 body=bb; 1/0/3 body=c",                                            \
          .params = { "1", FIRST, "1", "9", NOW, LAST, "516" },                                              \
          .rows = "\"bb\"; \"c\"",                                                                           \
          .ordered = true },                                                                                 \
        { SQL_WHOLE_FIRST, "none if they have too many bytes", .jobs = "1/0/1; 1/0/2 body=bb; 1/0/3 body=c", \
          .params = { "1", FIRST, "1", "9", NOW, LAST, "515" }, .rows = "" },                                \
        { SQL_WHOLE_LAST,                                                                                    \
          "the bodies between two keys, the other way round",                                                \
          .jobs = "1/0/1 body=a; 1/0/2 body=b; 1/0/3 body=c; 1/0/4 body=d",                                  \
          .params = { "1", "0", "1", "0", "9", NOW, "0", "4", "9999" },                                      \
          .rows = "\"c\"; \"b\"",                                                                            \
          .ordered = true },                                                                                 \
        { SQL_FIND_FIRST, "among queued elements; without the total", .jobs = IN_A_LIST,                     \
          .params = { "1", FIRST, "NULL", NOW, "{c}", "0", "NULL", "f" }, .rows = "2 -" },                   \
        { SQL_FIND_FIRST,                                                                                    \
          "behind the skipped elements, up to the wanted number",                                            \
          .jobs = "1/0/1; 1/0/2 body=y; 1/0/3; 1/0/4; 1/0/5",                                                \
          .params = { "1", FIRST, "NULL", NOW, "{x}", "1", "2", "t" },                                       \
          .rows = "2 5; 3 5",                                                                                \
          .ordered = true },                                                                                 \
        { SQL_FIND_FIRST,                                                                                    \
          "no further than that; behind a key",                                                              \
          .jobs = "1/0/1; 1/0/2; 1/0/3 body=y; 1/0/4; 1/0/5",                                                \
          .params = { "1", "0", "1", "3", NOW, "{x}", "0", "NULL", "f" },                                    \
          .rows = "0 -; 2 -",                                                                                \
          .ordered = true },                                                                                 \
        { SQL_FIND_LAST, "counted from the last element, with the total of queued elements",                 \
          .jobs = IN_A_LIST, .params = { "1", FIRST, "NULL", NOW, "{b}", "0", "1", "t" }, .rows = "2 4" },   \
        { SQL_FIND_LAST,                                                                                     \
          "no further than that",                                                                            \
          .jobs = "1/0/1; 1/0/2; 1/0/3 body=y; 1/0/4",                                                       \
          .params = { "1", FIRST, "3", NOW, "{x}", "0", "NULL", "f" },                                       \
          .rows = "0 -; 2 -",                                                                                \
          .ordered = true },                                                                                 \
        { SQL_SET_ELEMENT,                                                                                   \
          "a queued element, counted from the first",                                                        \
          .jobs = IN_A_LIST,                                                                                 \
          .params = { "1", FIRST, NOW, "2", "NULL", "{new}" },                                               \
          .rows = "0 1 t",                                                                                   \
          .left =                                                                                            \
              "1/-2/9 body=a; 1/0/-4 body=b; 1/0/1 retry=0 body=new; " NOT_IN_A_LIST                         \
              "1/0/6 wake=13:00:00 deliveries=2 nacks=1 additional_deliveries=3 owner=3 body=d; 2/0/7" },    \
        { SQL_SET_ELEMENT,                                                                                   \
          "all else that the job is stays",                                                                  \
          .jobs = "1/0/1",                                                                                   \
          .setup = FULL_ROW,                                                                                 \
          .params = { "1", FIRST, NOW, "0", "NULL", "{new}" },                                               \
          .rows = "0 1 t",                                                                                   \
          .left = ANY,                                                                                       \
          .query = CHANGED_COLUMNS,                                                                          \
          .found = "body | 0 | 0" },                                                                         \
        { SQL_SET_ELEMENT,                                                                                   \
          "from the last one on",                                                                            \
          .jobs = "1/0/1; 1/0/2; 1/0/3",                                                                     \
          .params = { "1", FIRST, NOW, "NULL", "1", "{new}" },                                               \
          .rows = "0 2 t",                                                                                   \
          .left = "1/0/1; 1/0/2 body=new; 1/0/3" },                                                          \
        { SQL_SET_ELEMENT, "none is there", .jobs = "1/0/1; 1/0/2; 1/0/3",                                   \
          .params = { "1", "0", "1", NOW, "2", "NULL", "{new}" }, .left = "1/0/1; 1/0/2; 1/0/3" },           \
        { SQL_TRIM_LIST,                                                                                     \
          "queued elements between two places",                                                              \
          .jobs = IN_A_LIST,                                                                                 \
          .params = { "1", FIRST, NOW, "{1,2}", "{1,1}", "{1,2}" },                                          \
          .rows = "-2 9 11:00:00 13:00:00 60 - - t; 0 6 11:00:00 13:00:00 60 - - f",                         \
          .left = "1/0/-4 body=b; 1/0/1 retry=0 body=c; " NOT_IN_A_LIST "2/0/7" },                           \
        { SQL_TRIM_LIST,                                                                                     \
          "a number of elements from the last one on",                                                       \
          .jobs = "1/0/1; 1/0/2; 1/0/3; 1/0/4",                                                              \
          .params = { "1", FIRST, NOW, "{1}", "{2}", "{1}" },                                                \
          .rows = "0 1 11:00:00 13:00:00 60 - - t; 0 2 11:00:00 13:00:00 60 - - t",                          \
          .left = "1/0/3; 1/0/4" },                                                                          \
        { SQL_TRIM_LIST,                                                                                     \
          "so many less at the last end, behind a key",                                                      \
          .jobs = "1/0/1; 1/0/2; 1/0/3; 1/0/4",                                                              \
          .params = { "1", "0", "1", NOW, "{1,0}", "{2,1}", "{2,1}" },                                       \
          .rows = "0 4 11:00:00 13:00:00 60 - - f",                                                          \
          .left = "1/0/1; 1/0/2; 1/0/3" },                                                                   \
        { SQL_TRIM_LIST, "fewer than may stay", .jobs = "1/0/1; 1/0/2",                                      \
          .params = { "1", FIRST, NOW, "{5,5}", "{2,1}", "{1,2}" }, .left = "1/0/1; 1/0/2" },                \
        { SQL_TRIM_LIST,                                                                                     \
          "fewer than go",                                                                                   \
          .jobs = "1/0/1; 1/0/2",                                                                            \
          .params = { "1", FIRST, NOW, "{5}", "{1}", "{1}" },                                                \
          .rows = "0 1 11:00:00 13:00:00 60 - - t; 0 2 11:00:00 13:00:00 60 - - t",                          \
          .left = "" },                                                                                      \
        { SQL_TRIM_LIST,                                                                                     \
          "no element stays, and none is removed twice",                                                     \
          .jobs = "1/0/1; 1/0/2; 1/0/3",                                                                     \
          .params = { "1", FIRST, NOW, "{2,0}", "{1,1}", "{1,2}" },                                          \
          .rows = "0 1 11:00:00 13:00:00 60 - - t; 0 2 11:00:00 13:00:00 60 - - t; 0 3 11:00:00 13:00:00 "   \
                  "60 - - f",                                                                                \
          .left = "" },                                                                                      \
        { SQL_PUT_BACK_JOBS,                                                                                 \
          "as they were, unless they are there",                                                             \
          .jobs = "1/0/2",                                                                                   \
          .params = { "{1,2,-3}",                                                                            \
                      "{@11:00:00,@11:00:00,@11:00:00}",                                                     \
                      "{@13:00:00,@13:00:00,@14:00:00}",                                                     \
                      "{@13:00:00,@13:00:00,@14:00:00}",                                                     \
                      "{1,1,2}",                                                                             \
                      "{60,60,5}",                                                                           \
                      "{x,y,z}",                                                                             \
                      "{-1,0,0}",                                                                            \
                      "{3,0,0}",                                                                             \
                      "{2,0,0}",                                                                             \
                      "{1,0,0}",                                                                             \
                      "{5,NULL,NULL}",                                                                       \
                      "{6,NULL,NULL}",                                                                       \
                      "{q,NULL,NULL}",                                                                       \
                      "{e,NULL,NULL}",                                                                       \
                      "{k,NULL,NULL}",                                                                       \
                      "{@13:30:00,NULL,NULL}",                                                               \
                      "{NULL,NULL,g}",                                                                       \
                      "{}",                                                                                  \
                      "{}",                                                                                  \
                      "{}",                                                                                  \
                      "{7,0,0}",                                                                             \
                      "{2,1,1}",                                                                             \
                      "{@14:30:00,NULL,NULL}",                                                               \
                      "{1,0,0}",                                                                             \
                      "{0,0,0}" },                                                                           \
          .rows = "1 -1 1 -; 2 0 -3 \"g\"",                                                                  \
          .left = "1/-1/1 wake=13:00:00 delay=7 deliveries=3 nacks=2 additional_deliveries=1 replicate=2 "   \
                  "attempts=5 backoff=6 "                                                                    \
                  "deadqueue=q "                                                                             \
                  "error=e; 1/0/2; "                                                                         \
                  "2/0/-3 ready=infinity expires=14:00:00 wake=14:00:00 retry=5 body=z",                     \
          .query = "select unique_key, unique_until, (select group_key from pgdisque.job where id = -3), "   \
                   "own_expires_at, unique_start, in_flow from pgdisque.job where id = 1",                   \
          .found = "\"k\" 13:30:00 \"g\" 14:30:00 t -" },                                                    \
        { SQL_PUT_BACK_JOBS,                                                                                 \
          "in their workflows, unless their ends were counted, or the number is that of another job",        \
          .setup = POPPED_FLOWS,                                                                             \
          .params = { "{1,2,3,4,5}",                                                                         \
                      "{@11:00:00,@11:00:00,@11:00:00,@11:00:00,@11:00:00}",                                 \
                      "{@13:00:00,@13:00:00,@13:00:00,@13:00:00,@13:00:00}",                                 \
                      "{@13:00:00,@13:00:00,@13:00:00,@13:00:00,@13:00:00}",                                 \
                      "{1,1,1,1,1}",                                                                         \
                      "{60,60,60,60,60}",                                                                    \
                      "{x,x,x,x,x}",                                                                         \
                      "{0,0,0,0,0}",                                                                         \
                      "{0,0,0,0,0}",                                                                         \
                      "{0,0,0,0,0}",                                                                         \
                      "{0,0,0,0,0}",                                                                         \
                      "{}",                                                                                  \
                      "{}",                                                                                  \
                      "{}",                                                                                  \
                      "{}",                                                                                  \
                      "{}",                                                                                  \
                      "{}",                                                                                  \
                      "{}",                                                                                  \
                      "{}",                                                                                  \
                      "{}",                                                                                  \
                      "{}",                                                                                  \
                      "{0,0,0,0,0}",                                                                         \
                      "{1,1,1,1,1}",                                                                         \
                      "{}",                                                                                  \
                      "{0,0,0,0,0}",                                                                         \
                      "{1,0,1,1,1}" },                                                                       \
          .rows = "1 0 1 -; 1 0 2 -; 1 0 3 -; 1 0 4 -; 1 0 5 -",                                             \
          .left = ANY,                                                                                       \
          .query = "select string_agg(j.id || ':' || coalesce(j.in_flow::text, '') || ':' || "               \
                   "coalesce(f.turn::text, ''), ' ' order by j.id) from pgdisque.job as j "                  \
                   "left join pgdisque.flow_job as f on f.id = j.id",                                        \
          .found = "1:true:1 2::0 3::0 4::0 5::" },                                                          \
        { SQL_PUT_BACK_JOBS, "nothing",                                                                      \
          .params = { NO_KEYS, "{}", "{}", "{}", "{}", "{}", "{}", "{}", "{}", "{}", "{}", "{}", "{}", "{}", \
                      "{}", "{}" } },                                                                        \
    {                                                                                                        \
        SQL_EXPIRE_IN_ORDER, "not what lives longer",                                                        \
            .jobs = "1/0/1 expires=12:00:00; 1/0/2; 1/0/3 expires=11:00:00",                                 \
            .params = { "{1}", "{0}", "{0}", "{5}", "100", NOW },                                            \
            .rows = "1 0 1 11:00:00 12:00:00 60 - f -; 1 0 3 11:00:00 11:00:00 60 - f -", .left = "1/0/2"    \
    }

#endif
