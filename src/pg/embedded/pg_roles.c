/* The roles of the embedded Postgres: a plain role for the server, a superuser for root. */
#include "pg/embedded/pg_roles.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "sql_gen.h"

/* The file in the data directory that says which roles were made. */
#define DONE "pgdisque.roles"
/* Another number makes the roles again at the next start. */
#define DONE_TEXT "2\n"
#define TEMP "pgdisque.tmp"

/* Postgres uses the first line that fits, so these lines come before the lines of initdb and of the operator. */
static const struct {
    const char *name;
    const char *text;
} access_files[] = {
    { "pg_hba.conf", "# Written by pgdisque: only root can be the superuser, by pg_ident.conf.\n"
                     "local all         pgdisque_superuser peer map=pgdisque\n"
                     "local replication pgdisque_superuser peer map=pgdisque\n"
                     "host  all         pgdisque_superuser all reject\n"
                     "host  replication pgdisque_superuser all reject\n\n" },
    { "pg_ident.conf", "# Written by pgdisque.\n"
                       "pgdisque root pgdisque_superuser\n\n" },
};

/* The content of a file of the data directory; NULL with errno. The caller frees it. */
static char *read_whole(const struct datadir *d, const char *name) {
    int fd = openat(d->fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;
    char *text = NULL;
    ssize_t len;

    if (fd < 0)
        return NULL;
    if (fstat(fd, &st) == 0) {
        text = xmalloc((size_t)st.st_size + 1);
        len = TEMP_FAILURE_RETRY(read(fd, text, (size_t)st.st_size));
        text[len > 0 ? len : 0] = '\0';
    }
    close(fd);
    return text;
}

/* False also if an earlier version has made fewer roles. */
static bool is_done(const struct datadir *d) {
    char *text = read_whole(d, DONE);
    bool done = text != NULL && strcmp(text, DONE_TEXT) == 0;

    free(text);
    return done;
}

static bool roles_replace_file(const struct datadir *d, const struct pg_binaries *p, const char *name,
                               const char *text) {
    unlinkat(d->fd, TEMP, 0);
    return datadir_write_new(d, p, TEMP, text) && renameat(d->fd, TEMP, d->fd, name) == 0;
}

/* Puts the text before the content of a file, unless it is there. */
static bool prepend(const struct datadir *d, const struct pg_binaries *p, const char *name,
                    const char *text) {
    char *old = read_whole(d, name), *whole;
    bool ok;

    if (old == NULL)
        return false;
    whole = xasprintf("%s%s", text, old);
    ok = strncmp(old, text, strlen(text)) == 0 || roles_replace_file(d, p, name, whole);
    free(whole);
    free(old);
    return ok;
}

static bool restrict_access(const struct datadir *d, const struct pg_binaries *p, char *err,
                            size_t err_size) {
    for (size_t i = 0; i < LENGTH(access_files); i++)
        if (!prepend(d, p, access_files[i].name, access_files[i].text))
            return pg_binary_fail(err, err_size, "cannot change %s in %s: %s", access_files[i].name, d->path,
                                  strerror(errno));
    return true;
}

/* A file in memory with the text, at its begin; -1 with errno. */
static int script_of(const char *text) {
    int fd = memfd_create("script", MFD_CLOEXEC);

    if (fd >= 0 && (write(fd, text, strlen(text)) != (ssize_t)strlen(text) || lseek(fd, 0, SEEK_SET) != 0)) {
        close(fd);
        return -1;
    }
    return fd;
}

/* -j: a command ends with a semicolon and an empty line. */
static bool run_script(const struct datadir *d, const struct pg_binaries *p, const char *dir, char *err,
                       size_t err_size) {
    static const char *const args[] = { "-j",
                                        "-c",
                                        "exit_on_error=on",
                                        "-c",
                                        "log_checkpoints=off",
                                        "-c",
                                        "log_min_error_statement=panic",
                                        "postgres",
                                        NULL };
    off_t log_start = datadir_log_size(d);
    int script = script_of(sql_embedded_roles), status = 0;
    char how[64];
    pid_t pid;

    if (script < 0)
        return pg_binary_fail(err, err_size, "cannot make the roles of Postgres: %s", strerror(errno));
    pid = pg_binary_start(p, &(struct pg_binary_start){ .program = "postgres",
                                                        .mode = "--single",
                                                        .args = args,
                                                        .dir = dir,
                                                        .dir_fd = d->fd,
                                                        .log_fd = d->log_fd,
                                                        .script_fd = script,
                                                        .needs_name = true,
                                                        .death_signal = SIGTERM });
    close(script);
    if (pid < 0)
        return pg_binary_fail(err, err_size, "cannot run postgres: %s", strerror(errno));
    if (TEMP_FAILURE_RETRY(waitpid(pid, &status, 0)) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return true;
    datadir_show_log(d, log_start);
    return pg_binary_fail(err, err_size,
                          "cannot make the roles of Postgres: postgres --single %s; its output is in %s",
                          pg_binary_status_text(status, how, sizeof(how)), d->log);
}

bool pg_roles_make(const struct datadir *d, const struct pg_binaries *p, const char *dir, char *err,
                   size_t err_size) {
    if (is_done(d))
        return true;
    if (!run_script(d, p, dir, err, err_size) || !restrict_access(d, p, err, err_size))
        return false;
    if (!roles_replace_file(d, p, DONE, DONE_TEXT))
        return pg_binary_fail(err, err_size, "cannot write " DONE " in %s: %s", d->path, strerror(errno));
    return true;
}
