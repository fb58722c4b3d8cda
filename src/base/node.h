#ifndef NODE_H
#define NODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The servers of one database. Each server has an ID of 40 hex digits and a small number. The ID is kept in a file, so
 * that it survives a restart. The database assigns the number, which is part of the job IDs that the server makes.
 */
#define NODE_ID_LEN 40
#define NODE_MAX_NUMBER 1023 /* ten bits of a job's id */

struct node {
    uint16_t number; /* 1..NODE_MAX_NUMBER; 0: not registered yet */
    char id[NODE_ID_LEN + 1];
    char addr[64];
    int port;
    bool leaving;
    bool left;           /* has shut down in order, or has no row any more */
    bool live;           /* a message or heartbeat arrived lately, and the server has not left */
    int64_t received_us; /* clock_mono() of its last message */
    int64_t seen_us;     /* database time of its last heartbeat */
    uint64_t run;        /* grows with each start of any server of the database; 0: not known */
};

/* This server. */
struct node *node_self(void);
/* The server with this number, or NULL. Includes servers that do not run any more. */
struct node *node_by_number(uint16_t number);
/* node_all(), node_named() and node_known() return arrays that begin with this server. An array is valid until the next
 * call of one of these functions, node_has_peers() or node_is_leader(). */
/* The live servers. */
struct node *const *node_all(size_t *count);
/* The live servers whose rows were read. If a message of a peer arrives before its row is read, only its number is
 * known. */
struct node *const *node_named(size_t *count);
/* The servers whose rows were read and that have not left. Includes servers that died. */
struct node *const *node_known(size_t *count);
/* Is a peer live? */
bool node_has_peers(void);
/* Is this server the leader, the live server with the lowest number? */
bool node_is_leader(void);
/* The peer with this number; adds it if it is new. NULL if the number is out of range. */
struct node *node_get(uint16_t number);
/* Adds or updates a server from its row. If the row has the ID of this server, only the number is taken. */
void node_update(const struct node *n);
/* Marks a server whose row was deleted. */
void node_forget(struct node *n);

/* Makes an ID without a file, for a process that is not a server. False with a sentence in err. */
bool node_make_guest(char *err, size_t err_size);
/* Reads the ID from dir/node-<port>.id, or makes an ID and writes it. Locks the file until the process ends. False with
 * a sentence in err. */
bool node_load(const char *dir, int port, char *err, size_t err_size);

#endif
