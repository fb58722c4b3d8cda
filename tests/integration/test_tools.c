/* The tools on a running server: output as tables and JSON, hostile names, logins, terminals, completion, manual. */
#include "fixture.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "terminal.h"
#include "tooling.h"
#include "tools/tool.h"

#define OLD_SCREEN "\033[?1049l"
/* A name that clears the screen, turns text around, and is no UTF-8. */
#define HOSTILE "evil\033[2J\xe2\x80\xae\xff"

static redisContext *c;
static const char *address;

static int start(void **state) {
    (void)state;
    c = client_open();
    address = forever(text_of("127.0.0.1:%d", server.port));
    setenv("PGDISQUE_SERVER", address, 1);
    setenv("LC_ALL", "C.UTF-8", 1);
    return 0;
}

static int stop(void **state) {
    (void)state;
    redisFree(c);
    return 0;
}

static void add_bytes(const char *queue, const char *body, size_t len) {
    freeReplyObject(redisCommand(c, "ADDJOB %s %b 0", queue, body, len));
}

/* Runs a command of the shell; its output. */
static const char *shell(int status, const char *script) {
    const char *argv[] = { "sh", "-c", script, NULL };
    static char text[200000];
    char path[PATH_SIZE];
    FILE *f;
    size_t len;
    int got;

    setenv("TOOL", server_program(), 1);
    path_join(path, "%s/shell.out", scratch_dir());
    unlink(path);
    got = wait_exit(spawn(&(struct spawn){ .argv = argv, .log = path }), patience(60000));
    f = fopen(path, "r");
    assert_non_null(f);
    len = fread(text, 1, sizeof text - 1, f);
    text[len] = '\0';
    fclose(f);
    if (got != status)
        fail_msg("%s: exit status %d: %s", script, got, text);
    return text;
}

/* ---- queues, top, peek, add ---- */

static void test_queues(void **state) {
    const char *out;

    (void)state;
    for (int i = 0; i < 3; i++)
        add_job(c, "t-long", "x", "");
    add_job(c, "t-short", "x", "");
    expect(c, "+in", "PAUSE t-short in");
    out = TOOLING(0, "{\"queue\":\"t-long\",\"len\":3,\"active\":0,\"delayed\":0,\"dead\":0,\"oldest_ms\":",
                  "queues", "t-*");
    assert_null(strstr(out, "evil"));
    tooling_says(out, "\"pause\":\"in\"");
    out = TOOLING(0, "QUEUE ", "queues", "--table", "--sort", "len", "t-*");
    assert_true(strstr(out, "t-long ") < strstr(out, "t-short "));
    TOOLING(0, "pgdisque queues: no queue matches: no-such-*\n", "queues", "no-such-*");
    assert_string_equal(shell(0, "\"$TOOL\" queues 'no-such-*' 2>/dev/null"), "[]\n");
    TOOLING(1, "there is no such option: --sotr, did you mean --sort?", "queues", "--sotr", "len");
    TOOLING(1, "--sort must be name|len", "queues", "--sort", "size");
    TOOLING(1, "there is no such option", "queues", "--nonsense");
    TOOLING(1, "there is no such option", "work", "-p", "7711", "jobs", "--", "true");
}

/* The tool prints the queues in this order, and no other. */
static void lists_queues(const char *words, const char *names) {
    const char *script = text_of("\"$TOOL\" %s 2>/dev/null | grep -o '\"queue\":\"[^\"]*' | cut -d'\"' -f4 | "
                                 "tr '\\n' ' '",
                                 words);

    assert_string_equal(shell(0, script), names);
}

/* A limit keeps the first queues of the order, not the first ones that QSCAN finds. */
static void test_limit(void **state) {
    (void)state;
    for (int i = 0; i < 20; i++) {
        const char *queue = forever(text_of("limit-%02d", i));

        for (int n = 0; n < (i * 7) % 20 + 10; n++)
            add_job(c, queue, "x", "");
    }
    lists_queues("queues --sort len --limit 3", "limit-17 limit-14 limit-11 ");
    lists_queues("queues --sort len --limit 3 'limit-*'", "limit-17 limit-14 limit-11 ");
    lists_queues("queues --sort in --limit 2 'limit-*'", "limit-17 limit-14 ");
    lists_queues("queues --sort oldest --limit 2 'limit-*'", "limit-00 limit-01 ");
    lists_queues("queues --limit 3 'limit-*'", "limit-00 limit-01 limit-02 ");
    lists_queues("top --sort len --limit 3", "limit-17 limit-14 limit-11 ");
    TOOLING(0, "\"more_queues\": true", "top", "--limit", "19", "limit-*");
    TOOLING(0, "\"more_queues\": false", "top", "--limit", "20", "limit-*");
    TOOLING(0, "There are more queues", "queues", "--sort", "len", "--limit", "1");
    assert_null(strstr(TOOLING(0, "[", "queues", "--limit", "20", "limit-*"), "more queues"));
}

/* States, ages and latencies. */
static void test_ages_of_jobs(void **state) {
    const char *out;

    (void)state;
    add_job(c, "ages-a-taken", "x", "RETRY 1000");
    add_job(c, "ages-a-taken", "later", "DELAY 1000");
    get_job(c, "ages-a-taken", "x");
    add_job(c, "ages-b-queued", "x", "");
    out = TOOLING(
        0, "\"queue\":\"ages-a-taken\",\"len\":0,\"active\":1,\"delayed\":1,\"dead\":0,\"oldest_ms\":null,",
        "queues", "--sort", "oldest", "ages-*");
    tooling_says(out, "\"waiting_clients\":0,");
    tooling_says(out, "\"waiting_jobs\":0}");
    /* A queue without a queued job comes last. */
    assert_true(strstr(out, "ages-b-queued") < strstr(out, "ages-a-taken"));
    out = TOOLING(0, " LEN  ACTIVE  DELAYED  DEAD  OLDEST", "queues", "--table", "ages-a-taken");
    tooling_says(out, "ms  ");
}

static void test_hostile_names(void **state) {
    const char *out;

    (void)state;
    freeReplyObject(redisCommand(c, "ADDJOB %s %s 0", HOSTILE, "a\nb\033]0;x\007"));
    out = TOOLING(0, "evil\\x1b[2J\\xe2\\x80\\xae\\xff", "queues", "--table");
    assert_null(strchr(out, '\033'));
    out = TOOLING(0, "a\\x0ab\\x1b]0;x\\x07", "peek", "--table", HOSTILE);
    assert_null(strchr(out, '\033'));
    out = TOOLING(0, "{\"queue\":{\"base64\":\"", "queues", "evil*");
    out = TOOLING(0, "\"body\":\"a\\nb\\u001B]0;x\\u0007\"", "peek", HOSTILE);
    assert_null(strchr(out, '\033'));
    /* Errors have names, too. */
    out = TOOLING(1, "\\x1b[2J", "queues", "--sort", "\033[2J");
    assert_null(strchr(out, '\033'));
}

static void test_peek(void **state) {
    const char *out;

    (void)state;
    add_bytes("t-peek", "\0\xff", 2);
    add_job(c, "t-peek", "second", "");
    add_job(c, "t-peek", "later", "DELAY 1000");
    out = TOOLING(0, "\"body\":{\"base64\":\"AP8=\"}", "peek", "t-peek");
    tooling_says(out, "\"priority\":0");
    assert_null(strstr(out, "later"));
    out = TOOLING(0, "second", "peek", "--last", "--count", "1", "t-peek");
    assert_null(strstr(out, "AP8"));
    out = TOOLING(0, "later", "peek", "--state", "active", "t-peek");
    tooling_says(out, "\"state\":\"active\"");
    assert_null(strstr(out, "second"));
    TOOLING(0, "[]", "peek", "--state", "dead", "t-peek");
    /* An empty queue is no missing queue. */
    TOOLING(1, "pgdisque peek: the queue does not exist: t-peke", "peek", "t-peke");
    TOOLING(1, "the queue does not exist: t-peke", "peek", "--state", "active", "t-peke");
    assert_string_equal(shell(1, "\"$TOOL\" peek t-peke 2>/dev/null"), "");
    add_job(c, "t-peek-delayed", "later", "DELAY 1000");
    TOOLING(0, "later", "peek", "--state", "active", "t-peek-delayed");
    add_job(c, "t-peek-more", "body", "GROUP one HEADER tenant acme HEADER n 1");
    /* A job of a group enters its queue after the reply. */
    EVENTUALLY(strcmp(ask(c, "QLEN t-peek-more"), ":1") == 0);
    TOOLING(0, "\"error\":null,\"group\":\"one\",\"headers\":{\"n\":\"1\",\"tenant\":\"acme\"}", "peek",
            "t-peek-more");
    out = TOOLING(0, "body", "peek", "--table", "t-peek-more");
    assert_null(strstr(out, "acme"));
    TOOLING(1, "exactly one queue", "peek");
    TOOLING(1, "--last is only for queued jobs", "peek", "--last", "--state", "dead", "t-peek");
}

/* The table of dead letters has their errors. */
static void test_peek_at_dead_letters(void **state) {
    const char *out, *id;

    (void)state;
    id = add_job(c, "t-dead", "body", "ATTEMPTS 1");
    get_job(c, "t-dead", "body");
    freeReplyObject(redisCommand(c, "NACK ERROR %s %s", "first\nline", id));
    EVENTUALLY(strcmp(ask(c, "QLEN t-dead DEAD"), ":1") == 0);
    out = TOOLING(0, "first\\x0aline\n", "peek", "--table", "--state", "dead", "t-dead");
    tooling_says(out, "MORE  BODY  ERROR\n");
    assert_null(strstr(out, "NEXT"));
    TOOLING(0, "\"body\":\"body\",\"error\":\"first\\nline\",", "peek", "--state", "dead", "t-dead");
}

static void test_add(void **state) {
    const char *out, *got;

    (void)state;
    TOOLING(0, "\"id\":\"D-", "add", "t-add", "one", "--retry", "100", "--priority", "5");
    assert_int_equal(tooling_run_words(&out, (const char *const[]){ "add", "t-add", NULL }, "t\nwo"), 0);
    TOOLING(0, "D-", "add", "t-headers", "x", "--header", "tenant=acme", "--header", "a=b=c\"", "--header",
            "e=");
    got = ask(c, "GETJOB WITHHEADERS FROM t-headers");
    if (strstr(got, "\"headers\" [\"a\" \"b=c\\x22\" \"e\" \"\" \"tenant\" \"acme\"]") == NULL)
        fail_msg("%s", got);
    TOOLING(1, "an equals sign and a text: tenant", "add", "t-headers", "x", "--header", "tenant");
    TOOLING(1, "the name of a HEADER must have 1 to 128 bytes", "add", "t-headers", "x", "--header", "=x");
    TOOLING(0, "D-", "add", "--table", "--", "t-add", "--three");
    get_job(c, "t-add", "one");
    get_job(c, "t-add", "t\x0awo");
    get_job(c, "t-add", "--three");
    assert_int_equal(
        tooling_run_words(&out, (const char *const[]){ "add", "--lines", "t-lines", NULL }, "a\n\nc"), 0);
    expect(c, ":3", "QLEN t-lines");
    get_job(c, "t-lines", "a");
    get_job(c, "t-lines", "");
    get_job(c, "t-lines", "c");
    TOOLING(1, "--delay must be a number", "add", "t-add", "x", "--delay", "soon");
    TOOLING(1, "quote a body that has blanks: words", "add", "t-add", "two", "words");
    TOOLING(1, "the queue is missing", "add");
}

/* The rates are those between two readings. */
static void test_top_in_a_pipe(void **state) {
    const char *out;

    (void)state;
    add_job(c, "t-top", "x", "");
    out = TOOLING(0, "{\"server\": {\"added\": ", "top", "t-top");
    tooling_says(out, "\"added_rate\": ");
    tooling_says(out, "\"queue\":\"t-top\",\"len\":1,\"in_rate\":0.0");
    out = TOOLING(0, "IN/S", "top", "--table", "t-top");
    assert_null(strchr(out, '\033'));
    /* The figures of the server fit an ordinary terminal. */
    for (const char *line = out; *line != '\n'; line += strcspn(line, "\n") + 1)
        assert_true(strcspn(line, "\n") <= 80);
    tooling_says(out, "waiting clients 0");
}

/* ---- reports ---- */

/* The standard output of the tool is one line, which begins so. */
static void prints_line(const char *begin, const char *words) {
    const char *out = shell(0, text_of("\"$TOOL\" %s 2>/dev/null", words));

    if (strncmp(out, begin, strlen(begin)) != 0 || strchr(out, '\n') != out + strlen(out) - 1)
        fail_msg("%s: %s", words, out);
}

/* In a pipe each tool prints JSON, and after an error nothing. */
static void test_reports_in_a_pipe(void **state) {
    const char *dir = forever(text_of("%s/report", scratch_dir()));
    const char *empty = forever(text_of("%s", postgres_conninfo(&pg, NULL)));
    const char *health = forever(text_of("health --port %d", server.port));

    (void)state;
    prints_line("{\"healthy\":true,\"ms\":", health);
    prints_line("healthy: a job", text_of("%s --table", health));
    prints_line(text_of("{\"directory\":\"%s\",\"jobs\":", dir),
                text_of("backup '%s' --database '%s'", dir, server.database));
    prints_line(text_of("{\"directory\":\"%s\",\"jobs\":", dir),
                text_of("restore '%s' --database '%s'", dir, empty));
    prints_line("", text_of("restore --table --replace '%s' --database '%s'", dir, empty));
    assert_string_equal(shell(1, text_of("\"$TOOL\" backup '%s' --database '%s' 2>/dev/null", dir, empty)),
                        "");
    assert_string_equal(shell(1, text_of("\"$TOOL\" health --port %d 2>/dev/null", server_free_port())), "");
}

/* ---- addresses and users ---- */

static void test_no_server(void **state) {
    const char *nothing = forever(text_of("127.0.0.1:%d", server_free_port()));

    (void)state;
    TOOLING(1, "start the server, or name another address", "queues", "--server", nothing);
    TOOLING(1, "name another socket", "queues", "--server", "/nowhere/socket");
    TOOLING(1, "unix://[[user:]password@]/path", "queues", "--server", "unix://nowhere");
}

static void start_with_password(struct server *s, const char *const *options) {
    redisContext *other;

    server_start(s, postgres_conninfo(&pg, NULL), options);
    other = client_open_on(s);
    expect(other, "+OK", "CONFIG SET requirepass s3cret");
    redisFree(other);
}

static void test_socket_and_password(void **state) {
    const char *path = forever(text_of("%s/tools.sock", scratch_dir()));
    const char *options[] = { "--unixsocket", path, NULL };
    struct server s;

    (void)state;
    start_with_password(&s, options);
    TOOLING(1, "Authentication required; give the password in PGDISQUE_PASSWORD", "queues", "--server", path);
    TOOLING(0, "[", "queues", "--server", text_of("unix://:s3cret@%s", path));
    setenv("PGDISQUE_PASSWORD", "wrong", 1);
    TOOLING(1, "the user or the password is wrong", "queues", "--server", path);
    setenv("PGDISQUE_PASSWORD", "s3cret", 1);
    TOOLING(0, "[", "queues", "--server", path);
    TOOLING(0, "D-", "add", "--server", text_of("redis://default:@127.0.0.1:%d", s.port), "q", "x");
    unsetenv("PGDISQUE_PASSWORD");
    TOOLING(1, "--askpass needs a terminal", "queues", "--server", path, "--askpass");
    assert_int_equal(server_stop(&s), 0);
}

/* The user may read some queues, and may not use PING and INFO. */
static void test_limited_user(void **state) {
    const char *out;

    (void)state;
    add_job(c, "seen", "x", "");
    expect(c, "+OK", "ACL LOG RESET");
    expect(c, "+OK", "ACL SETUSER reader on >pass ~seen -@all +qscan +qstat +qpeek +show");
    setenv("PGDISQUE_PASSWORD", "pass", 1);
    out = TOOLING(0, "seen", "queues", "--user", "reader");
    assert_null(strstr(out, "t-long"));
    expect(c, "[]", "ACL LOG");
    out = TOOLING(0, "{\"server\": {}", "top", "--user", "reader");
    tooling_says(out, "\"queue\":\"seen\"");
    TOOLING(0, "\"body\":\"x\"", "peek", "--user", "reader", "seen");
    TOOLING(1, "an administrator can permit it with ACL SETUSER", "add", "--user", "reader", "seen", "y");
    TOOLING(1, "NOPERM", "peek", "--user", "reader", "t-long");
    unsetenv("PGDISQUE_PASSWORD");
    expect(c, ":1", "ACL DELUSER reader");
}

/* ---- terminals ---- */

#define ON_TERMINAL(t, ...) terminal_start(t, (const char *const[]){ __VA_ARGS__, NULL })

static void test_table_on_a_terminal(void **state) {
    struct terminal t;

    (void)state;
    add_job(c, "tty-queue", "x", "");
    ON_TERMINAL(&t, "queues", "tty-*");
    assert_int_equal(terminal_wait(&t), 0);
    terminal_expect(&t, 0, "QUEUE ");
    terminal_expect(&t, 0, "tty-queue ");
    assert_null(strchr(t.text, '{'));
    terminal_close(&t);
}

/* The first replies show the bar. */
static void test_progress(void **state) {
    char path[PATH_SIZE];
    struct terminal t;
    FILE *f;

    (void)state;
    path_join(path, "%s/numbers", scratch_dir());
    f = fopen(path, "w");
    assert_non_null(f);
    for (int i = 0; i < 3000; i++)
        fprintf(f, "%d\n", i);
    fclose(f);
    terminal_start_with(&t, (const char *const[]){ "add", "--json", "--lines", "tty-lines", NULL }, path);
    assert_int_equal(terminal_wait(&t), 0);
    terminal_expect(&t, 0, "] ");
    terminal_expect(&t, 0, " bytes, ");
    expect(c, ":3000", "QLEN tty-lines");
    terminal_close(&t);
}

/* Each reading takes a new line for the busiest queue. q ends the tool, and the terminal is as before. */
static void test_top_on_a_terminal(void **state) {
    struct terminal t;
    size_t at;

    (void)state;
    add_job(c, "tty-top", "x", "");
    ON_TERMINAL(&t, "top", "tty-top");
    at = terminal_expect(&t, 0, "\033[?1049h");
    at = terminal_expect(&t, at, "tty-top ");
    assert_false(terminal_is_ordinary(&t));
    add_job(c, "tty-top", "y", "");
    at = terminal_expect(&t, at, "tty-top    2 ");
    terminal_type(&t, "xq");
    assert_int_equal(terminal_wait(&t), 0);
    terminal_expect(&t, at, OLD_SCREEN);
    assert_true(terminal_is_ordinary(&t));
    terminal_close(&t);
}

static void test_top_restores_the_terminal(void **state) {
    static const int signals[] = { SIGTERM, SIGINT, SIGHUP };

    (void)state;
    for (size_t i = 0; i < LENGTH(signals); i++) {
        struct terminal t;

        ON_TERMINAL(&t, "top", "tty-top");
        terminal_expect(&t, 0, "tty-top ");
        kill(t.pid, signals[i]);
        assert_int_equal(terminal_wait(&t), 0);
        terminal_expect(&t, 0, OLD_SCREEN);
        assert_true(terminal_is_ordinary(&t));
        terminal_close(&t);
    }
}

static void test_top_survives_a_restart(void **state) {
    struct terminal t;
    struct server s;
    size_t at;
    redisContext *other;

    (void)state;
    server_start(&s, postgres_conninfo(&pg, NULL), NULL);
    other = client_open_on(&s);
    add_job(other, "tty-again", "x", "");
    redisFree(other);
    ON_TERMINAL(&t, "top", "--server", text_of("127.0.0.1:%d", s.port));
    at = terminal_expect(&t, 0, "tty-again ");
    assert_int_equal(server_stop(&s), 0);
    at = terminal_expect(&t, at, "The figures are old");
    server_resume(&s);
    /* The line of the error is gone, and the next line is the title. */
    at = terminal_expect(&t, at, "uptime");
    terminal_type(&t, "q");
    assert_int_equal(terminal_wait(&t), 0);
    terminal_close(&t);
    assert_int_equal(server_stop(&s), 0);
}

/* The terminal does not show the password. */
static void test_password_is_asked(void **state) {
    struct terminal t;
    struct server s;

    (void)state;
    start_with_password(&s, NULL);
    ON_TERMINAL(&t, "queues", "--server", text_of("127.0.0.1:%d", s.port));
    terminal_expect(&t, 0, "Password of 127.0.0.1: ");
    EVENTUALLY(!terminal_is_ordinary(&t));
    terminal_type(&t, "s3cret\n");
    assert_int_equal(terminal_wait(&t), 0);
    terminal_expect(&t, 0, "QUEUE ");
    assert_null(strstr(t.text, "s3cret"));
    assert_true(terminal_is_ordinary(&t));
    terminal_close(&t);
    assert_int_equal(server_stop(&s), 0);
}

/* ---- schema ---- */

/* A server that starts on the schema applies no migration, and finds its functions. */
static void test_schema(void **state) {
    const char *database = postgres_conninfo(&pg, NULL);
    struct server s;
    redisContext *other;

    (void)state;
    shell(0,
          text_of("\"$TOOL\" schema > '%s/schema.sql' && psql -q -v ON_ERROR_STOP=1 -f '%s/schema.sql' '%s'",
                  scratch_dir(), scratch_dir(), database));
    server_start(&s, database, NULL);
    other = client_open_on(&s);
    get_job(other, "q", (add_job(other, "q", "body", ""), "body"));
    assert_false(file_contains(s.log, "applied migration"));
    redisFree(other);
    assert_int_equal(server_stop(&s), 0);
    assert_null(strstr(shell(0, "\"$TOOL\" schema --after 1"), "0001_schema"));
    TOOLING(1, "the newest version of this program is ", "schema", "--after", "99");
    shell(1, "\"$TOOL\" schema > /dev/full");
    assert_null(strstr(shell(1, "\"$TOOL\" schema --after 99"), "create"));
}

/* ---- help, completion, manual ---- */

static void test_help(void **state) {
    size_t count;
    const struct tool *const *all = tools_all(&count);

    (void)state;
    for (size_t i = 0; i < count; i++) {
        const char *out = TOOLING(0, all[i]->summary, all[i]->name, "--help");

        tooling_says(out, "exit status:");
        tooling_says(out, all[i]->example);
        for (size_t o = 0; o < all[i]->option_count; o++)
            tooling_says(out, all[i]->options[o].name);
        tooling_says(TOOLING(0, "Tools:", "--help"), all[i]->name);
    }
}

static bool shell_has(const char *program) {
    return system(text_of("command -v %s >/dev/null 2>&1", program)) == 0;
}

/* The script is loaded, and completes each option of each tool. */
static void test_completion_of_bash(void **state) {
    static const char script[] =
        "bash -c 'source <(\"$TOOL\" completion bash); complete -p pgdisque; "
        "try() { COMP_WORDS=(pgdisque \"$@\"); COMP_CWORD=$#; _pgdisque; echo \"${COMPREPLY[@]}\"; }; "
        "try \"\"; try queues --; try queues --sort \"\"; try doctor --durability \"\"; try --tls-; try man "
        "\"\"; "
        "try peek --state d'";
    const char *out;

    (void)state;
    out = shell(0, script);
    tooling_says(out, "complete -F _pgdisque pgdisque");
    for (size_t i = 0; i < tool_queues.option_count; i++)
        tooling_says(out, text_of(" %s", tool_queues.options[i].name));
    tooling_says(out, "queues top peek add work import");
    tooling_says(out, "\nname len oldest in out dead idle\n");
    tooling_says(out, "\nremote-apply remote-flush remote-write local async\n");
    tooling_says(out, "--tls-port --tls-cert-file");
    tooling_says(out, "\ndead done\n");
}

static void test_completion_of_zsh(void **state) {
    (void)state;
    if (!shell_has("zsh"))
        skip();
    tooling_says(shell(0,
                       "zsh -fc 'autoload -Uz compinit; compinit -D -u; source <(\"$TOOL\" completion zsh); "
                       "echo \"registered: $_comps[pgdisque]\"'"),
                 "registered: _pgdisque");
    shell(0, "\"$TOOL\" completion zsh | zsh -n");
}

static void test_completion_of_fish(void **state) {
    const char *out;

    (void)state;
    if (!shell_has("fish"))
        skip();
    out = shell(
        0, "fish --no-config -c '\"$TOOL\" completion fish | source; complete -C \"pgdisque queues --s\"; "
           "complete -C \"pgdisque doctor --durability \"; complete -C \"pgdisque comp\"'");
    tooling_says(out, "--sort\t");
    tooling_says(out, "remote-flush");
    tooling_says(out, "completion\t");
}

static void test_manual(void **state) {
    static const char *const sections[] = { "1", "5" };

    (void)state;
    for (size_t i = 0; i < LENGTH(sections); i++) {
        const char *page = sections[i];

        shell(0, text_of("\"$TOOL\" man %s > '%s/page.%s'", page, scratch_dir(), page));
        if (shell_has("groff"))
            assert_string_equal(shell(0, text_of("groff -ww -man -Tutf8 -Z '%s/page.%s' 2>&1 >/dev/null",
                                                 scratch_dir(), page)),
                                "");
        /* The pages have no date. */
        if (shell_has("mandoc"))
            assert_string_equal(
                shell(0, text_of("mandoc -Tlint -W warning '%s/page.%s' | grep -v 'missing date' || :",
                                 scratch_dir(), page)),
                "");
    }
    tooling_says(shell(0, "\"$TOOL\" man 5"), "unixsocketperm");
    TOOLING(1, "exactly one section", "man", "7");
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_queues),
        cmocka_unit_test(test_limit),
        cmocka_unit_test(test_ages_of_jobs),
        cmocka_unit_test(test_hostile_names),
        cmocka_unit_test(test_peek),
        cmocka_unit_test(test_peek_at_dead_letters),
        cmocka_unit_test(test_add),
        cmocka_unit_test(test_top_in_a_pipe),
        cmocka_unit_test(test_reports_in_a_pipe),
        cmocka_unit_test(test_no_server),
        cmocka_unit_test(test_socket_and_password),
        cmocka_unit_test(test_limited_user),
        cmocka_unit_test(test_table_on_a_terminal),
        cmocka_unit_test(test_progress),
        cmocka_unit_test(test_top_on_a_terminal),
        cmocka_unit_test(test_top_restores_the_terminal),
        cmocka_unit_test(test_top_survives_a_restart),
        cmocka_unit_test(test_password_is_asked),
        cmocka_unit_test(test_schema),
        cmocka_unit_test(test_help),
        cmocka_unit_test(test_completion_of_bash),
        cmocka_unit_test(test_completion_of_zsh),
        cmocka_unit_test(test_completion_of_fish),
        cmocka_unit_test(test_manual),
    };

    return RUN_SUITE_WITH("tools", tests, start, stop);
}
