/* The subcommand health. */
#include "tools/health_line.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <hiredis/hiredis.h>

#include "config/config.h"
#include "tools/line_options.h"

/* The timeout of each step. The server ends HEALTH earlier. */
#define PATIENCE_S 10

bool health_line_asked(int argc, char **argv) {
    return argc > 1 && strcmp(argv[1], "health") == 0;
}

/* The first address that the server listens on. A wildcard becomes the loopback address. */
static void find_host(char *out, size_t size) {
    const char *first = config.bind + (config.bind[0] == '-');
    int len = (int)strcspn(first, " ");

    snprintf(out, size, "%.*s", len, first);
    if (len == 0 || strcmp(out, "*") == 0 || strcmp(out, "0.0.0.0") == 0)
        snprintf(out, size, "127.0.0.1");
    else if (strcmp(out, "::") == 0 || strcmp(out, "::*") == 0)
        snprintf(out, size, "::1");
}

static redisContext *reach(void) {
    struct timeval patience = { PATIENCE_S, 0 };
    char host[256];
    redisContext *c;

    find_host(host, sizeof host);
    if (config.port != 0)
        c = redisConnectWithTimeout(host, config.port, patience);
    else
        c = redisConnectUnixWithTimeout(config.unixsocket, patience);
    if (c != NULL && c->err == 0)
        redisSetTimeout(c, patience);
    return c;
}

/* The last reply; NULL if the connection was lost. */
static redisReply *health_line_ask(redisContext *c) {
    redisReply *r;

    if (config.requirepass[0] != '\0') {
        r = redisCommand(c, "AUTH %s", config.requirepass);
        if (r == NULL || r->type == REDIS_REPLY_ERROR)
            return r;
        freeReplyObject(r);
    }
    return redisCommand(c, "HEALTH");
}

static int health_line_tell(const redisContext *c, const redisReply *r) {
    if (r != NULL && r->type == REDIS_REPLY_INTEGER) {
        printf("healthy: a job went through in %lld ms\n", r->integer);
        return 0;
    }
    fprintf(stderr, "pgdisque health: %s\n", r != NULL && r->str != NULL ? r->str : c->errstr);
    return 1;
}

static int health_line_look(void) {
    redisContext *c = reach();
    redisReply *r = NULL;
    int status;

    if (c == NULL)
        return 1;
    if (c->err == 0)
        r = health_line_ask(c);
    status = health_line_tell(c, r);
    freeReplyObject(r);
    redisFree(c);
    return status;
}

int health_line(int argc, char **argv) {
    int status = line_read_config("health", argc - 1, argv + 1, 1);

    if (status != LINE_RUNS)
        return status;
    signal(SIGPIPE, SIG_IGN);
    return health_line_look();
}
