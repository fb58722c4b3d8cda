/* --check: tests the files and addresses of this machine, and the login to the database. */
#include "server/check.h"

#include <errno.h>
#include <libgen.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <libpq-fe.h>

#include "base/clock.h"
#include "config/config.h"
#include "net/sockets.h"
#include "net/tls_server.h"

#define LOGIN_US (10 * US_PER_S)
#define SQLSTATE_LEN 5

/* ---- this machine ---- */

static bool can_make(const char *path) {
    char *copy = xstrdup(path);
    bool ok = access(dirname(copy), W_OK | X_OK) == 0;

    free(copy);
    return ok;
}

static bool check_file(const char *what, const char *path, char *err, size_t err_size) {
    struct stat st;
    bool ok;

    if (path[0] == '\0')
        return true;
    if (stat(path, &st) != 0)
        ok = errno == ENOENT && can_make(path);
    else if (S_ISDIR(st.st_mode))
        ok = (errno = EISDIR, false);
    else
        ok = access(path, W_OK) == 0;
    if (!ok)
        snprintf(err, err_size, "cannot write the %s %s: %s", what, path, strerror(errno));
    return ok;
}

static bool check_dir(char *err, size_t err_size) {
    struct stat st;
    bool ok;

    if (stat(config.dir, &st) != 0)
        ok = errno == ENOENT && can_make(config.dir);
    else if (!S_ISDIR(st.st_mode))
        ok = (errno = ENOTDIR, false);
    else
        ok = access(config.dir, W_OK | X_OK) == 0;
    if (!ok)
        snprintf(err, err_size, "cannot use the directory %s: %s", config.dir, strerror(errno));
    return ok;
}

bool check_here(char *err, size_t err_size) {
    return tls_server_load(err, err_size) && sockets_check(err, err_size) && check_dir(err, err_size) &&
           check_file("log file", config.logfile, err, err_size) &&
           check_file("pid file", config.pidfile, err, err_size);
}

/* ---- the database ---- */

/* Waits until the socket is ready for libpq. False after `end`. */
static bool wait_for(PGconn *conn, PostgresPollingStatusType wants, int64_t end) {
    struct pollfd p = { PQsocket(conn), wants == PGRES_POLLING_READING ? POLLIN : POLLOUT, 0 };
    int64_t left = end - clock_mono_now();

    return left > 0 && poll(&p, 1, (int)(left / US_PER_MS) + 1) > 0;
}

/* *last becomes the state in which a failed connection was before its failure. */
static bool connects(PGconn *conn, ConnStatusType *last) {
    PostgresPollingStatusType wants = PGRES_POLLING_WRITING;
    int64_t end = clock_mono_now() + LOGIN_US;

    if (PQstatus(conn) == CONNECTION_BAD)
        return false;
    while (wants != PGRES_POLLING_OK) {
        if (wants == PGRES_POLLING_FAILED || !wait_for(conn, wants, end))
            return false;
        *last = PQstatus(conn);
        wants = PQconnectPoll(conn);
    }
    return true;
}

/* Removes the SQLSTATE and the line LOCATION from a verbose error text: "FATAL:  28P01: no" becomes "FATAL:  no".
 * Returns the SQLSTATE, or NULL. libpq gives the SQLSTATE of a failed connection only in this text. */
static const char *take_sqlstate(char *text) {
    static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    static char state[SQLSTATE_LEN + 1];
    char *at = text, *source = strstr(text, "\nLOCATION:");

    if (source != NULL)
        *source = '\0';
    while ((at = strstr(at, ":  ")) != NULL) {
        at += strlen(":  ");
        if (strspn(at, digits) != SQLSTATE_LEN || strncmp(at + SQLSTATE_LEN, ": ", 2) != 0)
            continue;
        memcpy(state, at, SQLSTATE_LEN);
        memmove(at, at + SQLSTATE_LEN + 2, strlen(at + SQLSTATE_LEN + 2) + 1);
        return state;
    }
    return NULL;
}

/* Is it an error about passwords and roles (28), databases (3D) or rights (42)? A later try cannot succeed. */
static bool is_final(const char *sqlstate) {
    return sqlstate != NULL && (strncmp(sqlstate, "28", 2) == 0 || strncmp(sqlstate, "3D", 2) == 0 ||
                                strncmp(sqlstate, "42", 2) == 0);
}

/* Did the connection fail because of a certificate, a key or a missing TLS? libpq has no code for these errors. With
 * TLS 1.3 the refusal of a client's certificate arrives after the handshake. */
static bool is_tls_refusal(ConnStatusType last, const char *text) {
    static const char *const losses[] = { "SSL SYSCALL error", "unexpected eof",
                                          "server closed the connection", "could not receive",
                                          "could not send" };

    if (last != CONNECTION_SSL_STARTUP && strstr(text, "SSL error: ") == NULL)
        return false;
    for (size_t i = 0; i < LENGTH(losses); i++) {
        if (strstr(text, losses[i]) != NULL)
            return false;
    }
    return true;
}

bool check_login(const char *conninfo, char *err, size_t err_size) {
    PGconn *conn = PQconnectStart(conninfo);
    ConnStatusType last = CONNECTION_NEEDED;
    bool refused = false;
    char *text;

    PQsetErrorVerbosity(conn, PQERRORS_VERBOSE);
    if (!connects(conn, &last)) {
        text = xstrdup(PQerrorMessage(conn));
        refused = is_final(take_sqlstate(text)) || is_tls_refusal(last, text);
        snprintf(err, err_size, "the database refuses the connection: %s", text);
        free(text);
    }
    PQfinish(conn);
    return !refused;
}
