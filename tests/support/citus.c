/* A Citus cluster for tests. The nodes connect to each other by their unix sockets. */
#include "citus.h"

#include <stdio.h>
#include <stdlib.h>

#define PORT 5432

bool citus_is_installed(struct postgres *pg) {
    return postgres_number(postgres_conninfo(pg, "postgres"),
                           "select count(*) from pg_available_extensions where name = 'citus'") == 1;
}

void citus_start(struct postgres *node) {
    char host[PATH_SIZE + 32];

    postgres_make(node);
    postgres_set(node, citus_settings);
    snprintf(host, sizeof host, "citus.local_hostname = '%s'\n", node->dir);
    postgres_set(node, host);
    postgres_resume(node);
}

void citus_add(struct postgres *coordinator, const char *database, struct postgres *node) {
    char sql[PATH_SIZE + 64];

    snprintf(sql, sizeof sql, "select citus_add_node('%s', %d)", node->dir, PORT);
    free(postgres_query(postgres_conninfo(coordinator, database), sql));
}

const char *citus_database(struct postgres *const *nodes, int count) {
    static int databases;
    char name[32], sql[PATH_SIZE + 64];

    snprintf(name, sizeof name, "cluster%d", databases++);
    for (int i = 0; i < count; i++) {
        snprintf(sql, sizeof sql, "create database %s template template0", name);
        free(postgres_query(postgres_conninfo(nodes[i], "postgres"), sql));
        free(postgres_query(postgres_conninfo(nodes[i], name), "create extension citus"));
    }
    snprintf(sql, sizeof sql, "select citus_set_coordinator_host('%s', %d)", nodes[0]->dir, PORT);
    free(postgres_query(postgres_conninfo(nodes[0], name), sql));
    return forever(name);
}
