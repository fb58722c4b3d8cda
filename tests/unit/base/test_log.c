/* Log lines: their form, their targets, and escaped text of clients. */
#include <errno.h>
#include <regex.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "base/clock.h"
#include "base/log.h"

/* Stand in for the C library's, also under the names that its hardening uses. */
void openlog(const char *ident, int option, int facility);
void closelog(void);
void syslog(int priority, const char *fmt, ...);
void __syslog_chk(int priority, int flag, const char *fmt, ...);

static struct {
    const char *ident;
    int facility;
    int priority;
    char text[256];
} system_log;

void openlog(const char *ident, int option, int facility) {
    (void)option;
    system_log.ident = ident;
    system_log.facility = facility;
}

void closelog(void) {
    system_log.ident = NULL;
}

void syslog(int priority, const char *fmt, ...) {
    va_list args;

    va_start(args, fmt);
    system_log.priority = priority;
    vsnprintf(system_log.text, sizeof(system_log.text), fmt, args);
    va_end(args);
}

void __syslog_chk(int priority, int flag, const char *fmt, ...) {
    va_list args;

    (void)flag;
    va_start(args, fmt);
    system_log.priority = priority;
    vsnprintf(system_log.text, sizeof(system_log.text), fmt, args);
    va_end(args);
}

static char dir[64], path[80];
static char content[16384];

static int open_log_file(void **state) {
    (void)state;
    strcpy(dir, "/tmp/test-log-XXXXXX");
    if (mkdtemp(dir) == NULL)
        return -1;
    snprintf(path, sizeof(path), "%s/log", dir);
    log_set_level(LOG_NOTICE_);
    return log_set_file(path) ? 0 : -1;
}

static int remove_log_file(void **state) {
    char old[96];

    (void)state;
    if (!log_set_file(""))
        return -1;
    snprintf(old, sizeof(old), "%s.old", path);
    unlink(path);
    unlink(old);
    return rmdir(dir);
}

static const char *read_file(const char *name) {
    FILE *f = fopen(name, "r");
    size_t len;

    assert_non_null(f);
    len = fread(content, 1, sizeof(content) - 1, f);
    content[len] = '\0';
    fclose(f);
    return content;
}

static void assert_matches(const char *text, const char *pattern) {
    regex_t compiled;

    assert_int_equal(regcomp(&compiled, pattern, REG_EXTENDED | REG_NOSUB), 0);
    if (regexec(&compiled, text, 0, NULL, 0) != 0)
        fail_msg("'%s' does not match '%s'", text, pattern);
    regfree(&compiled);
}

static void test_form(void **state) {
    char pattern[200];

    (void)state;
    log_notice("db main", "connected %d", 7);
    snprintf(
        pattern, sizeof(pattern),
        "^%d 20[0-9]{2}-[01][0-9]-[0-3][0-9] [0-2][0-9]:[0-5][0-9]:[0-6][0-9]\\.[0-9]{3} \\* \\[db main\\] "
        "connected 7\n$",
        (int)getpid());
    assert_matches(read_file(path), pattern);
}

static void test_json(void **state) {
    (void)state;
    log_set_format(LOG_FORMAT_JSON);
    log_set_syslog("me", 8);
    log_warning("client 3 10.0.0.1:5", "said %s\n", "\"no\"");
    log_set_syslog(NULL, 0);
    log_set_format(LOG_FORMAT_TEXT);
    log_notice("x", "text again");
    assert_matches(
        read_file(path),
        "^\\{\"time\":\"20[0-9T:.-]+Z\",\"level\":\"warning\",\"pid\":[0-9]+,\"subject\":\"client\","
        "\"client\":3,"
        "\"address\":\"10.0.0.1:5\",\"message\":\"said \\\\\"no\\\\\"\"\\}\n[^\n{]* text again\n$");
    assert_matches(system_log.text, "^\\{\"time\".*\\}\n$");
}

/* At most one line a second. The next line has the number of the suppressed ones. */
static void test_sometimes(void **state) {
    struct log_kind kind = { 0 };

    (void)state;
    for (int i = 0; i < 1000; i++)
        log_sometimes(&kind, LOG_WARNING_, "x", "line %d", i);
    assert_matches(read_file(path), "^[^\n]* # \\[x\\] line 0\n$");
    log_sometimes(&kind, LOG_VERBOSE_, "x", "not at this level");
    kind.written_us -= US_PER_S;
    log_sometimes(&kind, LOG_WARNING_, "x", "line again");
    assert_matches(read_file(path), "line 0\n[^\n]* line again \\(and 999 more lines of this kind\\)\n$");
}

static void test_levels(void **state) {
    (void)state;
    log_debug("x", "one");
    log_verbose("x", "two");
    log_notice("x", "three");
    log_warning("x", "four");
    assert_matches(read_file(path), "^[^\n]* \\* \\[x\\] three\n[^\n]* # \\[x\\] four\n$");
    log_set_level(LOG_DEBUG_);
    log_debug("x", "five");
    log_verbose("x", "six");
    assert_matches(read_file(path), "four\n[^\n]* \\. \\[x\\] five\n[^\n]* - \\[x\\] six\n$");
    log_set_level(LOG_WARNING_);
    log_notice("x", "seven");
    assert_null(strstr(read_file(path), "seven"));
}

static void test_one_line(void **state) {
    (void)state;
    log_notice("x", "ERROR: no\n  DETAIL:\tbad\x1b[2J\r\n\n");
    assert_matches(read_file(path), "^[^\n]* \\[x\\] ERROR: no   DETAIL: bad \\[2J\n$");
}

static void test_long_line(void **state) {
    char text[9000];

    (void)state;
    memset(text, 'y', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    log_notice("x", "%s", text);
    log_notice("x", "next");
    assert_matches(read_file(path), "^[^\n]* \\[x\\] y+\n[^\n]* \\[x\\] next\n$");
    log_notice(text, "%s", text);
    assert_matches(read_file(path), " \\[y+\n$");
}

static void test_rotation(void **state) {
    char old[96];

    (void)state;
    log_notice("x", "before");
    snprintf(old, sizeof(old), "%s.old", path);
    assert_int_equal(rename(path, old), 0);
    log_notice("x", "after");
    assert_matches(read_file(old), "^[^\n]* before\n$");
    assert_matches(read_file(path), "^[^\n]* after\n$");
    unlink(path);
    log_notice("x", "again");
    assert_matches(read_file(path), "^[^\n]* again\n$");
}

static void test_relative_path(void **state) {
    char *cwd = getcwd(NULL, 0);

    (void)state;
    assert_non_null(cwd);
    assert_int_equal(chdir(dir), 0);
    assert_true(log_set_file("log"));
    assert_int_equal(chdir("/"), 0);
    assert_int_equal(unlink(path), 0);
    log_notice("x", "where it was");
    assert_matches(read_file(path), "where it was\n$");
    assert_int_equal(chdir(cwd), 0);
    free(cwd);
}

static void test_bad_file(void **state) {
    (void)state;
    errno = 0;
    assert_false(log_set_file("/nonexistent/directory/log"));
    assert_int_equal(errno, ENOENT);
    /* The file that is missing leaves no trace in errno. */
    unlink(path);
    errno = EAGAIN;
    log_notice("x", "still here");
    assert_int_equal(errno, EAGAIN);
    assert_matches(read_file(path), "still here\n$");
}

static void test_stderr(void **state) {
    int kept = dup(STDERR_FILENO);
    FILE *f = fopen(path, "w");

    (void)state;
    assert_non_null(f);
    assert_true(log_set_file(""));
    assert_true(dup2(fileno(f), STDERR_FILENO) >= 0);
    log_notice("x", "to stderr");
    dup2(kept, STDERR_FILENO);
    close(kept);
    fclose(f);
    assert_matches(read_file(path), "to stderr\n$");
}

static void test_syslog(void **state) {
    (void)state;
    log_set_syslog("pgdisque", 24);
    assert_string_equal(system_log.ident, "pgdisque");
    assert_int_equal(system_log.facility, 24);
    log_warning("db main", "gone %%n %s", "%n");
    assert_int_equal(system_log.priority, 4);
    assert_matches(system_log.text, "^\\[db main\\] gone %n %n\n?$");
    log_set_syslog(NULL, 0);
    assert_null(system_log.ident);
    log_warning("db main", "unheard");
    assert_null(strstr(system_log.text, "unheard"));
}

static void test_fatal(void **state) {
    int status;
    pid_t pid = fork();

    (void)state;
    assert_true(pid >= 0);
    if (pid == 0) {
        log_set_level(LOG_WARNING_);
        log_fatal("memory", "no more");
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 1);
    assert_matches(read_file(path), "^[^\n]* # \\[memory\\] no more\n$");
}

static void test_escape(void **state) {
    (void)state;
    assert_string_equal(log_escape(SLICE("plain"), 100), "\"plain\"");
    assert_string_equal(log_escape(SLICE(""), 100), "\"\"");
    assert_string_equal(log_escape((struct slice){ NULL, 0 }, 100), "\"\"");
    assert_string_equal(log_escape(SLICE("\"\\\n\r\t\a\b"), 100), "\"\\\"\\\\\\n\\r\\t\\a\\b\"");
    assert_string_equal(log_escape(SLICE("\0\x1f ~\x7f\xff"), 100), "\"\\x00\\x1f ~\\x7f\\xff\"");
    assert_string_equal(log_escape(SLICE("abcdef"), 6), "\"abcdef\"");
    assert_string_equal(log_escape(SLICE("abcdef"), 5), "\"abcde\"...");
}

int main(void) {
#define WITH_FILE(test) cmocka_unit_test_setup_teardown(test, open_log_file, remove_log_file)
    const struct CMUnitTest tests[] = {
        WITH_FILE(test_form),          WITH_FILE(test_json),      WITH_FILE(test_levels),
        WITH_FILE(test_one_line),      WITH_FILE(test_long_line), WITH_FILE(test_rotation),
        WITH_FILE(test_relative_path), WITH_FILE(test_bad_file),  WITH_FILE(test_stderr),
        WITH_FILE(test_syslog),        WITH_FILE(test_sometimes), WITH_FILE(test_fatal),
        cmocka_unit_test(test_escape),
    };

    return cmocka_run_group_tests_name("log", tests, NULL, NULL);
}
