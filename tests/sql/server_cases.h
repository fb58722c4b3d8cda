#ifndef SERVER_CASES_H
#define SERVER_CASES_H

#include "statement_cases.h"

#define RESTORED_ENDS                                                                             \
    "select string_agg(convert_from(name, 'UTF8') || coalesce(consume_end, 0), ' ' order by id) " \
    "from pgdisque.queue"

/* Part of statement_cases.h: statements of servers about themselves, their transactions and their database. */
static const struct stmt_case server_cases[] = {
    { SQL_REGISTER_NODE, "gets the smallest free number",
      .setup = "insert into pgdisque.node (number, id) values (1, repeat('1', 40)), (3, repeat('3', 40))",
      .params = { NODE_2, "10.0.0.2", "7711", "0" }, .rows = "2 1",
      .query = "select number, addr, port from pgdisque.node where id = repeat('2', 40)",
      .found = "2 10.0.0.2 7711" },
    { SQL_REGISTER_NODE, "that was here before keeps its number, tells its new address, begins a run",
      .setup = "select setval('pgdisque.node_run', 41); insert into pgdisque.node (number, id, addr, port, "
               "started_at, seen_at, left_at, leaving) "
               "values (7, repeat('7', 40), 'old', 1, '2000-01-01', '2000-01-01', '2000-01-01', true)",
      .params = { NODE_7, "new", "2", "40" }, .rows = "7 42",
      .query = "select number, addr, port, started_at > now() - interval '1 minute', seen_at = started_at, "
               "left_at, leaving from pgdisque.node",
      .found = "7 new 2 t t - f" },
    { SQL_REGISTER_NODE, "with a lost run: no later run has its number",
      .setup = "alter sequence pgdisque.node_run restart 42", .params = { NODE_2, "", "0", "45" },
      .rows = "1 46", .query = "select nextval('pgdisque.node_run')", .found = "47" },
    { SQL_REGISTER_NODE, "with the next run", .setup = "alter sequence pgdisque.node_run restart 42",
      .params = { NODE_2, "", "0", "42" }, .rows = "1 43" },
    { SQL_REGISTER_NODE, "the last number there is",
      .setup = "insert into pgdisque.node (number, id) select n, lpad(to_hex(n), 40, '0') "
               "from generate_series(1, 1022) as n",
      .params = { NODE_2, "", "0", "0" }, .rows = "1023 1" },
    { SQL_REGISTER_NODE, "none is left",
      .setup = "insert into pgdisque.node (number, id) select n, lpad(to_hex(n), 40, '0') "
               "from generate_series(1, 1023) as n",
      .params = { NODE_2, "", "0", "0" }, .rows = "error 23502" },
    { SQL_LOAD_NODES, "all, by number",
      .setup = "insert into pgdisque.node (number, id, addr, port, leaving, left_at, seen_at) values "
               "(2, repeat('2', 40), 'two', 22, true, null, '" DAY " 10:00+00'), "
               "(7, repeat('7', 40), '', 0, false, now(), '" DAY " 11:00+00')",
      .rows = "2 " NODE_2 " two 22 t f 10:00:00; 7 " NODE_7 "  0 f t 11:00:00", .ordered = true },
    { SQL_MARK_COMMIT, "is there", .params = { "7", "1234567890123456" },
      .query = "select string_agg(f::text, ' ') from pgdisque.commit_marker as f",
      .found = "(7,1234567890123456)" },
    { SQL_MARK_COMMIT, "has one row", .setup = "insert into pgdisque.commit_marker values (7, 1)",
      .params = { "7", "1" }, .rows = "error 23505" },
    { SQL_FIND_COMMITS, "existing marks of this node",
      .setup = "insert into pgdisque.commit_marker values (7, 1), (7, 3), (8, 2)",
      .params = { "7", "{1,2,3,4,1}" }, .rows = "1; 1; 3" },
    { SQL_FIND_COMMITS, "nothing", .params = { "7", "{}" } },
    { SQL_FORGET_COMMITS, "the older marks of this node",
      .setup = "insert into pgdisque.commit_marker values (7, 1), (7, 2), (7, 3), (8, 1)",
      .params = { "7", "3", "0" },
      .query = "select string_agg(f::text, ' ' order by node, transaction) from pgdisque.commit_marker as f",
      .found = "(7,3) (8,1)" },
    { SQL_FORGET_COMMITS, "none before the lower bound",
      .setup = "insert into pgdisque.commit_marker values (7, 1), (7, 2), (7, 3)",
      .params = { "7", "3", "2" },
      .query = "select string_agg(f::text, ' ' order by node, transaction) from pgdisque.commit_marker as f",
      .found = "(7,1) (7,3)" },
    { SQL_BEAT_NODE, "is seen, and leaving", .setup = TWO_NODES, .params = { NODE_2, "true" }, .rows = "2",
      .query = NODES, .found = "2 t t f; 7 f f f" },
    { SQL_BEAT_NODE, "is seen, and no longer leaving; it had been taken for gone",
      .setup = TWO_NODES "; update pgdisque.node set leaving = true, left_at = now() where number = 7",
      .params = { NODE_7, "false" }, .rows = "7", .query = NODES, .found = "2 f f f; 7 t f f" },
    { SQL_BEAT_NODE, "was forgotten", .params = { NODE_7, "false" } },
    { SQL_LEAVE_NODE, "the node has left, the other node has not", .setup = TWO_NODES, .params = { NODE_2 },
      .query = NODES, .found = "2 f f t; 7 f f f" },
    { SQL_FORGET_NODE, "the node has left, the other node has not", .setup = TWO_NODES, .params = { NODE_2 },
      .query = NODES, .found = "2 f f t; 7 f f f" },
    { SQL_PRUNE_NODES, "a node not seen for a day counts as left",
      .setup = "insert into pgdisque.node (number, id, seen_at, left_at) values "
               "(1, repeat('2', 40), '2029-12-01+00', null), "
               "(2, repeat('a', 40), '2029-12-31 11:59:59+00', null), "
               "(3, repeat('b', 40), '2029-12-31 12:00:00+00', null), "
               "(4, repeat('c', 40), '2029-12-01+00', '2029-12-02+00')",
      .params = { NOW, NODE_2 },
      .query = "select string_agg(concat_ws(' ', number, to_char(left_at at time zone 'utc', 'MM-DD "
               "HH24:MI:SS')), "
               "'; ' order by number) from pgdisque.node",
      .found = "1; 2 12-31 11:59:59; 3; 4 12-02 00:00:00" },
    { SQL_PRUNE_NODES, "of too many nodes, those that left an hour ago are forgotten, but never this node",
      .setup = "insert into pgdisque.node (number, id, seen_at, left_at) select n, lpad(to_hex(n), 40, '0'), "
               "'2029-12-01+00', '2029-12-01+00' from generate_series(5, 902) as n; "
               "insert into pgdisque.node (number, id, seen_at, left_at) values "
               "(1, repeat('2', 40), '2029-12-01+00', '2029-12-01+00'), "
               "(2, repeat('a', 40), '" DAY " 11:59+00', '" DAY " 10:59:59+00'), "
               "(3, repeat('b', 40), '" DAY " 11:00+00', '" DAY " 11:00:00+00')",
      .params = { NOW, NODE_2 },
      .query = "select string_agg(number::text, ' ' order by number) from pgdisque.node", .found = "1 3" },
    { SQL_LOAD_SECRET, "is there from the beginning, and only once",
      .setup = "update pgdisque.secret set key = '0123456789abcdef'", .rows = "\"0123456789abcdef\"" },
    { SQL_CLOCK, "answers", .rows = ANY },
    { SQL_DEAD_ROWS, "answers", .rows = ANY },
    { SQL_SQL_CHANGES, "before the first", .rows = "f" },
    { SQL_SET_DURABILITY, "of the transaction, or of the session", .params = { "off", "false" },
      .rows = "off", .query = "show synchronous_commit", .found = "off" },
    { SQL_FENCE, "answers", .params = { "off" }, .rows = ANY },
    { SQL_RESTORE_QUEUES, "missing queues; new queues get higher numbers",
      .setup = "insert into pgdisque.queue (name) values ('one')",
      .params = { "{1,40,41}", "{one,forty,last}", "{0,2,0}", "{null,null,null}" }, .rows = "2 0 41",
      .query = "insert into pgdisque.queue (name) values ('new') returning id", .found = "42" },
    { SQL_RESTORE_QUEUES, "a queue has the number of another, another has a new number, and none is missing",
      .setup = "insert into pgdisque.queue (name) values ('one'), ('two')",
      .params = { "{1,7}", "{uno,two}", "{0,0}", "{1,2}" }, .rows = "0 2 -", .query = RESTORED_ENDS,
      .found = "one0 two0" },
    { SQL_RESTORE_QUEUES, "consume ends that the database lacks",
      .setup =
          "insert into pgdisque.queue (name, consume_end) values ('unset', null), ('set', 1), ('none', null)",
      .params = { "{1,2,3,4}", "{unset,set,none,new}", "{0,0,0,0}", "{2,2,null,1}" }, .rows = "1 0 4",
      .query = RESTORED_ENDS, .found = "unset2 set1 none0 new1" },
    { SQL_STANDBYS, "there are none", .rows = "0 0 f" },
};

#endif
