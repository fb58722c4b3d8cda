/* The table of operations: the phases are in their order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "base/util.h"
#include "batch/operations.h"

static const enum op_phase phases[] = {
#define OP_WITH(name, statement, phase, conn) phase,
#include "batch/operations.def"
};

static const struct op *const all[] = {
#define OP_WITH(name, statement, phase, conn) &op_##name,
#include "batch/operations.def"
};

static void test_phases_in_order(void **state) {
    (void)state;
    for (size_t i = 1; i < LENGTH(phases); i++)
        assert_true(phases[i - 1] <= phases[i]);
    assert_int_equal(phases[LENGTH(phases) - 1], PHASE_UPKEEP);
}

/* A row finds its task among several by its first column. */
static void test_rows_have_ordinals(void **state) {
    (void)state;
    for (size_t i = 0; i < LENGTH(all); i++) {
        const char *columns = sql_texts[all[i]->stmt].columns;

        assert_true(all[i]->done == NULL || (all[i]->on_row == NULL && all[i]->on_end == NULL));
        if (all[i]->on_row != NULL && !all[i]->alone && strncmp(columns, "ordinal", 7) != 0)
            fail_msg("%s: the first column is no ordinal: %s", all[i]->name, columns);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_phases_in_order),
        cmocka_unit_test(test_rows_have_ordinals),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
