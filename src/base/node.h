#ifndef NODE_H
#define NODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The servers of one database. Each has an ID of 40 hex digits, kept in a file
 * so that it is the same after a restart, and a small number that the database
 * gives it and that is part of the job IDs it makes.
 */
#define NODE_ID_LEN 40
#define NODE_MAX_NUMBER 1023 /* ten bits of a job's id */

struct node {
    uint16_t number; /* 1..NODE_MAX_NUMBER; 0: not registered yet */
    char id[NODE_ID_LEN + 1];
    char addr[64];
    int port;
    bool leaving;
    bool left;        /* signed off */
    bool live;        /* heard of lately, and not signed off */
    bool waiting;     /* has clients that wait for jobs */
    int64_t heard_us; /* clock_mono() */
    int64_t seen_us;  /* by the database; its last word there, */
    int64_t done_us;  /* and that until which it was dealt with as dead */
    uint64_t run;     /* greater than that of all servers that started before; 0: not known */
    /* Of what it tells (peers.c): the last message, and whether all that it has done in this run was
     * told, and nothing missed since. */
    uint64_t told;
    bool introduced;
    bool known; /* we have looked for what it did before that */
};

/* This server. */
struct node *node_self(void);
/* By number, or NULL; includes servers that are gone but have jobs. */
struct node *node_by_number(uint16_t number);
/* Those that are known to run, this server first; count of them. As of the next two, good until any of the three is
 * called again, or node_has_company() or node_is_heir(). */
struct node *const *node_all(size_t *count);
/* Those whose rows have been read, too: of one that was heard for the first time just now only the number is known. */
struct node *const *node_named(size_t *count);
/* All that run, and the ones that died without signing off. */
struct node *const *node_known(size_t *count);
/* Does any other one run? */
bool node_has_company(void);
/* Is this the one that looks after what dead servers had leased: the lowest number that lives? */
bool node_is_heir(void);
/* One of the others, known or not yet; NULL for a number that cannot be. */
struct node *node_meet(uint16_t number);
/* What the database says of a server; adds or replaces it. Of this server, known
 * by its ID, only the number is taken: all else is better known here. */
void node_learn(const struct node *n);
/* It has no row any more. */
void node_forget(struct node *n);

/* A new ID that no file keeps, for a process that is no server. */
bool node_make_guest(char *err, size_t err_size);
/* Reads the ID from dir/node-<port>.id, or makes one and writes it, and locks
 * the file for as long as the process lives. False with a sentence in err. */
bool node_load(const char *dir, int port, char *err, size_t err_size);

#endif
