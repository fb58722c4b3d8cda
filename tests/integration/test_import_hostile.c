/* Import and export from servers that reply anything to any command: they end, and say why. */
#include "moving.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "random.h"
#include "tools/tool.h"

static redisContext *r, *q;

/* ---- a proxy that changes a reply ---- */

static const char *const replies[] = {
    "+OK\r\n",
    ":0\r\n",
    ":1\r\n",
    ":-1\r\n",
    ":9223372036854775807\r\n",
    "$-1\r\n",
    "*-1\r\n",
    "*0\r\n",
    "$1\r\nx\r\n",
    "-ERR no\r\n",
    "-WRONGTYPE no\r\n",
    "*1\r\n$-1\r\n",
    "*1\r\n:1\r\n",
    "*1\r\n*0\r\n",
    "*2\r\n$1\r\nx\r\n$1\r\nx\r\n",
    "*3\r\n$1\r\nx\r\n$1\r\nx\r\n$1\r\nx\r\n",
    "*3\r\n$-1\r\n*0\r\n*0\r\n",
    "*2\r\n$1\r\n0\r\n*1\r\n*1\r\n$1\r\nx\r\n",
    "*2\r\n$1\r\n0\r\n*1\r\n*3\r\n$1\r\nx\r\n$1\r\nx\r\n$-1\r\n",
    "*3\r\n$40\r\n0123456789012345678901234567890123456789\r\n*2\r\n$1\r\nx\r\n:1\r\n*2\r\n$1\r\n1\r\n$"
    "1\r\n0\r\n",
    "*3\r\n$40\r\n0123456789012345678901234567890123456789\r\n*3\r\n$1\r\n9\r\n$2\r\n{}\r\n$3\r\ninf\r\n*"
    "2\r\n$-1\r\n:1\r\n",
    "*3\r\n$40\r\n0123456789012345678901234567890123456789\r\n*4\r\n$1\r\n1\r\n$1\r\n3\r\n$1\r\na\r\n$"
    "1\r\nb\r\n"
    "*2\r\n$1\r\n1\r\n$1\r\n0\r\n",
    "*1000000\r\n", /* and closes */
};
#define REPLIES ((int)(sizeof replies / sizeof replies[0]))

/* Shared with the proxy's processes. */
static struct control {
    int target; /* the number of the command whose reply is changed, or -1 */
    int reply;
    int seen; /* commands */
} * control;

static int proxy_port;
static pid_t proxy;

static void put(int fd, const char *bytes, size_t len) {
    while (len > 0) {
        ssize_t n = write(fd, bytes, len);

        if (n <= 0)
            _exit(0);
        bytes += n;
        len -= (size_t)n;
    }
}

static void put_line(int fd, const char *fmt, ...) {
    char line[4096];
    va_list args;

    va_start(args, fmt);
    vsnprintf(line, sizeof line, fmt, args);
    va_end(args);
    put(fd, line, strlen(line));
}

static void put_reply(int fd, const redisReply *reply) {
    switch (reply->type) {
    case REDIS_REPLY_ARRAY:
        put_line(fd, "*%zu\r\n", reply->elements);
        for (size_t i = 0; i < reply->elements; i++)
            put_reply(fd, reply->element[i]);
        break;
    case REDIS_REPLY_INTEGER:
        put_line(fd, ":%lld\r\n", reply->integer);
        break;
    case REDIS_REPLY_NIL:
        put_line(fd, "$-1\r\n");
        break;
    case REDIS_REPLY_STRING:
        put_line(fd, "$%zu\r\n", reply->len);
        put(fd, reply->str, reply->len);
        put(fd, "\r\n", 2);
        break;
    default:
        put_line(fd, "%c%s\r\n", reply->type == REDIS_REPLY_ERROR ? '-' : '+', reply->str);
    }
}

static void answer(int fd, redisContext *to, const redisReply *request) {
    const char *argv[1200];
    size_t lens[1200];
    redisReply *reply;
    int number = __atomic_fetch_add(&control->seen, 1, __ATOMIC_RELAXED);

    for (size_t i = 0; i < request->elements; i++) {
        argv[i] = request->element[i]->str;
        lens[i] = request->element[i]->len;
    }
    reply = redisCommandArgv(to, (int)request->elements, argv, lens);
    if (reply == NULL)
        _exit(0);
    if (number != control->target) {
        put_reply(fd, reply);
    } else {
        put(fd, replies[control->reply], strlen(replies[control->reply]));
        if (control->reply == REPLIES - 1)
            _exit(0);
    }
    freeReplyObject(reply);
}

static void serve(int fd, int port) {
    redisContext *to = redisConnect("127.0.0.1", port);
    redisReader *reader = redisReaderCreate();
    char bytes[16384];
    int yes = 1;
    ssize_t n;

    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    while ((n = read(fd, bytes, sizeof bytes)) > 0) {
        void *request = NULL;

        redisReaderFeed(reader, bytes, (size_t)n);
        while (redisReaderGetReply(reader, &request) == REDIS_OK && request != NULL) {
            answer(fd, to, request);
            freeReplyObject(request);
            request = NULL;
        }
    }
    _exit(0);
}

static void start_proxy(int port) {
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t len = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0), fd;

    assert_int_equal(bind(listener, (struct sockaddr *)&address, len), 0);
    assert_int_equal(listen(listener, 100), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &len), 0);
    proxy_port = ntohs(address.sin_port);
    proxy = fork();
    if (proxy == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        signal(SIGCHLD, SIG_IGN);
        while ((fd = accept(listener, NULL, NULL)) >= 0) {
            if (fork() == 0 && prctl(PR_SET_PDEATHSIG, SIGKILL) == 0)
                serve(fd, port);
            close(fd);
        }
        _exit(0);
    }
    close(listener);
}

/* Also after a test that failed. */
static int stop_proxy(void **state) {
    (void)state;
    if (proxy > 0) {
        kill(proxy, SIGKILL);
        waitpid(proxy, NULL, 0);
    }
    proxy = 0;
    return 0;
}

/* ---- runs ---- */

struct kind {
    const char *name;
    const char *const *setup;   /* commands */
    const char *const words[8]; /* behind the address */
    bool exports;               /* it is no import; setup is of the pgdisque */
    bool from;                  /* the proxy is before the server from which tasks go */
};

static void run_child(const struct kind *k, const char *log) {
    char proxied[64], direct[64];
    const char *argv[16] = { "pgdisque", k->exports ? "export" : "import" };
    int argc = 5, fd = open(log, O_WRONLY | O_CREAT | O_TRUNC, 0600);

    snprintf(proxied, sizeof proxied, "redis://127.0.0.1:%d", proxy_port);
    snprintf(direct, sizeof direct, "redis://127.0.0.1:%d",
             k->exports == k->from ? r->tcp.port : q->tcp.port);
    /* The import names its source first, the export its destination. */
    argv[2] = k->exports != k->from ? proxied : direct;
    argv[3] = k->exports ? "--from" : "--to";
    argv[4] = k->exports != k->from ? direct : proxied;
    for (int i = 0; k->words[i] != NULL; i++)
        argv[argc++] = k->words[i];
    dup2(fd, STDOUT_FILENO);
    dup2(fd, STDERR_FILENO);
    alarm(60);
    argc = tool_run(k->exports ? &tool_export : &tool_import, argc, (char **)argv);
    fflush(NULL);
    _exit(argc);
}

static void setup(const struct kind *k) {
    redisContext *c = k->exports ? q : r;
    int count = 0;

    freeReplyObject(redisCommand(r, "FLUSHALL"));
    for (; k->setup[count] != NULL; count++)
        redisAppendCommand(c, k->setup[count]);
    for (int i = 0; i < count; i++)
        next_reply(c);
}

/* The exit status. */
static int run(const struct kind *k, int target, int reply) {
    const char *log = moving_log(); /* of this process */
    int status;
    pid_t pid;

    setup(k);
    *control = (struct control){ .target = target, .reply = reply };
    fflush(NULL);
    pid = fork();
    if (pid == 0)
        run_child(k, log);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (!WIFEXITED(status) || file_contains(moving_log(), "Sanitizer") ||
        file_contains(moving_log(), "runtime error")) {
        show_tail(moving_log(), k->name);
        fail_msg("%s, reply %d to command %d: wait status %d", k->name, reply, target, status);
    }
    return WEXITSTATUS(status);
}

/* Changes each reply to each command. Without PGDISQUE_TEST_ALL it changes only one of every `part` replies. */
static void try_all(const struct kind *k, int part) {
    int commands, stopped = 0;

    if (getenv("PGDISQUE_TEST_ALL") != NULL)
        part = 1;
    assert_int_equal(run(k, -1, 0), 0);
    commands = control->seen;
    for (int i = 0; i < commands; i++) {
        for (int j = 0; j < REPLIES; j++) {
            int status;

            if (random_below((uint64_t)part) != 0)
                continue;
            status = run(k, i, j);
            if (status > 3 || (status == 2 && !file_contains(moving_log(), "port: "))) {
                show_tail(moving_log(), k->name);
                fail_msg("%s, reply %d to command %d: exit status %d", k->name, j, i, status);
            }
            stopped += status == 2;
        }
    }
    printf("# %s: %d commands, stopped %d times\n", k->name, commands, stopped);
    assert_true(part > 100 || stopped > 0);
}

static const char *const of_list[] = { "RPUSH a 1 2", NULL };
static const char *const of_sidekiq[] = { "SADD queues a", "LPUSH queue:a {\"class\":1}",
                                          "ZADD schedule 1 {\"class\":1,\"queue\":\"a\"}", NULL };
static const char *const of_resque[] = { "SADD resque:queues a", "RPUSH resque:queue:a {\"class\":1}", NULL };
static const char *const of_laravel[] = { "RPUSH queues:a {\"job\":1}", "ZADD queues:a:delayed 1 {\"job\":2}",
                                          "ZADD queues:a:reserved 1 {\"job\":3}", NULL };
static const char *const of_celery[] = { "LPUSH celery {\"properties\":{}}", NULL };
static const char *const of_stream[] = { "XADD a * f 1", "XADD a * f 1 g 2", "XGROUP CREATE a g 0",
                                         "XREADGROUP GROUP g me COUNT 1 STREAMS a >", NULL };
static const char *const of_rq[] = { "HSET rq:job:1 data x",      "HSET rq:job:2 data x",
                                     "RPUSH rq:queue:a 1",        "ZADD rq:wip:a 1 2:run",
                                     "SADD rq:queues rq:queue:a", NULL };
static const char *const of_bull[] = { "HSET bull:a:1 name n data {} opts {}",
                                       "HSET bull:a:2 name n data {} opts {}", "LPUSH bull:a:wait 1",
                                       "ZADD bull:a:delayed 4096000 2", NULL };
static const char *const of_held[] = { "HSET bull:a:1 name n data {} opts {}", "LPUSH bull:a:active 1",
                                       NULL };
static const char *const of_export[] = { "DEL a pgdisque:export:a", "ADDJOB a 1 0",
                                         "ADDJOB a 2 0 DELAY 1000 RETRY 1000", NULL };

static void test_imports(void **state) {
    static const struct kind kinds[] = {
        { "list", of_list, { "a" }, false, true },
        { "sidekiq", of_sidekiq, { "--kind", "sidekiq" }, false, true },
        { "resque", of_resque, { "--kind", "resque" }, false, true },
        { "laravel", of_laravel, { "--kind", "laravel", "a" }, false, true },
        { "celery", of_celery, { "--kind", "celery", "celery" }, false, true },
        { "stream", of_stream, { "--kind", "stream", "--group", "g", "a" }, false, true },
        { "rq", of_rq, { "--kind", "rq" }, false, true },
        { "bull", of_bull, { "--kind", "bull", "a" }, false, true },
    };

    (void)state;
    start_proxy(r->tcp.port);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        try_all(&kinds[i], 60);
}

/* A pause of a second is part of each run. */
static void test_held(void **state) {
    static const struct kind held = { "held", of_held, { "--kind", "bull", "a" }, false, true };

    (void)state;
    start_proxy(r->tcp.port);
    try_all(&held, 200);
}

static void test_pgdisque(void **state) {
    static const struct kind to = { "to", of_list, { "a" }, false, false };

    (void)state;
    start_proxy(q->tcp.port);
    try_all(&to, 8);
}

static void test_exports(void **state) {
    static const struct kind from = { "export from", of_export, { "--queue", "a", "--delayed" }, true, true };
    static const struct kind to = { "export to", of_export, { "--queue", "a", "--delayed" }, true, false };

    (void)state;
    start_proxy(q->tcp.port);
    try_all(&from, 300);
    stop_proxy(state);
    start_proxy(r->tcp.port);
    try_all(&to, 40);
}

static int start(void **state) {
    (void)state;
    random_start(20261122);
    control = mmap(NULL, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return control == MAP_FAILED ? -1 : moving_open(&r, &q);
}

static int stop(void **state) {
    (void)state;
    return moving_close(r, q);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_imports, stop_proxy),
        cmocka_unit_test_teardown(test_held, stop_proxy),
        cmocka_unit_test_teardown(test_pgdisque, stop_proxy),
        cmocka_unit_test_teardown(test_exports, stop_proxy),
    };

    return RUN_SUITE_WITH("import_hostile", tests, start, stop);
}
