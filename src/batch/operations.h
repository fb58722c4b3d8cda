#ifndef OPERATIONS_H
#define OPERATIONS_H

#include "batch/op.h"

/* All operations, as operations.def lists them. The module of a statement defines its operation. */
#define OP(name, phase) extern struct op op_##name;
#include "batch/operations.def"
#undef OP

/* The part of a transaction that the statement of an operation belongs to, in this order. */
enum op_phase {
    PHASE_START,
    PHASE_QUEUE,
    PHASE_ADD,
    PHASE_LIST,
    PHASE_MARK,
    PHASE_SCHEDULE,
    PHASE_ACK,
    PHASE_CHANGE,
    PHASE_EXPIRE,
    PHASE_LOAD,
    PHASE_TAKE,
    PHASE_READ,
    PHASE_UPKEEP,
};

#endif
