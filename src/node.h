/* layer 1 */
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
    bool live; /* known to run */
};

/* This server. */
struct node *node_self(void);
/* By number, or NULL; includes servers that are gone but have jobs. */
const struct node *node_by_number(uint16_t number);
/* Those that are known to run, this server first; count of them. */
const struct node *const *node_all(size_t *count);
/* What the database says of a server; adds or replaces it. Of this server, known
 * by its ID, only the number is taken: all else is better known here. */
void node_learn(const struct node *n);

/* Reads the ID from dir/node-<port>.id, or makes one and writes it, and locks
 * the file for as long as the process lives. False with a sentence in err. */
bool node_load(const char *dir, int port, char *err, size_t err_size);

#endif
