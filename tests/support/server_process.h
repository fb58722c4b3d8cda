#ifndef SERVER_PROCESS_H
#define SERVER_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

#include "process.h"

/* A pgdisque process under test, on a port of its own. The program is $PGDISQUE, or ./pgdisque, or the program of this
 * repository. */
#define SERVER_MAX_OPTIONS 24

struct server {
    pid_t pid; /* 0: not running */
    int port;
    char dir[PATH_SIZE];
    char log[PATH_SIZE];
    const char *database;                    /* conninfo; must outlive the server */
    unsigned files;                          /* see struct spawn */
    const char *options[SERVER_MAX_OPTIONS]; /* "--name", "value", ...; NULL at the end */
};

/* Where the program is. */
const char *server_program(void);

/* A port on which no program listens. */
int server_free_port(void);

/* Picks a port and a directory, and starts it on that database; returns when it
 * has counted its jobs. options may be NULL. */
void server_start(struct server *s, const char *database, const char *const *options);
/* The same without waiting for anything. */
void server_spawn(struct server *s, const char *database, const char *const *options);
/* The same with a limit of open files. */
void server_spawn_limited(struct server *s, const char *database, const char *const *options, unsigned files);
/* Waits until it has counted its jobs; the test ends when the process dies or never answers. */
void server_wait_ready(struct server *s);
/* Starts it again, same port, directory and options, and waits until it has counted its jobs. */
void server_resume(struct server *s);
/* The same, but waits only for PONG. */
void server_resume_uncounted(struct server *s);

/* SIGTERM: waits for the end, and gives the exit status (-1: had to be killed). */
int server_stop(struct server *s);
void server_kill(struct server *s);
/* SIGSTOP and SIGCONT: what clients send between them, the server reads in one turn. */
void server_freeze(const struct server *s);
void server_thaw(const struct server *s);
/* Is the process still there? Reaps it when not. */
bool server_running(struct server *s);

/* Sends PING on a new connection. Returns the first line of the reply, or "" without a reply. */
const char *server_ping(const struct server *s);

/* Bytes of memory it has resident. */
long server_memory(const struct server *s);

/* Prints the end of the logs of all servers that this process has started. */
void servers_show_logs(void);
/* Did a sanitizer complain in any of the logs, or did a server crash? */
bool servers_complained(void);

#endif
