#ifndef IMPORT_H
#define IMPORT_H

#include "base/buf.h"
#include "tools/redis_link.h"

/*
 * Moves tasks from a Redis to a pgdisque, batch by batch. The steps of a batch: its elements are moved to a separate
 * list in Redis, together with a random ID; each element is added with a UNIQUE key made of the ID and its position;
 * the list is deleted. If an import stops in between, the next import finds the list and adds its elements again. The
 * UNIQUE keys prevent that an element becomes two jobs.
 */
struct import_kind;
struct import_shape;

/* The length of a batch's ID: random bytes in hex. */
#define IMPORT_ID_LEN 32

/* An element of a batch. */
struct import_element {
    struct slice text;   /* the bytes in the list or set */
    redisReply **fields; /* names and values in turn, of a stream entry or of the hash whose ID is text */
    size_t strings;      /* number of fields: names plus values */
    double due_s;        /* the time of an element of a sorted set; else 0 */
    int64_t tried;       /* number of deliveries, of a stream entry */
    bool gone;           /* the hash does not exist: the task was removed */
    bool odd;            /* the key of the hash holds another type */
    bool hangs;          /* other tasks depend on it */
};

/* An element as a job. */
struct import_task {
    struct slice queue; /* without the prefix */
    struct slice body;
    struct buf made; /* holds the body if it differs from the bytes in Redis */
    int64_t delay_s;
    int64_t attempts; /* 0: not set */
    int64_t priority; /* 0: not set */
};

/* A key in Redis that holds tasks. */
struct import_source {
    char *key;
    char *queue; /* NULL: each task names its queue */
    const struct import_shape *shape;
    char *locks; /* prefix of the keys by which workers lock tasks; NULL: there are no locks */
    bool left;   /* the oldest task is at the left end of the list */
};

struct import_count {
    char *queue;
    int64_t count;
};

/* Options for streams. */
struct import_stream_words {
    const char *group;
    const char *field; /* its value is the body; NULL: the value of the only field, or all fields as JSON */
    int64_t idle_s;    /* an entry that a consumer got less than idle_s ago is being worked on */
    int64_t attempts;  /* 0: not set */
};

struct import {
    struct redis_pipe from, to;
    const struct import_kind *kind;
    const char *prefix;     /* prefix of queues' names */
    const char *key_prefix; /* prefix of all keys in Redis */
    int64_t batch;          /* elements, > 0 */
    int64_t ttl_s;
    bool left; /* the oldest task is at the left end of a list whose kind does not define the end */
    struct import_stream_words stream;
    struct import_count *counts; /* added jobs by queue */
    size_t queues;
    int64_t moved, refused, large; /* large: refused because their bodies are too large */
    size_t missing;                /* names under which no tasks were found */
    int64_t body_max;              /* the longest body that the pgdisque accepts */
    char ended[IMPORT_ID_LEN];     /* the ID of the batch that was completed last */
    bool begun;                    /* an error stopped the import, and a batch may be left in Redis */
    char err[600];
};

/* For kinds whose elements are IDs of hashes; a hash is a task. */
struct import_hashes {
    /* The key of the hash, which the caller frees. */
    char *(*key)(const struct import *im, const struct import_source *s, struct slice id);
    /* Name of a second key: the hash's key, a colon, and this text. If it exists, other tasks depend on this one, and
     * the import refuses it. */
    const char *beside;
    /* Sends the commands that delete the hash of an added task, and returns their number. */
    size_t (*forget)(struct import *im, const struct import_source *s, const struct import_element *e);
};

struct import_kind {
    const char *name;
    bool needs_names;
    /* Finds the sources; false with a sentence in im->err. names may be empty unless needs_names is set. */
    bool (*find)(struct import *im, char **names, size_t count, struct import_source **out, size_t *found);
    /* Makes a job of an element; false if the format is unknown. The caller has set the body to the element's text, and
     * the queue if the source has one. */
    bool (*read)(const struct import *im, const struct import_element *e, struct import_task *task);
    const struct import_hashes *hashes; /* NULL: the elements are the tasks */
};

/* Asks the pgdisque for its limits, before the first batch. False with a sentence in err, also if the target is none. */
bool import_ask_limits(struct import *im) MUST_CHECK;
/* The number of elements of the source; -1 with a sentence in err. */
int64_t import_length(struct import *im, const struct import_source *s);
/* More than 0 if an earlier run has left a batch, or if workers hold tasks of the source. -1 with a sentence in err. */
int64_t import_begun(struct import *im, const struct import_source *s);
/* Moves one batch; a batch that an earlier run has left comes first. Returns the number of its elements, or -1 with a
 * sentence in err. */
int64_t import_batch(struct import *im, const struct import_source *s);

/* Appends a source with the shape import_list; all other fields are zero. */
struct import_source *import_source_add(struct import_source **sources, size_t *count);
void import_sources_free(struct import_source *sources, size_t count);
void import_free(struct import *im);

#endif
