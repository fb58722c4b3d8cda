/* In place of src/cluster/, for a server that is linked without it: it knows no other server. */
#include "batch/op.h"
#include "cluster/counter_audit.h"
#include "cluster/node_row.h"
#include "cluster/peer_queues.h"
#include "cluster/peers.h"

/* Operations of the cluster, which this server never sends. */
struct op op_beat_node, op_count_queues, op_find_queues, op_forget_node, op_adopt_leases, op_leave_node,
    op_look_queues, op_page_queues;

void peers_start(struct event_base *base) {
    (void)base;
}

void peers_loaded(void) {
}

void peers_reconnected(void) {
}

void peers_tick(void) {
}

void peers_turn(void) {
}

int64_t peers_next_due(void) {
    return INT64_MAX;
}

void peers_note_snapshot(void) {
}

void peers_announce_unknown(void) {
}

bool peers_adopts(uint16_t node) {
    (void)node;
    return false;
}

void peers_leave(void) {
}

bool peers_idle(void) {
    return true;
}

void peers_stop(void) {
}

const char *peers_state(void) {
    return "alone";
}

void peer_queues_page(bool may_probe) {
    (void)may_probe;
}

bool counter_audit_is_pending(void) {
    return false;
}

void node_row_beat(void) {
}
