/* Reports of the doctor: their form, and the limits from which a figure is a finding. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "admin/doctor.h"
#include "admin/doctor_here.h"
#include "base/clock.h"

#define GB (INT64_C(1024) * 1024 * 1024)

static const char *told(struct findings *f, void (*tell)(const struct findings *, struct buf *)) {
    static char text[2000];
    struct buf out = { 0 };

    tell(f, &out);
    memcpy(text, buf_ptr(&out), buf_len(&out));
    text[buf_len(&out)] = '\0';
    buf_free(&out);
    return text;
}

static void test_nothing(void **state) {
    struct findings f = { .checks = 7 };

    (void)state;
    assert_string_equal(told(&f, findings_text), "All is well; 7 checks were made.\n");
    findings_add(&f, SEVERITY_NOTE, "x", "a", "b");
    assert_string_equal(told(&f, findings_text),
                        "note (x): a\n    What to do: b\n\nAll is well, 1 note; 7 checks were made.\n");
    findings_free(&f);
    assert_int_equal(f.count, 0);
}

static void test_worst_first(void **state) {
    struct findings f = { .checks = 3 };

    (void)state;
    findings_add(&f, SEVERITY_NOTE, "n", "1", "a");
    findings_add(&f, SEVERITY_WARNING, "w", "2", "b");
    findings_add(&f, SEVERITY_ERROR, "e", "3", "c");
    findings_add(&f, SEVERITY_WARNING, "v", "4", "d");
    assert_string_equal(told(&f, findings_lines),
                        "error\te\t3\tc\nwarning\tw\t2\tb\nwarning\tv\t4\td\nnote\tn\t1\ta\n");
    assert_non_null(strstr(told(&f, findings_text), "\n1 error, 2 warnings, 1 note; 3 checks were made.\n"));
    assert_int_equal(findings_of(&f, SEVERITY_WARNING), 2);
    findings_free(&f);
}

/* Names of users and applications are anybody's. */
static void test_no_structure(void **state) {
    struct findings f = { 0 };

    (void)state;
    findings_add(&f, SEVERITY_NOTE, "n", "a\nerror\tb\r\x7f", "c\n");
    assert_string_equal(told(&f, findings_lines), "note\tn\ta error b  \tc \n");
    findings_free(&f);
}

static void test_severity_read(void **state) {
    enum severity s;

    (void)state;
    assert_true(severity_read("error", &s));
    assert_int_equal(s, SEVERITY_ERROR);
    assert_true(severity_read("note", &s));
    assert_int_equal(s, SEVERITY_NOTE);
    assert_false(severity_read("", &s));
}

static size_t clock_findings(int64_t db_us, int64_t before_us, int64_t after_us) {
    struct findings f = { 0 };
    size_t count;

    doctor_note_clock(&f, db_us, before_us, after_us);
    count = findings_of(&f, SEVERITY_WARNING);
    findings_free(&f);
    return count;
}

static void test_clock(void **state) {
    struct findings f = { 0 };

    (void)state;
    assert_int_equal(clock_findings(100 * US_PER_S, 100 * US_PER_S, 100 * US_PER_S), 0);
    assert_int_equal(clock_findings(102 * US_PER_S, 90 * US_PER_S, 100 * US_PER_S), 0);
    assert_int_equal(clock_findings(102 * US_PER_S + 1, 90 * US_PER_S, 100 * US_PER_S), 1);
    assert_int_equal(clock_findings(98 * US_PER_S, 100 * US_PER_S, 110 * US_PER_S), 0);
    assert_int_equal(clock_findings(97 * US_PER_S, 100 * US_PER_S, 110 * US_PER_S), 1);
    doctor_note_clock(&f, 97500 * US_PER_MS, 100 * US_PER_S, 110 * US_PER_S);
    doctor_note_clock(&f, 115 * US_PER_S, 100 * US_PER_S, 110 * US_PER_S);
    assert_string_equal(f.list[0].text, "the database's clock is 2.500 s behind this machine's");
    assert_string_equal(f.list[1].text, "the database's clock is 5.000 s ahead of this machine's");
    findings_free(&f);
}

static enum severity disk_finding(int64_t free_bytes, int64_t total_bytes) {
    struct findings f = { 0 };
    enum severity severity = SEVERITY_COUNT;

    doctor_note_disk(&f, "data", free_bytes, total_bytes);
    assert_int_equal(f.checks, 1);
    if (f.count > 0)
        severity = f.list[0].severity;
    findings_free(&f);
    return severity;
}

static void test_disk(void **state) {
    (void)state;
    assert_int_equal(disk_finding(50 * GB, 100 * GB), SEVERITY_COUNT);
    assert_int_equal(disk_finding(5 * GB, 100 * GB), SEVERITY_COUNT);
    assert_int_equal(disk_finding(5 * GB, 200 * GB), SEVERITY_WARNING);
    assert_int_equal(disk_finding(3 * GB, 10 * GB), SEVERITY_WARNING);
    assert_int_equal(disk_finding(GB / 2, 10 * GB), SEVERITY_ERROR);
}

static enum severity certificate_finding(int days) {
    struct findings f = { 0 };
    enum severity severity;

    doctor_note_certificate(&f, days);
    severity = f.count > 0 ? f.list[0].severity : SEVERITY_COUNT;
    findings_free(&f);
    return severity;
}

static void test_certificate(void **state) {
    (void)state;
    assert_int_equal(certificate_finding(30), SEVERITY_COUNT);
    assert_int_equal(certificate_finding(29), SEVERITY_WARNING);
    assert_int_equal(certificate_finding(0), SEVERITY_WARNING);
    assert_int_equal(certificate_finding(-1), SEVERITY_ERROR);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing),      cmocka_unit_test(test_worst_first),
        cmocka_unit_test(test_no_structure), cmocka_unit_test(test_severity_read),
        cmocka_unit_test(test_clock),        cmocka_unit_test(test_disk),
        cmocka_unit_test(test_certificate),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
