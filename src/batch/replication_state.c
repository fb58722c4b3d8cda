/* Polls the standbys that commits wait for, and reports the durability in force. */
#include "batch/replication_state.h"

#include <stddef.h>

#include "batch/batch.h"
#include "batch/operations.h"
#include "config/config.h"
#include "pg/params.h"

static struct {
    struct task task;
    int required;  /* number of standbys that a commit waits for */
    int connected; /* connected standbys of synchronous_standby_names, or STANDBYS_UNKNOWN */
    bool fsync;
} standbys = {
    .task = { .op = &op_standbys, .rows = 1 },
    .required = STANDBYS_UNKNOWN,
    .connected = STANDBYS_UNKNOWN,
};

void replication_ask(void) {
    batch_add_idle(&standbys.task);
}

/* If the role may not see the standbys, they are assumed to be connected: the commit or the ms-timeout
 * decides. */
bool replication_reach(int count) {
    return standbys.required >= count &&
           (standbys.connected == STANDBYS_UNKNOWN || standbys.connected >= count);
}

int replication_count(void) {
    int count = standbys.required;

    if (standbys.connected != STANDBYS_UNKNOWN && standbys.connected < count)
        count = standbys.connected;
    return count > 0 ? count : 0;
}

int replication_required(void) {
    return standbys.required;
}

int replication_connected(void) {
    return standbys.connected;
}

static void standbys_done(struct task *t, const PGresult *rows) {
    (void)t;
    standbys.required = row_int4(rows, 0, COL_STANDBYS_REQUIRED);
    standbys.connected = row_int4_or(rows, 0, COL_STANDBYS_CONNECTED, STANDBYS_UNKNOWN);
    standbys.fsync = row_bool(rows, 0, COL_STANDBYS_FSYNC);
}

OPERATION(standbys, .alone = true, .on_end = standbys_done);

/* ---- INFO ---- */

static void figure(struct buf *out, const char *name, int value) {
    if (value == STANDBYS_UNKNOWN)
        buf_printf(out, "%s:unknown\r\n", name);
    else
        buf_printf(out, "%s:%d\r\n", name, value);
}

static void words_of_standbys(struct buf *out) {
    static const char *const done[] = {
        [DURABILITY_REMOTE_APPLY] = "applied",
        [DURABILITY_REMOTE_FLUSH] = "flushed",
        [DURABILITY_REMOTE_WRITE] = "written",
    };

    buf_printf(out, " and %s on %d standby%s", done[config.durability], standbys.required,
               standbys.required == 1 ? "" : "s");
    if (standbys.connected != STANDBYS_UNKNOWN && standbys.connected < standbys.required)
        buf_printf(out, ", of which %d %s connected: commits wait", standbys.connected,
                   standbys.connected == 1 ? "is" : "are");
}

static void words(struct buf *out) {
    if (standbys.required == STANDBYS_UNKNOWN) {
        buf_append_str(out, "unknown");
        return;
    }
    if (config.durability == DURABILITY_ASYNC) {
        buf_append_str(out, "no commit is waited for: a crash of the database loses the last commits");
        return;
    }
    buf_append_str(out, standbys.fsync ? "flushed on the primary" : "written (fsync is off) on the primary");
    if (standbys.required == 0 || config.durability > DURABILITY_REMOTE_WRITE)
        buf_append_str(out, " only");
    else
        words_of_standbys(out);
}

void replication_info(struct buf *out) {
    static const char *const names[] = {
#define X(id, name, setting) name,
        DURABILITIES(X)
#undef X
    };

    buf_printf(out, "durability:%s\r\n", names[config.durability]);
    figure(out, "durability_standbys_required", standbys.required);
    figure(out, "durability_standbys_connected", standbys.connected);
    buf_append_str(out, "durability_in_force:");
    words(out);
    buf_append_str(out, "\r\n");
}
