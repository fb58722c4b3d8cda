/* INFO: the sections about this process and its database. */
#include "admin/info_process.h"
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/node.h"
#include "base/stats.h"
#include "base/turn.h"
#include "batch/batch.h"
#include "batch/dead_rows.h"
#include "cluster/peers.h"
#include "commands/dispatch.h"
#include "config/config.h"
#include "config/memory_budget.h"
#include "net/connection.h"
#include "pg/db.h"
#include "pg/embedded/postmaster.h"
#include "pg/primary_select.h"
#include "queue/queue.h"
#include "version.h"

/* The version of Disque whose commands pgdisque has. */
#define DISQUE_COMPAT_VERSION "1.0-rc1"

#define RUN_ID_BYTES 20

static struct {
    int64_t started_us; /* clock_mono_now() */
    char run_id[2 * RUN_ID_BYTES + 1];
    size_t peak_memory;
} process;

void info_init(void) {
    unsigned char bytes[RUN_ID_BYTES] = { 0 };

    process.started_us = clock_mono_now();
    if (getrandom(bytes, sizeof bytes, 0) < 0)
        memcpy(bytes, &process.started_us, sizeof process.started_us);
    hex_encode(bytes, sizeof bytes, process.run_id);
}

/* Appends "name:value". Replaces # and line ends in value, because some clients split the whole text at every
 * #. */
static void info_line(struct buf *out, const char *name, const char *value) {
    buf_printf(out, "%s:", name);
    for (; *value != '\0'; value++)
        buf_append(out, *value == '#' || *value == '\r' || *value == '\n' ? "?" : value, 1);
    buf_append_str(out, "\r\n");
}

/* A number of bytes for people, such as 1.06M. */
static void info_human(struct buf *out, const char *name, size_t bytes) {
    static const char units[] = "BKMGTP";
    double value = (double)bytes;
    size_t unit = 0;

    while (value >= 1024 && unit + 2 < sizeof units) {
        value /= 1024;
        unit++;
    }
    buf_printf(out, unit == 0 ? "%s:%.0f%c\r\n" : "%s:%.2f%c\r\n", name, value, units[unit]);
}

static void executable(struct buf *out) {
    char path[4096];
    ssize_t len = readlink("/proc/self/exe", path, sizeof path - 1);

    path[len < 0 ? 0 : len] = '\0';
    info_line(out, "executable", path);
}

static void system_name(struct buf *out) {
    struct utsname name;
    char text[256] = "";

    if (uname(&name) == 0)
        snprintf(text, sizeof text, "%.60s %.120s %.60s", name.sysname, name.release, name.machine);
    info_line(out, "os", text);
}

static void versions(struct buf *out) {
    info_line(out, "disque_version", DISQUE_COMPAT_VERSION);
    info_line(out, "disque_git_sha1", PGDISQUE_GIT_SHA1);
    buf_printf(out, "disque_git_dirty:%d\r\n", PGDISQUE_GIT_DIRTY);
    info_line(out, "disque_build_id", PGDISQUE_VERSION);
    info_line(out, "redis_version", REDIS_COMPAT_VERSION);
    info_line(out, "redis_git_sha1", PGDISQUE_GIT_SHA1);
    buf_printf(out, "redis_git_dirty:%d\r\n", PGDISQUE_GIT_DIRTY);
    info_line(out, "redis_build_id", PGDISQUE_VERSION);
    info_line(out, "redis_mode", "standalone");
}

int64_t info_uptime_us(void) {
    return clock_mono() - process.started_us;
}

void info_server(struct buf *out) {
    int64_t uptime = info_uptime_us() / US_PER_S;

    versions(out);
    system_name(out);
    buf_printf(out, "arch_bits:%zu\r\nmultiplexing_api:libevent\r\n", sizeof(void *) * 8);
    buf_printf(out, "gcc_version:%d.%d.%d\r\n", __GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__);
    buf_printf(out, "process_id:%ld\r\nrun_id:%s\r\ntcp_port:%d\r\n", (long)getpid(), process.run_id,
               config_own_port());
    buf_printf(out, "server_time_usec:%lld\r\nio_threads_active:0\r\n", (long long)clock_unix());
    buf_printf(out, "uptime_in_seconds:%lld\r\nuptime_in_days:%lld\r\nhz:%d\r\nconfigured_hz:%d\r\n",
               (long long)uptime, (long long)(uptime / 86400), config.hz, config.hz);
    executable(out);
    info_line(out, "config_file", config_file() == NULL ? "" : config_file());
}

size_t info_resident(void) {
    FILE *f = fopen("/proc/self/statm", "r");
    unsigned long pages = 0;

    if (f == NULL)
        return 0;
    if (fscanf(f, "%*u %lu", &pages) != 1)
        pages = 0;
    fclose(f);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* The allocator visits each free piece of memory to report what is allocated. That takes too long for a larger
 * process. */
#define ASK_ALLOCATOR_MAX ((size_t)64 * 1024 * 1024)

/* The allocator of a sanitizer reports 0. The resident memory is used then. */
static size_t allocated(size_t rss) {
    struct mallinfo2 m;

    if (rss > ASK_ALLOCATOR_MAX)
        return rss;
    m = mallinfo2();
    return m.uordblks + m.hblkhd > 0 ? m.uordblks + m.hblkhd : rss;
}

static size_t system_memory(void) {
    return (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE);
}

void info_memory(struct buf *out) {
    size_t rss = info_resident(), used = allocated(rss);

    if (used > process.peak_memory)
        process.peak_memory = used;
    buf_printf(out, "used_memory:%zu\r\n", used);
    info_human(out, "used_memory_human", used);
    buf_printf(out, "used_memory_rss:%zu\r\n", rss);
    info_human(out, "used_memory_rss_human", rss);
    buf_printf(out, "used_memory_peak:%zu\r\n", process.peak_memory);
    info_human(out, "used_memory_peak_human", process.peak_memory);
    buf_printf(out, "total_system_memory:%zu\r\n", system_memory());
    info_human(out, "total_system_memory_human", system_memory());
    buf_append_str(out, "used_memory_lua:0\r\nused_memory_scripts:0\r\n");
    buf_printf(out, "maxmemory:%zu\r\n", config.maxmemory);
    info_human(out, "maxmemory_human", config.maxmemory);
    memory_info(out);
    buf_printf(out, "maxmemory_queues:%zu\r\nmem_queues:%zu\r\n", config.maxmemory_queues, queues_memory());
    info_line(out, "maxmemory_policy", "noeviction"); /* jobs are never evicted, whatever the option says */
    buf_printf(out, "mem_fragmentation_ratio:%.2f\r\nmem_allocator:libc\r\n",
               used == 0 ? 0.0 : (double)rss / (double)used);
}

static double seconds(struct timeval t) {
    return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

void info_cpu(struct buf *out) {
    struct rusage own = { 0 }, children = { 0 };

    getrusage(RUSAGE_SELF, &own);
    getrusage(RUSAGE_CHILDREN, &children);
    buf_printf(out, "used_cpu_sys:%.2f\r\nused_cpu_user:%.2f\r\n", seconds(own.ru_stime),
               seconds(own.ru_utime));
    buf_printf(out, "used_cpu_sys_children:%.2f\r\nused_cpu_user_children:%.2f\r\n",
               seconds(children.ru_stime), seconds(children.ru_utime));
}

static void database(struct buf *out) {
    bool embedded = config.database[0] == '\0';

    info_line(out, "database", embedded ? "embedded" : config_database_redacted());
    if (embedded)
        buf_printf(out, "database_process_id:%ld\r\n", (long)postmaster_pid());
    buf_printf(out, "database_version:%d\r\ndatabase_connected:%d\r\n", db_server_version(),
               batch_connected(CONN_WRITE));
    info_line(out, "database_host", embedded ? "" : primary_host());
    buf_printf(out, "database_timeline:%lld\r\n", primary_timeline());
    info_line(out, "database_last_error", db_last_error());
    buf_printf(out, "database_dead_rows:%lld\r\n",
               (long long)(dead_rows_of_jobs() + dead_rows_of_counters()));
}

static double ratio(uint64_t part, uint64_t whole) {
    return whole == 0 ? 0 : (double)part / (double)whole;
}

/* Efficiency of batching: high values of the first two, and a low value of the third, are good. */
static void batching(struct buf *out) {
    buf_printf(out, "rows_per_statement:%.2f\r\n", ratio(stats.rows, stats.statements));
    buf_printf(out, "statements_per_transaction:%.2f\r\n", ratio(stats.statements, stats.transactions));
    buf_printf(out, "transactions_per_job:%.4f\r\n", ratio(stats.transactions, stats.jobs_added));
    buf_printf(out, "rows_per_claim:%.2f\r\n", ratio(stats.claimed_rows, stats.claims));
}

static void longest_turn(struct buf *out) {
    const struct turn *t = turn_longest();

    buf_printf(out, "longest_turn_cpu_ms:%.1f\r\nlongest_turn_command:%s\r\n", (double)t->cpu_us / US_PER_MS,
               t->command);
    buf_printf(out, "longest_turn_command_ms:%.1f\r\n", (double)t->command_us / US_PER_MS);
}

void info_pgdisque(struct buf *out) {
    const struct node *self = node_self();
    size_t nodes;

    (void)node_all(&nodes);
    info_line(out, "pgdisque_version", PGDISQUE_VERSION);
    info_line(out, "other_servers", peers_state());
    buf_printf(out, "node_id:%s\r\nnode_number:%u\r\nnodes:%zu\r\nleaving:%d\r\n", self->id,
               (unsigned)self->number, nodes, self->leaving);
    database(out);
    batching(out);
    longest_turn(out);
    stats_info(out);
}
