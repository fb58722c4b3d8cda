/* The power and the secrets of a server: the change from root, core dumps, and all places that could show a secret. */
#include "fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define START_MS 60000
/* Every secret contains this word. */
#define PLANTED "planted"

static char text[1 << 20];

static void read_file(const char *path) {
    int fd = open(path, O_RDONLY);
    ssize_t len, at = 0;

    if (fd < 0)
        fail_msg("%s: %s", path, strerror(errno));
    while ((len = read(fd, text + at, sizeof(text) - 1 - (size_t)at)) > 0)
        at += len;
    for (ssize_t i = 0; i < at; i++)
        if (text[i] == '\0')
            text[i] = ' ';
    text[at] = '\0';
    close(fd);
}

static void read_process(const struct server *s, const char *name) {
    char path[PATH_SIZE];

    path_join(path, "/proc/%d/%s", (int)s->pid, name);
    read_file(path);
}

static void must_contain(const char *part) {
    if (!strstr(text, part))
        fail_msg("\"%s\" is not in: %s", part, text);
}

static void must_be_clean(const char *place) {
    if (strstr(text, PLANTED))
        fail_msg("%s shows a secret: %s", place, text);
}

/* ---- power ---- */

static void start_with(struct server *s, const char *option, const char *value) {
    const char *options[] = { option, value, NULL };

    server_start(s, postgres_conninfo(&pg, NULL), options);
}

static void root_becomes_the_user(void **state) {
    gid_t gid = 0;
    int uid = (int)unprivileged_uid(&gid);
    struct server s;
    redisContext *c;

    (void)state;
    if (uid == 0)
        skip();
    start_with(&s, "--user", getpwuid((uid_t)uid)->pw_name);
    read_process(&s, "status");
    must_contain(text_of("Uid:\t%d\t%d\t%d\t%d", uid, uid, uid, uid));
    must_contain(text_of("Gid:\t%d\t%d\t%d\t%d", (int)gid, (int)gid, (int)gid, (int)gid));
    must_contain("CapPrm:\t0000000000000000");
    must_contain("CapEff:\t0000000000000000");
    c = client_open_on(&s);
    add_job(c, "q", "a", "");
    get_job(c, "q", "a");
    redisFree(c);
    assert_int_equal(server_stop(&s), 0);
}

/* The user may write the directory of the log. Root opens the log, and gives it to the user. */
static void a_link_is_no_log(void **state) {
    char log[PATH_SIZE], target[PATH_SIZE], output[PATH_SIZE], port[16];
    const char *argv[] = {
        server_program(), "--port", port, "--dir", scratch_dir(), "--database", postgres_conninfo(&pg, NULL),
        "--logfile",      log,      NULL
    };

    (void)state;
    if (geteuid() != 0)
        skip();
    snprintf(port, sizeof(port), "%d", server_free_port());
    path_join(output, "%s/link.out", scratch_dir());
    path_join(log, "%s/link.log", scratch_dir());
    path_join(target, "%s/link.target", scratch_dir());
    assert_int_equal(symlink(target, log), 0);
    assert_int_equal(wait_exit(spawn(&(struct spawn){ .argv = argv, .log = output }), START_MS), 1);
    assert_true(file_contains(output, "cannot open the log file"));
    assert_int_not_equal(access(target, F_OK), 0);
}

static void a_wrong_user_refuses_the_start(void **state) {
    char log[PATH_SIZE], dir[PATH_SIZE], port[16];
    const char *argv[] = { server_program(), "--port", port,     "--dir",        dir,
                           "--database",     "x=y",    "--user", "no-such-user", NULL };

    (void)state;
    if (geteuid() != 0)
        skip();
    argv[6] = postgres_conninfo(&pg, NULL);
    snprintf(port, sizeof(port), "%d", server_free_port());
    path_join(log, "%s/user.log", scratch_dir());
    path_join(dir, "%s/user", scratch_dir());
    assert_int_equal(wait_exit(spawn(&(struct spawn){ .argv = argv, .log = log }), START_MS), 1);
    assert_true(file_contains(log, "there is no unprivileged user no-such-user"));
}

/* A process of the same user: the embedded Postgres, for example. */
static int open_as_user(const char *path, uid_t uid, gid_t gid) {
    pid_t pid = fork();

    if (pid == 0) {
        if (uid && (setgid(gid) != 0 || setuid(uid) != 0))
            _exit(100);
        _exit(open(path, O_RDONLY) >= 0 ? 0 : errno);
    }
    return wait_exit(pid, START_MS);
}

static void its_memory_is_closed(void **state) {
    char path[PATH_SIZE];
    gid_t gid = 0;
    uid_t uid = unprivileged_uid(&gid);

    (void)state;
    read_process(&server, "limits");
    must_contain("Max core file size        0                    0");
    path_join(path, "/proc/%d/environ", (int)server.pid);
    assert_int_equal(open_as_user(path, uid, gid), EACCES);
}

static void an_option_permits_core_dumps(void **state) {
    char path[PATH_SIZE];
    struct server s;
    gid_t gid = 0;
    uid_t uid = unprivileged_uid(&gid);

    (void)state;
    start_with(&s, "--core-dumps", "yes");
    path_join(path, "/proc/%d/environ", (int)s.pid);
    assert_int_equal(open_as_user(path, uid, gid), 0);
    assert_int_equal(server_stop(&s), 0);
}

/* ---- secrets ---- */

static redisContext *watch(const struct server *s) {
    redisContext *c = client_open_on(s);

    expect(c, "+OK", "AUTH " PLANTED "-old");
    EVENTUALLY(strcmp(ask(c, "DBSIZE"), ":0") == 0);
    expect(c, "+OK", "MONITOR");
    return c;
}

static void show_secrets(const struct server *s) {
    static const char *const commands[] = {
        "AUTH " PLANTED "-wrong",
        "AUTH default " PLANTED "-wrong",
        "AUTH " PLANTED " too many words",
        "HELLO 3 AUTH default " PLANTED "-wrong",
        "AUTH " PLANTED "-old",
        "HELLO 2 AUTH default " PLANTED "-old SETNAME worker",
        "CONFIG SET requirepass " PLANTED "-wrong no-such-option 1",
        "CONFIG SET timeout x requirepass " PLANTED "-wrong",
        "CONFIG SET database " PLANTED,
        "CONFIG SET requirepass " PLANTED "-new",
        "CONFIG REWRITE",
    };
    redisContext *c = client_open_on(s);

    for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++) {
        snprintf(text, sizeof(text), "%s", ask(c, commands[i]));
        must_be_clean(commands[i]);
    }
    redisFree(c);
}

/* Reads the replies of all commands that tell about the server and its clients. */
static void look_at_replies(redisContext *c) {
    static const char *const commands[] = {
        "INFO ALL",     "CLIENT LIST",   "CLIENT INFO",    "SLOWLOG GET 1000", "CONFIG GET database",
        "DOCTOR LINES", "CLUSTER NODES", "LATENCY DOCTOR", "MEMORY DOCTOR",
    };

    for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++) {
        snprintf(text, sizeof(text), "%s", ask(c, commands[i]));
        assert_int_not_equal(strncmp(text, "-NOAUTH", 7), 0);
        must_be_clean(commands[i]);
    }
}

static void look_at_monitor(redisContext *monitor, redisContext *c) {
    expect(c, "\"end-of-test\"", "ECHO end-of-test");
    do {
        snprintf(text, sizeof(text), "%s", next_reply(monitor));
        must_be_clean("MONITOR");
        assert_string_not_equal(text, "closed");
    } while (!strstr(text, "end-of-test"));
}

static void no_place_shows_a_secret(void **state) {
    const char *options[] = { "--requirepass=" PLANTED "-old",
                              "--slowlog-log-slower-than",
                              "0",
                              "--slowlog-max-len",
                              "1000",
                              "--loglevel",
                              "debug",
                              NULL };
    const char *database = text_of("%s password=" PLANTED, postgres_conninfo(&pg, NULL));
    redisContext *monitor, *c;
    struct server s;

    (void)state;
    server_spawn(&s, forever(database), options);
    /* PING answers NOAUTH. */
    EVENTUALLY(strncmp(server_ping(&s), "-NOAUTH", 7) == 0);
    monitor = watch(&s);
    show_secrets(&s);
    c = client_open_on(&s);
    expect(c, "+OK", "AUTH " PLANTED "-new");
    look_at_replies(c);
    look_at_monitor(monitor, c);
    read_process(&s, "cmdline");
    must_be_clean("the command line");
    must_contain("--requirepass=*");
    redisFree(monitor);
    redisFree(c);
    assert_int_equal(server_stop(&s), 0);
    read_file(s.log);
    must_be_clean("the log");
}

static void tools_hide_addresses(void **state) {
    const char *argv[] = { server_program(),
                           "import",
                           "redis://user:" PLANTED "@127.0.0.1:1",
                           "--to",
                           "redis://:" PLANTED "@127.0.0.1:1",
                           "q",
                           NULL };
    char log[PATH_SIZE];

    (void)state;
    path_join(log, "%s/import.log", scratch_dir());
    assert_int_not_equal(wait_exit(spawn(&(struct spawn){ .argv = argv, .log = log }), START_MS), 0);
    read_file(log);
    must_be_clean("the output of import");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(root_becomes_the_user),          cmocka_unit_test(a_link_is_no_log),
        cmocka_unit_test(a_wrong_user_refuses_the_start), cmocka_unit_test(its_memory_is_closed),
        cmocka_unit_test(an_option_permits_core_dumps),   cmocka_unit_test(no_place_shows_a_secret),
        cmocka_unit_test(tools_hide_addresses),
    };

    return RUN_SUITE("hardening", tests);
}
