#ifndef SERVERS_H
#define SERVERS_H

#include "fixture.h"

/* Several servers on the fixture's database: the fixture's, and two more. A test may end a server. The next test that
 * needs the server starts it again. */
#define SERVERS 3

extern struct server *const group_size[SERVERS];
/* A client at each, during a test. */
extern redisContext *at[SERVERS];

/* Setup and teardown of a test: all servers run and know each other; clients come and go. */
int servers_setup(void **state);
int servers_teardown(void **state);

/* The number of servers that HELLO lists, and the priority of a server, or "none". */
size_t hello_count(redisContext *c);
const char *hello_priority(redisContext *c, const char *node_id);
/* CLUSTER MYID, without its quotes; valid for good. */
const char *node_id(redisContext *c);
/* The line of that node in CLUSTER NODES, or "". */
const char *node_line(redisContext *c, const char *id);

/* Starts GETJOB at a server, and returns when the client waits there, or has got something already. */
void wait_at(int n, struct wire *w, const char *queue);
/* The client at n gets a job and checks that it is this one. Returns the ID. */
void expect_job_at(int n, const char *queue, const char *id);

/* Do all servers give the same figures, and is the queue as long everywhere? */
bool all_agree(const char *queue);
bool all_have(const char *queue, long long len);
/* How many jobs of the queue there are in the database. */
long long jobs_in_database(const char *queue);

#endif
