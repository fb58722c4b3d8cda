#ifndef IMPORT_H
#define IMPORT_H

#include "base/buf.h"
#include "tools/redis_link.h"

/*
 * Moves tasks from a Redis to a pgdisque, batch by batch. A batch is first moved to a list of its own in
 * Redis, together with an ID; then each of its elements is added with a UNIQUE key made of that ID and its
 * place; then the list goes. Whoever finds a batch there adds it again, which adds nothing twice.
 */
struct import_kind;
struct import_shape;

/* The ID of a batch: random bytes in hex. */
#define IMPORT_ID_LEN 32

/* What was put aside, one task of it. */
struct import_element {
    struct slice text; /* as it stood in the list or set */
    redisReply *
        *fields;    /* names and values in turn, of an entry of a stream or of the hash that text names */
    size_t strings; /* so many of them */
    double due_s;   /* of a set by times; else 0 */
    int64_t tried;  /* how often a stream has given it out */
    bool gone;      /* there is no such hash: nobody wants the task any more */
    bool odd;       /* what text names is no hash */
    bool hangs;     /* other tasks hang on it */
};

struct import_task {
    struct slice queue; /* without the prefix */
    struct slice body;
    struct buf made; /* a body that is not in Redis as it is */
    int64_t delay_s;
    int64_t attempts; /* 0: not said */
    int64_t priority; /* 0: not said */
};

struct import_source {
    char *key;
    char *queue; /* NULL: the tasks say it themselves */
    const struct import_shape *shape;
    char *locks; /* what workers have: the beginning of the keys that say so; NULL: there are none */
    bool left;   /* of a list: the oldest is at its left end */
};

struct import_count {
    char *queue;
    int64_t count;
};

/* What only streams need. */
struct import_stream_words {
    const char *group;
    const char *field; /* whose value is the body; NULL: the only one, or all of them as JSON */
    int64_t idle_s;    /* what a consumer has had for less is in its hands */
    int64_t attempts;  /* 0: not said */
};

struct import {
    struct redis_pipe from, to;
    const struct import_kind *kind;
    const char *prefix;     /* of queues' names */
    const char *key_prefix; /* of keys in Redis, which the kinds put before them */
    int64_t batch;          /* elements, > 0 */
    int64_t ttl_s;
    bool left; /* the oldest is at the left end of lists of which nothing is known */
    struct import_stream_words stream;
    struct import_count *counts; /* what was added, by queue */
    size_t queues;
    int64_t moved, refused, large; /* large: those of the refused that were too large */
    size_t missing;                /* names under which nothing was found */
    int64_t body_max;              /* the longest body that the pgdisque takes */
    char ended[IMPORT_ID_LEN];     /* the batch that was removed last */
    bool begun;                    /* it had to stop, and a batch may lie in Redis */
    char err[600];
};

/* Of kinds whose elements are IDs of hashes, which are the tasks. */
struct import_hashes {
    /* The key of the hash, which the caller frees. */
    char *(*key)(const struct import *im, const struct import_source *s, struct slice id);
    /* Behind that and a colon: the key that is there when other tasks hang on this one, and it is not
     * understood. */
    const char *beside;
    /* Puts the commands that drop the hash of what was added: how many. */
    size_t (*forget)(struct import *im, const struct import_source *s, const struct import_element *e);
};

struct import_kind {
    const char *name;
    bool needs_names;
    /* The sources; false with a sentence in im->err. names may be empty unless needed. */
    bool (*find)(struct import *im, char **names, size_t count, struct import_source **out, size_t *found);
    /* Makes a task of an element; false: it is not understood. The queue is set already when the source
     * has one, and the body to the element's text. */
    bool (*read)(const struct import *im, const struct import_element *e, struct import_task *task);
    const struct import_hashes *hashes; /* NULL: the elements are the tasks */
};

const struct import_kind *import_kind(const char *name);
/* The one that needs import_stream_words. */
extern const struct import_kind import_streams;

/* Asks the pgdisque for its limits, before the first batch. False with a sentence in err. */
bool import_ask_limits(struct import *im) MUST_CHECK;
/* How many elements are there; -1 with a sentence in err. */
int64_t import_length(struct import *im, const struct import_source *s);
/* More than 0 when an earlier run has left a batch, or when workers have tasks of the source in hand. -1 with a
 * sentence in err. */
int64_t import_begun(struct import *im, const struct import_source *s);
/* Moves one batch, one that was left included: how many elements, or -1 with a sentence in err. */
int64_t import_batch(struct import *im, const struct import_source *s);

struct import_source *import_source_add(struct import_source **sources, size_t *count);
void import_sources_free(struct import_source *sources, size_t count);
void import_free(struct import *im);

#endif
