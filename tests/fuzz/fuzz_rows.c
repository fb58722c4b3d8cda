/* Rows of the database with any values: the load, peers' rows, leases, schedules, ends of delays, taken jobs. */
#include <stdarg.h>
#include "offline.h"

#include "cluster/counter_audit.h"
#include "cluster/peer_queues.h"
#include "jobs/take_rows.h"

#define JOBS_MAX 5

static void require_sorted(const struct job *jobs, size_t count, bool backwards) {
    for (size_t i = 1; i < count; i++)
        REQUIRE(!job_key_before(jobs[backwards ? i - 1 : i].key, jobs[backwards ? i : i - 1].key));
}

/* Reads the rows of a claim, and sorts the jobs. */
static void rows_claimed(struct queue *q) {
    PGresult *rows = offline_rows(offline_result_of(SQL_CLAIM_SCAN));
    struct job jobs[JOBS_MAX];
    size_t count = (size_t)PQntuples(rows);
    char id[JOBID_LEN];

    for (size_t i = 0; i < count; i++) {
        take_read_leased(&jobs[i], rows, (int)i, 0, q, clock_db());
        REQUIRE(jobs[i].body.len <= 60);
        job_format_id(id, jobs[i].key, jobs[i].expires_at, jobs[i].retry);
    }
    for (int backwards = 0; backwards < 2; backwards++) {
        take_sort(jobs, count, backwards);
        require_sorted(jobs, count, backwards);
    }
    PQclear(rows);
}

/* Reads the rows of jobs that pops and moves have removed. */
static void rows_removed(struct queue *q) {
    PGresult *popped = offline_rows(offline_result_of(SQL_POP_FIRST));
    PGresult *moved = offline_rows(offline_result_of(SQL_MOVE_FIRST));
    PGresult *limited = offline_rows(offline_result_of(SQL_POP_LIMITED));

    for (int i = 0; i < PQntuples(popped); i++)
        REQUIRE(take_read_removed(popped, i, q).row == i);
    for (int i = 0; i < PQntuples(moved); i++)
        REQUIRE(take_read_moved(moved, i, q).job.q == q);
    for (int i = 0; i < PQntuples(limited); i++)
        REQUIRE(take_read_moved_limited(limited, i, q).job.row == i);
    PQclear(popped);
    PQclear(moved);
    PQclear(limited);
}

/* Makes the server send statements of a single kind. */
static void rows_ask(unsigned kind) {
    switch (kind % 10) {
    case 0:
        bootstrap_start();
        break;
    case 1:
        bootstrap_nodes();
        break;
    case 2:
        peer_queues_look();
        break;
    case 3:
        peer_queues_page(true);
        break;
    case 4:
        peer_queues_adopt();
        break;
    case 5:
        counter_audit_tick();
        break;
    case 6:
        expire_reset_scan();
        expire_wake();
        break;
    case 7:
        schedule_look();
        schedule_turn();
        break;
    case 8:
        rows_claimed(queue_get(SLICE("a")));
        break;
    default:
        rows_removed(queue_get(SLICE("a")));
    }
}

/* A bad row must not stop later work: the next search begins at a time that a search can have. */
static void require_progress(void) {
    expire_wake();
    schedule_turn();
    offline_answer();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    offline_start();
    input = (struct slice){ (const char *)data, size };
    for (int i = 0; i < 8 && input.len > 0; i++) {
        rows_ask(input_byte());
        offline_answer();
    }
    require_progress();
    offline_end();
    return 0;
}
