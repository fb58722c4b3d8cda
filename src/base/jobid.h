#ifndef JOBID_H
#define JOBID_H

#include <stdbool.h>
#include <stdint.h>
#include "base/util.h"

/*
 * Where a job stands, and its name for clients.
 *
 * A job's id is a 63-bit number that grows with time, made by the server that
 * adds the job, so that key order is creation order:
 *
 *     41 bits milliseconds since 2020-01-01 | 10 bits node number | 12 bits counter
 *
 * One that is put before all that are there has the negative of such a number, so that the youngest of those
 * is the first.
 *
 * The ID clients see (format: Disque's job.c) carries the whole primary key, so that a job is found without a
 * lookup. Its 18 bytes are enciphered as one block, so that no ID can be guessed or altered:
 *
 *     D-dcb833cf-8YL1NT17e9+wsA/09NqxscQI-05a1
 *       |        |                        TTL in minutes; odd: at least once
 *       |        base64 of: queue 4 bytes | zeros 5 | id 8 | priority 1
 *       first 8 digits of the adding node's ID
 *
 * The cipher is a Feistel network of two rounds over two halves of 9 bytes. Its round function is SHA-256 of the
 * secret, the round's number, the node's and the TTL's digits, and the other half. The zeros tell an altered ID from
 * a good one without a query. An attempt at the ID of a job of which no ID is known succeeds with a chance of at most
 * 1 in 2^72: doc/decisions/0005-job-ids.md.
 */
#define JOBID_LEN 40
#define JOBID_EPOCH_MS INT64_C(1577836800000)
#define JOBID_SECRET_LEN 16

struct job_key {
    int32_t queue_id;
    int16_t rank; /* minus the priority, so that small keys go first */
    int64_t id;
};

/* The order in which a queue's jobs are delivered. */
static inline bool job_key_before(struct job_key a, struct job_key b) {
    return a.rank != b.rank ? a.rank < b.rank : a.id < b.id;
}

/* The key of the IDs: from the database, the same for all servers. */
void jobid_set_secret(const unsigned char secret[JOBID_SECRET_LEN]);

/* A keyed hash of a text by the same secret. The text begins with a blank. */
uint64_t jobid_seal(struct slice text);

/* A key for another purpose that follows from the secret, and tells nothing of it. */
#define JOBID_DERIVED_LEN 32
void jobid_derive_key(const char *purpose, unsigned char key[JOBID_DERIVED_LEN]);

/* The next id of node at db_us (clock_db()); always greater than the one before. */
int64_t job_new_id(int64_t db_us, uint16_t node);
int64_t job_id_last(void);
/* The greatest id a job created at us (microseconds since 1970) or before can have. */
int64_t job_id_at(int64_t us);
/* Creation: microseconds since 1970, whole milliseconds; and the counter within. */
int64_t job_created_us(int64_t id);
uint16_t job_id_node(int64_t id);
uint16_t job_id_counter(int64_t id);

/* Tells a delivery of a job from the ones before: one of the two grows whenever the job comes back. The
 * statements that take tokens compute it as well. */
static inline int64_t job_token(int32_t nacks, int32_t extras) {
    return INT64_C(1) + nacks + extras;
}

/* Writes JOBID_LEN characters (no NUL). node_id: the adding node's hex ID. */
void jobid_format(char out[JOBID_LEN], struct job_key key, const char *node_id, int64_t ttl_s,
                  bool at_least_once);

enum jobid_check {
    JOBID_OK,
    JOBID_UNKNOWN, /* the right form, but no server of this database made it */
    JOBID_BAD,     /* not an ID: -BADID */
};
enum jobid_check jobid_parse(struct slice text, struct job_key *key);
/* The same, with or without a token behind it: ID:token. Without: 0. */
enum jobid_check jobid_parse_token(struct slice text, struct job_key *key, int64_t *token);

#endif
