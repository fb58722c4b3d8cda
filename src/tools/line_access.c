/* The connections of a tool: address, password, TLS, and advice for errors. */
#include "tools/line_access.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#define DEFAULT_SERVER "127.0.0.1:7711"
#define PASSWORD_MAX 1024

/* ---- advice ---- */

#define ADVICE_USER "the user or the password is wrong, or the user is off"
#define ADVICE_OPTIONS "name the configuration file of the server, or give the option "

/* The codes of the server come first, because a reply may also have an error of its database. */
static const struct advice {
    const char *part; /* of the error */
    const char *advice;
    const char *own; /* to a tool with the options of the server; NULL: the same */
} advices[] = {
    { "NOAUTH", "give the password in " LINE_PASSWORD_OF_SERVER " or with --askpass",
      ADVICE_OPTIONS "requirepass" },
    { "WRONGPASS", ADVICE_USER, "requirepass is not the password of the server" },
    { "invalid password", ADVICE_USER, "requirepass is not the password of the server" },
    { "NOPERM", "an administrator can permit it with ACL SETUSER", NULL },
    { "NOREPL", "the server cannot reach its database; `pgdisque doctor` says more", NULL },
    { "LOADING", "the server has not reached its database yet; try again", NULL },
    { "Connection refused", "start the server, or name another address",
      "start the server; if it runs, " ADVICE_OPTIONS "port" },
    { "No such file", "start the server, or name another socket",
      "start the server; if it runs, " ADVICE_OPTIONS "unixsocket" },
    { "mismatch", "use the host name of the server's certificate", NULL },
    { "certificate refused", "name the authority of the server's certificate with --cacert", NULL },
};

static const char *advice_to(const char *error, bool own) {
    for (size_t i = 0; i < LENGTH(advices); i++) {
        if (strstr(error, advices[i].part) != NULL)
            return own && advices[i].own != NULL ? advices[i].own : advices[i].advice;
    }
    return NULL;
}

/* Some errors end with a full stop, which the advice replaces. */
static bool refuse_with(const char *tool, const char *address, const char *error, const char *advice) {
    size_t len = strlen(error);
    char text[900];

    if (advice == NULL)
        snprintf(text, sizeof text, "%.200s%.500s", address, error);
    else
        snprintf(text, sizeof text, "%.200s%.*s; %s", address,
                 (int)(len > 500 ? 500 : len - (len > 0 && error[len - 1] == '.')), error, advice);
    return line_refuse(tool, text, "");
}

bool line_refuse_reply(const char *tool, const char *error) {
    return refuse_with(tool, "", error, advice_to(error, false));
}

bool line_refuse_own(const char *tool, const char *address, const char *error) {
    char prefix[200];

    snprintf(prefix, sizeof prefix, "%.190s: ", address);
    return refuse_with(tool, prefix, error, advice_to(error, true));
}

/* ---- passwords ---- */

static char *given_password; /* the answer on the terminal, for further connections */

static bool can_ask(void) {
    return isatty(STDIN_FILENO) && isatty(STDERR_FILENO);
}

/* Reads a line without showing it. NULL at the end of the input. The caller frees it. */
static char *ask_password(const char *of) {
    struct termios before, hidden;
    char line[PASSWORD_MAX];
    char *got;

    fprintf(stderr, "Password of %s: ", of);
    if (tcgetattr(STDIN_FILENO, &before) != 0)
        return NULL;
    hidden = before;
    hidden.c_lflag &= ~(tcflag_t)ECHO;
    tcsetattr(STDIN_FILENO, TCSAFLUSH, &hidden);
    got = fgets(line, sizeof line, stdin);
    tcsetattr(STDIN_FILENO, TCSAFLUSH, &before);
    fputc('\n', stderr);
    if (got == NULL)
        return NULL;
    line[strcspn(line, "\n")] = '\0';
    return xstrdup(line);
}

static void use_password(struct redis_address *a, const char *password) {
    free(a->password);
    a->password = xstrdup(password);
}

/* A user without a password in the address, as redis://user:@host, gets the other password, too. */
static void choose_password(struct redis_address *a, const char *variable) {
    const char *password = getenv(variable);

    if (a->password != NULL && a->password[0] != '\0')
        return;
    if (given_password != NULL)
        password = given_password;
    if (password != NULL && password[0] != '\0')
        use_password(a, password);
}

/* ---- connections ---- */

struct way {
    const char *address, *user, *variable;
    int default_port;
    const struct line_tls *tls;
};

static bool way_parse(const struct way *way, struct redis_address *a, char *err, size_t size) {
    if (!redis_address_parse(way->address, way->default_port, a, err, size))
        return false;
    a->tls = a->tls || (way->tls->always && a->path == NULL);
    if (way->user != NULL) {
        free(a->user);
        a->user = xstrdup(way->user);
    }
    choose_password(a, way->variable);
    return true;
}

/* Asks for a password if the server demands one and a terminal is there. */
static bool way_open(const struct way *way, bool ask, struct redis_pipe *p, char *err, size_t size) {
    struct redis_address a;
    bool good = way_parse(way, &a, err, size) && redis_pipe_open(p, &a, &way->tls->how, err, size);

    if (!good && ask && a.host != NULL && strstr(err, "NOAUTH") != NULL && can_ask()) {
        given_password = ask_password(a.host);
        if (given_password != NULL) {
            use_password(&a, given_password);
            good = redis_pipe_open(p, &a, &way->tls->how, err, size);
        }
    }
    redis_address_free(&a);
    return good;
}

bool line_connect(const char *tool, const char *address, int default_port, const struct line_tls *tls,
                  const char *variable, struct redis_pipe *p) {
    const struct way way = { address, NULL, variable, default_port, tls };
    char err[500];

    return way_open(&way, true, p, err, sizeof err) || line_refuse_reply(tool, err);
}

/* NULL: no address is given. */
static const char *given_address(const struct line_server *s) {
    const char *address = s->address != NULL ? s->address : getenv("PGDISQUE_SERVER");

    return address != NULL && address[0] != '\0' ? address : NULL;
}

static struct way way_of(const struct line_server *s) {
    const char *address = given_address(s);

    return (struct way){ address != NULL ? address : DEFAULT_SERVER, s->user, LINE_PASSWORD_OF_SERVER, 7711,
                         &s->tls };
}

bool line_server_is_named(const struct line_server *s) {
    return s->address != NULL || (!line_config_is_given() && given_address(s) != NULL);
}

bool line_server_fits(const char *tool, const struct line_server *s) {
    return s->address == NULL || !line_config_is_given() ||
           line_refuse(tool, "--server excludes a conf-file and the options of the server", "");
}

bool line_server_connect(const char *tool, const struct line_server *s, struct redis_pipe *p) {
    const struct way way = way_of(s);
    char err[500];

    if (s->address != NULL && s->address[0] == '\0')
        return line_refuse(tool, "the address of --server is empty", "");
    if (s->ask && !can_ask())
        return line_refuse(tool, "--askpass needs a terminal; use " LINE_PASSWORD_OF_SERVER, "");
    if (s->ask && (given_password = ask_password("the server")) == NULL)
        return line_refuse(tool, "there is no password", "");
    return way_open(&way, true, p, err, sizeof err) || line_refuse_reply(tool, err);
}

bool line_server_reconnect(const struct line_server *s, struct redis_pipe *p) {
    const struct way way = way_of(s);
    char err[500];

    return way_open(&way, false, p, err, sizeof err);
}
