/* Statements find their rows by an index, with any statistics of the tables. */
#include "session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"

#define MANY 200000
#define DEAD 100000
#define BEHIND 1000
#define CLAIMED 1000
#define MOST_PAGES 150
#define UNIQUE_BATCH 500
#define FIELDS 1000

enum how {
    HOT = 1,   /* in the life of every job, or in a reply to a client: keys only, in their order */
    WRITE = 2, /* its index is only written to, which no plan shows */
    SCAN = 4,  /* reads all of pgdisque.job, in its own order */
    NO_PLAN = 8,
    SORTS = 16, /* sorts or groups its parameters, and not the rows that it reads */
};

/* Arguments as EXECUTE takes them. */
struct planned {
    enum sql_stmt stmt;
    unsigned how;
    const char *args;
};

/* The first job is queued, the second has a lease. */
#define KEYS "'{1,2}', '{0,0}', '{8,9}'"

static const struct planned planned[] = {
    { SQL_ACK_JOBS, HOT, KEYS ", now()" },
    { SQL_ACK_JOB, HOT, "1, 0, 8, now()" },
    { SQL_ACK_PLACES, HOT, KEYS ", '{\"(0,8)\",\"(0,9)\"}', now()" },
    { SQL_ACK_PLACE, HOT, "1, 0, 8, '(0,8)', now()" },
    { SQL_ACK_TOKENS, HOT, KEYS ", '{0,1}', now()" },
    { SQL_ADD_JOBS, HOT | WRITE,
      "'{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}'" },
    { SQL_ADD_JOBS_ALIKE, HOT | WRITE, "'{}', '{}', 1, 60, 0, 1, now(), now()" },
    { SQL_ADD_JOBS_LEASED, HOT | WRITE, "'{}', '{}', 1, 60, 0, 1, now(), now(), 1" },
    { SQL_ADD_JOB, HOT | WRITE,
      "900000090, now(), now(), null, 1, 60, 0, 0, 1, null, 'x', null, null, null, null" },
    { SQL_ADD_JOB_ALIKE, HOT | WRITE, "900000091, 'x', 1, 60, 0, 1, now(), now()" },
    { SQL_ADD_JOB_LEASED, HOT | WRITE, "900000092, 'x', 1, 60, 0, 1, now(), now(), 1" },
    { SQL_ADD_UNIQUE, HOT | SORTS,
      "'{1}', '{now}', '{now}', '{null}', '{1}', '{60}', '{0}', '{0}', '{1}', '{null}', '{x}', '{2}', '{5}', "
      "'{d}', '{g}', '{k}', '{now}', now(), '{null}', false, '{1}', '{1}', 1::smallint" },
    { SQL_CANCEL_JOBS, HOT, KEYS ", now(), 1" },
    { SQL_BEAT_NODE, 0, "'a', true" },
    { SQL_DEAD_LETTER_JOBS, HOT, KEYS ", now()" },
    { SQL_ADD_MISSING, HOT,
      "'{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}'" },
    { SQL_ADD_RARE, HOT | WRITE,
      "'{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}'" },
    { SQL_NEXT_IN_GROUPS, HOT | SORTS, "'{1,2}', '{a,b}', now(), '{0,1}'" },
    { SQL_FIND_GROUPS, HOT, KEYS },
    { SQL_FIND_LOCKED, HOT, KEYS },
    { SQL_FIND_LEASES, HOT, KEYS ", now()" },
    { SQL_ADD_IN_FLOW, HOT | SORTS,
      "'{900000003}', '{now}', '{now}', '{null}', '{1}', '{60}', '{0}', '{0}', '{1}', '{null}', '{x}', "
      "'{null}', "
      "'{null}', '{null}', '{null}', '{null}', '{1}', '{0}', '{1}', '{1}', '{0}', '{8}', now(), "
      "false" },
    { SQL_END_IN_FLOWS, HOT | SORTS, "'{1,2}', now(), 100, '{0,0}', '{0,0}'" },
    { SQL_COMPLETE_BATCHES, HOT, "'{1,2}', now()" },
    { SQL_STUCK_FLOWS, HOT | SORTS, "now(), 1, 20" },
    { SQL_STUCK_BATCHES, 0, "100" },
    { SQL_PAGE_WAITING, HOT | SORTS, "1, 0::smallint, 1, 100, now()" },
    { SQL_PRUNE_FLOWS, HOT | SORTS, "now(), now(), 1, 20, now()" },
    { SQL_STUCK_HOLDS, HOT | SORTS, "1, 100" },
    { SQL_EXPIRED_WAITING, HOT, "now(), 100" },
    { SQL_CLOSE_OLD_BATCHES, HOT, "now(), 100" },
    { SQL_CANCEL_BATCH, HOT, "1" },
    { SQL_BATCH_MEMBERS, HOT, "1, 2, 100" },
    { SQL_OPEN_BATCH, HOT, "1, now(), 1, 60, 'x', 2, 'y', 3, 4, 'z', now(), false" },
    { SQL_CLOSE_BATCH, HOT, "1" },
    { SQL_SHOW_BATCH, HOT, "1" },
    { SQL_SHOW_PREDECESSORS, HOT, "1" },
    { SQL_DELETE_JOBS, HOT, KEYS ", now()" },
    { SQL_STUCK_GROUPS, 0, "now(), 100" },
    { SQL_PRUNE_GROUPS, 0, "now(), 100, now(), 1, 'a'" },
    { SQL_CLAIM_KEYS, HOT, KEYS ", now(), 1" },
    { SQL_CLAIM_IN_TXN, HOT | SORTS, "'{1,2}', '{0,0}', '{5,5}', 20, now(), 1" },
    { SQL_CLAIM_SCAN, HOT, "1, 0, 5, 20, now(), 1, now()" },
    { SQL_CLAIM_LIMITED, HOT | SORTS, "1, 0, 5, 20, now(), 1, '{1,1}', '{0,0}', '{8,9}'" },
    { SQL_FIND_CONSUME_ENDS, HOT, "'{1,2}', '{1,2}'" },
    { SQL_READ_CONSUME_ENDS, HOT, "'{1,2}'" },
    { SQL_POP_FIRST, HOT, "1, 0, 5, 20, now()" },
    { SQL_POP_LAST, HOT, "1, 0, 5, 20, now()" },
    { SQL_POP_LIMITED, HOT, "1, 0, 5, 2, now(), false, '{0,2}', '{0,900000001}'" },
    { SQL_MOVE_FIRST, HOT, "1, 0, 5, 2, now(), '{2,2}', '{900000000,900000001}'" },
    { SQL_MOVE_LAST, HOT, "1, 0, 5, 2, now(), '{2,2}', '{900000000,900000001}'" },
    { SQL_REMOVE_FIRST, 0, "1, 0, 5, 2, now(), '{x}'" },
    { SQL_REMOVE_LAST, 0, "1, 0, 5, 2, now(), '{x}'" },
    { SQL_LIST_FIRST, HOT, "1, 0, 5, 2, 3, now(), 0, 50, 1000" },
    { SQL_WHOLE_FIRST, HOT, "1, 0, 5, 0, 2, now(), 0, 50, 1000" },
    { SQL_WHOLE_LAST, HOT, "1, 0, 5, 0, 2, now(), 0, 50, 1000" },
    { SQL_LIST_LAST, HOT, "1, 0, 5, 2, 3, now(), 0, 50, 1000" },
    { SQL_FIND_FIRST, HOT, "1, 0, 5, 10, now(), '{x}', 0, 1, false" },
    { SQL_FIND_LAST, HOT, "1, 0, 5, 10, now(), '{x}', 0, 1, false" },
    { SQL_SET_ELEMENT, HOT, "1, 0, 5, now(), 2, null, '{x}'" },
    { SQL_TRIM_LIST, HOT, "1, 0, 5, now(), '{3}', '{1}', '{1}'" },
    { SQL_EMPTY_LIST, HOT, "1, 0, 5, 0, 50, 20, now()" },
    { SQL_EMPTY_QUEUE, HOT, "1, 0, 5, 0, 200000, 20, now()" },
    { SQL_DATE_LIST, HOT, "1, 0, 5, 0, 50, 20, now(), now(), now(), now()" },
    { SQL_LIST_LIFE, 0, "1, now(), now()" },
    { SQL_RENAME_LIST, HOT, "1, 2, 1, 20, false, now(), 20" },
    { SQL_END_IN_TXN, 0, "'{1}', now(), now(), '-infinity', 'infinity', true, now(), now(), now()" },
    { SQL_PUT_BACK_JOBS, HOT,
      "'{900000004}', '{now}', '{now}', '{null}', '{1}', '{60}', '{x}', '{0}', '{1}', '{0}', '{0}', "
      "'{null}', "
      "'{null}', '{null}', '{null}', '{null}', '{null}', '{null}', '{null}', '{null}', '{null}', '{0}', "
      "'{1}', '{null}', '{0}', '{1}'" },
    { SQL_POP_IN_TXN, HOT, "'{1,2}', '{0,0}', '{5,5}', '{0,1}', 20, now()" },
    { SQL_PUSH_IF_ANY, HOT,
      "'{900000002}', '{now}', '{now}', '{null}', '{1}', '{60}', '{0}', '{0}', '{1}', '{null}', '{x}', "
      "'{null}', '{null}', '{null}', '{null}', now()" },
    { SQL_CLOCK, 0, NULL },
    { SQL_TAKE_SNAPSHOT, 0, NULL },
    { SQL_RETAIN_JOBS, HOT, KEYS ", '{0,2}', '{5,null}', '{a,b}', '{null,r}', now(), 1" },
    /* It fails if a job is not there, so it gets no jobs. */
    { SQL_RETAIN_REQUIRED, HOT, "'{}', '{}', '{}', '{}', '{}', '{}', '{}', now(), 1" },
    { SQL_LOOK_JOBS, HOT, KEYS ", now()" },
    { SQL_SHOW_RETAINED, HOT, KEYS ", now()" },
    { SQL_SCAN_RETAINED, HOT, "1, 0::smallint, 5, 10, now(), true, 1, 1000, '{\"a\":null}', 'x'" },
    { SQL_EXPIRED_RETAINED, 0, "now()" },
    { SQL_EMPTY_RETAINED, NO_PLAN, NULL },
    { SQL_DUE_SCHEDULES, HOT, "now() - interval '1 minute', now(), 100, 0" },
    { SQL_DROP_SCHEDULE, 0, "'{a}'" },
    { SQL_FIRE_SCHEDULES, HOT | SORTS,
      "'{1}', '{1}', '{now}', '{now}', '{now}', '{1}', '{now}', '{now}', '{now}', '{1}', '{now}', now(), "
      "'{now}'" },
    { SQL_LIST_SCHEDULES, 0, "'{a}', now()" },
    { SQL_LIST_WORKERS, HOT | SORTS, "1, 0, 5, 7, 10, now()" },
    { SQL_WORKER_JOBS, HOT, KEYS ", now()" },
    { SQL_FIND_HELD, HOT | SORTS, "1, 0, 5, 7, 10, now(), null, 1" },
    { SQL_RELEASE_HELD, HOT, KEYS ", '{now,now}', now()" },
    { SQL_NAME_WORKERS, HOT, KEYS ", '{now,now}', '{a,b}', 1" },
    { SQL_PUT_SCHEDULE, 0,
      "'{a}', '{b}', '{c}', '{d}', '{1}', '{1}', '{1}', '{1}', '{1}', '{1}', '{now}', '{1}', '{1}', '{d}', "
      "'{\"{}\"}', '{k}', '{g}', '{1}', '{1}'" },
    { SQL_COUNT_KEPT, 0, "'{1,2}', now()" },
    { SQL_COUNT_WAITING, HOT, "'{1,2}', now(), '{0,1}'" },
    { SQL_COUNT_QUEUES, 0, "'{1,2}', now()" },
    { SQL_DEAD_ROWS, 0, NULL },
    { SQL_SQL_CHANGES, 0, NULL },
    { SQL_SET_DURABILITY, 0, "'off', false" },
    { SQL_STANDBYS, 0, NULL },
    { SQL_DELETE_DEAD, HOT, KEYS ", '{0,1}'" },
    { SQL_DEQUEUE_JOBS, HOT, KEYS ", now(), 1" },
    { SQL_DROP_QUEUES, 0, "'{1,2}', 'a'" },
    { SQL_EXPIRE_IN_ORDER, HOT, KEYS ", '{100,100}', 100, now()" },
    { SQL_FIND_QUEUES, HOT, "'{1,2}'" },
    { SQL_PAGE_QUEUES, HOT, "5, 20, now(), true" },
    { SQL_FENCE, 0, "'on'" },
    { SQL_FLUSH_ALL, NO_PLAN, NULL },
    { SQL_MARK_COMMIT, HOT | WRITE, "1, 2" },
    { SQL_FIND_COMMITS, HOT, "1, '{2,3}'" },
    { SQL_FORGET_COMMITS, HOT, "1, 2, 1" },
    { SQL_FORGET_NODE, 0, "'a'" },
    { SQL_ADOPT_LEASES, SCAN, "now(), '{1,2}'" },
    { SQL_LEAVE_NODE, 0, "'a'" },
    { SQL_LOAD_COUNTS, SCAN, "now()" },
    { SQL_LOAD_LEASES, SCAN, "now(), now()" },
    { SQL_LOAD_NODES, 0, NULL },
    { SQL_LOAD_QUEUES, 0, NULL },
    { SQL_LOOK_QUEUES, 0, "0, 1000" },
    { SQL_LOAD_SECRET, 0, NULL },
    { SQL_OPEN_QUEUES, HOT, "'{a,b}', '{1,null}'" },
    { SQL_PAUSE_QUEUES, 0, "'{1,2}', '{0,1}'" },
    { SQL_PEEK_FIRST, HOT, "1, 0, 5, 10, now(), 0, 50, 1000" },
    { SQL_PEEK_LAST, HOT, "1, 0, 5, 10, now(), 0, 50, 1000" },
    { SQL_POSTPONE_JOBS, HOT, KEYS ", now()" },
    { SQL_PRUNE_NODES, 0, "now(), 'a'" },
    { SQL_PRUNE_KEYS, HOT, "now(), 100, now()" },
    { SQL_REGISTER_NODE, 0, "'a', 'b', 1, 0" },
    { SQL_RELEASE_JOBS, HOT, KEYS ", now(), 1, array[now()]" },
    { SQL_REQUEUE_JOBS, HOT, KEYS ", '{0,1}', '{5,null}', '{e,null}', now(), '{}', '{}'" },
    { SQL_REQUEUE_JOBS_AGAIN, HOT,
      KEYS ", '{0,1}', '{5,null}', '{e,null}', '{now,now}', '{now,now}', now(), 1, '{}', '{}', '{}'" },
    { SQL_RERANK_JOBS, HOT | SORTS, KEYS ", '{-1,-1}', now()" },
    { SQL_RESET_SETTINGS, 0, "'{1,2}'" },
    { SQL_RESTORE_QUEUES, 0, "'{1}', '{a}', '{0}', '{1}'" },
    { SQL_REVIVE_JOBS, 0, KEYS ", now()" },
    { SQL_REVIVE_QUEUE, HOT | SORTS, "1, 0, 5, 10, now(), 5, 'x', 1, 9, '{}', null, now(), 5" },
    { SQL_DELETE_QUEUE_DEAD, HOT | SORTS, "1, 0, 5, 10, now(), 5, 'x', 1, 9, '{}'" },
    { SQL_EDIT_DEAD, 0, "1, 0, 5, 'x', 1, 2, 3" },
    { SQL_EXPIRE_DEAD, HOT | SORTS, "'{1,2}', '{now,now}', 10" },
    { SQL_RUNNING_JOBS, 0, "'{1,2}', now()" },
    { SQL_SAVE_COUNTERS, 0, "'{1}', '{1}', '{1}'" },
    { SQL_SCAN_DEAD, HOT, "1, 0, 5, 10, true, 1000, '{\"a\":null}', 'x'" },
    { SQL_SCAN_QUEUE_DEAD, HOT, "1, 0, 5, 10, true, 1000, '{\"a\":null}', 'x'" },
    { SQL_SCAN_DEAD_NEWEST, HOT, "now(), 5, 10, true, 1000, '{\"a\":null}', 'x'" },
    { SQL_SCAN_QUEUE_DEAD_NEWEST, HOT, "now(), 5, 10, true, 1000, '{\"a\":null}', 'x', 1" },
    { SQL_SCAN_WAITING, HOT, "1, 0::smallint, 5, 10, now(), true, 1, 1000, '{\"a\":null}', 'x'" },
    { SQL_SCAN_BATCH, HOT, "1, 0, 10, now(), true, 1000, '{\"a\":null}', 'x'" },
    { SQL_SCAN_JOBS, HOT, "1, 0, 5, 10, now(), true, 1000, '{\"a\":null}', 'x'" },
    { SQL_SCAN_QUEUE, HOT, "1, 0, 5, 10, now(), true, 1000, '{\"a\":null}', 'x'" },
    { SQL_SET_SETTINGS, 0, "'{1}', '{max-active}', '{5}'" },
    { SQL_SHOW_JOBS, HOT, KEYS ", now()" },
    { SQL_UNLOCK_KEYS, 0, "'{1,2}', '{a,b}', now()" },
    { SQL_UNPAUSE_ALL, 0, NULL },
    { SQL_PUT_VALUES, HOT | SORTS, "'{k}', '{a}', '{1}', 2::smallint, null, now(), 100, 10" },
    { SQL_READ_VALUES, 0, "'{k,l}', '{a,null}', now()" },
    { SQL_DROP_VALUES, 0, "'{k,l}', '{a,null}', now()" },
    { SQL_DATE_VALUES, 0, "'k', now(), now(), false" },
    { SQL_PRUNE_VALUES, 0, "now(), 100" },
    { SQL_ADD_MEMBERS, 0, "'{900000002}', '{now}', '{x}', 1, 'schedule', 60, 60, 0::smallint, false, now()" },
    { SQL_ADD_DEAD_MEMBERS, 0,
      "'{900000002}', '{now}', '{x}', 1, 'dead', 60, 60, 0::smallint, false, now()" },
    { SQL_READ_MEMBERS, 0, "'schedule', '-infinity', 'infinity', 0, 10, 0, false, now(), 1000" },
    { SQL_COUNT_MEMBERS, 0, "'schedule', now()" },
    { SQL_REMOVE_RANGE, 0, "'schedule', '-infinity', 'infinity', 0, 10, 0, false, now()" },
    { SQL_REMOVE_MEMBERS, 0, "'schedule', '{x}', now()" },
    { SQL_WAKE_DUE, HOT, KEYS ", now(), '{1}'" },
    { SQL_WAKE_EXPIRED, HOT, KEYS ", now()" },
    { SQL_WAKE_NEXT, HOT, "now(), now(), 100, now()" },
    { SQL_WORKING_JOBS, HOT, KEYS ", '{now,now}', '{5,null}', now(), 1, '{}', '{}', '{}'" },
    { SQL_WORKING_LIMITED, HOT | SORTS, KEYS ", '{now,now}', '{5,null}', now(), 1, '{}', '{}', '{}'" },
};

#define PLANNED (sizeof(planned) / sizeof(planned[0]))

/* The planner's statistics of the tables. The test goes through these states in turn, in a single database. */
enum knowledge {
    NOTHING,
    OUTDATED, /* that they are empty, which is no longer true */
    EMPTIED,  /* the same, but of large tables: vacuum came when all jobs were done */
    TRUTH,
    VACUUMED, /* pages that need no look at the table */
    DRAINED,  /* that they are large, but vacuum has found them empty since */
    KNOWLEDGES
};

static const char *const knowledge_names[] = { "nothing known",       "outdated statistics",
                                               "vacuumed when empty", "true statistics",
                                               "vacuumed when full",  "statistics of what was" };

struct plan_test {
    const struct planned *p;
    enum knowledge known;
};

static const char *database;
static PGconn *conn;
static enum knowledge now_known;

/* ---- the database ---- */

static void must(const char *text) {
    assert_string_equal(sql(conn, "%s", text), "");
}

/* The tables that grow with jobs, queues and schedules. */
static const char *const tables[] = {
    "job",       "queue",         "queue_counter", "queue_setting", "slot",     "bucket",
    "job_group", "unique_key",    "dead_job",      "retained_0",    "flow_job", "waiting_job",
    "batch",     "library_value", "commit_marker", "node",
};

/* Tables that keep their rows to the end. An application has schedules as long as it uses them. For an empty table of
 * dependencies, the plan of the moment is as good with either index. Postgres plans again after the next ANALYZE. */
static const char *const never_empty[] = { "schedule", "dependency" };

static void for_each_table(const char *command) {
    for (size_t i = 0; i < LENGTH(tables); i++)
        must(text_of("%s pgdisque.%s", command, tables[i]));
}

static void for_all_tables(const char *command) {
    for_each_table(command);
    for (size_t i = 0; i < LENGTH(never_empty); i++)
        must(text_of("%s pgdisque.%s", command, never_empty[i]));
}

#define SOON "now() + interval '1 day'"
#define OF_MANY "from generate_series(1, 50000) as n;"
#define OF_THOUSAND "from generate_series(1, 1000) as n;"

#define FILL                                                                                                 \
    "insert into pgdisque.queue (name) select n::text::bytea " OF_THOUSAND                                   \
    "insert into pgdisque.queue_counter select n, 1, 1 " OF_THOUSAND                                         \
    "insert into pgdisque.queue_setting select n, 'retry', '5' " OF_THOUSAND                                 \
    "insert into pgdisque.slot (queue_id, n) select 1, n " OF_THOUSAND                                       \
    "insert into pgdisque.bucket (queue_id) select n " OF_THOUSAND                                           \
    "insert into pgdisque.node (number, id) select n, lpad(n::text, 40, '0') " OF_THOUSAND                   \
    "insert into pgdisque.job (id, ready_at, expires_at, wake_at, queue_id, retry, owner, body) "            \
    "select n, now() + case when n %% 3 = 0 then interval '1 minute' else interval '-1 minute' end,"         \
    "       " SOON ", case when n %% 10 = 0 then now() + interval '1 hour' end, n %% 7, 60,"                 \
    "       case when n %% 3 = 0 then 1 end, repeat('x', 20)::bytea from generate_series(1, %d) as n;"       \
    "insert into pgdisque.job_group (queue_id, key) select n %% 7, n::text::bytea " OF_MANY                  \
    "insert into pgdisque.unique_key select n, now(), " SOON ", n %% 7, 60, 0, n::text::bytea " OF_MANY      \
    "insert into pgdisque.dead_job (id, died_at, expires_at, queue_id, retry, delay, deliveries, nacks, "    \
    "additional_deliveries, rank, replicate, body) "                                                         \
    "select n + 1000000, now(), " SOON ", n %% 7, 60, 0, 1, 1, 0, 0, 1, 'x' " OF_MANY                        \
    "insert into pgdisque.retained_0 (id, finished_at, keep_until, expires_at, queue_id, retry, delay, "     \
    "deliveries, nacks, additional_deliveries, rank, replicate, bucket, node, worker, body) "                \
    "select n + 1000000, now(), " SOON ", " SOON ", n %% 7, 60, 0, 1, 0, 0, 0, 1, 0, 1, '', 'x' " OF_MANY    \
    "insert into pgdisque.flow_job (id, expires_at, retry, queue_id, rank, ended_at, is_settled) "           \
    "select n, " SOON ", 60, n %% 7, 0, case when n %% 2 = 0 then now() end, n %% 2 = 0 " OF_MANY            \
    "insert into pgdisque.dependency (predecessor_id, successor_id, is_counted) "                            \
    "select n / 100, n, n %% 2 = 0 " OF_MANY                                                                 \
    "insert into pgdisque.waiting_job (id, expires_at, queue_id, retry, delay, pending, rank, replicate, "   \
    "body) select n, " SOON ", n %% 1000, 60, 0, 1, 0, 1, 'x' " OF_MANY                                      \
    "insert into pgdisque.batch (id, failure_id, queue_id, retry) select n, n + 50000, 1, 60 " OF_MANY       \
    "insert into pgdisque.library_value (key, field, value) select (n %% 1000)::text::bytea, "               \
    "n::text::bytea, 'x' " OF_MANY                                                                           \
    "insert into pgdisque.schedule (next_at, retry, ttl, delay, priority, missed, cron, name, queue, body) " \
    "select " SOON ", 60, 60, 0, 0, 0, '@every 1h', n::text::bytea, 'q', 'x' " OF_THOUSAND                   \
    "insert into pgdisque.commit_marker select 7, n " OF_MANY

/* Opens a new session after each change, because a session keeps its plans. */
static void learn_more(void) {
    if (now_known == NOTHING) {
        for_all_tables("analyze");
        must(text_of(FILL, MANY));
    } else if (now_known == OUTDATED) {
        for_all_tables("delete from");
        for_all_tables("vacuum (analyze)");
        must(text_of(FILL, MANY));
    } else if (now_known == EMPTIED) {
        for_all_tables("analyze");
    } else {
        if (now_known == VACUUMED)
            for_each_table("delete from");
        for_all_tables("vacuum");
    }
    now_known++;
    PQfinish(conn);
    conn = session_open(database);
}

/* An analyze of any table would keep VACUUM from removing dead rows. */
static void without_autovacuum(void) {
    must("alter system set autovacuum = off");
    assert_string_equal(sql(conn, "select pg_reload_conf()"), "t");
    EVENTUALLY(
        atoi(sql(conn, "select count(*) from pg_stat_activity where backend_type like 'autovacuum%%'")) == 0);
}

static int open_database(void **state) {
    (void)state;
    if (!conn) {
        database = database_new();
        conn = session_open(database);
        without_autovacuum();
    }
    return 0;
}

/* ---- plans ---- */

/* All lines of a plan; the caller frees them. */
static char *explain(const char *options, enum sql_stmt stmt, const char *args) {
    const char *name = sql_texts[stmt].name;
    PGresult *res = PQexec(conn, args ? text_of("explain (%s) execute %s (%s)", options, name, args)
                                      : text_of("explain (%s) execute %s", options, name));
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);

    if (PQresultStatus(res) != PGRES_TUPLES_OK)
        fail_msg("%s: %s", name, PQresultErrorMessage(res));
    for (int i = 0; i < PQntuples(res); i++)
        fprintf(f, "%s\n", PQgetvalue(res, i, 0));
    fclose(f);
    PQclear(res);
    return text;
}

static int count_of(const char *text, const char *word) {
    int count = 0;

    for (const char *at = text; (at = strstr(at, word)); at += strlen(word))
        count++;
    return count;
}

/* Is the word, whole, on the line on which text begins? */
static bool line_has(const char *text, const char *word) {
    char line[160];
    const char *at;

    snprintf(line, sizeof(line), "%.*s", (int)strcspn(text, "\n"), text);
    for (at = line; (at = strstr(at, word)); at++)
        if (at > line && strchr(" ,", at[-1]) && strcspn(at, " ,.;") == strlen(word))
            return true;
    return false;
}

/* Prints the whole plan, because an error message has a maximum. */
static void bad_plan(const char *plan, const char *error) {
    for (const char *line = plan; *line != '\0'; line += strcspn(line, "\n") + 1)
        print_message("# %.*s\n", (int)strcspn(line, "\n"), line);
    fail_msg("%s", error);
}

static void uses(const char *plan, const char *index) {
    if (!strstr(plan, text_of("using %s on ", index)) &&
        !strstr(plan, text_of("Conflict Arbiter Indexes: %s\n", index)))
        bad_plan(plan, text_of("the header promises %s", index));
}

static void never(const char *plan, const char *node) {
    if (strstr(plan, node))
        bad_plan(plan, node);
}

/* The comment "-- index:" holds. */
static void as_the_header_says(const struct planned *p, const char *plan) {
    static const char *const indexes[] = { "flow_job_pkey",      "flow_job_state",

                                           "dependency_pkey",    "dependency_of_predecessor",
                                           "waiting_job_id",     "waiting_job_pkey",
                                           "waiting_job_expiry", "batch_pkey",
                                           "batch_closed",       "batch_failure",
                                           "batch_completed",    "batch_success",
                                           "batch_open",         "batch_queue",
                                           "flow_job_batch",     "dependency_held",
                                           "job_pkey",           "job_wake",
                                           "queue_pkey",         "queue_name",
                                           "queue_counter_pkey", "queue_setting_pkey",
                                           "node_id_key",        "schedule_pkey",
                                           "schedule_name",      "schedule_next",
                                           "commit_marker_pkey", "job_unique",
                                           "unique_key_pkey",    "unique_key_until",
                                           "dead_pkey",          "slot_pkey",
                                           "bucket_pkey",        "job_group_pkey",
                                           "job_in_group",       "retained_0_pkey",
                                           "job_in_set",         "job_member",
                                           "dead_in_set",        "dead_member",
                                           "library_value_pkey", "library_value_expires",
                                           "dead_died",          "dead_newest" };
    const char *said = strstr(sql_texts[p->stmt].text, "-- index: ");
    int found = 0;

    if (!said) {
        assert_false(p->how & HOT);
        return;
    }
    for (size_t i = 0; i < sizeof(indexes) / sizeof(indexes[0]); i++) {
        if (!line_has(said, indexes[i]))
            continue;
        found++;
        if (!(p->how & WRITE))
            uses(plan, indexes[i]);
    }
    assert_true(found > 0 || line_has(said, "none"));
    if (strstr(said, "then by ctid"))
        assert_non_null(strstr(plan, "Tid Scan on "));
}

/* Tells if the plan's node at the text scans a table by an index whose key may have a queue and a rank. The first line of a
 * node, or the last line with "->", names the table. The key of flow_job is the id alone. */
static bool is_of_index_scan(const char *plan, const char *at) {
    const char *node = plan, *end;

    for (const char *next = plan; (next = strstr(next, "->")) && next < at; next++)
        node = next;
    end = node + strcspn(node, "\n");
    if (memmem(node, (size_t)(end - node), "flow_job_pkey ", 14))
        return false;
    return memmem(node, (size_t)(end - node), "Scan using ", 11) ||
           memmem(node, (size_t)(end - node), "Backward using ", 15);
}

/* Does the line compare the column other than by <>, for which no index is of use? */
static bool compares(const char *line, const char *column) {
    const char *end = line + strcspn(line, "\n");

    for (const char *at = line; (at = strstr(at, column)) && at < end; at += strlen(column))
        if (strncmp(at + strlen(column), " <> ", 4) != 0)
            return true;
    return false;
}

/* A condition on a column of the key that the index could have answered. */
static bool filters_by_key(const char *plan, const char *filter) {
    return is_of_index_scan(plan, filter) && (compares(filter, "rank") || compares(filter, "queue_id"));
}

/* Keys are looked up, in the order in which they come, by the whole of the key. */
static void by_keys_only(const char *plan, unsigned how) {
    static const char *const not_wanted[] = { "Seq Scan",   "Bitmap",      "Hash\n",
                                              "Merge Join", "Materialize", "Memoize" };

    if (!(how & SORTS)) {
        never(plan, "Sort\n");
        never(plan, "HashAggregate\n");
    }
    for (size_t i = 0; i < sizeof(not_wanted) / sizeof(not_wanted[0]); i++)
        never(plan, not_wanted[i]);
    if (count_of(plan, "Scan using ") + count_of(plan, "Backward using ") != count_of(plan, "Index Cond: "))
        bad_plan(plan, "an index is read from end to end");
    for (const char *at = plan; (at = strstr(at, "Filter: ")); at++)
        if (filters_by_key(plan, at))
            bad_plan(plan, text_of("a part of the key is only a filter: %.*s", (int)strcspn(at, "\n"), at));
}

/* Pages touched by the whole statement: hits and reads of the topmost node. */
static long pages_in(const char *plan) {
    const char *at = strstr(plan, "Buffers: shared "), *planning = strstr(plan, "Planning:");
    long hit = 0, read = 0;

    if (!at || (planning && planning < at))
        return 0;
    if (sscanf(at, "Buffers: shared hit=%ld read=%ld", &hit, &read) == 0)
        assert_int_equal(sscanf(at, "Buffers: shared read=%ld", &read), 1);
    return hit + read;
}

/* The costs are below the number of pages of an index, with any statistics and any number of rows. */
static void costs_little(const struct planned *p) {
    char *plan;

    /* A failed test leaves its transaction. */
    if (PQtransactionStatus(conn) != PQTRANS_IDLE)
        must("rollback");
    must("begin");
    plan = explain("analyze, buffers, costs off, timing off", p->stmt, p->args);
    must("rollback");
    if (pages_in(plan) > MOST_PAGES)
        bad_plan(plan, text_of("%ld pages", pages_in(plan)));
    free(plan);
}

static void plan_holds(void **state) {
    const struct plan_test *t = *state;
    char *plan;

    while (now_known < t->known)
        learn_more();
    if (t->p->how & NO_PLAN)
        return;
    plan = explain("costs off", t->p->stmt, t->p->args);
    as_the_header_says(t->p, plan);
    if (t->p->how & HOT)
        by_keys_only(plan, t->p->how);
    if (t->p->how & SCAN)
        never(plan, "Index Scan");
    else
        never(plan, "Seq Scan on job ");
    free(plan);
    if (t->p->how & HOT)
        costs_little(t->p);
}

static void every_statement_has_a_plan(void **state) {
    bool seen[SQL_COUNT] = { false };

    (void)state;
    for (size_t i = 0; i < PLANNED; i++)
        seen[planned[i].stmt] = true;
    for (int i = 0; i < SQL_COUNT; i++)
        if (!seen[i])
            fail_msg("sql/queries/%s.sql is not in the table", sql_texts[i].name);
}

/* ---- the cost of execution ---- */

static long pages(enum sql_stmt stmt, const char *args) {
    char *plan = explain("analyze, buffers, costs off, timing off", stmt, args);
    long found = pages_in(plan);

    free(plan);
    assert_true(found > 0);
    return found;
}

/* A long transaction of another session keeps the dead rows from being removed. */
static void the_frontier_spares_the_dead(void **state) {
    PGconn *holder = session_open(database);
    long from_scan_position, from_start;

    (void)state;
    tables_clear(conn);
    must(text_of("insert into pgdisque.job (id, ready_at, expires_at, queue_id, retry, body) "
                 "select n, now(), now() + interval '1 day', 1, 60, 'x' from generate_series(1, %d) as n",
                 DEAD + BEHIND));
    sql(holder, "begin isolation level repeatable read");
    assert_string_equal(sql(holder, "select count(*) from pgdisque.job"), text_of("%d", DEAD + BEHIND));
    must(text_of("delete from pgdisque.job where queue_id = 1 and rank = 0 and id <= %d", DEAD));
    from_scan_position = pages(SQL_CLAIM_SCAN, text_of("1, 0, %d, 10, now(), 1, now()", DEAD));
    from_start = pages(SQL_CLAIM_SCAN, "1, -32768, 0, 10, now(), 1, now()");
    if (from_scan_position >= 200 || from_start <= 1000)
        fail_msg("pages: %ld from the frontier, %ld from the start", from_scan_position, from_start);
    PQfinish(holder);
}

/* The updates of jobs that this session has made and not yet reported. column selects all, or those without index
 * entries. */
static long updates(const char *column) {
    return atol(sql(conn, "select %s from pg_stat_xact_user_tables where relname = 'job'", column));
}

static void claims_leave_the_indexes_alone(void **state) {
    long all, hot;

    (void)state;
    tables_clear(conn);
    must(text_of("insert into pgdisque.job (id, ready_at, expires_at, wake_at, queue_id, retry, body) "
                 "select n, now() - interval '1 hour', now() + interval '1 day', "
                 "       case when n %% 2 = 0 then now() + interval '1 day' end, 1, 60, 'x' "
                 "from generate_series(1, %d) as n",
                 CLAIMED));
    sql(conn, "begin");
    all = updates("n_tup_upd");
    hot = updates("n_tup_hot_upd");
    sql(conn, "execute claim_scan (1, -32768, 0, %d, now(), 1, now())", CLAIMED);
    assert_int_equal(updates("n_tup_upd") - all, CLAIMED);
    assert_int_equal(updates("n_tup_hot_upd") - hot, CLAIMED);
    sql(conn, "commit");
}

/* Inserts DEAD jobs with this wake_at. */
static void insert_waking(const char *wake_at) {
    tables_clear(conn);
    must(text_of("insert into pgdisque.job (id, ready_at, expires_at, wake_at, queue_id, retry, body) "
                 "select n, now(), now() + interval '1 day', %s, 1, 60, 'x' from generate_series(1, %d) as n",
                 wake_at, DEAD));
}

/* A search finds the first due rows only. */
static void a_search_for_due_jobs_is_limited(void **state) {
    (void)state;
    insert_waking("now() - interval '1 hour'");
    assert_true(pages(SQL_WAKE_NEXT, "'-infinity', now(), 10, 'infinity'") < 200);
}

/* Jobs that ended long before their times to live have left their index entries. A search passes over those of its own
 * time only. */
static void a_search_for_the_next_job_is_limited(void **state) {
    (void)state;
    insert_waking("now() + interval '1 hour'");
    must("begin");
    must("delete from pgdisque.job");
    assert_true(pages(SQL_WAKE_NEXT, "'-infinity', now(), 10, now() + interval '2 seconds'") < 200);
    must("rollback");
}

/* The pages of a statement whose work is undone. */
static long pages_undone(enum sql_stmt stmt, const char *args) {
    long read;

    must("begin");
    read = pages(stmt, args);
    must("rollback");
    return read;
}

/* An array of count elements: the value, or numbers from `first` on if it is NULL. */
static void print_array(FILE *f, const char *value, int first, int count) {
    for (int i = 0; i < count; i++)
        fprintf(f, "%s%s", i == 0 ? "'{" : ",", value ? value : text_of("%d", first + i));
    fputs("}'", f);
}

/* Arrays of count elements for add_unique: ids and keys from `first` on, and the same value for all others. */
static char *unique_args(int first, int count) {
    static const char *const values[] = { NULL,   "now",  "tomorrow", "null", "1",    "60",
                                          "0",    "0",    "1",        "null", "x",    "null",
                                          "null", "null", "null",     NULL,   "null", "" };
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);

    for (size_t param = 0; param < LENGTH(values); param++) {
        if (values[param] != NULL && values[param][0] == '\0') {
            fputs("now(), ", f);
            continue;
        }
        print_array(f, values[param], first, count);
        fputs(", ", f);
    }
    print_array(f, "null", first, count);
    fputs(", false, ", f);
    print_array(f, "1", first, count);
    fputs(", ", f);
    print_array(f, "0", first, count);
    fputs(", 1::smallint", f);
    fclose(f);
    return text;
}

/* Each key of a batch is looked up in the index, among many jobs with keys. */
static void a_batch_of_keys_reads_no_other_keys(void **state) {
    char *taken = unique_args(1, UNIQUE_BATCH), *free_keys = unique_args(10 * DEAD, UNIQUE_BATCH);
    long of_taken, of_free;

    (void)state;
    tables_clear(conn);
    must(text_of("insert into pgdisque.job (id, ready_at, expires_at, queue_id, retry, body, unique_key) "
                 "select n, now(), now() + interval '1 day', 1, 60, 'x', n::text::bytea "
                 "from generate_series(1, %d) as n",
                 DEAD));
    of_taken = pages_undone(SQL_ADD_UNIQUE, taken);
    of_free = pages_undone(SQL_ADD_UNIQUE, free_keys);
    if (of_taken > 30L * UNIQUE_BATCH || of_free > 30L * UNIQUE_BATCH)
        fail_msg("pages: %ld for taken keys, %ld for free keys", of_taken, of_free);
    free(taken);
    free(free_keys);
}

/* Arguments of a statement about fields of a key: keys, fields from `first` on, values unless NULL, and the others. */
static char *fields_args(int first, int count, const char *value, const char *others) {
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);

    print_array(f, "k", 0, count);
    fputs(", ", f);
    print_array(f, NULL, first, count);
    fputs(", ", f);
    if (value != NULL) {
        print_array(f, value, 0, count);
        fputs(", ", f);
    }
    fputs(others, f);
    fclose(f);
    return text;
}

/* A command with many fields of a key does not read all fields of the key for each of them. */
static void many_fields_read_their_key_once(void **state) {
    const char *put = "2::smallint, null, now(), 1000000, 10000";
    char *present = fields_args(1, FIELDS, "1", put), *absent = fields_args(FIELDS + 1, FIELDS, "1", put);
    char *dropped = fields_args(1, FIELDS, NULL, "now()");
    long of_present, of_absent, of_dropped;

    (void)state;
    tables_clear(conn);
    must(text_of("insert into pgdisque.library_value (key, field, value, expires_at) "
                 "select 'k', n::text::bytea, '1', 'infinity' from generate_series(1, %d) as n",
                 FIELDS));
    of_present = pages_undone(SQL_PUT_VALUES, present);
    of_absent = pages_undone(SQL_PUT_VALUES, absent);
    of_dropped = pages_undone(SQL_DROP_VALUES, dropped);
    if (of_present > 50L * FIELDS || of_absent > 50L * FIELDS || of_dropped > 50L * FIELDS)
        fail_msg("pages: %ld for present fields, %ld for absent fields, %ld for dropped fields", of_present,
                 of_absent, of_dropped);
    free(present);
    free(absent);
    free(dropped);
}

/* A page of a search that finds nothing reads each of its rows once, and no other dead jobs. */
static void a_search_of_dead_jobs_reads_its_page(void **state) {
    static const struct {
        enum sql_stmt stmt;
        const char *args;
    } searches[] = {
        { SQL_REVIVE_QUEUE,
          "1, 0, 50000, 1000, now(), 9, 'absent', null, null, '{\"a\": null}', null, null, 0" },
        { SQL_DELETE_QUEUE_DEAD, "1, 0, 50000, 1000, now(), 9, 'absent', null, null, '{\"a\": null}'" },
        { SQL_SCAN_QUEUE_DEAD, "1, 0, 50000, 1000, true, 1000000, '{\"a\": null}', 'absent'" },
        { SQL_SCAN_DEAD, "1, 0, 50000, 1000, true, 1000000, '{\"a\": null}', 'absent'" },
        { SQL_SCAN_QUEUE_DEAD_NEWEST, "'infinity', 1, 1000, true, 1000000, '{\"a\": null}', 'absent', 1" },
        { SQL_SCAN_DEAD_NEWEST, "'infinity', 1, 1000, true, 1000000, '{\"a\": null}', 'absent'" },
    };

    (void)state;
    tables_clear(conn);
    must(text_of(
        "insert into pgdisque.dead_job (id, died_at, expires_at, queue_id, retry, delay, deliveries, nacks, "
        "additional_deliveries, attempts, rank, replicate, body, error, headers) "
        "select n, now(), now() + interval '1 day', 1, 60, 0, 1, 0, 0, 1, 0, 1, repeat('x', 3000)::bytea, "
        "'lost', '{\"b\": \"c\"}' from generate_series(1, %d) as n",
        DEAD));
    for (size_t i = 0; i < LENGTH(searches); i++) {
        long read = pages_undone(searches[i].stmt, searches[i].args);

        if (read > 1500)
            fail_msg("%s: %ld pages", sql_texts[searches[i].stmt].name, read);
    }
}

/* ---- main ---- */

int main(void) {
    static struct plan_test plans[KNOWLEDGES * PLANNED];
    static char names[KNOWLEDGES * PLANNED][80];
    static struct CMUnitTest tests[KNOWLEDGES * PLANNED + 8] = {
        [KNOWLEDGES * PLANNED] = cmocka_unit_test(every_statement_has_a_plan),
        [KNOWLEDGES * PLANNED + 1] = cmocka_unit_test_setup(the_frontier_spares_the_dead, open_database),
        [KNOWLEDGES * PLANNED + 2] = cmocka_unit_test_setup(claims_leave_the_indexes_alone, open_database),
        [KNOWLEDGES * PLANNED + 3] = cmocka_unit_test_setup(a_search_for_due_jobs_is_limited, open_database),
        [KNOWLEDGES * PLANNED + 4] =
            cmocka_unit_test_setup(a_search_for_the_next_job_is_limited, open_database),
        [KNOWLEDGES * PLANNED + 5] =
            cmocka_unit_test_setup(a_batch_of_keys_reads_no_other_keys, open_database),
        [KNOWLEDGES * PLANNED + 6] = cmocka_unit_test_setup(many_fields_read_their_key_once, open_database),
        [KNOWLEDGES * PLANNED + 7] =
            cmocka_unit_test_setup(a_search_of_dead_jobs_reads_its_page, open_database),
    };
    int failed;

    for (size_t i = 0; i < KNOWLEDGES * PLANNED; i++) {
        plans[i] = (struct plan_test){ &planned[i % PLANNED], (enum knowledge)(i / PLANNED) };
        snprintf(names[i], sizeof(names[i]), "%s: %s", sql_texts[plans[i].p->stmt].name,
                 knowledge_names[plans[i].known]);
        tests[i] = (struct CMUnitTest){ names[i], plan_holds, open_database, NULL, &plans[i] };
    }
    failed = run_sql_suite("plans", tests, sizeof(tests) / sizeof(tests[0]));
    PQfinish(conn);
    return failed;
}
