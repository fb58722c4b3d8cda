#ifndef IMPORT_SHAPES_H
#define IMPORT_SHAPES_H

#include "tools/import.h"

/* The keys of a source's batch. */
struct import_keys {
    char *side;    /* the list of the batch's elements */
    char *mark;    /* a string: the batch's ID, and the queue prefix with which the batch was begun */
    char *refused; /* the list of elements in an unknown format */
};

/* The Redis type of a source: how its elements are moved to a batch and read from it. */
struct import_shape {
    /* See import_length(). */
    int64_t (*length)(struct import *im, const struct import_source *s);
    /* Moves elements to a batch and sets its mark, both or neither. Does nothing if there is a mark already. False if
     * the source is empty. Errors are in im->from. */
    bool (*take)(struct import *im, const struct import_source *s, const struct import_keys *k);
    /* Reads one element from the strings of the batch. Returns the number of strings that it takes; 0: unknown
     * format. */
    size_t (*unpack)(redisReply **strings, size_t count, struct import_element *e);
    /* Sends one command that stores a refused element. */
    void (*refuse)(struct import *im, const struct import_keys *k, const struct import_element *e);
};

/* Lists. import_list takes all elements. import_held takes tasks that workers have put there, if no lock of a task
 * exists for a second. */
extern const struct import_shape import_list, import_held;
/* Sorted sets. The scores of import_set and import_due are times in seconds. import_set takes all elements, import_due
 * only due elements, which no worker holds. The scores of import_ticks are milliseconds times 4096. The scores of
 * import_ranked are not times. */
extern const struct import_shape import_set, import_due, import_ticks, import_ranked;

/* The content of a new mark: a new ID and the queue prefix. The caller frees it. */
char *import_new_mark(const struct import *im);
struct slice import_slice(const redisReply *r);
/* Takes the reply of a command that returns a size; -1 with a sentence about s in err. */
int64_t import_take_length(struct import *im, const struct import_source *s, const char *command);

#endif
