/* Users: rules, their description, checks of rights, files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "acl/acl_file.h"
#include "acl/acl_log.h"
#include "acl/user.h"
#include "base/clock.h"
#include "config/config.h"
#include "random.h"

enum { GET, SET, CLIENT, CLIENT_ID, CLIENT_KILL, SELECT };

static const struct right rights[] = {
    { "get", -1, false, 1u << CATEGORY_READ | 1u << CATEGORY_FAST },
    { "set", -1, false, 1u << CATEGORY_WRITE | 1u << CATEGORY_FAST },
    { "client", -1, true, 1u << CATEGORY_SLOW },
    { "client|id", CLIENT, false, 1u << CATEGORY_CONNECTION },
    { "client|kill", CLIENT, false, 1u << CATEGORY_ADMIN },
    { "select", -1, false, 1u << CATEGORY_CONNECTION },
};

static int set_up(void **state) {
    struct user **all;

    (void)state;
    config_defaults();
    rights_register(rights, LENGTH(rights));
    users_init();
    all = users_sorted();
    for (size_t i = users_count(); i-- > 0;) {
        if (all[i] != default_user)
            assert_true(user_remove(user_name(all[i])));
    }
    free(all);
    users_reset_default();
    acl_log_reset();
    return 0;
}

#define MAX_RULES 1024

/* Applies the words of text to the user. */
static enum rule_error set(const char *name, const char *text) {
    static char copy[65536];
    static struct slice words[MAX_RULES], rules[MAX_RULES];
    struct buf joined = { 0 };
    size_t count = 0, rule_count, bad;
    enum rule_error error;

    snprintf(copy, sizeof copy, "%s", text);
    for (char *word = strtok(copy, " "); word != NULL; word = strtok(NULL, " "))
        words[count++] = slice_str(word);
    assert_int_equal(rules_join(words, count, &joined, rules, &rule_count), -1);
    error = user_set(slice_str(name), rules, rule_count, &bad);
    buf_free(&joined);
    return error;
}

static const char *described(const char *name) {
    static char text[65536];
    struct buf b = { 0 };

    grants_describe(&user_find(slice_str(name))->grants, &b);
    snprintf(text, sizeof text, "%.*s", (int)buf_len(&b), buf_ptr(&b));
    buf_free(&b);
    return text;
}

static bool may_run(const char *name, unsigned right) {
    return user_may_run(user_find(slice_str(name)), right);
}

static void test_default_user(void **state) {
    (void)state;
    assert_true(default_user->all);
    assert_true(users_need_no_login());
    assert_string_equal(described("default"), "on nopass sanitize-payload ~* &* +@all");
    assert_int_equal(set("default", "-get"), RULE_OK);
    assert_false(default_user->all);
    assert_int_equal(set("default", "+@all"), RULE_OK);
    assert_true(default_user->all);
    assert_int_equal(set("default", "resetkeys"), RULE_OK);
    assert_false(default_user->all);
}

static void test_rules_of_commands(void **state) {
    (void)state;
    assert_int_equal(set("ada", "on +client -client|kill"), RULE_OK);
    assert_true(may_run("ada", CLIENT_ID));
    assert_false(may_run("ada", CLIENT_KILL));
    assert_string_equal(described("ada"), "on sanitize-payload resetchannels -@all +client -client|kill");
    /* A rule for a command replaces those for its subcommands. */
    assert_int_equal(set("ada", "-client"), RULE_OK);
    assert_false(may_run("ada", CLIENT_ID));
    assert_string_equal(described("ada"), "on sanitize-payload resetchannels -@all -client");
    assert_int_equal(set("ada", "+@all -@fast +GET"), RULE_OK);
    assert_true(may_run("ada", GET));
    assert_false(may_run("ada", SET));
    assert_string_equal(described("ada"), "on sanitize-payload resetchannels +@all -@fast +get");
    assert_int_equal(set("ada", "nocommands +select|0"), RULE_OK);
    assert_true(may_run("ada", SELECT));
    assert_int_equal(set("ada", "-select"), RULE_OK);
    assert_false(may_run("ada", SELECT));
    assert_int_equal(set("ada", "+client|nothing"), RULE_UNKNOWN_COMMAND);
    assert_int_equal(set("ada", "-client|id|x"), RULE_UNKNOWN_COMMAND);
    assert_int_equal(set("ada", "+client|id|x"), RULE_FIRST_ARG_OF_SUBCOMMAND);
    assert_int_equal(set("ada", "+select|"), RULE_SYNTAX);
}

static bool may_queue(const char *name, unsigned access, const char *queue) {
    return user_may_queue(user_find(slice_str(name)), GET, access, slice_str(queue));
}

static void test_queues(void **state) {
    (void)state;
    assert_int_equal(set("ada", "+get %R~in:* %W~out:* ~both (+set %RW~never) (+get %R~second)"), RULE_OK);
    assert_true(may_queue("ada", ACL_READ, "in:1"));
    assert_false(may_queue("ada", ACL_WRITE, "in:1"));
    assert_false(may_queue("ada", ACL_READ, "out:1"));
    assert_true(may_queue("ada", ACL_WRITE, "out:1"));
    assert_true(may_queue("ada", ACL_READ_WRITE, "both"));
    assert_true(may_queue("ada", ACL_READ, "second"));
    /* A selector that does not allow the command gives no queue for it. */
    assert_false(may_queue("ada", ACL_READ, "never"));
    /* The access to a queue that two patterns allow in part is refused, as in Redis. */
    assert_int_equal(set("ada", "resetkeys %R~x %W~x*"), RULE_OK);
    assert_false(may_queue("ada", ACL_READ_WRITE, "x"));
    assert_int_equal(set("ada", "%R~a%b"), RULE_OK);
    assert_int_equal(set("ada", "%~x"), RULE_SYNTAX);
    assert_int_equal(set("ada", "%RR~x"), RULE_SYNTAX);
    assert_int_equal(set("ada", "%R"), RULE_SYNTAX);
    assert_int_equal(set("ada", "%X~x"), RULE_SYNTAX);
    assert_int_equal(set("ada", "allkeys"), RULE_OK);
    assert_int_equal(set("ada", "~x"), RULE_AFTER_ALL_QUEUES);
}

static void test_channels(void **state) {
    const struct user *u;

    (void)state;
    assert_int_equal(set("ada", "+get &news:*"), RULE_OK);
    u = user_find(SLICE("ada"));
    assert_true(user_may_channel(u, GET, SLICE("news:1"), false));
    assert_false(user_may_channel(u, GET, SLICE("other"), false));
    assert_true(user_may_channel(u, GET, SLICE("news:*"), true));
    assert_false(user_may_channel(u, GET, SLICE("news:1*"), true));
}

static void test_passwords(void **state) {
    (void)state;
    assert_int_equal(set("ada", "on >one >two >one"), RULE_OK);
    assert_int_equal(user_find(SLICE("ada"))->grants.password_count, 2);
    assert_ptr_equal(user_login(SLICE("ada"), SLICE("two")), user_find(SLICE("ada")));
    assert_null(user_login(SLICE("ada"), SLICE("three")));
    assert_null(user_login(SLICE("bob"), SLICE("two")));
    assert_int_equal(set("ada", "<one off"), RULE_OK);
    assert_null(user_login(SLICE("ada"), SLICE("two")));
    assert_int_equal(set("ada", "on"), RULE_OK);
    assert_null(user_login(SLICE("ada"), SLICE("one")));
    assert_int_equal(set("ada", "<one"), RULE_NO_SUCH_PASSWORD);
    assert_int_equal(set("ada", "#12"), RULE_BAD_HASH);
    assert_int_equal(set("ada", "nopass"), RULE_OK);
    assert_non_null(user_login(SLICE("ada"), SLICE("anything")));
    assert_int_equal(set("ada", ">x"), RULE_OK);
    assert_null(user_login(SLICE("ada"), SLICE("anything")));
}

static void test_too_many(void **state) {
    char text[64];
    enum rule_error error = RULE_OK;

    (void)state;
    for (int i = 0; i < USER_PASSWORDS_MAX; i++) {
        snprintf(text, sizeof text, ">p%d", i);
        assert_int_equal(set("ada", text), RULE_OK);
    }
    assert_int_equal(set("ada", ">more"), RULE_TOO_MANY);
    for (int i = 0; i < USER_SELECTORS_MAX; i++)
        assert_int_equal(set("ada", "(+get)"), RULE_OK);
    assert_int_equal(set("ada", "(+get)"), RULE_TOO_MANY);
    for (int i = 0; i <= SELECTOR_PATTERNS_MAX && error == RULE_OK; i++) {
        snprintf(text, sizeof text, "~q%d", i);
        error = set("ada", text);
    }
    assert_int_equal(error, RULE_TOO_MANY);
}

/* A description is read again from a file. */
static void test_description_can_be_read(void **state) {
    (void)state;
    assert_int_equal(set("ada", "%RW~* ~b"), RULE_OK);
    assert_string_equal(described("ada"), "off sanitize-payload %RW~* ~b resetchannels -@all");
    assert_int_equal(set("bob", described("ada")), RULE_OK);
    /* The file would end the selector there. */
    assert_int_equal(set("cyd", "( ~a))"), RULE_SYNTAX);
}

/* A wrong rule among right ones changes nothing. */
static void test_all_or_nothing(void **state) {
    (void)state;
    assert_int_equal(set("ada", "on +get"), RULE_OK);
    assert_int_equal(set("ada", "off +set nonsense"), RULE_SYNTAX);
    assert_string_equal(described("ada"), "on sanitize-payload resetchannels -@all +get");
    assert_int_equal(set("bob", "on nonsense"), RULE_SYNTAX);
    assert_null(user_find(SLICE("bob")));
}

/* The described rules make the same user, after any earlier rules. */
static void test_round_trip(void **state) {
    static const char *const words[] = {
        "+get",
        "-get",
        "+set",
        "+client",
        "-client",
        "+client|id",
        "-client|kill",
        "+@all",
        "-@all",
        "+@fast",
        "-@admin",
        "+select|0",
        "+select|1",
        "-select",
        "~a*",
        "%R~b",
        "%W~b",
        "%RW~c",
        "allkeys",
        "resetkeys",
        "&n*",
        "allchannels",
        "resetchannels",
        ">x",
        "<x",
        "nopass",
        "resetpass",
        "on",
        "off",
        "reset",
        "(+get ~z)",
        "(+@all %R~y &c)",
        "clearselectors",
        "skip-sanitize-payload",
        "sanitize-payload",
    };

    (void)state;
    random_start(1);
    for (int i = 0; i < 20000; i++) {
        struct buf before = { 0 };

        (void)set("ada", words[random_below(LENGTH(words))]);
        if (user_find(SLICE("ada")) == NULL)
            continue;
        buf_append_str(&before, described("ada"));
        buf_append(&before, "", 1);
        (void)user_remove(SLICE("bob"));
        assert_int_equal(set("bob", buf_ptr(&before)), RULE_OK);
        assert_string_equal(described("bob"), buf_ptr(&before));
        for (unsigned right = 0; right < LENGTH(rights); right++)
            assert_int_equal(may_run("ada", right), may_run("bob", right));
        /* -get +get clears the flag of the first user, but not its rights. */
        assert_true(user_find(SLICE("bob"))->all || !user_find(SLICE("ada"))->all);
        buf_free(&before);
    }
}

/* A removed user may do nothing, while a client still points to it. */
static void test_removed(void **state) {
    struct user *u;

    (void)state;
    assert_int_equal(set("ada", "on nopass +@all ~* &*"), RULE_OK);
    u = user_hold(user_find(SLICE("ada")));
    assert_true(u->all);
    assert_true(user_remove(SLICE("ada")));
    assert_null(user_find(SLICE("ada")));
    assert_false(u->all);
    assert_true(u->removed);
    assert_false(user_may_queue(u, GET, ACL_READ, SLICE("q")));
    user_release(u);
    assert_false(user_remove(SLICE("ada")));
}

/* ---- files ---- */

static char file[] = "/tmp/pgdisque-acl.XXXXXX";

static void write_file(const char *text) {
    FILE *out = fopen(file, "we");

    assert_non_null(out);
    assert_true(fputs(text, out) >= 0);
    assert_int_equal(fclose(out), 0);
}

static bool load(const char *text) {
    struct buf err = { 0 };
    bool ok;

    write_file(text);
    free(config.aclfile);
    config.aclfile = xstrdup(file);
    ok = acl_file_load(&err);
    assert_int_equal(ok, buf_len(&err) == 0);
    buf_free(&err);
    return ok;
}

static void test_file(void **state) {
    (void)state;
    assert_int_equal(close(mkstemp(file)), 0);
    assert_int_equal(set("old", "on"), RULE_OK);
    assert_true(load("user ada on >x +get ~a* (+set ~b)\r\n\n  user bob\n"));
    assert_null(user_find(SLICE("old")));
    assert_non_null(user_find(SLICE("bob")));
    assert_true(default_user->all);
    assert_true(acl_file_save());
    assert_int_equal(set("ada", "reset"), RULE_OK);
    assert_int_equal(set("default", "off"), RULE_OK);
    {
        struct buf err = { 0 };

        assert_true(acl_file_load(&err));
        buf_free(&err);
    }
    assert_true(may_run("ada", GET));
    assert_true(default_user->grants.on);
    /* A wrong file changes nothing. */
    assert_false(load("user ada on\nuser ada on\n"));
    assert_false(load("user ada nonsense\n"));
    assert_false(load("user ada (+get\n"));
    assert_false(load("ada on\n"));
    assert_false(load("user\n"));
    assert_false(load("# comment\n"));
    assert_true(may_run("ada", GET));
    assert_true(load("user default on >secret +@all ~* &*"));
    assert_false(users_need_no_login());
    assert_null(user_find(SLICE("ada")));
    unlink(file);
}

static bool file_has(const char *text) {
    char content[4096];
    FILE *in = fopen(file, "re");
    size_t len = in == NULL ? 0 : fread(content, 1, sizeof content - 1, in);

    assert_non_null(in);
    content[len] = '\0';
    fclose(in);
    return strstr(content, text) != NULL;
}

/* The user lines of the configuration file, and CONFIG REWRITE. */
static void test_user_lines(void **state) {
    struct buf text = { 0 };
    char err[256];

    (void)state;
    write_file("port 7711\nuser ada on \">x y\" +get ( +set ~b )\nhz 10\n");
    assert_true(config_load_file(file, err, sizeof err));
    assert_true(acl_file_start(&text));
    assert_non_null(user_login(SLICE("ada"), SLICE("x y")));
    assert_string_equal(described("ada") + 2 + strlen(" sanitize-payload #") + 64,
                        " resetchannels -@all +get (~b resetchannels -@all +set)");
    users_describe(&text, true);
    assert_true(config_rewrite((struct slice){ buf_ptr(&text), buf_len(&text) }, err, sizeof err));
    assert_true(file_has("port 7711\nhz 10\n"));
    assert_true(file_has("\nuser ada on sanitize-payload #"));
    assert_false(file_has("x y"));
    assert_false(file_has("user default"));
    /* An error names the line. */
    write_file("port 7711\n\nuser bob nonsense\n");
    assert_true(config_load_file(file, err, sizeof err));
    buf_reset(&text, 0);
    assert_false(acl_file_start(&text));
    buf_append(&text, "", 1);
    assert_non_null(strstr(buf_ptr(&text), ":3: "));
    /* The file has both: that is refused. */
    buf_reset(&text, 0);
    free(config.aclfile);
    config.aclfile = xstrdup(file);
    assert_false(acl_file_start(&text));
    buf_free(&text);
    unlink(file);
}

/* ---- ACL LOG ---- */

static void add_entry(const char *object) {
    acl_log_add(ACL_LOG_KEY, ACL_LOG_TOPLEVEL, slice_str(object), SLICE("ada"), SLICE("id=1"));
}

static void test_log(void **state) {
    char long_name[5000];
    const struct acl_log_entry *e;

    (void)state;
    add_entry("a");
    add_entry("b");
    add_entry("a");
    assert_int_equal(acl_log_len(), 2);
    e = LIST_ENTRY(acl_log_entries()->next, const struct acl_log_entry, node);
    assert_string_equal(e->object, "a");
    assert_int_equal(e->count, 2);
    memset(long_name, 'x', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = '\0';
    add_entry(long_name);
    e = LIST_ENTRY(acl_log_entries()->next, const struct acl_log_entry, node);
    assert_int_equal(e->object_len, 1024);
    config.acllog_max_len = 2;
    add_entry("c");
    assert_int_equal(acl_log_len(), 2);
    acl_log_reset();
    assert_int_equal(acl_log_len(), 0);
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_default_user, set_up),
        cmocka_unit_test_setup(test_rules_of_commands, set_up),
        cmocka_unit_test_setup(test_queues, set_up),
        cmocka_unit_test_setup(test_channels, set_up),
        cmocka_unit_test_setup(test_passwords, set_up),
        cmocka_unit_test_setup(test_too_many, set_up),
        cmocka_unit_test_setup(test_description_can_be_read, set_up),
        cmocka_unit_test_setup(test_all_or_nothing, set_up),
        cmocka_unit_test_setup(test_round_trip, set_up),
        cmocka_unit_test_setup(test_removed, set_up),
        cmocka_unit_test_setup(test_file, set_up),
        cmocka_unit_test_setup(test_log, set_up),
        cmocka_unit_test_setup(test_user_lines, set_up),
    };

    return cmocka_run_group_tests_name("users", tests, NULL, NULL);
}
