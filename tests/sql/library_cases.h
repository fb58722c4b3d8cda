#ifndef LIBRARY_CASES_H
#define LIBRARY_CASES_H

#include "session.h"

/* Cases of the keys of client libraries. */

#define VALUES_PUT                                                               \
    "insert into pgdisque.library_value (key, field, value, expires_at) values " \
    "('k', 'a', '1', 'infinity'), ('k', 'b', '2', test.at('12:30:00')), "        \
    "('k', 'c', '3', test.at('11:30:00')), ('l', '', 'text', 'infinity')"
#define VALUES                                                                                           \
    "select string_agg(concat_ws(' ', encode(key, 'escape'), encode(field, 'escape'), encode(value, "    \
    "'escape'), "                                                                                        \
    "case when expires_at < 'infinity' then to_char(expires_at at time zone 'UTC', 'HH24:MI') else '-' " \
    "end), "                                                                                             \
    "'; ' order by key, field) from pgdisque.library_value"
/* 1: delayed and in the set. 2: the same, later. 3: due, and no member any more. 4: of another set. */
#define MEMBERS                                                                                          \
    "update pgdisque.job set sorted_set = case id when 4 then 'retry' when 5 then null else 'schedule' " \
    "end, "                                                                                              \
    "body = chr((96 + id)::integer)::bytea"
#define FIVE_MEMBERS                                                                                \
    "1/0/1 ready=12:05:00 wake=12:05:00; 1/0/2 ready=12:06:00 wake=12:06:00; 1/0/3 wake=13:00:00; " \
    "1/0/4 ready=12:05:00 wake=12:05:00; 1/0/5 ready=12:05:00 wake=12:05:00"
#define DEAD_MEMBERS                                                                                  \
    "call test.die('2/0/1 attempts=1; 2/0/2 attempts=1'); update pgdisque.dead_job set sorted_set = " \
    "'dead', "                                                                                        \
    "body = chr((99 + id)::integer)::bytea"
#define IDS "select string_agg(id::text, ' ' order by id) from pgdisque.job"
#define EVER "-infinity", "infinity"

static const struct stmt_case library_cases[] = {
    { SQL_PUT_VALUES, "new, present and expired fields", .setup = VALUES_PUT,
      .params = { "{k,k,k,m}", "{a,c,d,x}", "{7,8,9,5}", "0", "NULL", NOW, "100", "10" },
      .rows = "\"a\" \"7\" t; \"c\" \"8\" f; \"d\" \"9\" f; \"x\" \"5\" f", .query = VALUES,
      .found = "k a 7 -; k b 2 12:30; k c 8 -; k d 9 -; l  text -; m x 5 -" },
    { SQL_PUT_VALUES, "with an end", .setup = VALUES_PUT,
      .params = { "{l}", "{\"\"}", "{new}", "0", "@12:10:00", NOW, "100", "10" }, .rows = "\"\" \"new\" t",
      .query = VALUES, .found = "k a 1 -; k b 2 12:30; k c 3 11:30; l  new 12:10" },
    { SQL_PUT_VALUES, "only absent fields", .setup = VALUES_PUT,
      .params = { "{k,k,k}", "{a,c,d}", "{7,8,9}", "1", "NULL", NOW, "100", "10" },
      .rows = "\"c\" \"8\" f; \"d\" \"9\" f", .query = VALUES,
      .found = "k a 1 -; k b 2 12:30; k c 8 -; k d 9 -; l  text -" },
    { SQL_PUT_VALUES, "sums, up to the largest one", .setup = VALUES_PUT,
      .params = { "{k,k,k,k}", "{a,b,c,d}", "{7,200,8,9}", "2", "NULL", NOW, "100", "10" },
      .rows = "\"a\" \"8\" t; \"b\" \"100\" t; \"c\" \"8\" f; \"d\" \"9\" f", .query = VALUES,
      .found = "k a 8 -; k b 100 12:30; k c 8 -; k d 9 -; l  text -" },
    { SQL_PUT_VALUES, "no sums with a text, nor of more than 64 bits",
      .setup = VALUES_PUT "; update "
                          "pgdisque.library_value set value = '9223372036854775807' where field = 'a'",
      .params = { "{k,k,l,k}", "{a,b,\"\",c}", "{1,-5,1,9}", "2", "NULL", NOW, "9223372036854775807", "10" },
      .rows = "\"\" \"text\" -; \"a\" \"9223372036854775807\" -; \"b\" \"-3\" t; \"c\" \"9\" f",
      .query = VALUES, .found = "k a 9223372036854775807 -; k b -3 12:30; k c 9 -; l  text -" },
    { SQL_PUT_VALUES, "an expired text is no value",
      .setup = VALUES_PUT "; update "
                          "pgdisque.library_value set value = 'text' where field = 'c'",
      .params = { "{k}", "{c}", "{-9}", "2", "NULL", NOW, "100", "10" }, .rows = "\"c\" \"-9\" f",
      .query = VALUES, .found = "k a 1 -; k b 2 12:30; k c -9 -; l  text -" },
    { SQL_PUT_VALUES, "too many fields", .setup = VALUES_PUT,
      .params = { "{k,k}", "{a,d}", "{7,8}", "0", "NULL", NOW, "100", "3" }, .query = VALUES,
      .found = "k a 1 -; k b 2 12:30; k c 3 11:30; l  text -" },
    { SQL_PUT_VALUES, "a field that a full key has", .setup = VALUES_PUT,
      .params = { "{k}", "{a}", "{7}", "0", "NULL", NOW, "100", "3" }, .rows = "\"a\" \"7\" t",
      .query = VALUES, .found = "k a 7 -; k b 2 12:30; k c 3 11:30; l  text -" },
    { SQL_READ_VALUES, "some fields, and all of a key", .setup = VALUES_PUT,
      .params = { "{k,k,l,k}", "{b,c,NULL,NULL}", NOW },
      .rows = "1 \"b\" \"2\" 12:30:00; 3 \"\" \"text\" infinity; 4 \"a\" \"1\" infinity; 4 \"b\" \"2\" "
              "12:30:00" },
    { SQL_DROP_VALUES, "some fields, and all of a key", .setup = VALUES_PUT,
      .params = { "{k,k,k,l}", "{b,c,x,NULL}", NOW }, .rows = "1 t; 2 f; 4 t", .query = VALUES,
      .found = "k a 1 -" },
    { SQL_DATE_VALUES, "a key", .setup = VALUES_PUT, .params = { "k", "@12:40:00", NOW, "false" },
      .rows = "t; t", .query = VALUES, .found = "k a 1 12:40; k b 2 12:40; k c 3 11:30; l  text -" },
    { SQL_DATE_VALUES, "fields without an end", .setup = VALUES_PUT,
      .params = { "k", "@12:40:00", NOW, "true" }, .rows = "t", .query = VALUES,
      .found = "k a 1 12:40; k b 2 12:30; k c 3 11:30; l  text -" },
    { SQL_PRUNE_VALUES, "expired fields", .setup = VALUES_PUT, .params = { NOW, "10" }, .rows = ANY,
      .query = VALUES, .found = "k a 1 -; k b 2 12:30; l  text -" },
    { SQL_ADD_MEMBERS, "new ones, one in place of a member, one in the past", .jobs = FIVE_MEMBERS,
      .setup = MEMBERS,
      .params = { "{11,12,13}", "{@12:10:00,@12:20:00,@11:00:00}", "{a,x,y}", "1", "schedule", "60", "600",
                  "-2", "false", NOW },
      .rows = "f 1 0 1 12:05:00 290000-01-01 00:00:00+00 -; t 1 -2 11 12:10:00 - -; t 1 -2 12 12:20:00 - -; "
              "t 1 -2 13 12:00:00 - -",
      .left = ANY,
      .query = "select string_agg(concat_ws(' ', id, encode(body, 'escape'), delay, retry, "
               "extract(epoch from expires_at - ready_at)::integer, wake_at = ready_at), '; ' order by id) "
               "from pgdisque.job where id > 10 and sorted_set = 'schedule'",
      .found = "11 a 600 60 600 t; 12 x 1200 60 600 t; 13 y 0 60 600 t" },
    { SQL_ADD_MEMBERS, "a time that is added", .jobs = FIVE_MEMBERS, .setup = MEMBERS,
      .params = { "{11}", "{1970-01-01 00:01:00+00}", "{a}", "1", "schedule", "60", "600", "0", "true", NOW },
      .rows = "f 1 0 1 12:05:00 290000-01-01 00:00:00+00 -; t 1 0 11 12:06:00 - -", .left = ANY, .query = IDS,
      .found = "2 3 4 5 11" },
    { SQL_ADD_DEAD_MEMBERS, "a new one, and one in place of a member", .setup = DEAD_MEMBERS,
      .params = { "{11,12}", "{@12:10:00,@12:20:00}", "{d,x}", "2", "dead", "60", "600", "0", "false", NOW },
      .rows = "f 2 0 1 11:00:00 -; t 2 0 11 12:10:00 -; t 2 0 12 12:20:00 -" },
    { SQL_READ_MEMBERS, "delayed jobs of the set in their order", .jobs = FIVE_MEMBERS, .setup = MEMBERS,
      .params = { "schedule", EVER, "0", "10", "0", "false", NOW, "9999" },
      .rows = "12:05:00 \"a\"; 12:06:00 \"b\"", .ordered = true, .left = ANY },
    { SQL_READ_MEMBERS, "backwards, from an offset on, in a range", .jobs = FIVE_MEMBERS, .setup = MEMBERS,
      .params = { "schedule", "@12:00:00", "@12:06:00", "1", "10", "0", "true", NOW, "9999" },
      .rows = "12:05:00 \"a\"", .left = ANY },
    { SQL_READ_MEMBERS, "without the last one; the bytes", .jobs = FIVE_MEMBERS, .setup = MEMBERS,
      .params = { "schedule", EVER, "0", "10", "1", "false", NOW, "256" }, .rows = "12:05:00 -",
      .left = ANY },
    { SQL_READ_MEMBERS, "dead jobs", .setup = DEAD_MEMBERS,
      .params = { "dead", EVER, "0", "10", "0", "true", NOW, "9999" },
      .rows = "11:00:00 \"e\"; 11:00:00 \"d\"", .ordered = true },
    { SQL_COUNT_MEMBERS, "delayed jobs", .jobs = FIVE_MEMBERS, .setup = MEMBERS,
      .params = { "schedule", NOW }, .rows = "2", .left = ANY },
    { SQL_COUNT_MEMBERS, "dead jobs", .setup = DEAD_MEMBERS, .params = { "dead", NOW }, .rows = "2" },
    { SQL_REMOVE_RANGE, "the first one", .jobs = FIVE_MEMBERS, .setup = MEMBERS,
      .params = { "schedule", EVER, "0", "1", "0", "false", NOW },
      .rows = "f 1 0 1 290000-01-01 00:00:00+00 - 12:05:00 \"a\"", .left = ANY, .query = IDS,
      .found = "2 3 4 5" },
    { SQL_REMOVE_RANGE, "all but the last one, backwards", .jobs = FIVE_MEMBERS, .setup = MEMBERS,
      .params = { "schedule", EVER, "1", "10", "0", "true", NOW },
      .rows = "f 1 0 1 290000-01-01 00:00:00+00 - 12:05:00 \"a\"", .left = ANY, .query = IDS,
      .found = "2 3 4 5" },
    { SQL_REMOVE_RANGE, "dead jobs", .setup = DEAD_MEMBERS,
      .params = { "dead", EVER, "0", "10", "0", "false", NOW },
      .rows = "t 2 0 1 - - 11:00:00 \"d\"; t 2 0 2 - - 11:00:00 \"e\"", .query = "select test.dead()",
      .found = "" },
    { SQL_REMOVE_MEMBERS, "delayed jobs", .jobs = FIVE_MEMBERS, .setup = MEMBERS,
      .params = { "schedule", "{a,c,d,z}", NOW }, .rows = "f 1 0 1 290000-01-01 00:00:00+00 -", .left = ANY,
      .query = IDS, .found = "2 3 4 5" },
    { SQL_REMOVE_MEMBERS, "dead jobs", .setup = DEAD_MEMBERS, .params = { "dead", "{d,z}", NOW },
      .rows = "t 2 0 1 - -" },
};

#endif
