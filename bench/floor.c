/* The floor: the server's own statements sent by a bare loop, without a server and without clients. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <libpq-fe.h>

#include "base/util.h"
#include "pg/params.h"
#include "sql_gen.h"

/* Keys of the rows. The database has no other user. */
enum { QUEUE = 1, NODE = 1, RETRY_S = 300, MAX_BATCH = 1000, PAGE = 8192 };
#define US_PER_S INT64_C(1000000)
#define TTL_US (INT64_C(86400) * US_PER_S)

/* The work of a turn of the loop with a batch. */
enum way {
    WAY_EACH,   /* add, claim and ack in a transaction each */
    WAY_HANDED, /* added as delivered, then acked: two transactions */
    WAY_TXN,    /* add, ack of the batch before, claim: one transaction */
};

static const char *const way_names[] = { "each", "handed", "flight" };

static struct {
    PGconn *conn;
    const char *dir;
    double seconds;
    size_t body_size;
} run = { .dir = ".", .seconds = 1, .body_size = 100 };

static struct params params;
static int64_t next_id = 1;
/* The rows that are claimed and not yet acknowledged. */
static int64_t held_from;
static int held;
static uint64_t places[MAX_BATCH];

static __attribute__((noreturn)) void die(const char *what, const char *why) {
    fprintf(stderr, "floor: %s: %s\n", what, why);
    exit(2);
}

static int64_t mono_us(void) {
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec * US_PER_S + ts.tv_nsec / 1000;
}

static int64_t wall_us(void) {
    struct timespec ts;
    clock_gettime(CLOCK_REALTIME, &ts);
    return ts.tv_sec * US_PER_S + ts.tv_nsec / 1000;
}

/* ---- statements, as db.c sends them ---- */

static void send_statement(enum sql_stmt stmt) {
    const char *values[PARAMS_MAX];
    int lengths[PARAMS_MAX];
    int formats[PARAMS_MAX];

    params_finish(&params, values, lengths, formats);
    if (!PQsendQueryPrepared(run.conn, sql_texts[stmt].name, params.columns, values, lengths, formats, 1))
        die(sql_texts[stmt].name, PQerrorMessage(run.conn));
    params_reset(&params);
}

static void send_add(int count, bool handed_over) {
    static char body[1 << 20];
    int64_t now = wall_us();

    for (int i = 0; i < count; i++) {
        params_int8(&params, 0, next_id + i);
        params_bytea(&params, 1, (struct slice){ body, run.body_size });
    }
    params_set_int4(&params, 2, QUEUE);
    params_set_int4(&params, 3, RETRY_S);
    params_set_int2(&params, 4, 0);
    params_set_int2(&params, 5, 1);
    params_set_time(&params, 6, handed_over ? now + RETRY_S * US_PER_S : now);
    params_set_time(&params, 7, now + TTL_US);
    if (handed_over)
        params_set_int2(&params, 8, NODE);
    next_id += count;
    send_statement(handed_over ? SQL_ADD_JOBS_LEASED : SQL_ADD_JOBS_ALIKE);
}

static void send_claim(int64_t scan_position, int count) {
    params_set_int4(&params, 0, QUEUE);
    params_set_int2(&params, 1, 0);
    params_set_int8(&params, 2, scan_position);
    params_set_int4(&params, 3, count);
    params_set_time(&params, 4, wall_us());
    params_set_int2(&params, 5, NODE);
    params_set_time(&params, 6, wall_us());
    send_statement(SQL_CLAIM_SCAN);
}

static void send_ack(void) {
    for (int i = 0; i < held; i++) {
        params_int4(&params, 0, QUEUE);
        params_int2(&params, 1, 0);
        params_int8(&params, 2, held_from + i);
        params_place(&params, 3, places[i]);
    }
    params_set_time(&params, 4, wall_us());
    send_statement(SQL_ACK_PLACES);
}

/* Notes the places of the rows that were added last. */
static void note_places(const PGresult *res, int count, int id, int place) {
    for (int i = 0; i < PQntuples(res); i++)
        places[row_int8(res, i, id) - (next_id - count)] = row_place(res, i, place);
}

/* The next statement's result: it must have touched so many rows. */
static void expect_rows(int count, enum sql_stmt stmt) {
    PGresult *res = PQgetResult(run.conn);
    ExecStatusType status = PQresultStatus(res);

    if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK)
        die("a statement failed", PQerrorMessage(run.conn));
    if (atoi(PQcmdTuples(res)) != count)
        die("lost or doubled rows", PQcmdTuples(res));
    if (stmt == SQL_CLAIM_SCAN)
        note_places(res, count, COL_CLAIM_SCAN_ID, COL_CLAIM_SCAN_PLACE);
    else if (stmt == SQL_ADD_JOBS_LEASED)
        note_places(res, count, COL_ADD_JOBS_LEASED_ID, COL_ADD_JOBS_LEASED_PLACE);
    PQclear(res);
    PQclear(PQgetResult(run.conn));
}

static void sync_sent(void) {
    if (!PQpipelineSync(run.conn))
        die("sync", PQerrorMessage(run.conn));
}

static void expect_sync(void) {
    PGresult *res = PQgetResult(run.conn);

    if (PQresultStatus(res) != PGRES_PIPELINE_SYNC)
        die("no commit", PQerrorMessage(run.conn));
    PQclear(res);
}

static void commit(int rows, enum sql_stmt stmt) {
    sync_sent();
    expect_rows(rows, stmt);
    expect_sync();
}

/* ---- the turns of the loop ---- */

static void add_batch(int count, bool handed_over) {
    int64_t first = next_id;

    send_add(count, handed_over);
    commit(count, handed_over ? SQL_ADD_JOBS_LEASED : SQL_ADD_JOBS_ALIKE);
    held_from = first;
}

static void ack_held(void) {
    int count = held;

    if (count == 0)
        return;
    send_ack();
    held = 0;
    commit(count, SQL_ACK_PLACES);
}

static void turn_each(int count) {
    add_batch(count, false);
    send_claim(held_from - 1, count);
    commit(count, SQL_CLAIM_SCAN);
    held = count;
    ack_held();
}

static void turn_handed(int count) {
    add_batch(count, true);
    held = count;
    ack_held();
}

static void turn_txn(int count) {
    int64_t first = next_id;
    int acked = held;

    send_add(count, false);
    if (acked > 0)
        send_ack();
    send_claim(first - 1, count);
    sync_sent();
    expect_rows(count, SQL_ADD_JOBS_ALIKE);
    if (acked > 0)
        expect_rows(acked, SQL_ACK_PLACES);
    expect_rows(count, SQL_CLAIM_SCAN);
    expect_sync();
    held_from = first;
    held = count;
}

static void (*const turns[])(int) = { turn_each, turn_handed, turn_txn };

/* Measures jobs per second through the whole turn. The rest of the run before is removed outside the measured time. */
static void measure(enum way way, int batch) {
    int64_t start = mono_us();
    int64_t end = start + (int64_t)(run.seconds * 1e6);
    int64_t now = start;
    int64_t count = 0;

    while (now < end) {
        turns[way](batch);
        count++;
        now = mono_us();
    }
    ack_held();
    printf("{\"way\": \"%s\", \"batch\": %d, \"jobs\": %lld, \"jobs_per_s\": %.1f, \"turn_us\": %.1f}\n",
           way_names[way], batch, (long long)(count * batch),
           (double)(count * batch) * 1e6 / (double)(now - start), (double)(now - start) / (double)count);
    fflush(stdout);
}

/* ---- the time of a commit ---- */

static int ascending(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

static void report_times(const char *name, int64_t *times, int count) {
    qsort(times, (size_t)count, sizeof(*times), ascending);
    printf("{\"way\": \"%s\", \"samples\": %d, \"p50_us\": %lld, \"p99_us\": %lld}\n", name, count,
           (long long)times[count / 2], (long long)times[count * 99 / 100]);
}

enum { MAX_SAMPLES = 20000 };

static void measure_commit(void) {
    static int64_t times[MAX_SAMPLES];
    int64_t end = mono_us() + (int64_t)(run.seconds * 1e6);
    int count = 0;

    while (count < MAX_SAMPLES && mono_us() < end) {
        int64_t start = mono_us();

        add_batch(1, true);
        times[count++] = mono_us() - start;
        held = 1;
        ack_held();
    }
    report_times("commit", times, count);
}

/* Over a file that has its size already, as Postgres writes its log. */
static void measure_sync(void) {
    static int64_t times[MAX_SAMPLES];
    static char page[PAGE];
    enum { PAGES = 128 };
    char *path = xasprintf("%s/floor.sync", run.dir);
    int fd = open(path, O_CREAT | O_TRUNC | O_RDWR | O_CLOEXEC, 0600);
    int64_t end = mono_us() + (int64_t)(run.seconds * 5e5);
    int count = 0;

    for (int i = 0; fd >= 0 && i < PAGES; i++)
        if (pwrite(fd, page, PAGE, (off_t)i * PAGE) != PAGE)
            die(path, "cannot be written");
    if (fd < 0 || fsync(fd) != 0)
        die(path, "cannot be written");
    while (count < MAX_SAMPLES && mono_us() < end) {
        int64_t start = mono_us();

        if (pwrite(fd, page, PAGE, (off_t)(count % PAGES) * PAGE) != PAGE || fdatasync(fd) != 0)
            die(path, "cannot be written");
        times[count++] = mono_us() - start;
    }
    close(fd);
    unlink(path);
    free(path);
    report_times("fdatasync", times, count);
}

/* ---- start and end ---- */

static void prepare(enum sql_stmt stmt) {
    PGresult *res = PQprepare(run.conn, sql_texts[stmt].name, sql_texts[stmt].text, 0, NULL);

    if (PQresultStatus(res) != PGRES_COMMAND_OK)
        die(sql_texts[stmt].name, PQerrorMessage(run.conn));
    PQclear(res);
}

static void connect_db(const char *conninfo) {
    PGresult *res;

    run.conn = PQconnectdb(conninfo);
    if (PQstatus(run.conn) != CONNECTION_OK)
        die("cannot connect", PQerrorMessage(run.conn));
    res = PQexec(run.conn, sql_session);
    if (PQresultStatus(res) != PGRES_TUPLES_OK)
        die("session", PQerrorMessage(run.conn));
    PQclear(res);
    prepare(SQL_ADD_JOBS_ALIKE);
    prepare(SQL_ADD_JOBS_LEASED);
    prepare(SQL_CLAIM_SCAN);
    prepare(SQL_ACK_PLACES);
    if (!PQenterPipelineMode(run.conn))
        die("pipeline", PQerrorMessage(run.conn));
}

static void usage(void) {
    puts("floor --conninfo TEXT [--dir DIRECTORY] [--seconds S] [--body BYTES]\n"
         "Sends the server's statements to a database with its schema, in batches of 1, 10, 100 and 1000,\n"
         "and prints a line of JSON for each way and batch. The database must have no other users.");
    exit(2);
}

static const char *parse(int argc, char **argv) {
    const char *conninfo = NULL;

    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--conninfo") == 0)
            conninfo = argv[i + 1];
        else if (strcmp(argv[i], "--dir") == 0)
            run.dir = argv[i + 1];
        else if (strcmp(argv[i], "--seconds") == 0)
            run.seconds = atof(argv[i + 1]);
        else if (strcmp(argv[i], "--body") == 0)
            run.body_size = (size_t)atol(argv[i + 1]);
        else
            usage();
    }
    if (argc % 2 == 0 || !conninfo || run.seconds <= 0 || run.body_size > 1 << 20)
        usage();
    return conninfo;
}

int main(int argc, char **argv) {
    connect_db(parse(argc, argv));
    /* Ids of an earlier run are smaller: its dead rows lie behind the scan position. */
    next_id = wall_us();
    measure_sync();
    measure_commit();
    for (int batch = 1; batch <= MAX_BATCH; batch *= 10)
        for (enum way way = WAY_EACH; way <= WAY_TXN; way++)
            measure(way, batch);
    PQfinish(run.conn);
    params_free(&params);
    return 0;
}
