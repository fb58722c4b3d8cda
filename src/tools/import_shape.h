#ifndef IMPORT_SHAPE_H
#define IMPORT_SHAPE_H

#include "tools/import.h"

/* The keys of a source's batch. */
struct import_keys {
    char *side;    /* the list of what was put aside */
    char *mark;    /* its ID, and the prefix of the queues with which it was begun */
    char *refused; /* what nobody understands */
};

/* How tasks lie in Redis: in which way they are put aside and read there. */
struct import_shape {
    /* As import_length(). */
    int64_t (*length)(struct import *im, const struct import_source *s);
    /* Puts a batch aside and its mark, both or neither, unless there is a mark already; false: nothing is
     * there. Errors are in im->from. */
    bool (*take)(struct import *im, const struct import_source *s, const struct import_keys *k);
    /* One element out of the strings that were put aside: how many of them it takes; 0: what is this? */
    size_t (*unpack)(redisReply **strings, size_t count, struct import_element *e);
    /* Puts one command that keeps what is not understood. */
    void (*refuse)(struct import *im, const struct import_keys *k, const struct import_element *e);
};

/* Lists: all of them, or what is in the hands of workers, of whom none says so by a lock for a second. */
extern const struct import_shape import_list, import_held;
/* Sets by times in seconds: all of them, or only what is due and so in no worker's hands; by milliseconds times
 * 4096; and by something else than times. */
extern const struct import_shape import_set, import_due, import_ticks, import_ranked;

/* Kinds whose tasks are hashes. */
extern const struct import_kind import_rq, import_bull, import_bullmq;
/* Fills in the fields of elements that are IDs. The replies, which hold them, are the caller's to free; errors
 * are in im->from. */
void import_fetch(struct import *im, const struct import_source *s, struct import_element *elements,
                  size_t count, redisReply **fields);

/* A source or several for each member of a set. False with a sentence in im->err. */
typedef void import_add(const char *name, struct import_source **out, size_t *found);
bool import_add_members(struct import *im, const char *set, import_add *add, struct import_source **out,
                        size_t *found) MUST_CHECK;

/* A new ID with the prefix behind it, which the caller frees: what a mark says. */
char *import_new_mark(const struct import *im);
struct slice import_slice(const redisReply *r);
/* The size that the command replies, or -1 with a sentence about s in err. */
int64_t import_take_length(struct import *im, const struct import_source *s, const char *command);

#endif
