/* The table of operations: the phases are in their order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "base/util.h"
#include "batch/operations.h"

static const enum op_phase phases[] = {
#define OP_WITH(name, statement, phase, conn) phase,
#include "batch/operations.def"
};

static void test_phases_in_order(void **state) {
    (void)state;
    for (size_t i = 1; i < LENGTH(phases); i++)
        assert_true(phases[i - 1] <= phases[i]);
    assert_int_equal(phases[LENGTH(phases) - 1], PHASE_UPKEEP);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_phases_in_order) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
