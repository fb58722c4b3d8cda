#ifndef JOB_KEY_H
#define JOB_KEY_H

#include <stdbool.h>
#include <stdint.h>
#include "base/util.h"

/*
 * The primary key of a job, and the ID that clients see.
 *
 * A job's number is a 63-bit integer that grows with time. The server that adds the job makes it, so that the order of
 * keys is the order of creation:
 *
 *     41 bits milliseconds since 2020-01-01 | 10 bits node number | 12 bits counter
 *
 * A job that is added before all jobs of its queue has the negative of such a number. The newest of these jobs is then
 * the first.
 *
 * The ID clients see (format: Disque's job.c) carries the whole primary key, so that a job is found without a lookup.
 * Its 18 bytes are enciphered as one block, so that no ID can be guessed or altered:
 *
 *     D-dcb833cf-8YL1NT17e9+wsA/09NqxscQI-05a1
 *       |        |                        TTL in minutes; odd: at least once
 *       |        base64 of: queue 4 bytes | zeros 5 | id 8 | priority 1
 *       first 8 digits of the adding node's ID
 *
 * The cipher is a Feistel network of two rounds over two halves of 9 bytes. Its round function is SHA-256 of the
 * secret, the round's number, the node's and the TTL's digits, and the other half. The zeros reveal an altered ID
 * without a query. If no ID of a job is known, a guess succeeds with a chance of at most 1 in 2^72:
 * doc/decisions/0005-job-ids.md.
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

/* Sorts the keys by their queues. */
void job_keys_sort_queues(struct job_key *keys, size_t count);
/* The number of keys at the beginning that are of the first key's queue. count is at least 1. */
size_t job_keys_of_queue(const struct job_key *keys, size_t count);
/* A key of the queue among keys that are sorted by their queues, or NULL. */
const struct job_key *job_keys_find_queue(const struct job_key *keys, size_t count, int32_t queue_id);

/* Sets the key of the cipher. It comes from the database and is the same for all servers. */
void jobid_set_secret(const unsigned char secret[JOBID_SECRET_LEN]);

/* A keyed hash of a text with the same secret. The text begins with a blank. */
uint64_t jobid_seal(struct slice text);

/* Derives a key for another purpose from the secret. The derived key does not reveal the secret. */
#define JOBID_DERIVED_LEN 32
void jobid_derive_key(const char *purpose, unsigned char key[JOBID_DERIVED_LEN]);

/* A new number for a job that the server with number node adds at db_us (clock_db()). Each number is greater than the
 * number before. */
int64_t job_new_id(int64_t db_us, uint16_t node);
/* The last number that job_new_id() returned; 0 before the first. */
int64_t job_id_last(void);
/* The greatest number that a job created at us (microseconds since 1970) or before can have. */
int64_t job_id_at(int64_t us);
/* The parts of a number. The time of creation is in microseconds since 1970, in whole milliseconds. */
int64_t job_created_us(int64_t id);
uint16_t job_id_node(int64_t id);
uint16_t job_id_counter(int64_t id);

/* The token of a delivery. One of the two counters grows whenever the job becomes ready again, so each delivery has its
 * own token. SQL statements that take tokens use the same formula. */
static inline int64_t job_token(int32_t nacks, int32_t additional_deliveries) {
    return INT64_C(1) + nacks + additional_deliveries;
}

/* The back-off before the next delivery of a job, after that many deliveries (at least 1). Up to an eighth is added.
 * Jobs that failed together then come back at different times. SQL statements use the same formula:
 * sql/parts/backoff.sql. */
int64_t job_backoff_us(int64_t id, int64_t backoff_s, int32_t deliveries);

/* Writes JOBID_LEN characters (no NUL). node_id: the adding node's hex ID. */
void jobid_format(char out[JOBID_LEN], struct job_key key, const char *node_id, int64_t ttl_s,
                  bool at_least_once);

enum jobid_check {
    JOBID_OK,
    JOBID_UNKNOWN, /* the form is right, but no server of this database made the ID */
    JOBID_BAD,     /* not an ID: -BADID */
};
enum jobid_check jobid_parse(struct slice text, struct job_key *key);
/* Parses ID or ID:token. *token is 0 if there is none. */
enum jobid_check jobid_parse_token(struct slice text, struct job_key *key, int64_t *token);

#endif
