#ifndef OPERATIONS_H
#define OPERATIONS_H

#include "batch/op.h"

/* All operations, in the order of operations.def. The module of a statement defines its operation. */
#define OP_WITH(name, statement, phase, conn) \
    extern struct op op_##name;               \
    enum { op_##name##_stmt = statement_##statement, op_##name##_phase = phase, op_##name##_conn = conn };
#include "batch/operations.def"

/* Defines op_<id>: its row of operations.def, and further fields of struct op. */
#define OPERATION(id, ...)                                         \
    struct op op_##id = { .name = #id,                             \
                          .stmt = (enum sql_stmt)op_##id##_stmt,   \
                          .phase = (enum op_phase)op_##id##_phase, \
                          .conn = (enum conn_kind)op_##id##_conn,  \
                          __VA_ARGS__ }

#endif
