/* The table of commands: lookup, arity, conditions, refused commands, and docs. */
#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "admin/info_process.h"
#include "base/slowlog.h"
#include "commands/client_line.h"
#include "commands/cmd_monitor.h"
#include "commands/command_docs.h"
#include "commands/command_keys.h"
#include "commands/dispatch.h"
#include "commands/laravel.h"
#include "commands/multi.h"
#include "commands/refused.h"
#include "commands/rights.h"
#include "config/config.h"
#include "jobs/bootstrap.h"
#include "net/usage.h"

/* Replaces the handlers and the connections. Records the called handler and its request. */

static const struct command *handled;
static int handled_count, fed_count, ended_count, killed_count;
static bool handler_ends, handler_fails;
static char reply[2048];

static void handle(struct req *r) {
    handled = r->cmd;
    handled_count++;
    if (handler_fails)
        req_error(r, "ERR no");
    else if (handler_ends)
        req_ok(r);
}

#define CMD(id, ...)               \
    void cmd_##id(struct req *r) { \
        handle(r);                 \
    }
#include "commands/commands.def"
#undef CMD

void monitor_feed(const struct client *c, const struct req *r) {
    (void)c;
    (void)r;
    fed_count++;
}

/* The scripts of Laravel are tested with a database. */
static bool no_script(struct req *r, const struct slice *keys, const struct slice *args) {
    (void)r;
    (void)keys;
    (void)args;
    return false;
}

bool laravel_later(struct req *r, const struct slice *keys, const struct slice *args) {
    return no_script(r, keys, args);
}

bool laravel_release(struct req *r, const struct slice *keys, const struct slice *args) {
    return no_script(r, keys, args);
}

bool laravel_take(struct req *r, const struct slice *keys, const struct slice *args) {
    return no_script(r, keys, args);
}

void laravel_pop(struct req *r) {
    handle(r);
}

void laravel_size(struct req *r) {
    handle(r);
}

void laravel_clear(struct req *r) {
    handle(r);
}

bool laravel_has(const struct command *cmd, bool delayed) {
    (void)cmd;
    return delayed;
}

void client_kill(struct client *c, const char *reason) {
    (void)reason;
    c->state = CLIENT_DEAD;
    killed_count++;
}

void client_describe(struct buf *out, const struct client *c) {
    (void)c;
    buf_append_str(out, "id=1\n");
}

static bool writes_paused;

bool clients_are_paused(void) {
    return writes_paused;
}

const char *client_ident(const struct client *c) {
    (void)c;
    return "client 1";
}

static void on_end(struct req *r) {
    size_t len = buf_len(&r->own);

    assert_true(r->done);
    assert_true(len < sizeof reply);
    memcpy(reply, buf_ptr(&r->own), len);
    reply[len] = '\0';
    ended_count++;
    list_remove(&r->in_client);
    req_free(r);
}

static struct client client;
static bool loading;

bool bootstrap_is_under_way(void) {
    return loading;
}

static enum bootstrap_counters counters;

enum bootstrap_counters bootstrap_counters(void) {
    return counters;
}

static int reset(void **state) {
    (void)state;
    config_defaults();
    memset(&client, 0, sizeof client);
    client.proto = 2;
    users_init();
    client.user = default_user;
    list_init(&client.reqs);
    loading = false;
    counters = COUNTERS_KNOWN;
    command_stats_reset();
    handled = NULL;
    handled_count = fed_count = ended_count = killed_count = 0;
    handler_ends = true;
    handler_fails = false;
    reply[0] = '\0';
    return 0;
}

#define MAX_WORDS 8

/* A request of the words in text, the newest of the client. */
static struct req *request(const char *text) {
    char copy[128];
    struct slice argv[MAX_WORDS];
    struct req *r;
    int argc = 0;

    snprintf(copy, sizeof copy, "%s", text);
    for (char *word = strtok(copy, " "); word != NULL; word = strtok(NULL, " "))
        argv[argc++] = slice_str(word);
    r = req_new(argc, argv, NULL, on_end);
    buf_reserve(&r->own, 1);
    r->client = &client;
    list_push_back(&client.reqs, &r->in_client);
    return r;
}

static bool run(const char *text) {
    struct req *r = request(text);

    if (command_offer(&client, r))
        return true;
    list_remove(&r->in_client);
    req_free(r);
    return false;
}

/* Lookup and arity. */

static void test_every_command_is_found(void **state) {
    size_t count;
    const struct command *all = command_table(&count);

    (void)state;
    assert_true(count > 30);
    for (size_t i = 0; i < count; i++)
        assert_ptr_equal(command_lookup(slice_str(all[i].name)), &all[i]);
}

static void test_case_does_not_matter(void **state) {
    (void)state;
    assert_string_equal(command_lookup(SLICE("GeTjOb"))->name, "getjob");
    assert_ptr_equal(command_lookup(SLICE("PING")), command_lookup(SLICE("ping")));
}

static void test_other_names_are_not_found(void **state) {
    (void)state;
    assert_null(command_lookup(SLICE("")));
    assert_null(command_lookup(SLICE("pin")));
    assert_null(command_lookup(SLICE("pings")));
    assert_null(command_lookup(SLICE("ping\0")));
    assert_null(command_lookup(SLICE("pi\0ng")));
    assert_null(command_lookup(SLICE("zunion")));
}

static void test_arity(void **state) {
    struct command exactly = { .arity = 2 }, at_least = { .arity = -2 }, any = { .arity = 0 };

    (void)state;
    assert_false(command_arity_fits(&exactly, 1));
    assert_true(command_arity_fits(&exactly, 2));
    assert_false(command_arity_fits(&exactly, 3));
    assert_false(command_arity_fits(&at_least, 1));
    assert_true(command_arity_fits(&at_least, 2));
    assert_true(command_arity_fits(&at_least, 9));
    assert_true(command_arity_fits(&any, 1));
}

/* Refused commands. */

static void test_unknown_command(void **state) {
    (void)state;
    assert_true(run("FooBar x"));
    assert_string_equal(reply, "-ERR unknown command 'FooBar'\r\n");
    assert_int_equal(handled_count + fed_count, 0);
    assert_int_equal(ended_count, 1);
}

static void test_commands_of_redis_have_a_code_of_their_own(void **state) {
    size_t count;
    const struct refused *all = refused_table(&count);

    (void)state;
    assert_true(count > 100);
    for (size_t i = 0; i < count; i++) {
        char expected[64];

        assert_null(command_lookup(slice_str(all[i].name)));
        assert_ptr_equal(refused_find(slice_str(all[i].name)), &all[i]);
        if (strcmp(all[i].why, "and is no Redis Cluster") == 0)
            snprintf(expected, sizeof expected, "-ERR This instance has cluster support disabled\r\n");
        else
            snprintf(expected, sizeof expected, "-NOTSUPPORTED %s is not supported: ", all[i].name);
        assert_true(run(all[i].name));
        assert_memory_equal(reply, expected, strlen(expected));
    }
    assert_null(refused_find(SLICE("")));
    assert_null(refused_find(SLICE("ZADDX")));
    assert_int_equal(handled_count, 0);
}

static void test_unknown_name_is_made_harmless(void **state) {
    struct slice name = SLICE("a\r\nb\0c");
    struct req *r = req_new(1, &name, NULL, on_end);

    (void)state;
    assert_true(command_offer(&client, r));
    assert_string_equal(reply, "-ERR unknown command 'a  b'\r\n");
}

static void test_unknown_comes_before_authentication(void **state) {
    (void)state;
    assert_true(config_set(SLICE("requirepass"), SLICE("secret"), reply, sizeof reply));
    assert_true(run("foo"));
    assert_string_equal(reply, "-ERR unknown command 'foo'\r\n");
    assert_true(run("qlen"));
    assert_string_equal(reply,
                        "-ERR wrong number of arguments for 'qlen' command. Usage: QLEN queue "
                        "[ALL | QUEUED | DELAYED | ACTIVE | WAITING | DEAD | DONE | AFTER | HELD ...]\r\n");
    assert_true(run("qlen q"));
    assert_string_equal(reply, "-NOAUTH Authentication required.\r\n");
    assert_int_equal(handled_count, 0);
    assert_true(run("AUTH secret"));
    assert_int_equal(handled_count, 1);
    client.authenticated = true;
    assert_true(run("qlen q"));
    assert_int_equal(handled_count, 2);
}

static void test_loading(void **state) {
    (void)state;
    loading = true;
    assert_true(run("QLEN q"));
    assert_string_equal(reply, "-LOADING pgdisque is connecting to its database\r\n");
    assert_true(run("INFO"));
    assert_string_equal(reply, "+OK\r\n");
    assert_int_equal(handled_count, 1);
}

static void test_counting(void **state) {
    (void)state;
    counters = COUNTERS_AWAITED;
    assert_true(run("ADDJOB q a 0"));
    assert_true(run("GETJOB FROM q"));
    assert_true(run("PING"));
    assert_true(run("INFO"));
    assert_int_equal(handled_count, 4);
    assert_false(run("QLEN q"));
    assert_false(run("RPUSH q a"));
    assert_true(run("QLEN"));
    assert_non_null(strstr(reply, "-ERR wrong number of arguments"));
    counters = COUNTERS_LATE;
    assert_true(run("QLEN q"));
    assert_string_equal(reply, "-LOADING pgdisque is counting the jobs of its queues, try later\r\n");
    assert_true(run("ACKJOB x"));
    assert_int_equal(handled_count, 5);
}

/* EXEC waits for commands that need counters or take jobs. */
static void test_transactions_while_counting(void **state) {
    (void)state;
    rights_init();
    counters = COUNTERS_AWAITED;
    multi_begin(&client);
    assert_true(run("ADDJOB q a 0"));
    assert_string_equal(reply, "+QUEUED\r\n");
    assert_true(run("EXEC"));
    assert_int_equal(handled_count, 1);
    assert_true(run("QLEN q"));
    assert_string_equal(reply, "+QUEUED\r\n");
    assert_false(run("EXEC"));
    multi_discard(&client);
    multi_begin(&client);
    assert_true(run("GETJOB FROM q"));
    assert_false(run("EXEC"));
    multi_discard(&client);
}

/* CLIENT PAUSE ... WRITE. A paused command with an error gets its error at once. */
static void test_paused_writes(void **state) {
    (void)state;
    writes_paused = true;
    assert_false(run("ADDJOB q a 0"));
    assert_false(run("GETJOB FROM q"));
    assert_false(run("EXEC"));
    assert_int_equal(handled_count, 0);
    assert_true(run("QLEN q"));
    assert_true(run("CLIENT UNPAUSE"));
    assert_int_equal(handled_count, 2);
    assert_true(run("ADDJOB q"));
    assert_non_null(
        strstr(reply, "-ERR wrong number of arguments for 'addjob' command. Usage: ADDJOB queue"));
    writes_paused = false;
    assert_true(run("ADDJOB q a 0"));
    assert_int_equal(handled_count, 3);
}

/* Every command that can have too few arguments shows its synopsis. */
static void test_synopsis(void **state) {
    size_t count, shown = 0;
    const struct command *table = command_table(&count);

    (void)state;
    for (size_t i = 0; i < count; i++) {
        char usage[256];

        if (command_arity_fits(&table[i], 1))
            continue;
        snprintf(usage, sizeof usage, "-ERR wrong number of arguments for '%s' command. Usage: %s %.20s",
                 table[i].name, usage_name(&table[i]), table[i].args);
        assert_true(run(table[i].name));
        assert_non_null(strstr(reply, usage));
        shown++;
    }
    assert_true(shown > 60);
}

static void test_http_closes(void **state) {
    (void)state;
    assert_true(run("POST / HTTP/1.1"));
    assert_int_equal(client.state, CLIENT_DEAD);
    client.state = CLIENT_OPEN;
    assert_true(run("Host: localhost"));
    assert_int_equal(client.state, CLIENT_DEAD);
    assert_string_equal(reply, "");
    assert_int_equal(ended_count, 2);
}

/* Counted and shown commands. */

static void test_counters(void **state) {
    const struct command_stats *s = command_stats(command_lookup(SLICE("qlen")));

    (void)state;
    assert_true(run("qlen q"));
    assert_true(run("qlen"));
    handler_fails = true;
    assert_true(run("qlen q"));
    assert_int_equal(s->calls, 2);
    assert_int_equal(s->rejected, 1);
    assert_int_equal(s->failed, 1);
    assert_int_equal(fed_count, 2);
    assert_int_equal(ended_count, 3);
}

static void test_late_failure_is_counted(void **state) {
    struct req *r = request("qlen q");

    (void)state;
    handler_ends = false;
    assert_true(command_offer(&client, r));
    assert_int_equal(ended_count, 0);
    req_error(r, "NOREPL too late");
    assert_int_equal(ended_count, 1);
    assert_int_equal(command_stats(command_lookup(SLICE("qlen")))->failed, 1);
}

static void test_slowlog_without_passwords(void **state) {
    const struct slowlog_entry *e;

    (void)state;
    config.slowlog_log_slower_than = 0;
    assert_true(run("HELLO 3 AUTH default secret SETNAME me"));
    e = slowlog_newest();
    assert_int_equal(e->argc, 7);
    assert_true(slice_is(e->argv[2], "auth"));
    assert_true(slice_equal(e->argv[4], SLICE("(redacted)")));
    assert_true(slice_equal(e->argv[6], SLICE("me")));
    assert_true(run("AUTH secret"));
    assert_true(slice_equal(slowlog_newest()->argv[1], SLICE("(redacted)")));
    assert_true(run("CONFIG SET hz 7 requirepass secret"));
    e = slowlog_newest();
    assert_true(slice_equal(e->argv[3], SLICE("7")));
    assert_true(slice_equal(e->argv[5], SLICE("(redacted)")));
}

static void test_reply_skip_covers_one_command(void **state) {
    (void)state;
    client.reply_mode = REPLY_SKIP_NEXT;
    handler_ends = false;
    struct req *skipped = request("qlen q");
    assert_true(command_offer(&client, skipped));
    assert_true(skipped->silent);
    assert_ptr_equal(skipped->out, &skipped->own);
    req_end(skipped);
    struct req *next = request("qlen q");
    assert_true(command_offer(&client, next));
    assert_false(next->silent);
    req_end(next);
}

/* The order rule. */

enum earlier_state { IDLE, QUEUED, SENT, DONE };

static const struct {
    const char *earlier[3];
    enum earlier_state states[3];
    const char *next;
    bool starts;
} orders[] = {
    { { NULL }, { IDLE }, "getjob from q", true },
    { { "addjob" }, { DONE }, "qlen q", true },
    { { "addjob" }, { QUEUED }, "qlen q", false },
    { { "addjob" }, { QUEUED }, "addjob q b 0", true },
    { { "addjob" }, { IDLE }, "addjob q b 0", true },
    { { "addjob" }, { SENT }, "addjob q b 0", true },
    { { "ackjob" }, { QUEUED }, "addjob q b 0", false },
    { { "getjob" }, { QUEUED }, "addjob q b 0", false },
    { { "addjob", "ackjob" }, { QUEUED, DONE }, "addjob q b 0", true },
    { { "addjob" }, { QUEUED }, "ackjob id", false },
    { { "addjob" }, { IDLE }, "ackjob id", false },
    { { "addjob" }, { SENT }, "ackjob id", false },
    { { "ackjob" }, { QUEUED }, "fastack id", true },
    { { "ackjob" }, { SENT }, "deljob id", false },
    { { "deljob" }, { SENT }, "deljob id", true },
    { { "getjob" }, { IDLE }, "ackjob id", false },
    { { "ackjob" }, { QUEUED }, "getjob from q", true },
    { { "ackjob" }, { SENT }, "getjob from q", false },
    { { "ackjob", "ackjob" }, { SENT, QUEUED }, "getjob from q", false },
    { { "addjob", "ackjob" }, { QUEUED, QUEUED }, "getjob from q", false },
    { { "addjob", "ackjob" }, { DONE, QUEUED }, "getjob from q", true },
    { { "addjob" }, { QUEUED }, "getjob from q", false },
    { { "getjob" }, { IDLE }, "getjob from q", false },
    { { "show" }, { SENT }, "show id", true },
    { { "show" }, { SENT }, "qpeek q 1", false },
    { { "show", "show" }, { SENT, DONE }, "show id", true },
    { { "nack" }, { QUEUED }, "nack id", false },
    { { "getjob" }, { IDLE }, "ping", false },
};

static void add_earlier(const char *name, enum earlier_state state) {
    struct req *r = request(name);

    r->cmd = command_lookup(r->argv[0]);
    assert_non_null(r->cmd);
    r->done = state == DONE;
    r->task.state = state == QUEUED ? TASK_QUEUED : state == SENT ? TASK_SENT : TASK_IDLE;
}

static void forget_requests(void) {
    struct list *node;

    while ((node = list_pop_front(&client.reqs)) != NULL)
        req_free(LIST_ENTRY(node, struct req, in_client));
}

static void test_order(void **state) {
    for (size_t i = 0; i < LENGTH(orders); i++) {
        reset(state);
        for (size_t e = 0; e < LENGTH(orders[i].earlier) && orders[i].earlier[e] != NULL; e++)
            add_earlier(orders[i].earlier[e], orders[i].states[e]);
        if (run(orders[i].next) != orders[i].starts || handled_count != orders[i].starts)
            fail_msg("row %zu: %s behind %s", i, orders[i].next, orders[i].earlier[0]);
        forget_requests();
    }
}

/* Large adds travel on a connection of their own: neither they nor the others overtake. */
static void test_large_adds_wait_for_each_other(void **state) {
    for (int large = 0; large < 4; large++) {
        struct req *next;

        reset(state);
        add_earlier("addjob", SENT);
        LIST_ENTRY(client.reqs.next, struct req, in_client)->large = (large & 1) != 0;
        next = request("addjob q b 0");
        next->large = (large & 2) != 0;
        next->cmd = command_lookup(next->argv[0]);
        assert_int_equal(command_may_start(&client, next), large == 0);
        forget_requests();
    }
}

static void test_held_leaves_no_trace(void **state) {
    (void)state;
    add_earlier("getjob", IDLE);
    client.reply_mode = REPLY_SKIP_NEXT;
    assert_false(run("ping"));
    assert_int_equal(client.reply_mode, REPLY_SKIP_NEXT);
    assert_int_equal(command_stats(command_lookup(SLICE("ping")))->calls, 0);
    assert_int_equal(fed_count + ended_count, 0);
    forget_requests();
}

/* Docs. */

/* Writes the tree in one form: token:name, ? optional, * multiple, + multiple with the token, (one|of), {a block}. */
static void show(const struct doc *doc, short first, const char *between, struct buf *out) {
    for (short i = first; i >= 0; i = doc->args[i].next) {
        const struct doc_arg *a = &doc->args[i];

        if (i != first)
            buf_append_str(out, between);
        buf_append(out, a->token.ptr, a->token.len);
        if (a->type == DOC_ONEOF || a->type == DOC_BLOCK) {
            buf_append_str(out, a->type == DOC_ONEOF ? "(" : "{");
            show(doc, a->first, a->type == DOC_ONEOF ? "|" : " ", out);
            buf_append_str(out, a->type == DOC_ONEOF ? ")" : "}");
        } else if (a->type != DOC_PURE_TOKEN) {
            buf_append_str(out, a->type == DOC_INTEGER ? "#" : ":");
            buf_append(out, a->name.ptr, a->name.len);
        }
        buf_append_str(out, a->repeats_token ? "+" : a->multiple ? "*" : "");
        buf_append_str(out, a->optional ? "?" : "");
    }
}

static void assert_doc(const char *synopsis, const char *expected) {
    struct doc doc;
    struct buf out = { 0 };

    if (!doc_parse(synopsis, &doc))
        fail_msg("not parsed: %s", synopsis);
    show(&doc, doc.first, " ", &out);
    buf_append(&out, "", 1);
    assert_string_equal(buf_ptr(&out), expected);
    buf_free(&out);
}

static void test_docs(void **state) {
    (void)state;
    assert_doc("", "");
    assert_doc("queue", ":queue");
    assert_doc("id [id ...]", ":id*");
    assert_doc("[id ...]", ":id*?");
    assert_doc("id [other ...]", ":id :other*?");
    assert_doc("queue job ms-timeout [DELAY seconds] [ASYNC]",
               ":queue :job #ms-timeout DELAY#seconds? ASYNC?");
    assert_doc("[NOHANG] FROM queue [queue ...]", "NOHANG? FROM:queue*");
    assert_doc("[protover [AUTH username password]]", "{#protover {AUTH:username :password}?}?");
    assert_doc("[NOHANG] queue", "NOHANG? :queue");
    assert_doc("[REPLY ALL|ID]", "REPLY(ALL|ID)?");
    assert_doc("LEAVING [yes|no]", "LEAVING (yes|no)?");
    assert_doc("GET pattern | SET name value | RESET", "(GET:pattern|{SET:name :value}|RESET)");
    assert_doc("[COUNT | INFO [name ...]]", "(COUNT|{INFO :name*?})?");
    assert_doc("value ...", ":value*");
    assert_doc("[STATE state [STATE state ...]]", "STATE:state+?");
    assert_doc("[HEADER name text [HEADER name text ...]] id", "HEADER{:name :text}+? :id");
    assert_doc("[HEADER name text [HEADER text name ...]]", "{HEADER:name :text {HEADER:text :name*}?}?");
}

static void test_broken_synopses(void **state) {
    static const char *const broken[] = {
        "[a", "a]", "[]", "...", "| a", "a |", "[a | ]", "[[[[[[[[[a]]]]]]]]]",
    };
    struct doc doc;

    (void)state;
    for (size_t i = 0; i < LENGTH(broken); i++) {
        if (doc_parse(broken[i], &doc))
            fail_msg("parsed: %s", broken[i]);
    }
}

static void test_too_long_synopsis(void **state) {
    char text[4 * DOC_MAX_ARGS] = "";
    struct doc doc;

    (void)state;
    for (int i = 0; i < DOC_MAX_ARGS; i++)
        strcat(text, "a ");
    assert_true(doc_parse(text, &doc));
    strcat(text, "a");
    assert_false(doc_parse(text, &doc));
}

static void test_every_command_has_docs(void **state) {
    size_t count;
    const struct command *all = command_table(&count);
    struct doc doc;

    (void)state;
    for (size_t i = 0; i < count; i++) {
        if (!doc_parse(all[i].args, &doc))
            fail_msg("%s: %s", all[i].name, all[i].args);
        assert_true(strlen(all[i].summary) > 10);
    }
}

/* The first argument is a choice of literals, or of groups that begin with literals. */
static void assert_literals_have_rights(const struct command *cmd, const struct doc *doc) {
    const struct doc_arg *choice = &doc->args[doc->first];
    int count = 0;

    for (short i = choice->first; i >= 0; i = doc->args[i].next) {
        const struct doc_arg *a = &doc->args[i];
        struct slice word = a->type == DOC_BLOCK ? doc->args[a->first].token : a->token;
        char name[128];

        snprintf(name, sizeof name, "%s|%.*s", cmd->name, (int)word.len, word.ptr);
        if (right_find(slice_str(name)) < 0)
            fail_msg("subcommands.def lacks %s", name);
        count++;
    }
    /* MEMORY has one subcommand, so its synopsis has no choice. */
    assert_true(count > 0 || slice_is(slice_str(cmd->name), "memory"));
}

/* subcommands.def has exactly the subcommands of the synopses, and HELP. */
static void test_rights_of_subcommands(void **state) {
    size_t count;
    const struct command *table = command_table(&count);

    (void)state;
    rights_init();
    for (size_t i = 0; i < rights_count(); i++) {
        const struct right *right = right_at((unsigned)i);
        const char *word = strchr(right->name, '|');
        char upper[64];
        size_t len = 0;

        if (right->command < 0 || strcmp(word, "|help") == 0)
            continue;
        for (word++; *word != '\0'; word++)
            upper[len++] = (char)toupper((unsigned char)*word);
        upper[len] = '\0';
        assert_non_null(strstr(table[right->command].args, upper));
    }
    for (size_t i = 0; i < count; i++) {
        struct doc doc;

        if (!right_at((unsigned)i)->family)
            continue;
        assert_true(doc_parse(table[i].args, &doc));
        assert_literals_have_rights(&table[i], &doc);
    }
}

/* The arity of a form such as "NUMSUB [channel [channel ...]]" behind the command. */
static int arity_of_form(const char *form, size_t len) {
    bool varies = false;
    int words = 1, depth = 0;

    for (size_t i = 0; i < len; i++) {
        bool begins = i == 0 || form[i - 1] == ' ';

        depth += (form[i] == '[') - (form[i] == ']');
        varies = varies || depth > 0 || strncmp(form + i, "...", 3) == 0;
        words += depth == 0 && begins && strncmp(form + i, "...", 3) != 0 && form[i] != ']';
    }
    return varies ? -words : words;
}

/* The arity by the forms of the synopsis that begin with the name: that of the form with the fewest words. */
static int arity_by_synopsis(const char *synopsis, const char *name) {
    int least = 0;

    synopsis += *synopsis == '[';
    for (const char *form = synopsis, *end; form != NULL; form = end == NULL ? NULL : end + 3) {
        struct slice rest = { form, strcspn(form, " ]") }, word;
        size_t len;

        end = strstr(form, " | ");
        len = end != NULL ? (size_t)(end - form) : strlen(form);
        while (slice_next_word(&rest, "|", &word)) {
            int arity = arity_of_form(form, len);

            if (slice_is(word, name) && (least == 0 || abs(arity) < abs(least)))
                least = arity;
        }
    }
    return least;
}

static void test_arities_of_subcommands(void **state) {
    size_t count;
    const struct command *table = command_table(&count);

    (void)state;
    rights_init();
    for (unsigned i = (unsigned)count; i < rights_count(); i++) {
        const struct right_sub *sub = rights_sub(i);
        const char *name = strchr(sub->name, '|') + 1;
        int wanted =
            strcmp(name, "help") == 0 ? 2 : arity_by_synopsis(table[right_at(i)->command].args, name);

        /* CLIENT KILL needs an option. */
        if (strcmp(sub->name, "client|kill") == 0)
            wanted--;
        if (sub->arity != wanted)
            fail_msg("%s: arity %d, by the synopsis %d", sub->name, sub->arity, wanted);
    }
}

/* GETKEYS names the keys whose rights are checked: in calls of all lengths, with words that are no literals. */
static void test_keys_of_calls(void **state) {
    size_t count, several = 0;
    const struct command *table = command_table(&count);
    struct slice argv[9];

    (void)state;
    for (size_t i = 0; i < LENGTH(argv); i++)
        argv[i] = SLICE("x");
    for (size_t i = 0; i < count; i++) {
        struct key_range range = command_key_range(&table[i]);
        int places[LENGTH(argv)];

        if (range.movable || range.first != 1)
            continue;
        several += range.step > 1;
        for (int argc = table[i].arity < 0 ? -table[i].arity : table[i].arity; argc <= (int)LENGTH(argv);
             argc++) {
            int found = command_find_keys(&table[i], argc, argv, places), checked = 0;

            for (int at = 0; (at = key_range_next(&range, argc, at)) > 0; checked++)
                assert_true(checked < found && places[checked] == at);
            assert_int_equal(checked, found);
        }
    }
    assert_true(several > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_every_command_is_found, reset),
        cmocka_unit_test_setup(test_case_does_not_matter, reset),
        cmocka_unit_test_setup(test_other_names_are_not_found, reset),
        cmocka_unit_test_setup(test_arity, reset),
        cmocka_unit_test_setup(test_unknown_command, reset),
        cmocka_unit_test_setup(test_commands_of_redis_have_a_code_of_their_own, reset),
        cmocka_unit_test_setup(test_unknown_name_is_made_harmless, reset),
        cmocka_unit_test_setup(test_unknown_comes_before_authentication, reset),
        cmocka_unit_test_setup(test_loading, reset),
        cmocka_unit_test_setup(test_counting, reset),
        cmocka_unit_test_setup(test_transactions_while_counting, reset),
        cmocka_unit_test_setup(test_paused_writes, reset),
        cmocka_unit_test_setup(test_synopsis, reset),
        cmocka_unit_test_setup(test_http_closes, reset),
        cmocka_unit_test_setup(test_counters, reset),
        cmocka_unit_test_setup(test_late_failure_is_counted, reset),
        cmocka_unit_test_setup(test_slowlog_without_passwords, reset),
        cmocka_unit_test_setup(test_reply_skip_covers_one_command, reset),
        cmocka_unit_test_setup(test_order, reset),
        cmocka_unit_test_setup(test_large_adds_wait_for_each_other, reset),
        cmocka_unit_test_setup(test_held_leaves_no_trace, reset),
        cmocka_unit_test(test_docs),
        cmocka_unit_test(test_rights_of_subcommands),
        cmocka_unit_test(test_arities_of_subcommands),
        cmocka_unit_test(test_keys_of_calls),
        cmocka_unit_test(test_broken_synopses),
        cmocka_unit_test(test_too_long_synopsis),
        cmocka_unit_test(test_every_command_has_docs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
