/* Options: kinds and bounds, the file, the command line, CONFIG SET, REWRITE. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>
#include "base/log.h"
#include "config/config.h"

static char dir[64];
static char path[96];
static char err[512];

static int set_up(void **state) {
    (void)state;
    strcpy(dir, "/tmp/pgdisque-config-XXXXXX");
    if (mkdtemp(dir) == NULL)
        return -1;
    snprintf(path, sizeof(path), "%s/test.conf", dir);
    log_set_level(LOG_WARNING_);
    config_defaults();
    err[0] = '\0';
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    unlink(path);
    return rmdir(dir);
}

static void write_file(const char *content) {
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    assert_int_equal(fwrite(content, 1, strlen(content), f), strlen(content));
    assert_int_equal(fclose(f), 0);
}

static void assert_file(const char *content) {
    char have[16384];
    FILE *f = fopen(path, "r");
    size_t len;

    assert_non_null(f);
    len = fread(have, 1, sizeof(have) - 1, f);
    fclose(f);
    have[len] = '\0';
    assert_string_equal(have, content);
}

static void load(const char *content) {
    write_file(content);
    if (!config_load_file(path, err, sizeof(err)))
        fail_msg("%s", err);
}

/* Loading content fails with the file's path, then this text. */
static void assert_refused(const char *content, const char *text) {
    char want[512];

    write_file(content);
    assert_false(config_load_file(path, err, sizeof(err)));
    snprintf(want, sizeof(want), "%s%s", path, text);
    assert_string_equal(err, want);
}

static void set(const char *name, const char *value) {
    if (!config_set(slice_str(name), slice_str(value), err, sizeof(err)))
        fail_msg("%s", err);
}

static void assert_shown(const char *name, const char *value) {
    struct buf b = { 0 };
    const struct config_option *o = config_find(slice_str(name));

    assert_non_null(o);
    config_show(o, &b);
    buf_append(&b, "", 1);
    assert_string_equal(buf_ptr(&b), value);
    buf_free(&b);
}

static bool parse(enum config_action *action, const char *const *args) {
    char *argv[16] = { (char *)"pgdisque" };
    int argc = 1;

    for (; args[argc - 1] != NULL; argc++)
        argv[argc] = (char *)args[argc - 1];
    return config_parse_args(argc, argv, action, err, sizeof(err));
}

#define PARSE(action, ...) parse(action, (const char *const[]){ __VA_ARGS__, NULL })

static void test_defaults(void **state) {
    (void)state;
    assert_int_equal(config.port, 7711);
    assert_string_equal(config.bind, "127.0.0.1 -::1");
    assert_string_equal(config.database, "");
    assert_int_equal(config.unixsocketperm, 0700);
    assert_int_equal(config.proto_max_bulk_len, 64 * 1024 * 1024);
    assert_int_equal(config.loglevel, LOG_NOTICE_);
    assert_int_equal(config.enable_debug_command, DEBUG_NO);
    assert_int_equal(config.output_limit[OUTPUT_NORMAL].hard, 256 * 1024 * 1024);
    assert_int_equal(config.output_limit[OUTPUT_NORMAL].soft_seconds, 60);
    assert_int_equal(config.output_limit[OUTPUT_PUBSUB].hard, 32 * 1024 * 1024);
}

static void test_file_values(void **state) {
    (void)state;
    load("# comment\n"
         "\n"
         "   PORT   7712   \r\n"
         "requirepass \"a \\\"b\\\" \\x41\"\n"
         "syslog-ident 'it\\'s \\n'\n"
         "bind 10.0.0.1 -fe80::1\n"
         "protected-mode NO\n"
         "batch-max-bytes 1MB\n"
         "maxmemory 3k\n"
         "unixsocketperm 0770\n"
         "loglevel Debug\n"
         "slowlog-log-slower-than -1\n"
         "pidfile \"\"\n"
         "timeout 5\n"
         "timeout 7");
    assert_int_equal(config.port, 7712);
    assert_string_equal(config.requirepass, "a \"b\" A");
    assert_string_equal(config.syslog_ident, "it's \\n");
    assert_string_equal(config.bind, "10.0.0.1 -fe80::1");
    assert_false(config.protected_mode);
    assert_int_equal(config.batch_max_bytes, 1024 * 1024);
    assert_int_equal(config.maxmemory, 3000);
    assert_int_equal(config.unixsocketperm, 0770);
    assert_int_equal(config.loglevel, LOG_DEBUG_);
    assert_int_equal(config.slowlog_log_slower_than, -1);
    assert_string_equal(config.pidfile, "");
    assert_int_equal(config.timeout, 7);
    assert_string_equal(config_file(), path);
}

/* The default configuration has the option user, whose line also begins with "user". */
static void test_user_lines(void **state) {
    const struct config_user_line *lines;
    size_t count;

    (void)state;
    load("user nobody\nuser alice on >secret ~emails\n");
    assert_shown("user", "nobody");
    lines = config_user_lines(&count);
    assert_int_equal(count, 1);
    assert_non_null(strstr(lines[0].where, ":2"));
    assert_string_equal(lines[0].text, "user alice on >secret ~emails");
    load("user \"\"\n");
    assert_shown("user", "");
    (void)config_user_lines(&count);
    assert_int_equal(count, 1);
}

static void test_file_errors(void **state) {
    (void)state;
    assert_refused("\n\nprot 1\n", ":3: unknown option \"prot\", did you mean port?");
    assert_refused("port http\n", ":1: port takes an integer from 0 to 65535, not \"http\"");
    assert_refused("port 65536\n", ":1: port takes an integer from 0 to 65535, not \"65536\"");
    assert_refused("port -1\n", ":1: port takes an integer from 0 to 65535, not \"-1\"");
    assert_refused("port \"\"\n", ":1: port takes an integer from 0 to 65535, not \"\"");
    assert_refused("port 1 2\n", ":1: port needs one value, but has 2 words: an integer from 0 to 65535");
    assert_refused("port\n", ":1: port needs one value: an integer from 0 to 65535");
    assert_refused("daemonize maybe\n", ":1: daemonize takes yes or no, not \"maybe\"");
    assert_refused("hz 0\n", ":1: hz takes an integer from 1 to 500, not \"0\"");
    assert_refused("databases 17\n", ":1: databases takes an integer from 1 to 16, not \"17\"");
    assert_refused("loglevel loud\n", ":1: loglevel takes debug, verbose, notice or warning, not \"loud\"");
    assert_refused("unixsocketperm 800\n",
                   ":1: unixsocketperm takes an octal number from 0 to 777, not \"800\"");
    assert_refused("proto-max-bulk-len 1gb\n",
                   ":1: proto-max-bulk-len takes a size from 1mb to 512mb, not \"1gb\"");
    assert_refused("bind \"\"\n", ":1: bind takes 1 to 16 addresses, not \"\"");
    assert_refused("bind -\n", ":1: bind takes 1 to 16 addresses, not \"-\"");
    assert_refused("dir \"a\\x00b\"\n", ":1: dir takes text of at most 4000 bytes, not \"a\\x00b\"");
    assert_refused("timeout 5 # no comment\n",
                   ":1: timeout needs one value, but has 4 words: an integer from 0 to 2147483647. A comment "
                   "needs a line of its own");
    assert_refused("database host=x user=y\n",
                   ":1: database needs one value, but has 2 words: a connection URI, keyword=value pairs, or "
                   "nothing. Put a value with blanks in quotes");
    assert_refused("dir \"a\n", ":1: unbalanced quotes");
    assert_refused("dir \"a\"b\n", ":1: unbalanced quotes");
}

static void test_secrets_stay_out_of_errors(void **state) {
    (void)state;
    assert_refused("database \"password=hidden host\"\n",
                   ":1: database takes a connection URI, keyword=value pairs, or nothing");
}

static void test_file_missing(void **state) {
    (void)state;
    assert_false(config_load_file("/nonexistent/x.conf", err, sizeof(err)));
    assert_string_equal(err, "/nonexistent/x.conf: cannot be opened: No such file or directory");
    assert_false(config_load_file(dir, err, sizeof(err)));
    assert_non_null(strstr(err, "Is a directory"));
}

static void test_arguments(void **state) {
    enum config_action action;

    (void)state;
    write_file("port 1\ntimeout 5\n");
    assert_true(PARSE(&action, path, "--port", "2", "--bind", "1.2.3.4", "-::1", "--save="));
    assert_int_equal(action, CONFIG_RUN);
    assert_int_equal(config.port, 2);
    assert_int_equal(config.timeout, 5);
    assert_string_equal(config.bind, "1.2.3.4 -::1");
    assert_true(PARSE(&action, "--requirepass=--a=b", "--check"));
    assert_int_equal(action, CONFIG_CHECK);
    assert_string_equal(config.requirepass, "--a=b");
}

static void test_arguments_actions(void **state) {
    enum config_action action;

    (void)state;
    assert_true(PARSE(&action, "--help"));
    assert_int_equal(action, CONFIG_HELP);
    assert_true(PARSE(&action, "--version"));
    assert_int_equal(action, CONFIG_VERSION);
}

static void test_arguments_errors(void **state) {
    enum config_action action;

    (void)state;
    assert_false(PARSE(&action, "--port"));
    assert_string_equal(err, "command line: port needs one value: an integer from 0 to 65535");
    assert_false(PARSE(&action, "--port", "x"));
    assert_string_equal(err, "command line: port takes an integer from 0 to 65535, not \"x\"");
    assert_false(PARSE(&action, "--nope", "x"));
    assert_string_equal(err, "command line: unknown option \"nope\"");
    assert_false(PARSE(&action, "--port", "1", "--"));
    assert_string_equal(err, "command line: unknown option \"\"");
    assert_false(PARSE(&action, "-p", "1"));
    assert_string_equal(err, "command line: expected --option, not \"-p\"");
}

static void test_keepalive_words(void **state) {
    (void)state;
    set("tcp-keepalive", "no");
    assert_int_equal(config.tcp_keepalive, 0);
    set("tcp-keepalive", "yes");
    assert_int_equal(config.tcp_keepalive, 60);
    set("tcp-keepalive", "15");
    assert_shown("tcp-keepalive", "15");
}

static void test_output_limits(void **state) {
    (void)state;
    set("client-output-buffer-limit", "replica 1mb 1k 5 Pubsub 0 0 0");
    assert_shown("client-output-buffer-limit",
                 "normal 268435456 67108864 60 slave 1048576 1000 5 pubsub 0 0 0");
    set("client-output-buffer-limit", "slave 2 1 0");
    assert_int_equal(config.output_limit[OUTPUT_REPLICA].hard, 2);
    assert_false(
        config_set(SLICE("client-output-buffer-limit"), SLICE("slave 9 9 9 normal 1 2"), err, sizeof(err)));
    assert_int_equal(config.output_limit[OUTPUT_REPLICA].hard, 2);
    assert_false(config_set(SLICE("client-output-buffer-limit"), SLICE("other 1 2 3"), err, sizeof(err)));
    assert_false(config_set(SLICE("client-output-buffer-limit"), SLICE(""), err, sizeof(err)));
}

static void test_set_errors(void **state) {
    (void)state;
    assert_false(config_set(SLICE("nope"), SLICE("1"), err, sizeof(err)));
    assert_string_equal(err, "Unsupported CONFIG parameter: nope");
    assert_false(config_set(SLICE("DIR"), SLICE("/etc"), err, sizeof(err)));
    assert_string_equal(err, "Unsupported CONFIG parameter: dir can only be set at start");
    assert_string_equal(config.dir, "./data");
    assert_false(config_set(SLICE("MaxClients"), SLICE("many"), err, sizeof(err)));
    assert_string_equal(
        err, "Invalid argument 'many' for CONFIG SET 'MaxClients': it takes an integer from 1 to 1000000");
    assert_false(config_set(SLICE("requirepass"), SLICE("a\0b"), err, sizeof(err)));
    assert_string_equal(config.requirepass, "");
}

/* A client cannot set an option that names a file, a program or a database. */
static void test_set_refuses_paths(void **state) {
    static const char *const names[] = { "dir",      "logfile",      "unixsocket", "pidfile",
                                         "database", "postgres-bin", "user" };

    (void)state;
    for (size_t i = 0; i < LENGTH(names); i++)
        assert_false(config_set(slice_str(names[i]), SLICE(""), err, sizeof(err)));
}

static void test_set_all_or_nothing(void **state) {
    const struct slice pairs[] = { SLICE("timeout"), SLICE("9"), SLICE("requirepass"), SLICE("new"),
                                   SLICE("timeout"), SLICE("8"), SLICE("hz"),          SLICE("x") };

    (void)state;
    set("requirepass", "old");
    assert_false(config_set_all(pairs, 4, err, sizeof(err)));
    assert_string_equal(err, "Invalid argument 'x' for CONFIG SET 'hz': it takes an integer from 1 to 500");
    assert_int_equal(config.timeout, 0);
    assert_string_equal(config.requirepass, "old");
    assert_true(config_set_all(pairs, 3, err, sizeof(err)));
    assert_int_equal(config.timeout, 8);
    assert_string_equal(config.requirepass, "new");
}

static int limits_changed, password_changed;

static void on_limits(void) {
    limits_changed++;
}

static void on_password(void) {
    password_changed++;
}

static void test_change_callbacks(void **state) {
    const struct slice both[] = { SLICE("maxclients"), SLICE("5"), SLICE("hz"), SLICE("5") };
    const struct slice bad[] = { SLICE("maxclients"), SLICE("6"), SLICE("hz"), SLICE("x") };

    (void)state;
    config_on_change("maxclients", on_limits);
    config_on_change("hz", on_limits);
    config_on_change("requirepass", on_password);
    assert_true(config_set_all(both, 2, err, sizeof(err)));
    assert_int_equal(limits_changed, 1);
    assert_true(config_set_all(both, 2, err, sizeof(err)));
    assert_false(config_set_all(bad, 2, err, sizeof(err)));
    assert_int_equal(limits_changed, 1);
    set("hz", "6");
    assert_int_equal(limits_changed, 2);
    assert_int_equal(password_changed, 0);
    set("requirepass", "x");
    assert_int_equal(password_changed, 1);
}

static void test_database_redacted(void **state) {
    (void)state;
    assert_string_equal(config_database_redacted(), "");
    load("database postgres://me:secret@db:5433/q?sslmode=require&sslpassword=secret\n");
    assert_null(strstr(config_database_redacted(), "secret"));
    assert_non_null(strstr(config_database_redacted(), "host=db"));
    load("database \"host=/tmp user='a b' password='se\\\\'cret'\"\n");
    assert_shown("database", "user='a b' password=*** host=/tmp");
    assert_non_null(strstr(config.database, "cret"));
}

static void test_rewrite_without_file(void **state) {
    (void)state;
    assert_false(config_rewrite(SLICE(""), err, sizeof(err)));
    assert_string_equal(err, "The server is running without a config file");
}

static void rewrite(void) {
    if (!config_rewrite(SLICE(""), err, sizeof(err)))
        fail_msg("%s", err);
}

static void test_rewrite_keeps_and_replaces(void **state) {
    (void)state;
    load("# first\n"
         "port   0\n"
         "\n"
         "# the next one changes\n"
         "timeout 5\n"
         "batch-max-bytes 1048576\n"
         "timeout 6");
    set("timeout", "9");
    set("requirepass", "two words\n");
    set("maxmemory", "2048");
    rewrite();
    assert_file("# first\n"
                "port   0\n"
                "\n"
                "# the next one changes\n"
                "timeout 9\n"
                "batch-max-bytes 1048576\n"
                "\n"
                "# Written by CONFIG REWRITE\n"
                "requirepass \"two words\\n\"\n"
                "maxmemory 2kb\n");
    set("hz", "20");
    set("maxmemory", "0");
    rewrite();
    assert_file("# first\n"
                "port   0\n"
                "\n"
                "# the next one changes\n"
                "timeout 9\n"
                "batch-max-bytes 1048576\n"
                "\n"
                "# Written by CONFIG REWRITE\n"
                "requirepass \"two words\\n\"\n"
                "maxmemory 0\n"
                "hz 20\n");
}

static void test_rewrite_limits(void **state) {
    (void)state;
    load("client-output-buffer-limit normal 1mb 0 0\n"
         "client-output-buffer-limit slave 2mb 0 0\n");
    set("client-output-buffer-limit", "pubsub 3mb 0 0");
    rewrite();
    assert_file("client-output-buffer-limit normal 1mb 0 0\n"
                "client-output-buffer-limit slave 2mb 0 0\n"
                "\n"
                "# Written by CONFIG REWRITE\n"
                "client-output-buffer-limit normal 1mb 0 0 slave 2mb 0 0 pubsub 3mb 0 0\n");
}

static void set_awkward_values(void) {
    set("requirepass", "\"'\\ #\x01\xff");
    set("save", "900 1 \"x\"");
    set("slowlog-log-slower-than", "-1");
    set("client-output-buffer-limit", "normal 1 2 3");
    set("maxmemory", "1073741825");
}

/* A file written by REWRITE sets the same values. */
static void test_rewrite_round_trip(void **state) {
    size_t count;
    const struct config_option *options = config_options(&count);
    struct buf before = { 0 }, after = { 0 };

    (void)state;
    load("");
    set_awkward_values();
    for (size_t i = 0; i < count; i++)
        config_show(&options[i], &before);
    rewrite();
    config_defaults();
    assert_true(config_load_file(path, err, sizeof(err)));
    for (size_t i = 0; i < count; i++)
        config_show(&options[i], &after);
    assert_int_equal(buf_len(&before), buf_len(&after));
    assert_memory_equal(buf_ptr(&before), buf_ptr(&after), buf_len(&before));
    buf_free(&before);
    buf_free(&after);
}

static void test_rewrite_file_itself(void **state) {
    struct stat st;

    (void)state;
    load("port 1\n");
    assert_int_equal(chmod(path, 0640), 0);
    set("hz", "11");
    rewrite();
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0640);
    assert_int_equal(unlink(path), 0);
    rewrite();
    assert_file("\n# Written by CONFIG REWRITE\nport 1\nhz 11\n");
}

static void test_rewrite_failure(void **state) {
    (void)state;
    load("port 1\n");
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(dir), 0);
    assert_false(config_rewrite(SLICE(""), err, sizeof(err)));
    assert_string_equal(err, "Rewriting config file: No such file or directory");
    assert_int_equal(mkdir(dir, 0700), 0);
}

static void test_help(void **state) {
    size_t count;
    const struct config_option *options = config_options(&count);
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);

    (void)state;
    config_help(out);
    fclose(out);
    for (size_t i = 0; i < count; i++) {
        char want[128];

        snprintf(want, sizeof(want), "\n  --%s ", options[i].name);
        assert_non_null(strstr(text, want));
    }
    free(text);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_rewrite_without_file), /* before any file is loaded */
        TEST(test_defaults),
        TEST(test_file_values),
        TEST(test_user_lines),
        TEST(test_file_errors),
        TEST(test_secrets_stay_out_of_errors),
        TEST(test_file_missing),
        TEST(test_arguments),
        TEST(test_arguments_actions),
        TEST(test_arguments_errors),
        TEST(test_keepalive_words),
        TEST(test_output_limits),
        TEST(test_set_errors),
        TEST(test_set_refuses_paths),
        TEST(test_set_all_or_nothing),
        TEST(test_change_callbacks),
        TEST(test_database_redacted),
        TEST(test_rewrite_keeps_and_replaces),
        TEST(test_rewrite_limits),
        TEST(test_rewrite_round_trip),
        TEST(test_rewrite_file_itself),
        TEST(test_rewrite_failure),
        TEST(test_help),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
