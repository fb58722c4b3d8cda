#ifndef OPERATIONS_H
#define OPERATIONS_H

#include "batch/op.h"

/* The phases of a transaction, in this order. A statement belongs to the phase of its operation. */
enum op_phase {
    PHASE_START,
    PHASE_QUEUE,
    PHASE_ADD,
    PHASE_LIST,
    PHASE_SCHEDULE,
    PHASE_ACK,
    PHASE_CHANGE,
    PHASE_EXPIRE,
    PHASE_LOAD,
    PHASE_TAKE,
    PHASE_READ,
    PHASE_UPKEEP,
};

/* All operations, in the order of operations.def. The module of a statement defines its operation. */
#define OP_WITH(name, statement, phase, conn) \
    extern struct op op_##name;               \
    enum { op_##name##_stmt = statement_##statement, op_##name##_conn = conn };
#include "batch/operations.def"

/* Defines op_<id>: its row of operations.def, and further fields of struct op. */
#define OPERATION(id, ...)                                        \
    struct op op_##id = { .name = #id,                            \
                          .stmt = (enum sql_stmt)op_##id##_stmt,  \
                          .conn = (enum conn_kind)op_##id##_conn, \
                          __VA_ARGS__ }

#endif
