/* The file of the node ID and its lock, and the known servers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "base/node.h"
#include "base/util.h"

#define PORT 7711
#define ANSWER_LEN 512

/* A server that loaded its ID, or failed to, and stays until told to go. */
struct server {
    pid_t pid;
    int answer;
    int stop;
};

static char dir[64], path[96];

/* When set, this file takes the place of the ID file just before that is locked. */
static const char *replacement;

/* Stands in for the C library's. */
int flock(int fd, int operation) {
    if (replacement != NULL && rename(replacement, path) != 0)
        return -1;
    replacement = NULL;
    return (int)syscall(SYS_flock, fd, operation);
}

static int make_dir(void **state) {
    (void)state;
    strcpy(dir, "/tmp/test-node-XXXXXX");
    if (mkdtemp(dir) == NULL)
        return -1;
    snprintf(path, sizeof(path), "%s/node-%d.id", dir, PORT);
    return 0;
}

/* Fails when anything but the ID file was left behind. */
static int remove_dir(void **state) {
    (void)state;
    unlink(path);
    return rmdir(dir);
}

static _Noreturn void serve(const char *in, int port, int answer, int stop) {
    char text[ANSWER_LEN] = "", err[ANSWER_LEN - 4] = "";
    char byte;

    if (node_load(in, port, err, sizeof(err)))
        snprintf(text, sizeof(text), "ok %s %d", node_self()->id, node_self()->port);
    else
        snprintf(text, sizeof(text), "no %s", err);
    if (write(answer, text, sizeof(text)) != sizeof(text))
        _exit(1);
    _exit(read(stop, &byte, 1) == 1 ? 0 : 1);
}

static struct server start(const char *in, int port) {
    int answer[2], stop[2];
    struct server s;

    assert_int_equal(pipe(answer), 0);
    assert_int_equal(pipe(stop), 0);
    s.pid = fork();
    assert_true(s.pid >= 0);
    if (s.pid == 0) {
        close(answer[0]);
        close(stop[1]);
        serve(in, port, answer[1], stop[0]);
    }
    close(answer[1]);
    close(stop[0]);
    s.answer = answer[0];
    s.stop = stop[1];
    return s;
}

static void read_answer(const struct server *s, char text[ANSWER_LEN]) {
    assert_int_equal(read(s->answer, text, ANSWER_LEN), ANSWER_LEN);
}

static void stop(struct server *s) {
    int status;

    assert_int_equal(write(s->stop, "", 1), 1);
    close(s->stop);
    close(s->answer);
    assert_int_equal(waitpid(s->pid, &status, 0), s->pid);
    assert_int_equal(status, 0);
}

/* Starts and stops a server. text is its output. */
static void run(const char *in, int port, char text[ANSWER_LEN]) {
    struct server s = start(in, port);

    read_answer(&s, text);
    stop(&s);
}

static void write_file(const char *text) {
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void test_same_after_restart(void **state) {
    char first[ANSWER_LEN], second[ANSWER_LEN], on_disk[100] = "";
    FILE *f;

    (void)state;
    run(dir, PORT, first);
    assert_memory_equal(first, "ok ", 3);
    assert_int_equal(strspn(first + 3, "0123456789abcdef"), NODE_ID_LEN);
    assert_string_equal(first + 3 + NODE_ID_LEN, " 7711");
    f = fopen(path, "r");
    assert_non_null(f);
    assert_int_equal(fread(on_disk, 1, sizeof(on_disk), f), NODE_ID_LEN + 1);
    fclose(f);
    assert_memory_equal(on_disk, first + 3, NODE_ID_LEN);
    assert_int_equal(on_disk[NODE_ID_LEN], '\n');
    run(dir, PORT, second);
    assert_string_equal(first, second);
}

static void test_ids_differ(void **state) {
    char first[ANSWER_LEN], second[ANSWER_LEN];

    (void)state;
    run(dir, PORT, first);
    unlink(path);
    run(dir, PORT, second);
    assert_memory_equal(second, "ok ", 3);
    assert_string_not_equal(first, second);
}

/* By hand, or on a system that left an empty file after a crash. */
static void test_given_ids(void **state) {
    static const char id[] = "0123456789abcdef0123456789abcdef01234567";
    char text[ANSWER_LEN], with_newline[64];

    (void)state;
    write_file(id);
    run(dir, PORT, text);
    assert_memory_equal(text + 3, id, NODE_ID_LEN);
    snprintf(with_newline, sizeof(with_newline), "%s\n", id);
    write_file(with_newline);
    run(dir, PORT, text);
    assert_memory_equal(text + 3, id, NODE_ID_LEN);
    write_file("");
    run(dir, PORT, text);
    assert_memory_equal(text, "ok ", 3);
    assert_memory_not_equal(text + 3, id, NODE_ID_LEN);
}

/* A file that says something else is not overwritten. */
static void test_broken_file(void **state) {
    static const char *const broken[] = {
        "hello\n",
        "\n",
        "0123456789abcdef0123456789abcdef0123456\n",
        "0123456789abcdef0123456789abcdef012345678\n",
        "0123456789abcdef0123456789abcdef01234567 \n",
        "0123456789ABCDEF0123456789abcdef01234567\n",
        "0123456789abcdef0123456789abcdef01234567\n\n",
        "0123456789abcdef0123456789abcdef01234567890123456789",
    };
    char text[ANSWER_LEN];

    (void)state;
    for (size_t i = 0; i < LENGTH(broken); i++) {
        write_file(broken[i]);
        run(dir, PORT, text);
        assert_memory_equal(text, "no ", 3);
        assert_non_null(strstr(text, path));
        assert_non_null(strstr(text, "does not hold a node ID"));
    }
}

/* A link that another user has made is not followed: root would write to its target. */
static void test_links(void **state) {
    char target[sizeof(path) + 16], temp[sizeof(path) + 16], text[ANSWER_LEN];

    (void)state;
    snprintf(target, sizeof target, "%s.target", path);
    snprintf(temp, sizeof temp, "%s.tmp", path);
    assert_int_equal(symlink(target, path), 0);
    run(dir, PORT, text);
    assert_memory_equal(text, "no ", 3);
    unlink(path);
    assert_int_equal(symlink(target, temp), 0);
    run(dir, PORT, text);
    assert_memory_equal(text, "no ", 3);
    unlink(temp);
    assert_int_not_equal(access(target, F_OK), 0);
}

static void test_in_use(void **state) {
    struct server first = start(dir, PORT);
    char text[ANSWER_LEN], refused[ANSWER_LEN], other[120];

    (void)state;
    read_answer(&first, text);
    run(dir, PORT, refused);
    assert_memory_equal(refused, "no ", 3);
    assert_non_null(strstr(refused, path));
    assert_non_null(strstr(refused, "in use by another running server"));
    run(dir, PORT + 1, refused);
    assert_memory_equal(refused, "ok ", 3);
    snprintf(other, sizeof(other), "%s/node-%d.id", dir, PORT + 1);
    unlink(other);
    stop(&first);
    run(dir, PORT, refused);
    assert_string_equal(refused, text);
}

/* Many servers start at the same time on a directory without an ID. One gets an ID, and the file has this ID. */
static void test_race(void **state) {
    struct server servers[12];
    char text[ANSWER_LEN], winner[ANSWER_LEN] = "";
    int winners = 0;

    (void)state;
    for (size_t i = 0; i < LENGTH(servers); i++)
        servers[i] = start(dir, PORT);
    for (size_t i = 0; i < LENGTH(servers); i++) {
        read_answer(&servers[i], text);
        if (memcmp(text, "ok ", 3) != 0)
            continue;
        winners++;
        memcpy(winner, text, sizeof(winner));
    }
    for (size_t i = 0; i < LENGTH(servers); i++)
        stop(&servers[i]);
    assert_int_equal(winners, 1);
    run(dir, PORT, text);
    assert_string_equal(text, winner);
}

/* A lock on a file that another server has just replaced is worth nothing. */
static void test_replaced_before_lock(void **state) {
    static const char id[] = "0123456789abcdef0123456789abcdef01234567\n";
    char text[ANSWER_LEN], other[120];

    (void)state;
    write_file(id);
    snprintf(other, sizeof(other), "%s.other", path);
    assert_int_equal(rename(path, other), 0);
    write_file("");
    replacement = other;
    run(dir, PORT, text);
    replacement = NULL;
    assert_memory_equal(text, "ok ", 3);
    assert_memory_equal(text + 3, id, NODE_ID_LEN);
}

static void test_no_directory(void **state) {
    char text[ANSWER_LEN];

    (void)state;
    run("/nonexistent/directory", PORT, text);
    assert_string_equal(text,
                        "no cannot open /nonexistent/directory/node-7711.id: No such file or directory");
}

static struct node named(uint16_t number, char digit) {
    struct node n = { .number = number, .port = 7000 + number };

    memset(n.id, digit, NODE_ID_LEN);
    snprintf(n.addr, sizeof(n.addr), "10.0.0.%d", number);
    return n;
}

static void test_learn(void **state) {
    struct node me = named(0, 'e'), a = named(900, 'a'), b = named(4, 'b');
    struct node *const *all;
    const struct node *known;
    size_t count;

    (void)state;
    *node_self() = me;
    all = node_all(&count);
    assert_int_equal(count, 1);
    assert_ptr_equal(all[0], node_self());
    assert_null(node_by_number(0));
    node_update(&a);
    node_update(&b);
    (void)node_all(&count);
    assert_int_equal(count, 1);
    (void)node_known(&count);
    assert_int_equal(count, 3);
    assert_false(node_has_peers());
    node_by_number(900)->live = node_by_number(4)->live = true;
    assert_true(node_has_peers());
    all = node_all(&count);
    assert_int_equal(count, 3);
    assert_ptr_equal(all[0], node_self());
    assert_int_equal(all[1]->number, 4);
    assert_int_equal(all[2]->number, 900);
    /* Heard, but its row has not been read. */
    node_get(7)->live = true;
    (void)node_all(&count);
    assert_int_equal(count, 4);
    (void)node_named(&count);
    assert_int_equal(count, 3);
    node_forget(node_by_number(7));
    node_forget(node_by_number(900));
    (void)node_known(&count);
    assert_int_equal(count, 2);
    assert_non_null(node_by_number(900));
    node_update(&a);
    (void)node_known(&count);
    assert_int_equal(count, 3);
    known = node_by_number(4);
    b.leaving = true;
    node_update(&b);
    assert_ptr_equal(node_by_number(4), known);
    assert_true(known->leaving);
    assert_null(node_by_number(5));
    assert_null(node_by_number(NODE_MAX_NUMBER + 1));
}

/* Continues with the nodes of the test before. */
static void test_learn_self(void **state) {
    struct node me = named(7, 'e'), zero = named(0, 'c');
    size_t count;

    (void)state;
    node_self()->leaving = true;
    node_update(&me);
    assert_int_equal(node_self()->number, 7);
    assert_true(node_self()->leaving);
    assert_ptr_equal(node_by_number(7), node_self());
    node_update(&zero);
    zero.number = NODE_MAX_NUMBER + 1;
    node_update(&zero);
    (void)node_known(&count);
    assert_int_equal(count, 3);
}

int main(void) {
#define IN_DIR(test) cmocka_unit_test_setup_teardown(test, make_dir, remove_dir)
    const struct CMUnitTest tests[] = {
        IN_DIR(test_same_after_restart),
        IN_DIR(test_ids_differ),
        IN_DIR(test_given_ids),
        IN_DIR(test_broken_file),
        IN_DIR(test_links),
        IN_DIR(test_in_use),
        IN_DIR(test_race),
        IN_DIR(test_replaced_before_lock),
        cmocka_unit_test(test_no_directory),
        cmocka_unit_test(test_learn),
        cmocka_unit_test(test_learn_self),
    };

    return cmocka_run_group_tests_name("node", tests, NULL, NULL);
}
