#ifndef OPERATIONS_H
#define OPERATIONS_H

#include "batch/op.h"

/* All operations, in the order of operations.def. The module of a statement defines its operation. */
#define OP(name, phase) extern struct op op_##name;
#include "batch/operations.def"
#undef OP

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

#endif
